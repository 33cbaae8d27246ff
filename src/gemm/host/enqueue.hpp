#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <utility>

#include "common/cuda_check.hpp"
#include "device/launch.hpp"

namespace hopper_gemm::library {

struct LaunchShape {
  unsigned ctas;
  int cluster_size;
  int threads;  ///< of a CTA
  std::size_t smem_bytes;
  bool overlaps;  ///< the kernel may start before the one before it in the stream ends (griddepcontrol)
};

/// Enqueues a kernel for which allow_dynamic_shared_memory() has been called.
template <typename... Params, typename... Args>
Status enqueue(void (*kernel)(Params...), const LaunchShape& shape, cudaStream_t stream, Args&&... args) {
  // Passes only the attributes that are needed, because each one makes a launch take longer.
  std::array<cudaLaunchAttribute, 2> attributes{};
  unsigned num_attributes = 0;
  if (shape.cluster_size > 1) attributes[num_attributes++] = cluster_attribute(shape.cluster_size);
  if (shape.overlaps) attributes[num_attributes++] = programmatic_dependent_launch_attribute();
  cudaLaunchConfig_t config =
      launch_config(dim3(shape.ctas), shape.threads, shape.smem_bytes, attributes.data());
  config.numAttrs = num_attributes;
  config.stream = stream;
  HG_RETURN_IF_CUDA_ERROR(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
  return {};
}

}  // namespace hopper_gemm::library
