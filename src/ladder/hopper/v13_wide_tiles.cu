// v13 wide_tiles   prev: v12   Change: 256x192 tiles, two m64n192 wgmmas a consumer; the clusters' CTAs side by side
// Why: power holds the clock down, and moving A and B takes a good part of it. A tile of 256x192 needs 22 % fewer bytes
//   for a product than one of 128x256. Only plain loads of one block by several SMs of a GPC become one read of L2,
//   multicasts do not: so the CTAs of a cluster share the smaller part, A, and the clusters of a GPC, one above the
//   other, ask for the same B.
// Expected: 10.2 GB to the SMs instead of 12.9 at 8192³, a quarter fewer reads of L2, and a higher clock.
// Measured: 828 TFLOP/s, 101.3 % of cuBLAS (H200, 8192³, burst: profiles/h200/). 10.3 GB to the SMs and 4.9 GB from L2
//   instead of 12.9 and 7.1, the clock 1.66 GHz instead of 1.60; but 3 % more cycles, since large tiles make waves that
//   are not full. At 16384³ it is 836 TFLOP/s after 793, at 4096³ 751 after 804. Sharing B, or one row to a GPC, was
//   slower: profiles/experiments.md.
// Diff: rows and columns change places in all that a cluster shares, and a consumer has two blocks.
// Limits: K and the leading dimensions multiples of 8.

#include <cuda_bf16.h>

#include <cuda/std/cstdint>
#include <ptx/cluster.cuh>
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

namespace hopper_gemm::v13 {

enum class WarpgroupRole { Consumer, Producer };

struct Config {
  static constexpr int BLOCK_M = 256;
  static constexpr int BLOCK_N = 192;
  static constexpr int BLOCK_K = 64;  // 128 bytes: one span of the swizzle
  static constexpr int kWgmmaM = 64;
  static constexpr int kWgmmaK = 16;
  static constexpr int kNumStages = 3;
  static_assert(kNumStages >= 2, "a consumer holds one stage while it waits for the next");
  static constexpr int kClusterN = 2;  // CTAs of a cluster, side by side
  static constexpr int kBandM = 8;     // cluster tiles of a column that consecutive positions share
  static constexpr int kNumConsumers = 2;
  static constexpr int kConsumerBlocks = BLOCK_M / kNumConsumers / kWgmmaM;  // wgmmas, one above the other
  static constexpr int kNumConsumerThreads = kNumConsumers * kWarpgroupThreads;
  static constexpr int kNumThreads = kNumConsumerThreads + kWarpgroupThreads;
  static constexpr int kMulticastM = BLOCK_M / kClusterN;  // rows of the A block that each CTA loads for both
  static constexpr cuda::std::uint16_t kMulticastMask = (1 << kClusterN) - 1;
  static constexpr int kTmaChunkElems = 16 / int{sizeof(__nv_bfloat16)};
  static constexpr int kWarpgroupWarps = kWarpgroupThreads / kWarpThreads;
  static constexpr int kStoreM = 16;  // rows of a wgmma's D that a warp holds
  static constexpr int kStoreN = 64;
  static constexpr int kStoreBuffers = 2;
  static constexpr int kBlockPieces = BLOCK_N / kStoreN;
  static_assert(kConsumerBlocks * kBlockPieces % kStoreBuffers == 0,
                "the next tile begins with the first buffer");
  static constexpr int kProducerRegisters = 40;
  static constexpr int kConsumerRegisters = 232;
  // setmaxnreg hands out what the CTA was launched with, which is rounded down: more would wait for ever.
  static constexpr int kEntryRegisters = kRegistersPerSm / kNumThreads / 8 * 8;
  static_assert(kProducerRegisters + kNumConsumers * kConsumerRegisters <=
                (1 + kNumConsumers) * kEntryRegisters);
  static constexpr int kStageBytes = (BLOCK_M + BLOCK_N) * BLOCK_K * int{sizeof(__nv_bfloat16)};
  static constexpr int kNumConsumerWarps = kNumConsumerThreads / kWarpThreads;
  using TileQueue = hopper_gemm::TileQueue<2, kNumConsumerWarps + 1>;  // they and the producer thread read it
  using Pipeline = hopper_gemm::Pipeline<kNumStages, kStageBytes, kNumConsumers, kClusterN>;
};

struct alignas(1024) SharedStorage {
  // [BLOCK_M, BLOCK_K] and [BLOCK_N, BLOCK_K] a stage, K-major, 128B swizzle
  __nv_bfloat16 a[Config::kNumStages][Config::BLOCK_M * Config::BLOCK_K];
  __nv_bfloat16 b[Config::kNumStages][Config::BLOCK_N * Config::BLOCK_K];
  __nv_bfloat16 d[Config::kNumConsumerWarps][Config::kStoreBuffers][Config::kStoreM * Config::kStoreN];
  Config::Pipeline pipeline;
  Config::TileQueue tile_queue;
};

__global__ void __launch_bounds__(Config::kNumThreads, 1)
    gemm_kernel(const __grid_constant__ TensorMap tensor_map_a,
                const __grid_constant__ TensorMap tensor_map_b,
                const __grid_constant__ TensorMap tensor_map_d, __nv_bfloat16* d, cuda::std::int64_t ldd,
                GemmShape shape, const __grid_constant__ ClusterPositions positions) {
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
  const TileGrid grid = make_tile_grid(shape, Config::BLOCK_M, Config::kClusterN * Config::BLOCK_N);
  const int cta_rank = static_cast<int>(cluster_ctarank());
  const cuda::std::uint32_t first_index = positions.position[blockIdx.x / Config::kClusterN];
  const cuda::std::uint32_t num_clusters = gridDim.x / Config::kClusterN;
  const int num_k_blocks = ceil_div(shape.k, Config::BLOCK_K);
  Config::Pipeline::State state;
  Config::TileQueue::State queue_state;

  const WarpgroupRole role =
      thread < Config::kNumConsumerThreads ? WarpgroupRole::Consumer : WarpgroupRole::Producer;
  if (role == WarpgroupRole::Producer) {
    setmaxnreg_dec<Config::kProducerRegisters>();
    if (thread == Config::kNumConsumerThreads) {
      for (cuda::std::uint32_t index = first_index; index < grid.num_tiles(); index += num_clusters) {
        const TileCoord cluster_tile = smem.tile_queue.receive(queue_state);
        queue_state.advance();
        const int tile_n = cluster_tile.n * Config::kClusterN + cta_rank;
        for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
          const SmemAddr bar = smem.pipeline.producer_acquire(state);
          const int k = k_block * Config::BLOCK_K;
          const int first_row = cta_rank * Config::kMulticastM;
          cp_async_bulk_tensor_g2s_multicast(smem_addr(smem.a[state.stage] + first_row * Config::BLOCK_K),
                                             &tensor_map_a, {k, cluster_tile.m * Config::BLOCK_M + first_row},
                                             bar, Config::kMulticastMask);
          cp_async_bulk_tensor_g2s(smem_addr(smem.b[state.stage]), &tensor_map_b,
                                   {k, tile_n * Config::BLOCK_N}, bar);
          state.advance();
        }
      }
    } else if (thread == Config::kNumConsumerThreads + kWarpThreads) {
      for (cuda::std::uint32_t index = first_index; index < grid.num_tiles(); index += num_clusters) {
        smem.tile_queue.send(queue_state, supertile_order(index, grid, Config::kBandM));
        queue_state.advance();
      }
    }
  } else {
    setmaxnreg_inc<Config::kConsumerRegisters>();
    const int consumer = __shfl_sync(0xffffffff, thread / kWarpgroupThreads, 0);  // uniform, as ptxas can see
    const int warp = thread / kWarpThreads;
    const int lane = thread % kWarpThreads;
    const auto first_desc_a = make_k_major_b128_desc(
        smem_addr(smem.a[0] + consumer * Config::kConsumerBlocks * Config::kWgmmaM * Config::BLOCK_K).value);
    const auto first_desc_b = make_k_major_b128_desc(smem_addr(smem.b[0]).value);
    // Defined before the loop, or ptxas 12.3 serialises the wgmmas.
    float accum[Config::kConsumerBlocks][Config::BLOCK_N / 2] = {};
    for (cuda::std::uint32_t index = first_index; index < grid.num_tiles(); index += num_clusters) {
      const TileCoord cluster_tile = smem.tile_queue.receive_uniform(queue_state, lane);
      queue_state.advance();
      Config::Pipeline::State previous;
#pragma unroll
      for (auto& block : accum) wgmma_fence_operand(block);
      for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
        const auto stage_desc_a = advance_smem_desc(first_desc_a, state.stage * sizeof(smem.a[0]));
        const auto stage_desc_b = advance_smem_desc(first_desc_b, state.stage * sizeof(smem.b[0]));
        smem.pipeline.consumer_wait(state);

        wgmma_fence();
#pragma unroll
        for (int k = 0; k < Config::BLOCK_K; k += Config::kWgmmaK) {
          const auto smem_desc_b = advance_smem_desc(stage_desc_b, k * sizeof(__nv_bfloat16));
#pragma unroll
          for (int block = 0; block < Config::kConsumerBlocks; ++block) {
            const auto smem_desc_a = advance_smem_desc(
                stage_desc_a, (block * Config::kWgmmaM * Config::BLOCK_K + k) * sizeof(__nv_bfloat16));
            wgmma_mma_async<Config::BLOCK_N, __nv_bfloat16>(accum[block], smem_desc_a, smem_desc_b,
                                                            k_block != 0 || k != 0);
          }
        }
        wgmma_commit_group();
        wgmma_wait_group<1>();
        if (k_block != 0) smem.pipeline.consumer_release(previous, thread % kWarpgroupThreads);
        previous = state;
        state.advance();
      }
      wgmma_wait_group<0>();
#pragma unroll
      for (auto& block : accum) wgmma_fence_operand(block);
      smem.pipeline.consumer_release(previous, thread % kWarpgroupThreads);

      const int first_row =
          cluster_tile.m * Config::BLOCK_M + consumer * Config::kConsumerBlocks * Config::kWgmmaM;
      const int first_column = (cluster_tile.n * Config::kClusterN + cta_rank) * Config::BLOCK_N;
#pragma unroll
      for (int block = 0; block < Config::kConsumerBlocks; ++block) {
        const int block_row = first_row + block * Config::kWgmmaM;
        if (shape.n % Config::kTmaChunkElems != 0 && first_column > shape.n - Config::BLOCK_N) {
          // TMA writes whole 16-byte chunks, and would write over what lies behind the last column of D.
          store_accumulator<Config::BLOCK_N, StoreHint::EvictFirst>(
              accum[block], d, ldd, block_row, first_column, shape, thread % kWarpgroupThreads);
          continue;
        }
#pragma unroll
        for (int piece = 0; piece < Config::kBlockPieces; ++piece) {
          __nv_bfloat16* const staging =
              smem.d[warp][(block * Config::kBlockPieces + piece) % Config::kStoreBuffers];
          if (lane == 0) cp_async_bulk_wait_group_read<Config::kStoreBuffers - 1>();
          __syncwarp();
          stage_fragment_swizzled<__nv_bfloat16, Config::kStoreN>(accum[block] + piece * Config::kStoreN / 2,
                                                                  smem_addr(staging), 0, lane);
          fence_proxy_async_shared_cta();
          __syncwarp();
          if (lane == 0) {
            cp_async_bulk_tensor_s2g(&tensor_map_d,
                                     {first_column + piece * Config::kStoreN,
                                      block_row + warp % Config::kWarpgroupWarps * Config::kStoreM},
                                     smem_addr(staging));
            cp_async_bulk_commit_group();
          }
        }
      }
    }
    // Shared memory must outlive the copies that read it.
    if (lane == 0) cp_async_bulk_wait_group_read<0>();
  }

  // The peer may still arrive on this CTA's barriers.
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

// Host side
Status can_implement(const GemmArgs& args) {
  HG_RETURN_IF_ERROR(check_tma_gemm(args));
  return check_tile_grid(args.shape, Config::BLOCK_M, Config::kClusterN * Config::BLOCK_N);
}

Status launch(const GemmArgs& args, cudaStream_t stream) {
  HG_RETURN_IF_ERROR(can_implement(args));
  const auto [m, n, k] = args.shape;
  TensorMap tensor_map_a;
  TensorMap tensor_map_b;
  HG_RETURN_IF_ERROR(
      make_tensor_map_2d("A", args.a, m, k, args.lda, Config::kMulticastM, Config::BLOCK_K, &tensor_map_a));
  HG_RETURN_IF_ERROR(
      make_tensor_map_2d("B", args.b, n, k, args.ldb, Config::BLOCK_N, Config::BLOCK_K, &tensor_map_b));
  TensorMap tensor_map_d;
  HG_RETURN_IF_ERROR(
      make_tensor_map_2d("D", args.d, m, n, args.ldd, Config::kStoreM, Config::kStoreN, &tensor_map_d));
  int num_clusters = 0;
  HG_RETURN_IF_ERROR(max_active_clusters(gemm_kernel, Config::kClusterN, Config::kNumThreads,
                                         sizeof(SharedStorage), &num_clusters));
  const TileGrid grid = make_tile_grid(args.shape, Config::BLOCK_M, Config::kClusterN * Config::BLOCK_N);
  const int workers = even_waves(grid.num_tiles(), std::min(num_clusters, ClusterPositions::kMaxClusters));
  return launch_persistent(gemm_kernel, grid.num_tiles(), workers, Config::kClusterN, Config::kNumThreads,
                           sizeof(SharedStorage), stream, tensor_map_a, tensor_map_b, tensor_map_d,
                           args.d_as<__nv_bfloat16>(), args.ldd, args.shape,
                           positions_by_gpc(known_cluster_placement(), workers));
}

}  // namespace hopper_gemm::v13
