// v11 stmatrix   prev: v10   Change: stmatrix into swizzled staging
// Why: the eight rows of a fragment that v09 stores at once lie 128 bytes apart, all in the same banks: each
//   store takes eight cycles. Swizzled as TMA expects it they lie in different banks, and stmatrix stores
//   four 8x8 matrices with one instruction.
// Expected: an epilogue without bank conflicts, in a quarter of the store instructions.
// Measured: 817 TFLOP/s, 99.97 % of cuBLAS (H200, 8192³, burst: profiles/h200/); 794 and 100.4 % at 4096³. Of 7.3
//   million bank conflicts none is left, and 1.6 % fewer cycles. (ncu's counter for the whole data stage is not
//   0: it also counts stores that wait for TMA and wgmma.) At 4096x32768x512, where the epilogue is a large part,
//   it is 658 TFLOP/s after 559.
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

namespace hopper_gemm::v11 {

enum class WarpgroupRole { Consumer, Producer };

struct Config {
  static constexpr int BLOCK_M = 128;
  static constexpr int BLOCK_N = 256;
  static constexpr int BLOCK_K = 64;  // 128 bytes: one span of the swizzle
  static constexpr int kWgmmaM = 64;
  static constexpr int kWgmmaK = 16;
  static constexpr int kNumStages = 4;
  static_assert(kNumStages >= 2, "a consumer holds one stage while it waits for the next");
  static constexpr int kClusterM = 2;  // CTAs of a cluster, one above the other
  static constexpr int kLeaf = 8;      // cluster tiles of a row that consecutive positions share
  static constexpr int kNumConsumers = BLOCK_M / kWgmmaM;
  static constexpr int kNumConsumerThreads = kNumConsumers * kWarpgroupThreads;
  static constexpr int kNumThreads = kNumConsumerThreads + kWarpgroupThreads;
  static constexpr int kMulticastN = BLOCK_N / kClusterM;  // rows of the B block that each CTA loads for both
  static constexpr cuda::std::uint16_t kMulticastMask = (1 << kClusterM) - 1;
  static constexpr int kTmaChunkElems = 16 / int{sizeof(__nv_bfloat16)};
  static constexpr int kStoreM = 16;  // rows of D that a warp holds
  static constexpr int kStoreN = 64;
  static constexpr int kStoreBuffers = 2;
  static constexpr int kProducerRegisters = 40;
  static constexpr int kConsumerRegisters = 232;
  // setmaxnreg hands out what the CTA was launched with, which is rounded down: more would wait for ever.
  static constexpr int kEntryRegisters = kRegistersPerSm / kNumThreads / 8 * 8;
  static_assert(kProducerRegisters + kNumConsumers * kConsumerRegisters <=
                (1 + kNumConsumers) * kEntryRegisters);
  static constexpr int kStageBytes = (BLOCK_M + BLOCK_N) * BLOCK_K * int{sizeof(__nv_bfloat16)};
  static constexpr int kNumConsumerWarps = kNumConsumerThreads / kWarpThreads;
  using TileQueue = hopper_gemm::TileQueue<2, kNumConsumerWarps + 1>;  // they and the producer thread read it
  using Pipeline = hopper_gemm::Pipeline<kNumStages, kStageBytes, kNumConsumers, kClusterM>;
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

  // A cluster takes kClusterM tiles of a column. The last row of clusters may reach below D: TMA fills in
  // zeros there, and the CTA multiplies them all the same, since its peer needs its half of B.
  const TileGrid grid = make_tile_grid(shape, Config::kClusterM * Config::BLOCK_M, Config::BLOCK_N);
  const int cta_rank = static_cast<int>(cluster_ctarank());
  const cuda::std::uint32_t first_index = positions.position[blockIdx.x / Config::kClusterM];
  const cuda::std::uint32_t num_clusters = gridDim.x / Config::kClusterM;
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
        const int tile_m = cluster_tile.m * Config::kClusterM + cta_rank;
        for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
          const SmemAddr bar = smem.pipeline.producer_acquire(state);
          const int k = k_block * Config::BLOCK_K;
          cp_async_bulk_tensor_g2s(smem_addr(smem.a[state.stage]), &tensor_map_a,
                                   {k, tile_m * Config::BLOCK_M}, bar);
          const int first_row = cta_rank * Config::kMulticastN;
          cp_async_bulk_tensor_g2s_multicast(smem_addr(smem.b[state.stage] + first_row * Config::BLOCK_K),
                                             &tensor_map_b, {k, cluster_tile.n * Config::BLOCK_N + first_row},
                                             bar, Config::kMulticastMask);
          state.advance();
        }
      }
    } else if (thread == Config::kNumConsumerThreads + kWarpThreads) {
      // The curve takes a thousand cycles or two to find a tile: the scheduler, a thread of the next warp,
      // runs ahead.
      for (cuda::std::uint32_t index = first_index; index < grid.num_tiles(); index += num_clusters) {
        smem.tile_queue.send(queue_state, hilbert_order(index, grid, Config::kLeaf));
        queue_state.advance();
      }
    }
  } else {
    setmaxnreg_inc<Config::kConsumerRegisters>();
    const int consumer = __shfl_sync(0xffffffff, thread / kWarpgroupThreads, 0);  // uniform, as ptxas can see
    const int warp = thread / kWarpThreads;  // its rows of the tile begin at 16 * warp
    const int lane = thread % kWarpThreads;
    const auto first_desc_a =
        make_k_major_b128_desc(smem_addr(smem.a[0] + consumer * Config::kWgmmaM * Config::BLOCK_K).value);
    const auto first_desc_b = make_k_major_b128_desc(smem_addr(smem.b[0]).value);
    float accum[Config::BLOCK_N / 2] = {};  // defined before the loop, or ptxas 12.3 serialises the wgmmas
    for (cuda::std::uint32_t index = first_index; index < grid.num_tiles(); index += num_clusters) {
      const TileCoord cluster_tile = smem.tile_queue.receive_as_warp(queue_state, lane);
      queue_state.advance();
      const int tile_m = cluster_tile.m * Config::kClusterM + cta_rank;
      Config::Pipeline::State previous;
      wgmma_fence_operand(accum);
      for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
        const auto stage_desc_a = advance_smem_desc(first_desc_a, state.stage * sizeof(smem.a[0]));
        const auto stage_desc_b = advance_smem_desc(first_desc_b, state.stage * sizeof(smem.b[0]));
        smem.pipeline.consumer_wait(state);

        wgmma_fence();
#pragma unroll
        for (int k = 0; k < Config::BLOCK_K; k += Config::kWgmmaK) {
          const auto smem_desc_a = advance_smem_desc(stage_desc_a, k * sizeof(__nv_bfloat16));
          const auto smem_desc_b = advance_smem_desc(stage_desc_b, k * sizeof(__nv_bfloat16));
          wgmma_mma_async<Config::BLOCK_N, __nv_bfloat16>(accum, smem_desc_a, smem_desc_b,
                                                          k_block != 0 || k != 0);
        }
        wgmma_commit_group();
        wgmma_wait_group<1>();
        if (k_block != 0) smem.pipeline.consumer_release(previous, thread % kWarpgroupThreads);
        previous = state;
        state.advance();
      }
      wgmma_wait_group<0>();
      wgmma_fence_operand(accum);
      smem.pipeline.consumer_release(previous, thread % kWarpgroupThreads);

      if (shape.n % Config::kTmaChunkElems != 0 &&
          cluster_tile.n * Config::BLOCK_N > shape.n - Config::BLOCK_N) {
        // TMA writes whole 16-byte chunks, and would write over what lies behind the last column of D.
        store_accumulator<Config::BLOCK_N, StoreHint::EvictFirst>(
            accum, d, ldd, tile_m * Config::BLOCK_M + consumer * Config::kWgmmaM,
            cluster_tile.n * Config::BLOCK_N, shape, thread % kWarpgroupThreads);
      } else {
#pragma unroll
        for (int n = 0; n < Config::BLOCK_N; n += Config::kStoreN) {
          __nv_bfloat16* const staging = smem.d[warp][n / Config::kStoreN % Config::kStoreBuffers];
          if (lane == 0) cp_async_bulk_wait_group_read<Config::kStoreBuffers - 1>();
          __syncwarp();
          stage_fragment_swizzled<__nv_bfloat16, Config::kStoreN>(accum + n / 2, smem_addr(staging), 0, lane);
          fence_proxy_async_shared_cta();
          __syncwarp();
          if (lane == 0) {
            cp_async_bulk_tensor_s2g(
                &tensor_map_d,
                {cluster_tile.n * Config::BLOCK_N + n, tile_m * Config::BLOCK_M + warp * Config::kStoreM},
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
  return check_tile_grid(args.shape, Config::kClusterM * Config::BLOCK_M, Config::BLOCK_N);
}

Status launch(const GemmArgs& args, cudaStream_t stream) {
  HG_RETURN_IF_ERROR(can_implement(args));
  const auto [m, n, k] = args.shape;
  TensorMap tensor_map_a;
  TensorMap tensor_map_b;
  HG_RETURN_IF_ERROR(
      make_tensor_map_2d("A", args.a, m, k, args.lda, Config::BLOCK_M, Config::BLOCK_K, &tensor_map_a));
  HG_RETURN_IF_ERROR(
      make_tensor_map_2d("B", args.b, n, k, args.ldb, Config::kMulticastN, Config::BLOCK_K, &tensor_map_b));
  TensorMap tensor_map_d;
  HG_RETURN_IF_ERROR(
      make_tensor_map_2d("D", args.d, m, n, args.ldd, Config::kStoreM, Config::kStoreN, &tensor_map_d));
  int num_clusters = 0;
  HG_RETURN_IF_ERROR(max_active_clusters(gemm_kernel, Config::kClusterM, Config::kNumThreads,
                                         sizeof(SharedStorage), &num_clusters));
  const TileGrid grid = make_tile_grid(args.shape, Config::kClusterM * Config::BLOCK_M, Config::BLOCK_N);
  const int workers = even_waves(grid.num_tiles(), std::min(num_clusters, ClusterPositions::kMaxClusters));
  return launch_persistent(gemm_kernel, grid.num_tiles(), workers, Config::kClusterM, Config::kNumThreads,
                           sizeof(SharedStorage), stream, tensor_map_a, tensor_map_b, tensor_map_d,
                           args.d_as<__nv_bfloat16>(), args.ldd, args.shape,
                           positions_by_gpc(known_cluster_placement(), workers));
}

}  // namespace hopper_gemm::v11
