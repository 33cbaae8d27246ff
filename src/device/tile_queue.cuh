#pragma once

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/mbarrier.cuh>

#include "device/pipeline_state.hpp"
#include "device/tile_scheduler.hpp"
#include "device/wait_watchdog.cuh"

namespace hopper_gemm {

/// A queue of tiles in shared memory, from one scheduler thread to kNumReaders readers of the same CTA. Each reader
/// gets every tile. The scheduler has nothing else to do, so it can compute a slow raster order ahead of time. A reader
/// is a thread or a warp.
template <int kDepth, int kNumReaders>
struct TileQueue {
  using State = PipelineState<kDepth>;
  static constexpr int kFullArrivals = 1;  // the scheduler thread
  static constexpr int kEmptyArrivals = kNumReaders;

  TileCoord tiles[kDepth];
  cuda::std::uint64_t full_barrier[kDepth];
  cuda::std::uint64_t empty_barrier[kDepth];

  /// Threads: one. A barrier of the CTA must follow.
  __device__ __forceinline__ void init() {
    for (int slot = 0; slot < kDepth; ++slot) {
      ptx::mbarrier_init(ptx::smem_addr(&full_barrier[slot]), kFullArrivals);
      ptx::mbarrier_init(ptx::smem_addr(&empty_barrier[slot]), kEmptyArrivals);
    }
  }

  /// Waits for a free slot and puts `tile` there. Threads: the scheduler thread.
  __device__ __forceinline__ void send(State state, TileCoord tile) {
    watched_wait(ptx::smem_addr(&empty_barrier[state.stage]), state.phase ^ 1, "scheduler", state.stage);
    tiles[state.stage] = tile;
    ptx::mbarrier_arrive(ptx::smem_addr(&full_barrier[state.stage]));
  }

  /// Waits for the next tile. Threads: a reader that is one thread.
  __device__ __forceinline__ TileCoord receive(State state) {
    await_tile(state);
    return take_tile(state);
  }

  /// Waits for the next tile. The first lane receives it for all. Threads: a reader that is a warp, converged.
  __device__ __forceinline__ TileCoord receive_as_warp(State state, int lane) {
    TileCoord tile{};
    if (lane == 0) tile = receive(state);
    return of_first_lane(tile);
  }

  /// The same, but all lanes wait. ptxas then sees no loop in which lanes could diverge, and keeps what they all
  /// compute in uniform registers. Threads: a reader that is a warp, converged.
  __device__ __forceinline__ TileCoord receive_uniform(State state, int lane) {
    await_tile(state);
    __syncwarp();  // a lane that is late could find the barrier two phases on, and would wait forever
    TileCoord tile{};
    if (lane == 0) tile = take_tile(state);
    return of_first_lane(tile);
  }

 private:
  __device__ __forceinline__ void await_tile(State state) {
    watched_wait(ptx::smem_addr(&full_barrier[state.stage]), state.phase, "reader of the tile queue",
                 state.stage);
  }

  __device__ __forceinline__ TileCoord take_tile(State state) {
    const TileCoord tile = tiles[state.stage];
    ptx::mbarrier_arrive(ptx::smem_addr(&empty_barrier[state.stage]));
    return tile;
  }

  static __device__ __forceinline__ TileCoord of_first_lane(TileCoord tile) {
    constexpr unsigned kWholeWarp = 0xffffffff;
    return {__shfl_sync(kWholeWarp, tile.m, 0), __shfl_sync(kWholeWarp, tile.n, 0)};
  }
};

}  // namespace hopper_gemm
