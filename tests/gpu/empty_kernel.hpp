#pragma once

#include <cuda_runtime_api.h>

namespace hopper_gemm {

/// Launches a kernel without parameters that does nothing: what a launch costs the host at least.
cudaError_t launch_empty_kernel(cudaStream_t stream);

}  // namespace hopper_gemm
