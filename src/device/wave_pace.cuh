// Keeps the clusters of a wave at about the same place in K. They need the same strips of A and B, which come
// from DRAM, and to the SMs of a GPC, once if all ask within a few microseconds. Nothing holds them together
// otherwise, and what they are apart adds up from tile to tile: 16384³ reads 12 to 16 GB from DRAM where the
// strips of its waves are 7, and 9 to 11 with this.
#pragma once

#include <cuda/std/cstdint>
#include <ptx/global_memory.cuh>

namespace hopper_gemm {

/// One cluster's part in it. Correct results need none of this: who has waited for too long waits no more, as
/// where not all clusters run at the same time, or another launch counts in the same place.
class WavePace {
 public:
  static constexpr cuda::std::uint32_t kStep = 2;  ///< K blocks

  /// steps: in global memory, 0 when the launch begins, where all its clusters count. num_clusters: of them.
  __device__ __forceinline__ WavePace(cuda::std::uint32_t* steps, cuda::std::uint32_t num_clusters)
      : steps_(steps), num_clusters_(num_clusters) {}

  /// Another K block has been asked for. Every kStep-th time this waits until on average the clusters are at
  /// most a step behind. Threads: one, always the same, of each cluster.
  __device__ __forceinline__ void advance() {
    ++k_blocks_;
    if (k_blocks_ % kStep != 0) return;
    ptx::red_add_relaxed_gpu(steps_, 1);
    const cuda::std::uint32_t enough = (k_blocks_ / kStep - 1) * num_clusters_;
    // Most of the time what was there a step ago is enough, and nobody waits for a load.
    for (int poll = 0; is_waiting_ && seen_ < enough; ++poll) {
      seen_ = ptx::ld_relaxed_gpu(steps_);
      is_waiting_ = poll < kMostPolls;
    }
    seen_ = ptx::ld_relaxed_gpu(steps_);
  }

  /// False since this cluster has waited for too long.
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
