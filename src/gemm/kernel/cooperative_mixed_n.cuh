// The library's cooperative kernel with a mixed tile N, for large products on sm_90. It extends version 18 of the
// Hopper ladder. It stores one half of a tile while it multiplies the other. It stages D in the last K block's A, which
// has been multiplied by then, so that there is room for a fourth stage. Its clusters end without a barrier.
//
// Accumulators and stages take nearly all registers and shared memory. epilogue.cuh says how the general epilogue works
// with what is left. There are no registers for C.

#pragma once

#include <cuda/std/cstdint>
#include <ptx/cluster.cuh>
#include <ptx/elect.cuh>
#include <ptx/fence.cuh>
#include <ptx/named_barrier.cuh>
#include <ptx/setmaxnreg.cuh>
#include <ptx/special_registers.cuh>
#include <ptx/tma.cuh>
#include <ptx/wgmma.cuh>

#include "device/cluster_positions.hpp"
#include "device/device_common.cuh"
#include "device/pipeline.cuh"
#include "device/smem_descriptor.hpp"
#include "device/tensor_map_type.hpp"
#include "device/tile_queue.cuh"
#include "device/tile_scheduler.hpp"
#include "device/wave_pace.cuh"
#include "gemm/config.hpp"
#include "gemm/epilogue/bias_queue.cuh"
#include "gemm/epilogue/epilogue.cuh"
#include "gemm/epilogue/epilogue_params.hpp"
#include "gemm/kernel/mixed_n.cuh"
#include "gemm/mainloop/operands.cuh"

namespace hopper_gemm::library::cooperative_mixed_n {

struct Config : MixedNConfig<kWideConfig> {
  static constexpr int kEndKBlocks = kWideEndKBlocks;
  static_assert(kEndKBlocks < kNumStages, "one more is what the tile before is stored through");
  static constexpr int kBandM = 8;  // cluster tiles along M of a raster group
  static constexpr int kConsumerM = BLOCK_M / kNumConsumers;
  static constexpr int kConsumerBlocks = kConsumerM / kWgmmaM;  // wgmmas along M
  static constexpr int kStoreBuffers = kConsumerBlocks;
  static_assert(kStoreN * kElemBytes == kLineBytes && kStoreM * kWarpgroupWarps == kWgmmaM,
                "a warp's piece of D fits where a quarter of a block's A was");
  // The consumers and the producer warp read it.
  using TileQueue = hopper_gemm::TileQueue<2, kNumConsumerWarps + 1>;
  using Pipeline = hopper_gemm::Pipeline<kNumStages, kStageBytes, kNumConsumers, kClusterN>;
  using BiasQueue = library::BiasQueue<BLOCK_M, kNumConsumerWarps>;
};

struct alignas(1024) SharedStorage {
  // A stage has [BLOCK_M, kBlockK] and up to [WIDE_N, kBlockK], or swizzle atoms of 64 of their lines, see Operands.
  // 128B swizzle.
  unsigned char a[Config::kNumStages][Config::BLOCK_M * kLineBytes];
  unsigned char b[Config::kNumStages][Config::WIDE_N * kLineBytes];
  Config::Pipeline pipeline;
  Config::TileQueue tile_queue;
  Config::BiasQueue bias_queue;
};

/// The accumulators of a consumer's lower block that are not stored yet.
struct Pending {
  FragmentCorner corner = {};  // where they begin in D
  int block_n = 0;             // 0: there are none
  int stage = 0;               // the stage that stages them
  Config::BiasQueue::State bias;
};

/// The named barrier at which a consumer's warps meet after they have stored a tile.
__device__ __forceinline__ cuda::std::uint32_t stored_barrier(int consumer) {
  constexpr cuda::std::uint32_t kFirstStoredBarrier = 1;
  return kFirstStoredBarrier + static_cast<cuda::std::uint32_t>(consumer);
}

/// A consumer warp, with what it needs for its tiles.
template <typename Operands, EpilogueKind kEpilogueKind>
struct Consumer {
  using T = typename Operands::T;
  static constexpr bool kIsAlphaOnly = kEpilogueKind == EpilogueKind::AlphaOnly;

  SharedStorage& smem;
  const TensorMap* tensor_map_d;
  const EpilogueParams& epilogue;
  float alpha;
  cuda::std::uint64_t first_desc_a;
  cuda::std::uint64_t first_desc_b;
  int num_k_blocks;
  int number;  // of the warpgroup
  int thread;  // of the warpgroup

  // These are computed at each use, because the accumulators leave no registers for them.
  __device__ __forceinline__ int lane() const { return thread % kWarpThreads; }
  __device__ __forceinline__ int warp() const { return thread / kWarpThreads; }

  __device__ __forceinline__ cuda::std::uint64_t desc_a(int stage, int block) const {
    return advance_smem_desc(first_desc_a, stage * sizeof(smem.a[0]) + block * kWgmmaM * kLineBytes);
  }
  __device__ __forceinline__ cuda::std::uint64_t desc_b(int stage) const {
    return advance_smem_desc(first_desc_b, stage * sizeof(smem.b[0]));
  }

  /// Starts the wgmmas of one block and one stage, and closes their group.
  template <int kBlockN>
  __device__ __forceinline__ void multiply(float (&accum)[kBlockN / 2], int stage, int block,
                                           bool accumulates) const {
    using namespace ptx;
    const auto stage_desc_a = desc_a(stage, block);
    const auto stage_desc_b = desc_b(stage);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kBlockK; k += kWgmmaK) {
      wgmma_mma_async<kBlockN, T, Operands::kMajorA, Operands::kMajorB>(
          accum, advance_smem_desc(stage_desc_a, k * Operands::kElemBytesA),
          advance_smem_desc(stage_desc_b, k * Operands::kElemBytesB), accumulates || k != 0);
    }
    wgmma_commit_group();
  }

  /// Stores kStoreN columns of the warp's rows. It stages them in the warp's quarter of a block of A in the stage,
  /// whose wgmmas must be complete. If A is MN-major, the wgmmas of all four warps read that quarter. A group of wgmmas
  /// belongs to the whole warpgroup, so it is complete for all warps if it is for one. fragment: the accumulators.
  /// corner: where the warpgroup's rows begin in D.
  __device__ __forceinline__ void store_piece(const float* fragment, int stage, int block,
                                              FragmentCorner corner) const {
    const int staging_row = number * Config::kConsumerM + block * kWgmmaM + warp() * Config::kStoreM;
    store_scaled_piece<T, Config::kStoreN, Config::kStoreBuffers>(
        fragment, alpha, ptx::smem_addr(smem.a[stage] + staging_row * kLineBytes), tensor_map_d,
        {corner.batch, corner.row + warp() * Config::kStoreM, corner.column}, lane());
  }

  /// Finishes and stores a subtile of kStoreN columns of the warp's rows, see finish_and_store(). block: 0 for the
  /// upper one. is_first: the tile's first subtile. It has only one buffer, because the other still holds the lower
  /// block's A.
  /// buffer: where a subtile of an odd number of parts begins. corner: where the consumer's block begins in the
  /// product.
  __device__ __forceinline__ void finish(float* sums, int stage, int block, bool is_first, int buffer,
                                         FragmentCorner corner, const float* bias, int column) const {
    int own_thread = thread;
    compute_where_used(own_thread);
    const int own_lane = own_thread % kWarpThreads;
    const int row = number * Config::kConsumerM + own_thread / kWarpThreads * Config::kStoreM;
    const bool is_odd = parts_of_subtile<NoMatrixParams>(epilogue.operations) % 2 != 0;
    const auto acquire = [&](int part) {
      const bool waits_for_all = is_first && part != 0;
      if (own_lane == 0) {
        if (waits_for_all) {
          ptx::cp_async_bulk_wait_group_read<0>();
        } else {
          ptx::cp_async_bulk_wait_group_read<Config::kStoreBuffers - 1>();
        }
      }
      __syncwarp();
      // All parts of the first subtile go through the same buffer. Later parts alternate.
      const int next = is_first ? 0 : ((is_odd ? buffer : 1) + part) % Config::kStoreBuffers;
      return smem.a[stage] + (row + next * kWgmmaM) * kLineBytes;
    };
    finish_and_store(
        sums, epilogue, alpha, bias, row + block * kWgmmaM, column,
        {corner.batch, corner.row + own_thread / kWarpThreads * Config::kStoreM, corner.column + column},
        tensor_map_d, NoMatrixParams{}, own_lane, acquire);
  }

  __device__ __forceinline__ const float* bias_of(Config::BiasQueue::State state) const {
    return epilogue.operations.bias_kind == Bias::None ? nullptr : smem.bias_queue.receive(state);
  }

  /// Stores what is pending of the lower block. It goes on with the buffers where the upper block's subtiles left off.
  __device__ __forceinline__ void store_pending(float (&lower)[Config::WIDE_N / 2], Pending pending) const {
    const int first_block = pending.block_n / Config::kStoreN % Config::kStoreBuffers;
    if constexpr (kIsAlphaOnly) {
#pragma unroll
      for (int piece = 0; piece < Config::WIDE_N / Config::kStoreN; ++piece) {
        if (piece * Config::kStoreN >= pending.block_n) continue;
        store_piece(
            lower + piece * Config::kStoreN / 2, pending.stage, (first_block + piece) % Config::kStoreBuffers,
            {pending.corner.batch, pending.corner.row, pending.corner.column + piece * Config::kStoreN});
      }
    } else {
      if (pending.block_n == 0) return;
      const float* const bias = bias_of(pending.bias);
#pragma unroll 1
      for (int subtile = 0; subtile < pending.block_n / Config::kStoreN; ++subtile) {
        bring_to_front<Config::WIDE_N>(lower, subtile);
        finish(lower, pending.stage, 1, false, (first_block + subtile) % Config::kStoreBuffers,
               pending.corner, bias, subtile * Config::kStoreN);
      }
      if (epilogue.operations.bias_kind != Bias::None) smem.bias_queue.release(pending.bias, lane());
    }
  }

  /// Gives back the stage that staged a tile. The warps' writes to it cannot overtake the next load: TMA has read them,
  /// or store_staging() has fenced them.
  __device__ __forceinline__ void release_stored(Pending pending) const {
    if (pending.block_n == 0) return;
    if (lane() == 0) ptx::cp_async_bulk_wait_group_read<0>();
    ptx::barrier_sync(stored_barrier(number), kWarpgroupThreads);
    smem.pipeline.consumer_release({.stage = pending.stage}, thread);
  }
};

/// Computes the consumer's rows of a tile of kBlockN columns, and stores the upper half of them. accum, pending: on
/// entry what is pending of the previous tile, on return what is pending of this one. corner: where the consumer's rows
/// begin in D. bias_state: of the tile's bias.
template <int kBlockN, typename Operands, EpilogueKind kEpilogueKind>
__device__ __forceinline__ void compute_tile(const Consumer<Operands, kEpilogueKind>& self,
                                             float (&accum)[Config::kConsumerBlocks][Config::WIDE_N / 2],
                                             Config::Pipeline::State& state, Pending& pending,
                                             FragmentCorner corner, Config::BiasQueue::State bias_state) {
  using namespace ptx;
  static_assert(Config::kConsumerBlocks == 2);
  constexpr int kBlockPieces = kBlockN / Config::kStoreN;
  constexpr int kEnds = Config::kEndKBlocks;
  // A tile of another width defines other registers. ptxas would then make the warp wait before it stores the pending
  // ones.
  constexpr bool kStoresUnderFirstBlocks = kBlockN == Config::WIDE_N;
  auto& upper = reinterpret_cast<float(&)[kBlockN / 2]>(accum[0]);
  auto& lower = reinterpret_cast<float(&)[kBlockN / 2]>(accum[1]);
  Config::Pipeline& pipeline = self.smem.pipeline;
  Config::Pipeline::State ends[kEnds];

  if constexpr (!kStoresUnderFirstBlocks && kEpilogueKind == EpilogueKind::AlphaOnly)
    self.store_pending(accum[1], pending);
  wgmma_fence_operand(upper);
#pragma unroll
  for (int i = 0; i < kEnds; ++i) {
    ends[i] = state;
    pipeline.consumer_wait(state);
    self.template multiply<kBlockN>(upper, state.stage, 0, i != 0);
    state.advance();
  }
  if constexpr (kStoresUnderFirstBlocks) self.store_pending(accum[1], pending);
  wgmma_fence_operand(lower);
#pragma unroll
  for (int i = 0; i < kEnds; ++i) {
    self.template multiply<kBlockN>(lower, ends[i].stage, 1, i != 0);
    if (i == 0) self.release_stored(pending);
  }
  wgmma_wait_group<1>();
#pragma unroll
  for (int i = 0; i < kEnds - 1; ++i) pipeline.consumer_release(ends[i], self.thread);
  Config::Pipeline::State previous = ends[kEnds - 1];

  for (int k_block = kEnds; k_block < self.num_k_blocks - kEnds; ++k_block) {
    const auto stage_desc_upper = self.desc_a(state.stage, 0);
    const auto stage_desc_lower = self.desc_a(state.stage, 1);
    const auto stage_desc_b = self.desc_b(state.stage);
    pipeline.consumer_wait(state);

    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kBlockK; k += kWgmmaK) {
      const auto smem_desc_b = advance_smem_desc(stage_desc_b, k * Operands::kElemBytesB);
      wgmma_mma_async<kBlockN, typename Operands::T, Operands::kMajorA, Operands::kMajorB>(
          upper, advance_smem_desc(stage_desc_upper, k * Operands::kElemBytesA), smem_desc_b, true);
      wgmma_mma_async<kBlockN, typename Operands::T, Operands::kMajorA, Operands::kMajorB>(
          lower, advance_smem_desc(stage_desc_lower, k * Operands::kElemBytesA), smem_desc_b, true);
    }
    wgmma_commit_group();
    wgmma_wait_group<1>();
    pipeline.consumer_release(previous, self.thread);
    previous = state;
    state.advance();
  }

#pragma unroll
  for (int i = 0; i < kEnds; ++i) {
    ends[i] = state;
    pipeline.consumer_wait(state);
    self.template multiply<kBlockN>(upper, state.stage, 0, true);
    state.advance();
  }
  wgmma_wait_group<kEnds>();
  pipeline.consumer_release(previous, self.thread);
#pragma unroll
  for (int i = 0; i < kEnds; ++i) self.template multiply<kBlockN>(lower, ends[i].stage, 1, true);
  wgmma_wait_group<kEnds>();
  wgmma_fence_operand(upper);
  const int stage = ends[kEnds - 1].stage;
  const auto release_others = [&] {
    // The next subtile is staged where the lower block's A is.
    wgmma_wait_group<0>();
#pragma unroll
    for (int i = 0; i < kEnds - 1; ++i) pipeline.consumer_release(ends[i], self.thread);
  };
  if constexpr (kEpilogueKind == EpilogueKind::AlphaOnly) {
#pragma unroll
    for (int piece = 0; piece < kBlockPieces; ++piece) {
      self.store_piece(upper + piece * Config::kStoreN / 2, stage, piece % Config::kStoreBuffers,
                       {corner.batch, corner.row, corner.column + piece * Config::kStoreN});
      if (piece == 0) release_others();
    }
  } else {
    const float* const bias = self.bias_of(bias_state);
    // If the first subtile were in the loop, ptxas would wait for the lower block before it (C7517).
    self.finish(upper, stage, 0, true, 0, corner, bias, 0);
    release_others();
#pragma unroll 1
    for (int subtile = 1; subtile < kBlockPieces; ++subtile) {
      float* const rest = upper + Config::kStoreN / 2;
      bring_to_front<kBlockN - Config::kStoreN>(rest, subtile - 1);
      self.finish(rest, stage, 0, false, subtile % Config::kStoreBuffers, corner, bias,
                  subtile * Config::kStoreN);
    }
  }
  wgmma_fence_operand(lower);
  pending = {{corner.batch, corner.row + kWgmmaM, corner.column}, kBlockN, stage, bias_state};
}

/// tensor_map_b, tensor_map_b_narrow: with boxes of WIDE_N and of NARROW_N rows. For an MN-major B both have boxes of
/// swizzle atoms.
template <typename Operands, EpilogueKind kEpilogueKind>
__global__ void __launch_bounds__(Config::kNumThreads, 1)
    gemm_kernel(const __grid_constant__ TensorMap tensor_map_a,
                const __grid_constant__ TensorMap tensor_map_b,
                const __grid_constant__ TensorMap tensor_map_b_narrow,
                const __grid_constant__ TensorMap tensor_map_d,
                const __grid_constant__ MixedNParams<Config> params,
                const __grid_constant__ ClusterPositions positions) {
  using namespace ptx;
  SharedStorage& smem = dynamic_shared_storage<SharedStorage>();
  const int thread = static_cast<int>(threadIdx.x);

  if (thread == Config::kNumConsumerThreads) {
    for (const TensorMap* map : {&tensor_map_a, &tensor_map_b, &tensor_map_b_narrow, &tensor_map_d}) {
      prefetch_tensormap(map);
    }
  }
  if (thread == 0) {
    smem.pipeline.init();
    smem.tile_queue.init();
    smem.bias_queue.init();
    // TMA and the peer CTA use the mbarriers, and must see them initialised.
    fence_mbarrier_init_release_cluster();
  }
  barrier_cluster_arrive_relaxed();
  barrier_cluster_wait();

  // A cluster takes kClusterN tiles of a row. The last column of clusters may extend past D's edge. TMA fills in zeros
  // there. The CTA multiplies them, because its peer needs its half of A.
  const int cta_rank = static_cast<int>(cluster_ctarank());
  const cuda::std::uint32_t first_index = positions.position[blockIdx.x / Config::kClusterN];
  const cuda::std::uint32_t num_clusters = gridDim.x / Config::kClusterN;
  const auto& tiles = params.tiles;
  Config::Pipeline::State state;
  Config::TileQueue::State queue_state;

  if (thread >= Config::kNumConsumerThreads) {
    setmaxnreg_dec<Config::kProducerRegisters>();
    if (thread / kWarpThreads == Config::kNumConsumerWarps) {
      const bool is_leader = elect_sync();
      const int lane = thread % kWarpThreads;
      WavePace pace(params.steps, num_clusters);
      for (cuda::std::uint32_t index = first_index; index < tiles.count(); index += num_clusters) {
        const TileCoord cluster_tile = smem.tile_queue.receive_uniform(queue_state, lane);
        queue_state.advance();
        const int block_n = tiles.block_n(cluster_tile);
        // Only in full waves of wide tiles do all clusters take equally long for a K block. In later waves some have
        // narrow tiles or none. One CTA of a cluster counts for both: its peer cannot be far, because they share loads.
        const bool keeps_pace = params.steps != nullptr && is_leader && cta_rank == 0 &&
                                index - first_index + num_clusters <= tiles.wide.num_tiles();
        load_tile<Config, Operands>(smem, state, tensor_map_a,
                                    block_n == Config::WIDE_N ? tensor_map_b : tensor_map_b_narrow, params,
                                    tiles.corner(cluster_tile, cta_rank), block_n, cta_rank, is_leader, [&] {
                                      if (keeps_pace) pace.advance();
                                    });
      }
      smem.pipeline.producer_drain_uniform(state);
    } else if (thread == Config::kNumConsumerThreads + kWarpThreads) {
      for (cuda::std::uint32_t index = first_index; index < tiles.count(); index += num_clusters) {
        smem.tile_queue.send(queue_state, tiles.at(index));
        queue_state.advance();
      }
    } else if (kEpilogueKind != EpilogueKind::AlphaOnly &&
               thread / kWarpThreads == Config::kNumConsumerWarps + 2 &&
               params.epilogue.operations.bias_kind != Bias::None) {
      load_bias<Config>(smem.bias_queue, tiles, params.epilogue, first_index, num_clusters, cta_rank,
                        thread % kWarpThreads);
    }
  } else {
    setmaxnreg_inc<Config::kConsumerRegisters>();
    const int consumer = __shfl_sync(0xffffffff, thread / kWarpgroupThreads, 0);  // uniform, as ptxas can see
    const Consumer<Operands, kEpilogueKind> self = {
        .smem = smem,
        .tensor_map_d = &tensor_map_d,
        .epilogue = params.epilogue,
        .alpha = params.alpha,
        .first_desc_a = Operands::make_desc(
            Operands::kMajorA, smem_addr(smem.a[0] + consumer * Config::kConsumerM * kLineBytes)),
        .first_desc_b = Operands::make_desc(Operands::kMajorB, smem_addr(smem.b[0])),
        .num_k_blocks = params.num_k_blocks,
        .number = consumer,
        .thread = thread % kWarpgroupThreads};
    float accum[Config::kConsumerBlocks][Config::WIDE_N / 2] = {};
    Pending pending;
    for (cuda::std::uint32_t index = first_index;; index += num_clusters) {
      // The narrow tiles, which come last, and the end of the kernel share one copy of the general epilogue's code. The
      // alpha-only kernel has little such code, and ptxas would serialise its wgmmas here (C7511).
      if (kEpilogueKind != EpilogueKind::AlphaOnly && index >= tiles.wide.num_tiles())
        self.store_pending(accum[1], pending);
      if (index >= tiles.count()) break;
      const TileCoord cluster_tile = smem.tile_queue.receive_uniform(queue_state, self.lane());
      const typename Config::BiasQueue::State bias_state = {queue_state.stage, queue_state.phase};
      queue_state.advance();
      FragmentCorner corner = tiles.corner(cluster_tile, cta_rank);
      corner.row += consumer * Config::kConsumerM;
      if (tiles.block_n(cluster_tile) == Config::WIDE_N) {
        compute_tile<Config::WIDE_N>(self, accum, state, pending, corner, bias_state);
      } else {
        compute_tile<Config::NARROW_N>(self, accum, state, pending, corner, bias_state);
      }
    }
    if constexpr (kEpilogueKind == EpilogueKind::AlphaOnly) self.store_pending(accum[1], pending);
    // The producers also wait for this stage, and shared memory must outlive the copies that read it.
    self.release_stored(pending);
  }
}

}  // namespace hopper_gemm::library::cooperative_mixed_n
