// How the CTAs of a cluster that share a tile's K exchange their partials. Each CTA adds up a share of the tile. The
// others send their partials of that share from their registers to its shared memory, and the bytes complete its
// mbarrier.
//
// The alternative is to read partials from a peer's shared memory. That needs a release and an acquire of the cluster
// before anyone reads, and another barrier before anyone may exit. Both take a trip to L2 (MEMBAR.ALL.GPU), which costs
// three or four CTAs 0.4 to 1.1 us (H200).
#pragma once

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/cluster.cuh>
#include <ptx/mbarrier.cuh>

#include "device/device_common.cuh"
#include "device/wait_watchdog.cuh"

namespace hopper_gemm::library {

/// The largest subtile: what the four warps of a consumer send of 64 by 32 sums.
inline constexpr int kMostSubtileBytes = 4 * 64 * 32;

/// The CTA that adds up a subtile. Subtiles are dealt to the CTAs round-robin.
__device__ __forceinline__ int owner_of(int piece, int split) { return piece % split; }

/// The place of a lane's first four sums of a subtile of kColumns columns in its owner's shared memory. source: the CTA
/// that sends them, not the owner. all: where the owner receives all subtiles.
template <int kColumns>
__device__ __forceinline__ float4* place_of_sums(float4* all, int piece, int split, int source, int lane) {
  const int slot = piece / split * (split - 1) + source - (source < owner_of(piece, split) ? 0 : 1);
  return all + slot * (kColumns / 8) * kWarpThreads + lane;
}

/// The mbarriers of the exchange of one tile. Each CTA has them in its shared memory.
struct SplitKExchange {
  cuda::std::uint64_t peers_have_multiplied;
  cuda::std::uint64_t sums_have_come;

  /// num_consumers: consumer warpgroups of a CTA; 0 if peers' partials have memory of their own, and nobody calls
  /// begin().
  /// Threads: one. fence_mbarrier_init_release_cluster() and the cluster barrier must follow before anyone calls
  /// anything but announce().
  __device__ __forceinline__ void init(int split, int num_consumers) {
    if (num_consumers > 0) {
      ptx::mbarrier_init(ptx::smem_addr(&peers_have_multiplied),
                         static_cast<cuda::std::uint32_t>((split - 1) * num_consumers));
    }
    ptx::mbarrier_init(ptx::smem_addr(&sums_have_come), 1);
  }

  /// Announces the bytes that the CTA's peers will send, for its share of `pieces` subtiles, see owner_of(). Threads:
  /// one.
  __device__ __forceinline__ void announce(int split, int rank, int pieces, int piece_bytes) {
    const int own_pieces = pieces / split + (rank < pieces % split ? 1 : 0);
    ptx::mbarrier_arrive_expect_tx(ptx::smem_addr(&sums_have_come), own_pieces * (split - 1) * piece_bytes);
  }

  /// Tells the peers that they may overwrite this CTA's stages, and waits until this CTA may overwrite theirs. After
  /// that it may exit as soon as it has received its own partials. The caller must have arrived on the cluster barrier.
  /// thread: number in the warpgroup. is_first: the one thread of the CTA that announces the bytes to come. Threads:
  /// all consumers, whose wgmmas must be complete.
  __device__ __forceinline__ void begin(int split, int rank, int thread, bool is_first, int pieces,
                                        int piece_bytes) {
    ptx::barrier_cluster_wait();
    if (is_first) announce(split, rank, pieces, piece_bytes);
    // Relaxed is enough: complete reads need no ordering, as in Pipeline::consumer_release(). TMA's writes need none
    // either, because their mbarriers have been waited for.
    if (thread < split && thread != rank) {
      ptx::mbarrier_arrive_relaxed_cluster(
          ptx::mapa(ptx::smem_addr(&peers_have_multiplied), static_cast<cuda::std::uint32_t>(thread)));
    }
    WaitWatchdog watchdog("exchange of sums", 0, 0);
    while (!ptx::mbarrier_try_wait_parity_relaxed_cluster(ptx::smem_addr(&peers_have_multiplied), 0)) {
      watchdog.check();
    }
  }

  /// Sends a warp's subtile of 16 rows and kColumns columns to the shared memory of CTA `owner`. sums: the lane's part
  /// of it. place: where the lane's first four go; each further four go 32 places on. Threads: the whole warp.
  template <int kColumns>
  __device__ __forceinline__ void send(const float* sums, const float4* place, int owner) {
    const auto rank = static_cast<cuda::std::uint32_t>(owner);
    const ptx::ClusterAddr destination = ptx::mapa(ptx::smem_addr(place), rank);
    const ptx::ClusterAddr bar = ptx::mapa(ptx::smem_addr(&sums_have_come), rank);
#pragma unroll
    for (int i = 0; i < kColumns / 8; ++i) {
      ptx::st_async(destination + static_cast<cuda::std::uint32_t>(i * kWarpThreads * int{sizeof(float4)}),
                    {sums[i * 4], sums[i * 4 + 1], sums[i * 4 + 2], sums[i * 4 + 3]}, bar);
    }
  }

  /// Waits for all partials that were announced. Threads: those that read them.
  __device__ __forceinline__ void await_sums() {
    WaitWatchdog watchdog("sums of other CTAs", 0, 0);
    while (!ptx::mbarrier_try_wait_parity_cluster(ptx::smem_addr(&sums_have_come), 0)) watchdog.check();
  }
};

/// Adds the partials that a peer has sent to `place`, see SplitKExchange::send().
template <int kColumns>
__device__ __forceinline__ void add_sums(float (&values)[kColumns / 2], const float4* place) {
  float4 sums[kColumns / 8];
#pragma unroll
  for (int i = 0; i < kColumns / 8; ++i) sums[i] = place[i * kWarpThreads];
#pragma unroll
  for (int i = 0; i < kColumns / 8; ++i) {
    values[i * 4] += sums[i].x;
    values[i * 4 + 1] += sums[i].y;
    values[i * 4 + 2] += sums[i].z;
    values[i * 4 + 3] += sums[i].w;
  }
}

}  // namespace hopper_gemm::library
