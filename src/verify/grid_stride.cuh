#pragma once

#include <cuda/std/cstdint>

namespace hopper_gemm {

// For element-wise loops of any length: a grid that fills any current GPU a few times over.
inline constexpr int kGridStrideBlocks = 1024;
inline constexpr int kGridStrideThreads = 256;

__device__ __forceinline__ cuda::std::int64_t grid_stride_begin() {
  return cuda::std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ cuda::std::int64_t grid_stride() {
  return cuda::std::int64_t{gridDim.x} * blockDim.x;
}

}  // namespace hopper_gemm
