// The library's kernel for a D of few rows on sm_90, as a decoder's are that makes one token at a time: what counts is how
// fast B comes from memory.
//
// wgmma has 64 rows at least and any multiple of 8 columns, and so computes the transpose of D: B's lines are its rows, A's
// its columns. Nothing is multiplied or held in registers for rows that are not there, and stages hold B for the most part.
// CTAs are so small that several share an SM: while one starts or stores, the others load. A short K, or a long one, is
// shared by the CTAs of a cluster, which add up their sums through distributed shared memory.

#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/std/cstdint>
#include <ptx/cluster.cuh>
#include <ptx/fence.cuh>
#include <ptx/griddepcontrol.cuh>
#include <ptx/named_barrier.cuh>
#include <ptx/prefetch.cuh>
#include <ptx/special_registers.cuh>
#include <ptx/tma.cuh>
#include <ptx/wgmma.cuh>

#include "hopper_gemm/device_common.cuh"
#include "hopper_gemm/fragment_epilogue.cuh"
#include "hopper_gemm/gemm_epilogue.hpp"
#include "hopper_gemm/gemm_shape.hpp"
#include "hopper_gemm/pipeline.cuh"
#include "hopper_gemm/smem_descriptor.hpp"
#include "hopper_gemm/tensor_map_type.hpp"
#include "library/wgmma_tile.hpp"

namespace hopper_gemm::library::skinny {

template <wgmma::Tile kTile>
struct Config {
  static_assert(wgmma::is_skinny(kTile) && wgmma::cluster_size(kTile) == 1);
  static constexpr int BLOCK_M = kTile.block_m;  // rows of D, wgmma's columns
  static constexpr int BLOCK_N = 64;             // columns of D, wgmma's rows
  static_assert(kTile.block_n == BLOCK_N);
  static constexpr int BLOCK_K = 64;  // 128 bytes: one span of the swizzle
  static constexpr int kWgmmaK = 16;
  static constexpr int kElemBytes = 2;
  static constexpr int kNumStages = kTile.stages;
  static_assert(kNumStages >= 2, "the consumer holds one stage while it waits for the next");
  static constexpr int kNumThreads = wgmma::num_threads(kTile);
  static constexpr int kLineBytes = BLOCK_K * kElemBytes;  // a stage's share of a line
  static constexpr int kStageBytes = (BLOCK_M + BLOCK_N) * kLineBytes;
  // Of a row of sums: without the four, lanes would write to the same banks.
  static constexpr int kSumsLd = BLOCK_N + 4;
  using Pipeline = hopper_gemm::Pipeline<kNumStages, kStageBytes, 1>;
};

template <typename Config>
struct alignas(1024) SharedStorage {
  // [BLOCK_N, BLOCK_K] and [BLOCK_M, BLOCK_K] a stage, K-major, 128B swizzle
  unsigned char b[Config::kNumStages][Config::BLOCK_N * Config::kLineBytes];
  unsigned char a[Config::kNumStages][Config::BLOCK_M * Config::kLineBytes];
  typename Config::Pipeline pipeline;

  /// [BLOCK_M, kSumsLd], once all stages have been multiplied.
  __device__ __forceinline__ float* sums() { return reinterpret_cast<float*>(b); }
  static_assert(Config::BLOCK_M * Config::kSumsLd * int{sizeof(float)} <=
                Config::kNumStages * Config::BLOCK_N * Config::kLineBytes);
};

/// What of a launch is no tensor map.
struct Params {
  GemmShape shape;
  int tiles_m;  ///< of a batch
  int tiles_n;
  int split;     ///< CTAs of a cluster that share a tile's K
  int k_blocks;  ///< of 64, split or more
  int a_rows;    ///< of a box of A: what is behind them in a stage is multiplied, and not stored
  bool a_is_batched;
  bool b_is_batched;
  GemmEpilogue epilogue;
};

/// Adds up what the CTAs of a cluster computed, each over its part of K, and stores it: pieces of 16x16 are dealt to the
/// consumer warps of all. Each adds in the order of K, so that the sum does not depend on who came first. Threads: all
/// consumers, once the sums are there.
template <typename Config>
__device__ __forceinline__ void add_and_store(SharedStorage<Config>& smem, const Params& params,
                                              FragmentCorner tile, int rank, int warp, int lane) {
  constexpr int kPiece = 16;
  constexpr int kGroups = kPiece / 8;
  constexpr int kWarps = kWarpgroupThreads / kWarpThreads;
  const int rows = params.shape.m - tile.row;
  const int row_pieces = rows >= Config::BLOCK_M ? Config::BLOCK_M / kPiece : ceil_div(rows, kPiece);
#pragma unroll 1
  for (int piece = rank + warp * params.split; piece < row_pieces * (Config::BLOCK_N / kPiece);
       piece += kWarps * params.split) {
    const FragmentCorner of_piece = {tile.batch, piece % row_pieces * kPiece, piece / row_pieces * kPiece};
    const FragmentPosition in_tile = position_of_lane(of_piece, lane);
    const FragmentPosition position = {tile.batch, tile.row + in_tile.row, tile.column + in_tile.column};
    const auto inputs = load_epilogue_inputs<kGroups>(params.epilogue, position, params.shape);
    float values[kGroups * 4] = {};
    for (int of_rank = 0; of_rank < params.split; ++of_rank) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int group = 0; group < kGroups; ++group) {
          float* const own =
              smem.sums() + (in_tile.row + half * 8) * Config::kSumsLd + in_tile.column + group * 8;
          const float2 sum = *static_cast<const float2*>(
              params.split == 1 ? own : __cluster_map_shared_rank(own, static_cast<unsigned>(of_rank)));
          values[group * 4 + half * 2] += sum.x;
          values[group * 4 + half * 2 + 1] += sum.y;
        }
      }
    }
    scale_and_add(values, params.epilogue, inputs);
    activate(values, params.epilogue.activation);
    store_fragment<kGroups>(values, params.epilogue, position, params.shape);
  }
}

/// tensor_map_a, tensor_map_b: [batch, M, K] by boxes of params.a_rows lines, [batch, N, K] of BLOCK_N.
template <typename Config, typename T>
__global__ void __launch_bounds__(Config::kNumThreads)
    gemm_kernel(const __grid_constant__ TensorMap tensor_map_a,
                const __grid_constant__ TensorMap tensor_map_b, const __grid_constant__ Params params) {
  using namespace ptx;
  auto& smem = dynamic_shared_storage<SharedStorage<Config>>();
  const int thread = static_cast<int>(threadIdx.x);

  const int rank = static_cast<int>(cluster_ctarank());
  int tile_number = static_cast<int>(clusterid_x());
  const int tile_m = tile_number % params.tiles_m;
  tile_number /= params.tiles_m;
  const FragmentCorner tile = {tile_number / params.tiles_n, tile_m * Config::BLOCK_M,
                               tile_number % params.tiles_n * Config::BLOCK_N};
  // The first CTAs take one block more where K does not divide.
  const int blocks_of_all = params.k_blocks / params.split;
  const int longer_parts = params.k_blocks % params.split;
  const int num_k_blocks = blocks_of_all + (rank < longer_parts ? 1 : 0);
  const int first_k_block = rank * blocks_of_all + (rank < longer_parts ? rank : longer_parts);
  if (thread == kWarpgroupThreads) {
    prefetch_tensormap(&tensor_map_a);
    prefetch_tensormap(&tensor_map_b);
    smem.pipeline.init(num_k_blocks < Config::kNumStages ? num_k_blocks : Config::kNumStages);
    for (int stage = 0; stage < Config::kNumStages; ++stage) {
      leave_undefined(smem_addr(smem.a[stage] + params.a_rows * Config::kLineBytes),
                      (Config::BLOCK_M - params.a_rows) * Config::kLineBytes);
    }
    // TMA uses the barriers, and must see them initialised.
    fence_mbarrier_init_release_cluster();
  }
  __syncthreads();
  // Everything before this line touched nothing but shared memory.
  griddepcontrol_wait();

  typename Config::Pipeline::State state;
  if (thread >= kWarpgroupThreads) {
    if (thread == kWarpgroupThreads) {
      // CUDA 12.3 sees no use in a list of coordinates.
      [[maybe_unused]] const int batch_a = params.a_is_batched ? tile.batch : 0;
      [[maybe_unused]] const int batch_b = params.b_is_batched ? tile.batch : 0;
      for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
        const SmemAddr bar =
            smem.pipeline.producer_acquire(state, (params.a_rows + Config::BLOCK_N) * Config::kLineBytes);
        const int k = (first_k_block + k_block) * Config::BLOCK_K;
        cp_async_bulk_tensor_g2s(smem_addr(smem.b[state.stage]), &tensor_map_b, {k, tile.column, batch_b},
                                 bar);
        cp_async_bulk_tensor_g2s(smem_addr(smem.a[state.stage]), &tensor_map_a, {k, tile.row, batch_a}, bar);
        state.advance();
      }
      // The next kernel may set itself up where SMs become free: it waits for this one's end all the same. Before, it
      // would crowd on those that are free first.
      griddepcontrol_launch_dependents();
    }
    if (params.split > 1) {
      __syncwarp();
      barrier_cluster_arrive();
      barrier_cluster_wait();
    }
  } else {
    const cuda::std::uint64_t first_desc_b = make_k_major_b128_desc(smem_addr(smem.b[0]).value);
    const cuda::std::uint64_t first_desc_a = make_k_major_b128_desc(smem_addr(smem.a[0]).value);
    // Defined before the loop, or ptxas 12.3 serialises the wgmmas.
    float accum[Config::BLOCK_M / 2] = {};
    wgmma_fence_operand(accum);
    typename Config::Pipeline::State previous;
    for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
      const auto desc_b = advance_smem_desc(first_desc_b, state.stage * sizeof(smem.b[0]));
      const auto desc_a = advance_smem_desc(first_desc_a, state.stage * sizeof(smem.a[0]));
      smem.pipeline.consumer_wait(state);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < Config::BLOCK_K; k += Config::kWgmmaK) {
        wgmma_mma_async<Config::BLOCK_M, T>(accum, advance_smem_desc(desc_b, k * Config::kElemBytes),
                                            advance_smem_desc(desc_a, k * Config::kElemBytes),
                                            k_block != 0 || k != 0);
      }
      wgmma_commit_group();
      wgmma_wait_group<1>();
      if (k_block != 0) smem.pipeline.consumer_release(previous, thread);
      previous = state;
      state.advance();
    }
    // The sums take the place of stages: all have been loaded, and now are multiplied.
    wgmma_wait_group<0>();
    wgmma_fence_operand(accum);
    const int lane = thread % kWarpThreads;
    const int warp = thread / kWarpThreads;
    float* const first_sum =
        smem.sums() + lane % 4 * 2 * Config::kSumsLd + warp * 16 + lane / 4;  // of the transpose's fragment
#pragma unroll
    for (int i = 0; i < Config::BLOCK_M / 2; ++i) {
      first_sum[(i / 4 * 8 + i % 2) * Config::kSumsLd + i / 2 % 2 * 8] = accum[i];
    }
    if (params.split > 1) {
      barrier_cluster_arrive();
      barrier_cluster_wait();
    } else {
      constexpr cuda::std::uint32_t kConsumersBarrier = 1;
      barrier_sync(kConsumersBarrier, kWarpgroupThreads);
    }
    add_and_store<Config>(smem, params, tile, rank, warp, lane);
  }

  // A peer may still read this CTA's sums.
  if (params.split > 1) {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  }
}

}  // namespace hopper_gemm::library::skinny
