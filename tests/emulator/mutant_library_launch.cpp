// The one function that a library of a mutant of the library's kernels shows.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "common/device_buffer.hpp"
#include "gemm/host/backend.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {
namespace {

Status launch(const Problem& problem, const KernelArgs& args, const Device& device, const char* config,
              int launches) {
  std::unique_ptr<const PreparedGemm> prepared;
  HG_RETURN_IF_ERROR(wgmma_backend().prepare(problem, device, config, &prepared));
  DeviceBuffer<std::byte> workspace;
  HG_RETURN_IF_ERROR(workspace.allocate(static_cast<std::int64_t>(prepared->workspace_bytes())));
  for (int i = 0; i < launches; ++i) {
    HG_RETURN_IF_ERROR(prepared->launch(args, workspace.data(), nullptr));
  }
  return {};
}

}  // namespace
}  // namespace hopper_gemm::library

extern "C" __attribute__((visibility("default"))) void launch_library_mutant(
    const hopper_gemm::library::Problem* problem, const hopper_gemm::library::KernelArgs* args,
    const hopper_gemm::library::Device* device, const char* config, int launches,
    hopper_gemm::Status* status) {
  *status = hopper_gemm::library::launch(*problem, *args, *device, config, launches);
}
