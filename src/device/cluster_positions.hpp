#pragma once

#include <cuda/std/cstdint>

namespace hopper_gemm {

/// The place that each cluster of a persistent kernel takes in every wave: a permutation of 0 … number of clusters - 1,
/// indexed by cluster (blockIdx.x / cluster size). Any permutation gives correct results. Kernels take it by value.
struct ClusterPositions {
  static constexpr int kMaxClusters = 128;
  cuda::std::uint8_t position[kMaxClusters];
};

}  // namespace hopper_gemm
