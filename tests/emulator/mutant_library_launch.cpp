// The one function that a library of a mutant of the library's kernels shows.

#include <memory>
#include <string>

#include "hopper_gemm/status.hpp"
#include "library/backend.hpp"

namespace hopper_gemm::library {
namespace {

Status launch(const Problem& problem, const KernelArgs& args, const Device& device, const char* config) {
  std::unique_ptr<const PreparedGemm> prepared;
  HG_RETURN_IF_ERROR(wgmma_backend().prepare(problem, device, config, &prepared));
  return prepared->launch(args, nullptr, nullptr);
}

}  // namespace
}  // namespace hopper_gemm::library

extern "C" __attribute__((visibility("default"))) void launch_library_mutant(
    const hopper_gemm::library::Problem* problem, const hopper_gemm::library::KernelArgs* args,
    const hopper_gemm::library::Device* device, const char* config, hopper_gemm::Status* status) {
  *status = hopper_gemm::library::launch(*problem, *args, *device, config);
}
