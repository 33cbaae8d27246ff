#pragma once

// Host half of a ladder file. Device-only compilers (NVRTC) see an empty header.
#ifndef __CUDACC_RTC__

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

#include "cuda_check.hpp"
#include "hopper_gemm/gemm_args.hpp"
#include "hopper_gemm/tensor_map.hpp"

namespace hopper_gemm {

/// The number of output tiles as a one-dimensional grid, or Unsupported when a grid cannot hold them.
inline Status make_tile_grid(GemmShape shape, int block_m, int block_n, dim3* grid) {
  constexpr std::int64_t kMaxGridX = (std::int64_t{1} << 31) - 1;
  const std::int64_t tiles =
      ((std::int64_t{shape.m} + block_m - 1) / block_m) * ((std::int64_t{shape.n} + block_n - 1) / block_n);
  if (tiles > kMaxGridX) {
    return unsupported("D has " + std::to_string(tiles) + " tiles of " + std::to_string(block_m) + "x" +
                       std::to_string(block_n) + ", and a grid holds at most 2^31 - 1");
  }
  *grid = dim3(static_cast<unsigned>(tiles));
  return {};
}

/// Enqueues `kernel` with `smem_bytes` of dynamic shared memory (the opt-in above 48 KiB included).
template <typename... Params, typename... Args>
Status launch_kernel(void (*kernel)(Params...), dim3 grid, int block_threads, std::size_t smem_bytes,
                     cudaStream_t stream, Args&&... args) {
  HG_RETURN_IF_CUDA_ERROR(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               static_cast<int>(smem_bytes)));
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(static_cast<unsigned>(block_threads));
  config.dynamicSmemBytes = smem_bytes;
  config.stream = stream;
  HG_RETURN_IF_CUDA_ERROR(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
  return {};
}

}  // namespace hopper_gemm

#endif  // __CUDACC_RTC__
