#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

// Kernels of others that run before, behind or beside the library's.
namespace hopper_gemm {

/// Launches a kernel without parameters that does nothing: what a launch costs the host at least.
cudaError_t launch_empty_kernel(cudaStream_t stream);

/// Launches a copy by programmatic dependent launch that never waits: it reads `from` as soon as the kernel before it in
/// the stream allows.
cudaError_t launch_copy_that_does_not_wait(std::uint16_t* to, const std::uint16_t* from, std::size_t elems,
                                           cudaStream_t stream);

/// Launches CTAs that take an SM each and stay until the host sets *stop, which is memory of both, or for ten seconds.
cudaError_t launch_kernel_that_stays(int ctas, const volatile int* stop, cudaStream_t stream);

}  // namespace hopper_gemm
