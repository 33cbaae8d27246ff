// The wave throttle: it keeps the clusters of a wave at about the same place in K. They need the same strips of A and
// B. A strip comes from DRAM once, and to the SMs of a GPC once, if all of them ask for it within a few microseconds.
// Without a throttle nothing holds the clusters together, and their distance grows from tile to tile. The strips of all
// waves of 16384³ are 7 GB. It reads 12 to 16 GB from DRAM without the throttle, and 9 to 11 with it.
#pragma once

#include <cuda/std/cstdint>
#include <ptx/global_memory.cuh>

namespace hopper_gemm {

/// A cluster's part of the wave throttle. Results do not depend on it: a cluster that has waited for too long does not
/// wait any more. That happens if not all clusters run at the same time, or if another launch uses the same counter.
class WavePace {
 public:
  static constexpr cuda::std::uint32_t kStep = 2;  ///< K blocks

  /// steps: the counter of all clusters of the launch, in global memory; 0 when the launch begins. num_clusters: of the
  /// launch.
  __device__ __forceinline__ WavePace(cuda::std::uint32_t* steps, cuda::std::uint32_t num_clusters)
      : steps_(steps), num_clusters_(num_clusters) {}

  /// Counts a K block whose loads have been issued. Every kStep-th time it waits until the clusters are on average at
  /// most a step behind. Threads: one of each cluster, always the same.
  __device__ __forceinline__ void advance() {
    ++k_blocks_;
    if (k_blocks_ % kStep != 0) return;
    ptx::red_add_relaxed_gpu(steps_, 1);
    const cuda::std::uint32_t enough = (k_blocks_ / kStep - 1) * num_clusters_;
    // The count that was read a step ago is enough most of the time, so that nobody waits for this load.
    for (int poll = 0; is_waiting_ && seen_ < enough; ++poll) {
      seen_ = ptx::ld_relaxed_gpu(steps_);
      is_waiting_ = poll < kMostPolls;
    }
    seen_ = ptx::ld_relaxed_gpu(steps_);
  }

  /// False after this cluster has waited for too long.
  __device__ __forceinline__ bool is_waiting() const { return is_waiting_; }

 private:
  static constexpr int kMostPolls = 64;

  cuda::std::uint32_t* steps_;
  cuda::std::uint32_t num_clusters_;
  cuda::std::uint32_t k_blocks_ = 0;
  cuda::std::uint32_t seen_ = 0;
  bool is_waiting_ = true;
};

}  // namespace hopper_gemm
