#include "best.hpp"

#include <array>

#include "cuda_check.hpp"

namespace hopper_gemm {
namespace {

/// The best first.
std::array<const KernelInfo*, 3> candidates() {
  return {&hopper_ladder().back(), &ampere_ladder().back(), &simt_ladder().back()};
}

Status current_compute_capability(ComputeCapability* gpu) {
  int device = 0;
  HG_RETURN_IF_CUDA_ERROR(cudaGetDevice(&device));
  HG_RETURN_IF_CUDA_ERROR(cudaDeviceGetAttribute(&gpu->major, cudaDevAttrComputeCapabilityMajor, device));
  HG_RETURN_IF_CUDA_ERROR(cudaDeviceGetAttribute(&gpu->minor, cudaDevAttrComputeCapabilityMinor, device));
  return {};
}

}  // namespace

const KernelInfo* best_kernel(const GemmArgs& args, ComputeCapability gpu) {
  for (const KernelInfo* kernel : candidates()) {
    if (runs_on(kernel->target, gpu) && kernel->can_implement(args).ok()) return kernel;
  }
  return nullptr;
}

namespace best {

Status can_implement(const GemmArgs& args) {
  HG_RETURN_IF_ERROR(check_gemm(args));
  std::string refusals;
  for (const KernelInfo* kernel : candidates()) {
    const Status refusal = kernel->can_implement(args);
    if (refusal.ok()) return {};
    refusals += (refusals.empty() ? "" : "; ") + std::string(kernel->version) + ": " + refusal.message();
  }
  return unsupported("no kernel takes this (" + refusals + ")");
}

Status launch(const GemmArgs& args, cudaStream_t stream) {
  HG_RETURN_IF_ERROR(can_implement(args));
  ComputeCapability gpu{};
  HG_RETURN_IF_ERROR(current_compute_capability(&gpu));
  Status status = unsupported("on " + sm_text(gpu) + " there is no kernel for inputs of " +
                              to_string(args.input_type) + "; from sm_80 on there is one for 16-bit inputs");
  for (const KernelInfo* kernel : candidates()) {
    if (!runs_on(kernel->target, gpu) || !kernel->can_implement(args).ok()) continue;
    status = kernel->launch(args, stream);
    if (status.code() != StatusCode::Unsupported) return status;
  }
  return status;
}

}  // namespace best

}  // namespace hopper_gemm
