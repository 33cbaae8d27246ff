#pragma once

// Host half of a ladder file. Device-only compilers (NVRTC) see an empty header.
#ifndef __CUDACC_RTC__

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "cuda_check.hpp"
#include "hopper_gemm/ceil_div.hpp"
#include "hopper_gemm/gemm_args.hpp"
#include "hopper_gemm/tensor_map.hpp"

namespace hopper_gemm {

/// Output tiles of block_m x block_n that cover D, partial ones included.
constexpr std::int64_t num_tiles(GemmShape shape, int block_m, int block_n) {
  return std::int64_t{ceil_div(shape.m, block_m)} * ceil_div(shape.n, block_n);
}

/// Unsupported when D has more tiles than a one-dimensional grid holds CTAs.
inline Status check_tile_grid(GemmShape shape, int block_m, int block_n) {
  constexpr std::int64_t kMaxGridX = (std::int64_t{1} << 31) - 1;
  const std::int64_t tiles = num_tiles(shape, block_m, block_n);
  if (tiles <= kMaxGridX) return {};
  return unsupported("D has " + std::to_string(tiles) + " tiles of " + std::to_string(block_m) + "x" +
                     std::to_string(block_n) + ", and a grid holds at most 2^31 - 1");
}

/// One CTA per tile, for shapes that check_tile_grid accepts.
inline dim3 tile_grid(GemmShape shape, int block_m, int block_n) {
  return dim3(static_cast<unsigned>(num_tiles(shape, block_m, block_n)));
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
