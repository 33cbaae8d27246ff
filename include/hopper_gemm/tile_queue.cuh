#pragma once

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/mbarrier.cuh>

#include "hopper_gemm/pipeline_state.hpp"
#include "hopper_gemm/tile_scheduler.hpp"
#include "hopper_gemm/wait_watchdog.cuh"

namespace hopper_gemm {

/// A queue of tiles in shared memory from one scheduler thread to kNumReaders readers of the same CTA, each
/// of which gets every tile: an order that takes long to compute is computed ahead, by a thread that has the
/// time. Every reader counts once, be it a thread or a warp.
template <int kDepth, int kNumReaders>
struct TileQueue {
  using State = PipelineState<kDepth>;
  static constexpr int kFullArrivals = 1;  // the scheduler thread
  static constexpr int kEmptyArrivals = kNumReaders;

  TileCoord tiles[kDepth];
  cuda::std::uint64_t full_barrier[kDepth];
  cuda::std::uint64_t empty_barrier[kDepth];

  /// Threads: one; then a barrier of the CTA.
  __device__ __forceinline__ void init() {
    for (int slot = 0; slot < kDepth; ++slot) {
      ptx::mbarrier_init(ptx::smem_addr(&full_barrier[slot]), kFullArrivals);
      ptx::mbarrier_init(ptx::smem_addr(&empty_barrier[slot]), kEmptyArrivals);
    }
  }

  /// Waits for a free slot and puts `tile` there. Threads: the scheduler thread.
  __device__ __forceinline__ void send(State state, TileCoord tile) {
    wait(&empty_barrier[state.stage], state.phase ^ 1, "scheduler", state);
    tiles[state.stage] = tile;
    ptx::mbarrier_arrive(ptx::smem_addr(&full_barrier[state.stage]));
  }

  /// Waits for the next tile. Threads: a reader that is one thread.
  __device__ __forceinline__ TileCoord receive(State state) {
    const TileCoord tile = peek(state);
    ptx::mbarrier_arrive(ptx::smem_addr(&empty_barrier[state.stage]));
    return tile;
  }

  /// Waits for the next tile. Threads: a reader that is a warp, converged.
  __device__ __forceinline__ TileCoord receive_as_warp(State state, int lane) {
    const TileCoord tile = peek(state);
    __syncwarp();  // all lanes have read before one of them says so
    if (lane == 0) ptx::mbarrier_arrive(ptx::smem_addr(&empty_barrier[state.stage]));
    return tile;
  }

 private:
  __device__ __forceinline__ TileCoord peek(State state) {
    wait(&full_barrier[state.stage], state.phase, "reader of the tile queue", state);
    return tiles[state.stage];
  }

  __device__ __forceinline__ static void wait(const cuda::std::uint64_t* bar, cuda::std::uint32_t parity,
                                              const char* role, State state) {
    WaitWatchdog watchdog(role, state.stage, parity);
    while (!ptx::mbarrier_try_wait_parity(ptx::smem_addr(bar), parity)) watchdog.check();
  }
};

}  // namespace hopper_gemm
