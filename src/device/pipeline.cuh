#pragma once

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/cluster.cuh>
#include <ptx/mbarrier.cuh>

#include "device/pipeline_state.hpp"
#include "device/wait_watchdog.cuh"

namespace hopper_gemm {

/// A Pipeline's cluster size that only the launch decides.
inline constexpr int kAnyClusterSize = 0;

/// The mbarriers of a ring of kNumStages_ stages in shared memory, which TMA fills and wgmma reads. A stage's full
/// barrier completes when the announced bytes have landed, at most kStageBytes_. Its empty barrier completes when all
/// readers are done. kNumConsumers: consumer warpgroups of a CTA. kClusterSize: CTAs that share their loads by
/// multicast. Each of them then writes into the stages of all, and waits for the consumers of all. With
/// kAnyClusterSize the functions take their number.
template <int kNumStages_, int kStageBytes_, int kNumConsumers, int kClusterSize = 1>
struct Pipeline {
  static constexpr int kNumStages = kNumStages_;
  static constexpr int kStageBytes = kStageBytes_;
  static constexpr int kFullArrivals = 1;  // the producer thread of the same CTA
  static_assert(kStageBytes < (1 << 20), "a phase counts at most 2^20 - 1 bytes");
  using State = PipelineState<kNumStages>;

  cuda::std::uint64_t full_barrier[kNumStages];
  cuda::std::uint64_t empty_barrier[kNumStages];

  /// used_stages: a kernel that uses fewer stages than the ring has needs fewer mbarriers. Threads: one. The same
  /// thread must then call fence_mbarrier_init_release_cluster(), and __syncthreads() or, with a cluster, the cluster
  /// barrier must follow.
  __device__ __forceinline__ void init(int used_stages = kNumStages, int cluster_size = kClusterSize) {
    const int empty_arrivals = kNumConsumers * cluster_size;  // one thread of each warpgroup that reads
    for (int stage = 0; stage < used_stages; ++stage) {
      ptx::mbarrier_init(full(stage), kFullArrivals);
      ptx::mbarrier_init(empty(stage), empty_arrivals);
    }
  }

  /// Waits until the stage is empty and announces the bytes to come, kStageBytes at most. Returns the mbarrier on which
  /// the copies complete. Threads: one of each CTA.
  __device__ __forceinline__ ptx::SmemAddr producer_acquire(State state, int bytes = kStageBytes) {
    producer_wait(state);
    return producer_announce(state, bytes);
  }

  /// Waits until the stage is empty. All lanes of the warp wait, so that ptxas keeps what they all compute in uniform
  /// registers, from which TMA takes its operands. One lane then calls producer_announce(). Threads: a warp, converged.
  __device__ __forceinline__ void producer_wait_uniform(State state) {
    producer_wait(state);
    __syncwarp();  // a lane that is late could find the barrier two phases on, and would wait forever
  }

  /// Announces the bytes to come to an empty stage, kStageBytes at most. Returns the mbarrier on which the copies
  /// complete.
  /// Threads: one of each CTA.
  __device__ __forceinline__ ptx::SmemAddr producer_announce(State state, int bytes = kStageBytes) {
    ptx::mbarrier_arrive_expect_tx(full(state.stage), bytes);
    return full(state.stage);
  }

  /// Waits until the consumers have given back all stages. In a cluster no other CTA arrives on this CTA's mbarriers
  /// after that, so this CTA may exit. state: after the last load. used_stages: as in init(). If these are not all
  /// stages, each must have been loaded once. Threads: a warp, converged.
  __device__ __forceinline__ void producer_drain_uniform(State state, int used_stages = kNumStages) {
    // A kernel that uses fewer stages than the ring has loads each of them once.
    if (used_stages < kNumStages) state = {.stage = 0, .phase = 1};
    for (int stage = 0; stage < used_stages; ++stage) {
      producer_wait_uniform(state);
      state.advance();
    }
  }

  /// Waits until all bytes of the stage have landed. Threads: all that read the stage, or start a wgmma that reads it.
  __device__ __forceinline__ void consumer_wait(State state) {
    watched_wait(full(state.stage), state.phase, "consumer", state.stage);
  }

  /// Gives the stage back to every producer that writes into it. The wgmma groups that read the stage must be complete.
  /// A group belongs to the whole warpgroup (PTX ISA "wgmma.commit_group"), so one thread that has waited may arrive
  /// for all four warps.
  ///
  /// Across a cluster the arrival and the producer's wait are relaxed. Complete reads need no ordering. Neither does
  /// what threads wrote to the stage if TMA has read it since. thread: number in the warpgroup. Threads: the whole
  /// consumer warpgroup.
  __device__ __forceinline__ void consumer_release(State state, int thread, int cluster_size = kClusterSize) {
    // Two conditions without a branch around them become two predicated instructions in the loop over K.
    const bool is_alone = cluster_size == 1;
    if (is_alone && thread == 0) ptx::mbarrier_arrive(empty(state.stage));
    if (!is_alone && thread < cluster_size) {
      ptx::mbarrier_arrive_relaxed_cluster(
          ptx::mapa(empty(state.stage), static_cast<cuda::std::uint32_t>(thread)));
    }
  }

 private:
  __device__ __forceinline__ void producer_wait(State state) {
    const cuda::std::uint32_t parity = state.phase ^ 1;
    if constexpr (kClusterSize == 1) {
      watched_wait(empty(state.stage), parity, "producer", state.stage);
    } else {
      WaitWatchdog watchdog("producer", state.stage, parity);
      while (!ptx::mbarrier_try_wait_parity_relaxed_cluster(empty(state.stage), parity)) watchdog.check();
    }
  }

  __device__ __forceinline__ ptx::SmemAddr full(int stage) { return ptx::smem_addr(&full_barrier[stage]); }
  __device__ __forceinline__ ptx::SmemAddr empty(int stage) { return ptx::smem_addr(&empty_barrier[stage]); }
};

}  // namespace hopper_gemm
