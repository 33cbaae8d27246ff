#pragma once

// Host code that launches kernels. Device-only compilers (NVRTC) see an empty header.
#ifndef __CUDACC_RTC__

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
#include "common/gemm_args.hpp"
#include "device/cluster_placement.hpp"
#include "device/column_split.hpp"
#include "device/tensor_map.hpp"

namespace hopper_gemm {

/// The number of tiles of block_m x block_n that cover D, partial ones included.
constexpr std::int64_t num_tiles(GemmShape shape, int block_m, int block_n) {
  return std::int64_t{ceil_div(shape.m, block_m)} * ceil_div(shape.n, block_n);
}

/// Unsupported: D has more tiles than a one-dimensional grid has CTAs or a persistent kernel can count; or M or N,
/// rounded up to whole tiles, exceeds the kernels' 32-bit row and column numbers.
inline Status check_tile_grid(GemmShape shape, int block_m, int block_n) {
  constexpr std::int64_t kMaxInt = (std::int64_t{1} << 31) - 1;
  const std::string tile = std::to_string(block_m) + "x" + std::to_string(block_n);
  const std::int64_t tiles = num_tiles(shape, block_m, block_n);
  if (tiles > kMaxInt) {
    return unsupported("D has " + std::to_string(tiles) + " tiles of " + tile +
                       ", and a launch takes at most 2^31 - 1");
  }
  if (shape.m > kMaxInt - block_m + 1 || shape.n > kMaxInt - block_n + 1) {
    return unsupported("M and N, rounded up to whole tiles of " + tile + ", must be below 2^31");
  }
  return {};
}

/// One CTA per tile, for shapes that check_tile_grid accepts.
inline dim3 tile_grid(GemmShape shape, int block_m, int block_n) {
  return dim3(static_cast<unsigned>(num_tiles(shape, block_m, block_n)));
}

inline cudaLaunchAttribute cluster_attribute(int cluster_size) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = static_cast<unsigned>(cluster_size);
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  return attribute;
}

/// Lets the kernel start before the kernel before it in the stream ends (griddepcontrol).
inline cudaLaunchAttribute programmatic_dependent_launch_attribute() {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  return attribute;
}

/// `cluster` must outlive the result.
inline cudaLaunchConfig_t launch_config(dim3 grid, int block_threads, std::size_t smem_bytes,
                                        cudaLaunchAttribute* cluster) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(static_cast<unsigned>(block_threads));
  config.dynamicSmemBytes = smem_bytes;
  config.attrs = cluster;
  config.numAttrs = 1;
  return config;
}

/// Unsupported: the current GPU does not give a CTA so much shared memory. The most is 227 KiB on sm_90, 163 on sm_80,
/// 99 on sm_86 and sm_89, 64 on sm_75.
inline Status check_shared_memory(std::size_t smem_bytes) {
  int device = 0;
  int most = 0;
  HG_RETURN_IF_CUDA_ERROR(cudaGetDevice(&device));
  HG_RETURN_IF_CUDA_ERROR(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  if (smem_bytes <= static_cast<std::size_t>(most)) return {};
  return unsupported("the kernel needs " + std::to_string(smem_bytes) +
                     " bytes of shared memory a CTA, and this GPU gives " + std::to_string(most));
}

/// Loads the kernel's code onto the current GPU. Otherwise its first launch would load it, which may wait for the GPU,
/// may fail if memory is short, and cannot be captured (CUDA C++ Programming Guide, "Lazy Loading").
template <typename... Params>
Status load_kernel(void (*kernel)(Params...)) {
  cudaFuncAttributes attributes{};
  HG_RETURN_IF_CUDA_ERROR(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)));
  return {};
}

/// Opts in to dynamic shared memory above 48 KiB. Unsupported: see check_shared_memory().
template <typename... Params>
Status allow_dynamic_shared_memory(void (*kernel)(Params...), std::size_t smem_bytes) {
  HG_RETURN_IF_ERROR(check_shared_memory(smem_bytes));
  HG_RETURN_IF_CUDA_ERROR(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               static_cast<int>(smem_bytes)));
  return {};
}

/// Enqueues `kernel` in clusters of `cluster_size` CTAs along x, with `smem_bytes` of dynamic shared memory. It opts in
/// to more than 48 KiB.
template <typename... Params, typename... Args>
Status launch_cluster_kernel(void (*kernel)(Params...), dim3 grid, int cluster_size, int block_threads,
                             std::size_t smem_bytes, cudaStream_t stream, Args&&... args) {
  HG_RETURN_IF_ERROR(allow_dynamic_shared_memory(kernel, smem_bytes));
  cudaLaunchAttribute cluster = cluster_attribute(cluster_size);
  cudaLaunchConfig_t config = launch_config(grid, block_threads, smem_bytes, &cluster);
  config.stream = stream;
  HG_RETURN_IF_CUDA_ERROR(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
  return {};
}

/// The same for a kernel without clusters, on any GPU.
template <typename... Params, typename... Args>
Status launch_kernel(void (*kernel)(Params...), dim3 grid, int block_threads, std::size_t smem_bytes,
                     cudaStream_t stream, Args&&... args) {
  HG_RETURN_IF_ERROR(allow_dynamic_shared_memory(kernel, smem_bytes));
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(static_cast<unsigned>(block_threads));
  config.dynamicSmemBytes = smem_bytes;
  config.stream = stream;
  HG_RETURN_IF_CUDA_ERROR(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
  return {};
}

/// The number of clusters of `cluster_size` CTAs of `kernel` that the current GPU runs at a time. It may be less than
/// the SMs divided by the size, because GPCs have unequal numbers of SMs. Unsupported: not even one fits.
template <typename... Params>
Status max_active_clusters(void (*kernel)(Params...), int cluster_size, int block_threads,
                           std::size_t smem_bytes, int* clusters) {
  HG_RETURN_IF_ERROR(allow_dynamic_shared_memory(kernel, smem_bytes));
  cudaLaunchAttribute cluster = cluster_attribute(cluster_size);
  const cudaLaunchConfig_t config =
      launch_config(dim3(static_cast<unsigned>(cluster_size)), block_threads, smem_bytes, &cluster);
  HG_RETURN_IF_CUDA_ERROR(cudaOccupancyMaxActiveClusters(clusters, kernel, &config));
  if (*clusters > 0) return {};
  return unsupported("the GPU cannot run a cluster of " + std::to_string(cluster_size) + " CTAs with " +
                     std::to_string(smem_bytes) + " bytes of shared memory each");
}

/// Enqueues a persistent kernel with `max_clusters` clusters, or with one for each work item if those are fewer.
template <typename... Params, typename... Args>
Status launch_persistent(void (*kernel)(Params...), std::uint32_t num_items, int max_clusters,
                         int cluster_size, int block_threads, std::size_t smem_bytes, cudaStream_t stream,
                         Args&&... args) {
  const std::uint32_t clusters = std::min(num_items, static_cast<std::uint32_t>(max_clusters));
  const dim3 grid(clusters * static_cast<unsigned>(cluster_size));
  return launch_cluster_kernel(kernel, grid, cluster_size, block_threads, smem_bytes, stream,
                               std::forward<Args>(args)...);
}

}  // namespace hopper_gemm

#endif  // __CUDACC_RTC__
