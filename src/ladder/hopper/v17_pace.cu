// v17 pace   prev: v16   Change: the clusters of a wave keep pace along K
// Why: they need the same strips of A and B, which L2 keeps for a while, and which a GPC asks for once if its SMs
//   ask at about the same time. Nothing holds them together, and what they are apart adds up from tile to tile.
// Expected: less from L2 and from DRAM, and the clock that this is worth, where there are many waves: at 16384³.
// Measured: 859 TFLOP/s after 842 at 16384³ (H200, burst: profiles/h200/), 858 after 846 at 8192x28672x8192. At
//   8192³ 848 TFLOP/s, 103.7 % of cuBLAS, as version 16; profiles/experiments.md has what L2 and DRAM say of it.
// Limits: K and the leading dimensions multiples of 8.

#include <cuda_bf16.h>

#include <cuda/std/cstdint>
#include <ptx/cluster.cuh>
#include <ptx/elect.cuh>
#include <ptx/fence.cuh>
#include <ptx/setmaxnreg.cuh>
#include <ptx/special_registers.cuh>
#include <ptx/tma.cuh>
#include <ptx/wgmma.cuh>

#include "common/gemm_shape.hpp"
#include "device/cluster_positions.hpp"
#include "device/device_common.cuh"
#include "device/epilogue.cuh"
#include "device/launch.hpp"
#include "device/pipeline.cuh"
#include "device/smem_descriptor.hpp"
#include "device/tensor_map_type.hpp"
#include "device/tile_queue.cuh"
#include "device/tile_scheduler.hpp"
#include "device/wave_pace.cuh"
#include "device/wave_steps.hpp"
#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm::v17 {

enum class WarpgroupRole { Consumer, Producer };

struct Config {
  static constexpr int BLOCK_M = 256;
  static constexpr int WIDE_N = 192;
  static constexpr int NARROW_N = 128;
  static constexpr int BLOCK_K = 64;  // 128 bytes: one span of the swizzle
  static constexpr int kWgmmaM = 64;
  static constexpr int kWgmmaK = 16;
  static constexpr int kNumStages = 3;
  static_assert(kNumStages >= 2, "a consumer holds one stage while it waits for the next");
  static constexpr int kClusterN = 2;  // CTAs of a cluster, side by side
  static constexpr int kBandM = 8;     // cluster tiles of a column that consecutive positions share
  static constexpr int kNumConsumers = 2;
  static constexpr int kConsumerM = BLOCK_M / kNumConsumers;
  static constexpr int kConsumerBlocks = kConsumerM / kWgmmaM;  // wgmmas, one above the other
  static constexpr int kNumConsumerThreads = kNumConsumers * kWarpgroupThreads;
  static constexpr int kNumThreads = kNumConsumerThreads + kWarpgroupThreads;
  static constexpr int kMulticastM = BLOCK_M / kClusterN;  // rows of the A block that each CTA loads for both
  static constexpr cuda::std::uint16_t kMulticastMask = (1 << kClusterN) - 1;
  static constexpr int kTmaChunkElems = 16 / int{sizeof(__nv_bfloat16)};
  static constexpr int kWarpgroupWarps = kWarpgroupThreads / kWarpThreads;
  static constexpr int kStoreM = 16;  // rows of a wgmma's D that a warp holds
  static constexpr int kStoreN = 64;
  static constexpr int kStoreBuffers = 2;
  static constexpr int kProducerRegisters = 40;
  static constexpr int kConsumerRegisters = 232;
  // setmaxnreg hands out what the CTA was launched with, which is rounded down: more would wait for ever.
  static constexpr int kEntryRegisters = kRegistersPerSm / kNumThreads / 8 * 8;
  static_assert(kProducerRegisters + kNumConsumers * kConsumerRegisters <=
                (1 + kNumConsumers) * kEntryRegisters);
  static constexpr int kLineBytes = BLOCK_K * int{sizeof(__nv_bfloat16)};  // a stage's share of a row
  static constexpr int kStageBytes = (BLOCK_M + WIDE_N) * kLineBytes;
  static constexpr int kNumConsumerWarps = kNumConsumerThreads / kWarpThreads;
  using TileQueue = hopper_gemm::TileQueue<2, kNumConsumerWarps + 1>;  // they and the producer warp read it
  using Pipeline = hopper_gemm::Pipeline<kNumStages, kStageBytes, kNumConsumers, kClusterN>;
};

struct alignas(1024) SharedStorage {
  // [BLOCK_M, BLOCK_K] and up to [WIDE_N, BLOCK_K] a stage, K-major, 128B swizzle
  __nv_bfloat16 a[Config::kNumStages][Config::BLOCK_M * Config::BLOCK_K];
  __nv_bfloat16 b[Config::kNumStages][Config::WIDE_N * Config::BLOCK_K];
  __nv_bfloat16 d[Config::kNumConsumerWarps][Config::kStoreBuffers][Config::kStoreM * Config::kStoreN];
  Config::Pipeline pipeline;
  Config::TileQueue tile_queue;
};

/// The cluster tiles of D: wide ones, and narrow ones in the columns behind them.
struct Tiles {
  TileGrid wide;
  TileGrid narrow;

  HG_HOST_DEVICE cuda::std::uint32_t count() const { return wide.num_tiles() + narrow.num_tiles(); }

  /// How many columns each CTA of a cluster has of it.
  __device__ __forceinline__ int block_n(cuda::std::uint32_t index) const {
    return index < wide.num_tiles() ? Config::WIDE_N : Config::NARROW_N;
  }

  /// Bands of rows, each walked column by column.
  __device__ __forceinline__ TileCoord at(cuda::std::uint32_t index) const {
    return index < wide.num_tiles() ? supertile_order(index, wide, Config::kBandM)
                                    : supertile_order(index - wide.num_tiles(), narrow, Config::kBandM);
  }

  /// Where a CTA's tile of so many columns begins in D.
  __device__ __forceinline__ int first_column(TileCoord cluster_tile, int cta_rank, int block_n) const {
    const int first_narrow = wide.n * Config::kClusterN * Config::WIDE_N;
    return (block_n == Config::WIDE_N ? 0 : first_narrow) +
           (cluster_tile.n * Config::kClusterN + cta_rank) * block_n;
  }
};

/// Accumulators that are yet to be stored: those of a consumer's lower block.
struct Pending {
  int row = 0;  // of the warp's first
  int column = 0;
  int block_n = 0;  // 0: there are none
};

/// A consumer warp, and what it needs for its tiles.
struct Consumer {
  SharedStorage& smem;
  const TensorMap* tensor_map_d;
  __nv_bfloat16* d;
  cuda::std::int64_t ldd;
  GemmShape shape;
  cuda::std::uint64_t first_desc_a;
  cuda::std::uint64_t first_desc_b;
  int num_k_blocks;
  int thread;  // of the warpgroup
  int warp;    // of the CTA
  int lane;

  __device__ __forceinline__ cuda::std::uint64_t desc_a(int stage, int block) const {
    return advance_smem_desc(
        first_desc_a,
        stage * sizeof(smem.a[0]) + block * Config::kWgmmaM * Config::BLOCK_K * sizeof(__nv_bfloat16));
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
    for (int k = 0; k < Config::BLOCK_K; k += Config::kWgmmaK) {
      wgmma_mma_async<kBlockN, __nv_bfloat16>(
          accum, advance_smem_desc(stage_desc_a, k * sizeof(__nv_bfloat16)),
          advance_smem_desc(stage_desc_b, k * sizeof(__nv_bfloat16)), accumulates || k != 0);
    }
    wgmma_commit_group();
  }

  /// Whether TMA may store columns from this one on: it writes whole 16-byte chunks, and would write over what lies
  /// behind the last column of D.
  __device__ __forceinline__ bool is_for_tma(int column, int columns) const {
    return shape.n % Config::kTmaChunkElems == 0 || column <= shape.n - columns;
  }

  /// Stores kStoreN columns of the warp's rows through a staging buffer. fragment: their accumulators.
  __device__ __forceinline__ void store_piece(const float* fragment, int buffer, int row, int column,
                                              bool by_tma) const {
    using namespace ptx;
    __nv_bfloat16* const staging = smem.d[warp][buffer];
    if (lane == 0) cp_async_bulk_wait_group_read<Config::kStoreBuffers - 1>();
    __syncwarp();
    stage_fragment_swizzled<__nv_bfloat16, Config::kStoreN>(fragment, smem_addr(staging), 0, lane);
    if (by_tma) fence_proxy_async_shared_cta();
    __syncwarp();
    if (!by_tma) store_staged_fragment(staging, d, ldd, row, column, shape, lane);
    if (lane == 0) {
      if (by_tma) cp_async_bulk_tensor_s2g(tensor_map_d, {column, row}, smem_addr(staging));
      cp_async_bulk_commit_group();  // empty without TMA, so that groups and buffers keep in step
    }
  }

  /// Stores what is pending of the lower block. The upper block's pieces have used the buffers before.
  __device__ __forceinline__ void store_pending(const float (&lower)[Config::WIDE_N / 2],
                                                Pending pending) const {
    const int first_buffer = pending.block_n / Config::kStoreN % Config::kStoreBuffers;
#pragma unroll
    for (int piece = 0; piece < Config::WIDE_N / Config::kStoreN; ++piece) {
      if (piece * Config::kStoreN >= pending.block_n) continue;
      store_piece(lower + piece * Config::kStoreN / 2, (first_buffer + piece) % Config::kStoreBuffers,
                  pending.row, pending.column + piece * Config::kStoreN, true);
    }
  }
};

/// Computes the consumer's rows of a tile of kBlockN columns, those from first_row and first_column on, and stores the
/// upper half of them. accum: what is pending of the tile before; then what is of this one, as `pending` says.
template <int kBlockN>
__device__ __forceinline__ void compute_tile(const Consumer& self,
                                             float (&accum)[Config::kConsumerBlocks][Config::WIDE_N / 2],
                                             Config::Pipeline::State& state, Pending& pending, int first_row,
                                             int first_column) {
  using namespace ptx;
  static_assert(Config::kConsumerBlocks == 2);
  constexpr int kBlockPieces = kBlockN / Config::kStoreN;
  // A tile of other columns defines other registers, and ptxas would wait before it lets them be stored.
  constexpr bool kStoresUnderFirstBlock = kBlockN == Config::WIDE_N;
  auto& upper = reinterpret_cast<float(&)[kBlockN / 2]>(accum[0]);
  auto& lower = reinterpret_cast<float(&)[kBlockN / 2]>(accum[1]);
  Config::Pipeline& pipeline = self.smem.pipeline;

  if constexpr (!kStoresUnderFirstBlock) self.store_pending(accum[1], pending);
  pipeline.consumer_wait(state);
  wgmma_fence_operand(upper);
  self.multiply<kBlockN>(upper, state.stage, 0, false);
  if constexpr (kStoresUnderFirstBlock) self.store_pending(accum[1], pending);
  wgmma_fence_operand(lower);
  self.multiply<kBlockN>(lower, state.stage, 1, false);
  Config::Pipeline::State previous = state;
  state.advance();

  for (int k_block = 1; k_block < self.num_k_blocks - 1; ++k_block) {
    const auto stage_desc_upper = self.desc_a(state.stage, 0);
    const auto stage_desc_lower = self.desc_a(state.stage, 1);
    const auto stage_desc_b = self.desc_b(state.stage);
    pipeline.consumer_wait(state);

    wgmma_fence();
#pragma unroll
    for (int k = 0; k < Config::BLOCK_K; k += Config::kWgmmaK) {
      const auto smem_desc_b = advance_smem_desc(stage_desc_b, k * sizeof(__nv_bfloat16));
      wgmma_mma_async<kBlockN, __nv_bfloat16>(
          upper, advance_smem_desc(stage_desc_upper, k * sizeof(__nv_bfloat16)), smem_desc_b, true);
      wgmma_mma_async<kBlockN, __nv_bfloat16>(
          lower, advance_smem_desc(stage_desc_lower, k * sizeof(__nv_bfloat16)), smem_desc_b, true);
    }
    wgmma_commit_group();
    wgmma_wait_group<1>();
    pipeline.consumer_release(previous, self.thread);
    previous = state;
    state.advance();
  }

  pipeline.consumer_wait(state);
  self.multiply<kBlockN>(upper, state.stage, 0, true);
  wgmma_wait_group<1>();
  pipeline.consumer_release(previous, self.thread);
  self.multiply<kBlockN>(lower, state.stage, 1, true);
  wgmma_wait_group<1>();
  wgmma_fence_operand(upper);
  const int row = first_row + self.warp % Config::kWarpgroupWarps * Config::kStoreM;
#pragma unroll
  for (int piece = 0; piece < kBlockPieces; ++piece) {
    const int column = first_column + piece * Config::kStoreN;
    self.store_piece(upper + piece * Config::kStoreN / 2, piece % Config::kStoreBuffers, row, column,
                     self.is_for_tma(column, Config::kStoreN));
    if (piece == 0) {
      // The lower block's last products took about as long as this piece.
      wgmma_wait_group<0>();
      pipeline.consumer_release(state, self.thread);
      state.advance();
    }
  }
  wgmma_fence_operand(lower);
  pending = {row + Config::kWgmmaM, first_column, kBlockN};
  if (self.is_for_tma(first_column, kBlockN)) return;
  // What is stored under products has no registers left for more than TMA.
  pending.block_n = 0;
#pragma unroll
  for (int piece = 0; piece < kBlockPieces; ++piece) {
    const int column = first_column + piece * Config::kStoreN;
    self.store_piece(lower + piece * Config::kStoreN / 2, (kBlockPieces + piece) % Config::kStoreBuffers,
                     row + Config::kWgmmaM, column, self.is_for_tma(column, Config::kStoreN));
  }
}

__global__ void __launch_bounds__(Config::kNumThreads, 1)
    gemm_kernel(const __grid_constant__ TensorMap tensor_map_a,
                const __grid_constant__ TensorMap tensor_map_b,
                const __grid_constant__ TensorMap tensor_map_b_narrow,
                const __grid_constant__ TensorMap tensor_map_d, __nv_bfloat16* d, cuda::std::int64_t ldd,
                GemmShape shape, Tiles tiles, const __grid_constant__ ClusterPositions positions,
                cuda::std::uint32_t* steps) {
  using namespace ptx;
  SharedStorage& smem = dynamic_shared_storage<SharedStorage>();
  const int thread = static_cast<int>(threadIdx.x);

  if (thread == 0) {
    smem.pipeline.init();
    smem.tile_queue.init();
    // TMA and the peer CTA use the barriers, and must see them initialised.
    fence_mbarrier_init_release_cluster();
  }
  barrier_cluster_arrive_relaxed();
  barrier_cluster_wait();

  // A cluster takes kClusterN tiles of a row. The last column of clusters may reach beyond D: TMA fills in
  // zeros there, and the CTA multiplies them all the same, since its peer needs its half of A.
  const int cta_rank = static_cast<int>(cluster_ctarank());
  const cuda::std::uint32_t first_index = positions.position[blockIdx.x / Config::kClusterN];
  const cuda::std::uint32_t num_clusters = gridDim.x / Config::kClusterN;
  // Two at least, the first and the last of a tile: TMA fills in zeros beyond K.
  const int num_k_blocks = shape.k <= Config::BLOCK_K ? 2 : ceil_div(shape.k, Config::BLOCK_K);
  Config::Pipeline::State state;
  Config::TileQueue::State queue_state;

  const WarpgroupRole role =
      thread < Config::kNumConsumerThreads ? WarpgroupRole::Consumer : WarpgroupRole::Producer;
  if (role == WarpgroupRole::Producer) {
    setmaxnreg_dec<Config::kProducerRegisters>();
    if (thread / kWarpThreads == Config::kNumConsumerWarps) {
      const bool is_leader = elect_sync();
      const int lane = thread % kWarpThreads;
      WavePace pace(steps, num_clusters);
      for (cuda::std::uint32_t index = first_index; index < tiles.count(); index += num_clusters) {
        const TileCoord cluster_tile = smem.tile_queue.receive_uniform(queue_state, lane);
        queue_state.advance();
        const int block_n = tiles.block_n(index);
        const TensorMap& map_b = block_n == Config::WIDE_N ? tensor_map_b : tensor_map_b_narrow;
        const int first_column = tiles.first_column(cluster_tile, cta_rank, block_n);
        // In other waves some have narrow tiles, which take less time for a K block, or none. The leader's
        // peer cannot be far, for they share stages.
        const bool keeps_pace = steps != nullptr && is_leader && cta_rank == 0 &&
                                index - first_index + num_clusters <= tiles.wide.num_tiles();
        for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
          smem.pipeline.producer_wait_uniform(state);
          if (is_leader) {
            const SmemAddr bar =
                smem.pipeline.producer_announce(state, (Config::BLOCK_M + block_n) * Config::kLineBytes);
            const int k = k_block * Config::BLOCK_K;
            const int first_row = cta_rank * Config::kMulticastM;
            cp_async_bulk_tensor_g2s_multicast(
                smem_addr(smem.a[state.stage] + first_row * Config::BLOCK_K), &tensor_map_a,
                {k, cluster_tile.m * Config::BLOCK_M + first_row}, bar, Config::kMulticastMask);
            cp_async_bulk_tensor_g2s(smem_addr(smem.b[state.stage]), &map_b, {k, first_column}, bar);
          }
          state.advance();
          if (keeps_pace) pace.advance();
        }
      }
    } else if (thread == Config::kNumConsumerThreads + kWarpThreads) {
      for (cuda::std::uint32_t index = first_index; index < tiles.count(); index += num_clusters) {
        smem.tile_queue.send(queue_state, tiles.at(index));
        queue_state.advance();
      }
    }
  } else {
    setmaxnreg_inc<Config::kConsumerRegisters>();
    const int consumer = __shfl_sync(0xffffffff, thread / kWarpgroupThreads, 0);  // uniform, as ptxas can see
    const int warp = thread / kWarpThreads;
    const int lane = thread % kWarpThreads;
    const Consumer self = {
        smem,
        &tensor_map_d,
        d,
        ldd,
        shape,
        make_k_major_b128_desc(smem_addr(smem.a[0] + consumer * Config::kConsumerM * Config::BLOCK_K).value),
        make_k_major_b128_desc(smem_addr(smem.b[0]).value),
        num_k_blocks,
        thread % kWarpgroupThreads,
        warp,
        lane};
    float accum[Config::kConsumerBlocks][Config::WIDE_N / 2] = {};
    Pending pending;
    for (cuda::std::uint32_t index = first_index; index < tiles.count(); index += num_clusters) {
      const TileCoord cluster_tile = smem.tile_queue.receive_uniform(queue_state, lane);
      queue_state.advance();
      const int first_row = cluster_tile.m * Config::BLOCK_M + consumer * Config::kConsumerM;
      const int block_n = tiles.block_n(index);
      const int first_column = tiles.first_column(cluster_tile, cta_rank, block_n);
      if (block_n == Config::WIDE_N) {
        compute_tile<Config::WIDE_N>(self, accum, state, pending, first_row, first_column);
      } else {
        compute_tile<Config::NARROW_N>(self, accum, state, pending, first_row, first_column);
      }
    }
    self.store_pending(accum[1], pending);
    // Shared memory must outlive the copies that read it.
    if (lane == 0) cp_async_bulk_wait_group_read<0>();
  }

  // The peer may still arrive on this CTA's barriers.
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

// Host side
__device__ WaveSteps steps_of_launches;

Status can_implement(const GemmArgs& args) {
  HG_RETURN_IF_ERROR(check_tma_gemm(args));
  return check_tile_grid(args.shape, Config::BLOCK_M, Config::kClusterN * Config::WIDE_N);
}

Status launch(const GemmArgs& args, cudaStream_t stream) {
  HG_RETURN_IF_ERROR(can_implement(args));
  const auto [m, n, k] = args.shape;
  const auto make_map_b = [&, n = n, k = k](int block_n, TensorMap* tensor_map) {
    return make_tensor_map_2d("B", args.b, n, k, args.ldb, block_n, Config::BLOCK_K, tensor_map);
  };
  TensorMap tensor_map_a;
  HG_RETURN_IF_ERROR(
      make_tensor_map_2d("A", args.a, m, k, args.lda, Config::kMulticastM, Config::BLOCK_K, &tensor_map_a));
  TensorMap tensor_map_b;
  HG_RETURN_IF_ERROR(make_map_b(Config::WIDE_N, &tensor_map_b));
  TensorMap tensor_map_b_narrow;
  HG_RETURN_IF_ERROR(make_map_b(Config::NARROW_N, &tensor_map_b_narrow));
  TensorMap tensor_map_d;
  HG_RETURN_IF_ERROR(
      make_tensor_map_2d("D", args.d, m, n, args.ldd, Config::kStoreM, Config::kStoreN, &tensor_map_d));
  int num_clusters = 0;
  HG_RETURN_IF_ERROR(max_active_clusters(gemm_kernel, Config::kClusterN, Config::kNumThreads,
                                         sizeof(SharedStorage), &num_clusters));
  const ColumnSplit columns =
      split_columns(args.shape,
                    {.cluster_m = Config::BLOCK_M,
                     .wide_n = Config::kClusterN * Config::WIDE_N,
                     .narrow_n = Config::kClusterN * Config::NARROW_N},
                    ceil_div(k, Config::BLOCK_K), std::min(num_clusters, ClusterPositions::kMaxClusters));
  const int rows = ceil_div(m, Config::BLOCK_M);
  const Tiles tiles = {{rows, columns.wide_columns}, {rows, columns.narrow_columns}};
  const std::int64_t waves = tiles.wide.num_tiles() / static_cast<std::uint32_t>(columns.workers);
  std::uint32_t* steps = nullptr;
  HG_RETURN_IF_ERROR(
      begin_wave_steps(steps_of_launches, waves * ceil_div(k, Config::BLOCK_K), stream, &steps));
  return launch_persistent(gemm_kernel, tiles.count(), columns.workers, Config::kClusterN,
                           Config::kNumThreads, sizeof(SharedStorage), stream, tensor_map_a, tensor_map_b,
                           tensor_map_b_narrow, tensor_map_d, args.d_as<__nv_bfloat16>(), args.ldd,
                           args.shape, tiles, positions_by_gpc(known_cluster_placement(), columns.workers),
                           steps);
}

}  // namespace hopper_gemm::v17
