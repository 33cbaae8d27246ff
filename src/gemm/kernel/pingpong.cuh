// The library's kernel for products with a short K on sm_90. It has the pingpong schedule, like CUTLASS's
// KernelTmaWarpSpecializedPingpong. Each consumer warpgroup has a tile of its own. One multiplies while the other
// stores, so that the tensor cores do not wait for epilogues.
//
// The price is that a tile is half as large as in cooperative_mixed_n.cuh. It needs at least 43 % more bytes for each
// product, and so the kernel is slower if K is long. It can add a C of 16-bit elements. It has no registers for an fp32
// C.

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
#include "device/fragment_epilogue.cuh"
#include "device/pipeline.cuh"
#include "device/smem_descriptor.hpp"
#include "device/tensor_map_type.hpp"
#include "device/tile_scheduler.hpp"
#include "gemm/config.hpp"
#include "gemm/epilogue/bias_queue.cuh"
#include "gemm/epilogue/epilogue.cuh"
#include "gemm/epilogue/epilogue_params.hpp"
#include "gemm/epilogue/load_c.cuh"
#include "gemm/kernel/mixed_n.cuh"
#include "gemm/mainloop/mainloop.cuh"
#include "gemm/mainloop/operands.cuh"

namespace hopper_gemm::library::pingpong {

template <KernelConfig kKernel>
struct Config : MixedNConfig<kKernel> {
  using Base = MixedNConfig<kKernel>;
  static constexpr int kBandM = 16;                                // cluster tiles along M of a raster group
  static constexpr int kConsumerBlocks = Base::BLOCK_M / kWgmmaM;  // wgmmas along M
  static constexpr int kStoreBuffers = 1;  // one is enough: a consumer may store while the other multiplies
  // One consumer: only one of the two reads a stage.
  using Pipeline = hopper_gemm::Pipeline<Base::kNumStages, Base::kStageBytes, 1, Base::kClusterN>;
  // One consumer reads a tile's bias.
  using BiasQueue = library::BiasQueue<(Base::BLOCK_M > Base::WIDE_N ? Base::BLOCK_M : Base::WIDE_N),
                                       Base::kWarpgroupWarps>;
  static_assert(BiasQueue::kDepth == Base::kNumConsumers, "a consumer has a slot of its own");
  using CBarriers = library::CBarriers<Base::kNumConsumerWarps, kStoreBuffers>;
  static constexpr bool kAddsC = kKernel.epilogues == Epilogues::All;
  static_assert(!kAddsC || Base::WIDE_N % kStagingN == 0,
                "what is stored twice must not be added to a C that is D");
  static_assert(!kAddsC || kConsumerBlocks % 2 == 0, "C's phase follows from the number of the subtile");
};

template <typename Config>
struct alignas(1024) SharedStorage {
  // A stage has [BLOCK_M, kBlockK] and up to [WIDE_N, kBlockK], or swizzle atoms of 64 of their lines, see Operands.
  // 128B swizzle.
  unsigned char a[Config::kNumStages][Config::BLOCK_M * kLineBytes];
  unsigned char b[Config::kNumStages][Config::WIDE_N * kLineBytes];
  unsigned char d[Config::kNumConsumerWarps][Config::kStoreM * Config::kStoreN * kElemBytes];
  typename Config::Pipeline pipeline;
  typename Config::BiasQueue bias_queue;
  typename Config::CBarriers c_barriers;
};

/// The ordered sequence barrier: the named barrier at which a consumer waits for its turn to multiply.
__device__ __forceinline__ cuda::std::uint32_t turn_barrier(int consumer) {
  constexpr cuda::std::uint32_t kFirstTurnBarrier = 1;
  return kFirstTurnBarrier + static_cast<cuda::std::uint32_t>(consumer);
}

/// Advances past `count` stages: those of a tile that the other consumer multiplies.
template <typename Config>
__device__ __forceinline__ void skip_stages(typename Config::Pipeline::State& state, int count) {
  const int past = state.stage + count;
  state.stage = past % Config::kNumStages;
  state.phase ^= static_cast<cuda::std::uint32_t>(past / Config::kNumStages % 2);
}

/// A consumer warp, with what it needs for its tiles.
template <typename Config, typename Operands, EpilogueKind kEpilogueKind>
struct Consumer {
  using T = typename Operands::T;

  SharedStorage<Config>& smem;
  const TensorMap* tensor_map_d;
  const EpilogueParams& epilogue;
  const typename Config::Matrices& matrices;
  int num_k_blocks;
  int number;  // of the warpgroup
  int thread;  // of the warpgroup

  // These are computed at each use, because the accumulators leave no registers for them.
  __device__ __forceinline__ int lane() const { return thread % kWarpThreads; }
  __device__ __forceinline__ int warp() const { return thread / kWarpThreads; }
  __device__ __forceinline__ unsigned char* staging() const {
    return smem.d[number * Config::kWarpgroupWarps + warp()];
  }

  /// Computes and stores a tile of kBlockN columns. accum: undefined on entry and on return. is_first: the CTA's first
  /// tile, so there is no turn to wait for. is_last: the CTA's last tile, so no consumer waits for its turn. tile:
  /// where the tile begins in D. bias_phase: of the consumer's slot in the bias queue.
  template <int kBlockN>
  __device__ __forceinline__ void compute_tile(float (&accum)[Config::kConsumerBlocks][Config::WIDE_N / 2],
                                               typename Config::Pipeline::State& state, bool is_first,
                                               bool is_last, FragmentCorner tile,
                                               cuda::std::uint32_t bias_phase) const {
    using namespace ptx;
    if constexpr (kEpilogueKind == EpilogueKind::General && Config::kAddsC) {
      if (epilogue.operations.beta != 0 && lane() == 0) {
        // The first subtile's C loads while the other consumer multiplies.
        cp_async_bulk_wait_group_read<0>();
        begin_load_c(staging(), matrices, {tile.batch, tile.row + warp() * Config::kStoreM, tile.column},
                     smem_addr(smem.c_barriers.barriers[number * Config::kWarpgroupWarps + warp()]));
      }
    }
    // A consumer must not wait for its stages before its turn. Their mbarriers may still be two phases behind then, and
    // a parity cannot tell a phase from the one two before it.
    if (!is_first) barrier_sync(turn_barrier(number), Config::kNumConsumerThreads);
    multiply_stages<Operands, kBlockN>(
        accum, smem.pipeline, state, num_k_blocks, smem_addr(smem.a[0]), sizeof(smem.a[0]),
        smem_addr(smem.b[0]), sizeof(smem.b[0]), thread, [&] {
          // The other consumer's first wgmmas queue behind the last ones of this tile.
          if (!is_last) barrier_arrive(turn_barrier(1 - number), Config::kNumConsumerThreads);
        });

    if constexpr (kEpilogueKind == EpilogueKind::AlphaOnly) {
#pragma unroll
      for (int i = 0; i < Config::kConsumerBlocks; ++i) {
#pragma unroll
        for (int begin = 0; begin < kBlockN; begin += Config::kStoreN) {
          // The last subtile ends with the tile. The overlap with the one before is stored twice with equal values.
          constexpr int kLastColumn = kBlockN - Config::kStoreN;
          const int column = begin < kLastColumn ? begin : kLastColumn;
          store_scaled_piece<T, Config::kStoreN, Config::kStoreBuffers>(
              accum[i] + column / 2, epilogue.operations.alpha, smem_addr(staging()), tensor_map_d,
              {tile.batch, tile.row + i * kWgmmaM + warp() * Config::kStoreM, tile.column + column}, lane());
        }
      }
    } else {
      const bool has_bias = epilogue.operations.bias_kind != Bias::None;
      const typename Config::BiasQueue::State bias_state = {number, bias_phase};
      if (has_bias) smem.bias_queue.receive(bias_state);
      constexpr int kAcross = kSubtiles<kBlockN>;
#pragma unroll 1
      for (int subtile = 0; subtile < Config::kConsumerBlocks * kAcross; ++subtile) {
        int own_thread = thread;
        compute_where_used(own_thread);
        const int own_lane = own_thread % kWarpThreads;
        const int own_warp = own_thread / kWarpThreads;
        const auto acquire = [&](int) {
          if (own_lane == 0) cp_async_bulk_wait_group_read<Config::kStoreBuffers - 1>();
          __syncwarp();
          return smem.d[number * Config::kWarpgroupWarps + own_warp];
        };
        bring_to_front<kBlockN>(accum, subtile);
        const int row = subtile / kAcross * kWgmmaM + own_warp * Config::kStoreM;
        const int column = first_column_of<kBlockN>(subtile % kAcross);
        const FragmentCorner corner = {tile.batch, tile.row + row, tile.column + column};
        float alpha = epilogue.operations.alpha;
        if constexpr (Config::kAddsC) {
          if (epilogue.operations.beta != 0) {
            scale_and_add_c(reinterpret_cast<float(&)[kStagingN / 2]>(accum), epilogue.operations, matrices,
                            corner, acquire(0),
                            smem_addr(smem.c_barriers.barriers[number * Config::kWarpgroupWarps + own_warp]),
                            subtile, subtile == 0, own_lane);
            alpha = 1;
          }
        }
        finish_and_store(accum[0], epilogue, alpha, smem.bias_queue.values[number], row, column, corner,
                         tensor_map_d, matrices, own_lane, acquire);
      }
      if (has_bias) smem.bias_queue.release(bias_state, lane());
    }
  }
};

/// tensor_map_b, tensor_map_b_narrow: with boxes of WIDE_N and of NARROW_N rows. For an MN-major B both have boxes of
/// swizzle atoms.
template <typename Config, typename Operands, EpilogueKind kEpilogueKind>
__global__ void __launch_bounds__(Config::kNumThreads, 1)
    gemm_kernel(const __grid_constant__ TensorMap tensor_map_a,
                const __grid_constant__ TensorMap tensor_map_b,
                const __grid_constant__ TensorMap tensor_map_b_narrow,
                const __grid_constant__ TensorMap tensor_map_d,
                const __grid_constant__ MixedNParams<Config> params,
                const __grid_constant__ ClusterPositions positions) {
  using namespace ptx;
  auto& smem = dynamic_shared_storage<SharedStorage<Config>>();
  const int thread = static_cast<int>(threadIdx.x);

  if (thread == Config::kNumConsumerThreads) {
    for (const TensorMap* map : {&tensor_map_a, &tensor_map_b, &tensor_map_b_narrow, &tensor_map_d}) {
      prefetch_tensormap(map);
    }
  }
  if (thread == 0) {
    smem.pipeline.init();
    smem.bias_queue.init();
    smem.c_barriers.init();
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
  typename Config::Pipeline::State state;

  if (thread >= Config::kNumConsumerThreads) {
    setmaxnreg_dec<Config::kProducerRegisters>();
    if (thread / kWarpThreads == Config::kNumConsumerWarps) {
      const bool is_leader = elect_sync();
      for (cuda::std::uint32_t index = first_index; index < tiles.count(); index += num_clusters) {
        const TileCoord cluster_tile = tiles.at(index);
        const int block_n = tiles.block_n(cluster_tile);
        const FragmentCorner corner = tiles.corner(cluster_tile, cta_rank);
        load_tile<Config, Operands>(smem, state, tensor_map_a,
                                    block_n == Config::WIDE_N ? tensor_map_b : tensor_map_b_narrow, params,
                                    corner, block_n, cta_rank, is_leader, [] {});
      }
      smem.pipeline.producer_drain_uniform(state);
    } else if (kEpilogueKind != EpilogueKind::AlphaOnly &&
               thread / kWarpThreads == Config::kNumConsumerWarps + 1 &&
               params.epilogue.operations.bias_kind != Bias::None) {
      load_bias<Config>(smem.bias_queue, tiles, params.epilogue, first_index, num_clusters, cta_rank,
                        thread % kWarpThreads);
    }
  } else {
    setmaxnreg_inc<Config::kConsumerRegisters>();
    const int consumer = __shfl_sync(0xffffffff, thread / kWarpgroupThreads, 0);  // uniform, as ptxas can see
    const Consumer<Config, Operands, kEpilogueKind> self = {.smem = smem,
                                                            .tensor_map_d = &tensor_map_d,
                                                            .epilogue = params.epilogue,
                                                            .matrices = params.matrices,
                                                            .num_k_blocks = params.num_k_blocks,
                                                            .number = consumer,
                                                            .thread = thread % kWarpgroupThreads};
    float accum[Config::kConsumerBlocks][Config::WIDE_N / 2] = {};
    cuda::std::uint32_t bias_phase = 0;
    if (consumer == 1) skip_stages<Config>(state, params.num_k_blocks);
    for (cuda::std::uint32_t index = first_index + static_cast<cuda::std::uint32_t>(consumer) * num_clusters;
         index < tiles.count(); index += Config::kNumConsumers * num_clusters) {
      const TileCoord cluster_tile = tiles.at(index);
      const int block_n = tiles.block_n(cluster_tile);
      const FragmentCorner tile = tiles.corner(cluster_tile, cta_rank);
      const bool is_first = index == first_index;
      const bool is_last = index + num_clusters >= tiles.count();
      if (block_n == Config::WIDE_N) {
        self.template compute_tile<Config::WIDE_N>(accum, state, is_first, is_last, tile, bias_phase);
      } else {
        self.template compute_tile<Config::NARROW_N>(accum, state, is_first, is_last, tile, bias_phase);
      }
      skip_stages<Config>(state, params.num_k_blocks);
      bias_phase ^= 1;
    }
    // Shared memory must outlive the copies that read it.
    if (self.lane() == 0) cp_async_bulk_wait_group_read<0>();
  }
}

}  // namespace hopper_gemm::library::pingpong
