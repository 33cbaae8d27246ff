// How the CTAs of a cluster that share a tile's K bring their partials together: each sends what another one adds
// up straight from its registers into that one's shared memory, and the bytes themselves tell that they are
// there. Read through distributed shared memory instead, sums take a release and an acquire of the cluster
// before they can be read and another barrier before anyone may exit, both with a trip to L2
// (MEMBAR.ALL.GPU): of three or four CTAs 0.4 to 1.1 us more (H200).
#pragma once

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/cluster.cuh>
#include <ptx/mbarrier.cuh>

#include "device/device_common.cuh"
#include "device/wait_watchdog.cuh"

namespace hopper_gemm::library {

inline constexpr int kSumsPieceBytes =
    4 * 16 * 64;  ///< the most that a warp sends at a time: 16 rows of 64 sums

/// Which of the CTAs adds up a piece: they are dealt in turn.
__device__ __forceinline__ int owner_of(int piece, int split) { return piece % split; }

/// Where a lane's first four sums of a piece of kColumns columns are in its owner's shared memory, from CTA
/// `source`, one of the others. all: where all pieces begin.
template <int kColumns>
__device__ __forceinline__ float4* place_of_sums(float4* all, int piece, int split, int source, int lane) {
  const int slot = piece / split * (split - 1) + source - (source < owner_of(piece, split) ? 0 : 1);
  return all + slot * (kColumns / 8) * kWarpThreads + lane;
}

/// The barriers of the exchange, of one tile, in the shared memory of each of the CTAs.
struct SplitKExchange {
  cuda::std::uint64_t peers_have_multiplied;
  cuda::std::uint64_t sums_have_come;

  /// num_consumers: warpgroups of a CTA; 0 where peers' sums have memory of their own, and nobody calls begin().
  /// Threads: one; then fence_mbarrier_init_release_cluster() and the cluster barrier, before anyone calls anything
  /// but announce().
  __device__ __forceinline__ void init(int split, int num_consumers) {
    if (num_consumers > 0) {
      ptx::mbarrier_init(ptx::smem_addr(&peers_have_multiplied),
                         static_cast<cuda::std::uint32_t>((split - 1) * num_consumers));
    }
    ptx::mbarrier_init(ptx::smem_addr(&sums_have_come), 1);
  }

  /// Announces the sums that the CTA's peers will send: of its share of `pieces`, see owner_of(). Threads: one.
  __device__ __forceinline__ void announce(int split, int rank, int pieces, int piece_bytes) {
    const int own_pieces = pieces / split + (rank < pieces % split ? 1 : 0);
    ptx::mbarrier_arrive_expect_tx(ptx::smem_addr(&sums_have_come), own_pieces * (split - 1) * piece_bytes);
  }

  /// Tells the peers that they may write over this CTA's stages, and waits until this CTA may write over
  /// theirs. From then on it may also exit as soon as its own sums have come. The cluster barrier must have
  /// been arrived on. Threads: all consumers, whose wgmmas are complete; thread: number in the warpgroup;
  /// is_first: of all, which announces what comes.
  __device__ __forceinline__ void begin(int split, int rank, int thread, bool is_first, int pieces,
                                        int piece_bytes) {
    ptx::barrier_cluster_wait();
    if (is_first) announce(split, rank, pieces, piece_bytes);
    // Complete reads need no ordering, as in Pipeline::consumer_release(); nor do TMA's writes, whose
    // barriers were waited for.
    if (thread < split && thread != rank) {
      ptx::mbarrier_arrive_relaxed_cluster(
          ptx::mapa(ptx::smem_addr(&peers_have_multiplied), static_cast<cuda::std::uint32_t>(thread)));
    }
    WaitWatchdog watchdog("exchange of sums", 0, 0);
    while (!ptx::mbarrier_try_wait_parity_relaxed_cluster(ptx::smem_addr(&peers_have_multiplied), 0)) {
      watchdog.check();
    }
  }

  /// Sends a warp's piece of 16 rows and kColumns columns: `sums`, the lane's part of its fragments, to
  /// `place`, where the first four go, in the shared memory of CTA `owner`; others follow at every 32nd
  /// place. Threads: the whole warp.
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

  /// Waits for all sums that were announced. Threads: those that read them.
  __device__ __forceinline__ void await_sums() {
    WaitWatchdog watchdog("sums of other CTAs", 0, 0);
    while (!ptx::mbarrier_try_wait_parity_cluster(ptx::smem_addr(&sums_have_come), 0)) watchdog.check();
  }
};

/// Adds to `values` what a peer has sent to `place`, see SplitKExchange::send().
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
