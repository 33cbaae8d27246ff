// Until the back end HG_STUB_BACKEND is merged.
#include "library/backend.hpp"

#define HG_NAME_OF(backend) HG_TEXT_OF(backend)
#define HG_TEXT_OF(text) #text
#define HG_FUNCTION_OF(backend) HG_JOINED(backend, _backend)
#define HG_JOINED(x, y) x##y

namespace hopper_gemm::library {

const Backend& HG_FUNCTION_OF(HG_STUB_BACKEND)() {
  static const Backend backend = {
      .name = HG_NAME_OF(HG_STUB_BACKEND),
      .can_implement = [](const Problem&, const Device&) { return unsupported("this build has no kernels"); },
      .prepare =
          [](const Problem&, const Device&, const std::string&, std::unique_ptr<const PreparedGemm>*) {
            return unsupported("this build has no kernels");
          },
      .configs = [] { return std::vector<std::string>(); }};
  return backend;
}

}  // namespace hopper_gemm::library
