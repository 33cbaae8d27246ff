// The library's kernel for a D of few rows on sm_90, as a decoder's are that makes one token at a time: what
// counts is how fast B comes from memory.
//
// wgmma has 64 rows at least and any multiple of 8 columns, and so computes the transpose of D: B's lines are
// its rows, A's its columns. Nothing is multiplied or held in registers for rows that are not there, and
// stages hold B for the most part. CTAs are so small that several share an SM: while one starts or stores,
// the others load. A short K, or a long one, is shared by the CTAs of a cluster, which send each other their
// sums (sums_exchange.cuh).

#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/std/cstdint>
#include <ptx/cluster.cuh>
#include <ptx/elect.cuh>
#include <ptx/fence.cuh>
#include <ptx/griddepcontrol.cuh>
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
#include "library/sums_exchange.cuh"
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
  // A warp's sums are of 16 columns of D, and stored by as many rows at a time. Without the four, lanes that
  // transpose them would write to the same banks.
  static constexpr int kPiece = 16;
  static constexpr int kPieceLd = kPiece + 4;
  static constexpr int kWarps = kWarpgroupThreads / kWarpThreads;
  static constexpr int kMostPieces = BLOCK_M / kPiece * kWarps;
  using Pipeline = hopper_gemm::Pipeline<kNumStages, kStageBytes, 1>;
};

template <typename Config>
struct alignas(1024) SharedStorage {
  // [BLOCK_N, BLOCK_K] and [BLOCK_M, BLOCK_K] a stage, K-major, 128B swizzle
  unsigned char b[Config::kNumStages][Config::BLOCK_N * Config::kLineBytes];
  unsigned char a[Config::kNumStages][Config::BLOCK_M * Config::kLineBytes];
  typename Config::Pipeline pipeline;
  SumsExchange exchange;

  // Once all stages have been multiplied:
  /// Where the sums of the CTA's peers come to.
  __device__ __forceinline__ float4* peers_sums() { return reinterpret_cast<float4*>(b); }
  /// [kPiece, kPieceLd], where a warp transposes its sums.
  __device__ __forceinline__ float* transposed(int warp) {
    return reinterpret_cast<float*>(b) + kPeersFloats + warp * Config::kPiece * Config::kPieceLd;
  }

 private:
  // No CTA adds up more than its share of the pieces, rounded up.
  static constexpr int kPeersFloats =
      (Config::kMostPieces + wgmma::kMaxSplit) * Config::kPiece * Config::kPiece;
  static_assert((kPeersFloats + Config::kWarps * Config::kPiece * Config::kPieceLd) * int{sizeof(float)} <=
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
  int prefetched_k_blocks;  ///< of each CTA, which it brings to L2 while it waits; 0 for none, as with batches
  GemmEpilogue epilogue;
};

/// Adds up what the CTAs of a cluster computed, each over its part of K, and stores it: the pieces of 16x16
/// are dealt to the CTAs. Each adds in the order of K, so that the sum does not depend on who came first.
/// accum: of the transpose. Threads: all consumers of all CTAs.
template <typename Config>
__device__ __forceinline__ void add_and_store(const float (&accum)[Config::BLOCK_M / 2],
                                              SharedStorage<Config>& smem, const Params& params,
                                              FragmentCorner tile, int rank, int thread) {
  constexpr int kPiece = Config::kPiece;
  constexpr int kGroups = kPiece / 8;
  constexpr int kSums = kPiece / 2;  // of a lane
  const int lane = thread % kWarpThreads;
  const int warp = thread / kWarpThreads;
  const int rows = params.shape.m - tile.row;
  const int row_pieces = rows >= Config::BLOCK_M ? Config::BLOCK_M / kPiece : ceil_div(rows, kPiece);
  // Turned by a warp for each row of pieces, so that those of a CTA are different warps'.
  const auto number_of = [&](int row_piece) {
    return row_piece * Config::kWarps + (warp + row_piece) % Config::kWarps;
  };
  const auto place_of = [&](int piece, int source) {
    return place_of_sums<kPiece>(smem.peers_sums(), piece, params.split, source, lane);
  };

  if (params.split > 1) {
    smem.exchange.begin(params.split, rank, thread, thread == 0, row_pieces * Config::kWarps,
                        kPiece * kPiece * int{sizeof(float)});
#pragma unroll
    for (int i = 0; i < Config::BLOCK_M / kPiece; ++i) {
      const int owner = owner_of(number_of(i), params.split);
      if (i >= row_pieces || owner == rank) continue;
      smem.exchange.template send<kPiece>(accum + i * kSums, place_of(number_of(i), rank), owner);
    }
  }
#pragma unroll 1
  for (int row_piece = 0; row_piece < row_pieces; ++row_piece) {
    const int piece = number_of(row_piece);
    if (params.split > 1 && owner_of(piece, params.split) != rank) continue;
    const FragmentPosition position =
        position_of_lane({tile.batch, tile.row + row_piece * kPiece, tile.column + warp * kPiece}, lane);
    const auto inputs = load_epilogue_inputs<kGroups>(params.epilogue, position, params.shape);
    float sums[kSums] = {};
    if (params.split > 1) smem.exchange.await_sums();
#pragma unroll 1
    for (int source = 0; source < params.split; ++source) {
      if (source == rank) {
        // Registers have no index that is known at run time only.
#pragma unroll
        for (int i = 0; i < Config::BLOCK_M / kPiece; ++i) {
          if (row_piece != i) continue;
#pragma unroll
          for (int e = 0; e < kSums; ++e) sums[e] += accum[i * kSums + e];
        }
      } else {
        add_sums<kPiece>(sums, place_of(piece, source));
      }
    }
    float* const transposed = smem.transposed(warp);
#pragma unroll
    for (int e = 0; e < kSums; ++e) {
      transposed[(e / 4 * 8 + lane % 4 * 2 + e % 2) * Config::kPieceLd + lane / 4 + e / 2 % 2 * 8] = sums[e];
    }
    __syncwarp();
    float values[kSums];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        const float2 two = *reinterpret_cast<const float2*>(
            transposed + (lane / 4 + half * 8) * Config::kPieceLd + lane % 4 * 2 + group * 8);
        values[group * 4 + half * 2] = two.x;
        values[group * 4 + half * 2 + 1] = two.y;
      }
    }
    __syncwarp();  // before the next piece is written there
    scale_and_add(values, params.epilogue, inputs);
    activate(values, params.epilogue.activation);
    store_fragment<kGroups>(values, params.epilogue, position, params.shape);
  }
}

/// Brings the first K blocks of B's lines to L2, ahead of griddepcontrol.wait: what the kernel before this
/// one may still write of them goes through L2, too, so that this needs no order. And one of the blocks of A,
/// whose few rows all tiles have in common. Threads: one of each CTA. tile_number: along N; first_k_block,
/// num_k_blocks: of the CTA.
template <typename Config>
__device__ __forceinline__ void prefetch_operands(const Params& params, const TensorMap* tensor_map_a,
                                                  const TensorMap* tensor_map_b, FragmentCorner tile,
                                                  int tile_number, int first_k_block, int num_k_blocks) {
  const int k_blocks = num_k_blocks < params.prefetched_k_blocks ? num_k_blocks : params.prefetched_k_blocks;
  const int first_k = first_k_block * Config::BLOCK_K;
  ptx::cp_async_bulk_prefetch_tensor(tensor_map_a,
                                     {first_k + tile_number % k_blocks * Config::BLOCK_K, tile.row, 0});
  for (int k_block = 0; k_block < k_blocks; ++k_block) {
    ptx::cp_async_bulk_prefetch_tensor(tensor_map_b, {first_k + k_block * Config::BLOCK_K, tile.column, 0});
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
    if (params.split > 1) smem.exchange.init(params.split, 1);
    // TMA and the peers use the barriers, and must see them initialised.
    fence_mbarrier_init_release_cluster();
  }
  __syncthreads();
  // The peers' barriers are not needed before the sums are there.
  if (params.split > 1) barrier_cluster_arrive_relaxed();
  if (params.prefetched_k_blocks > 0 && thread >= kWarpgroupThreads) {
    if (elect_sync()) {
      prefetch_operands<Config>(params, &tensor_map_a, &tensor_map_b, tile, tile_number, first_k_block,
                                num_k_blocks);
    }
    __syncwarp();
  }
  // Everything before this line read and wrote nothing but shared memory.
  griddepcontrol_wait();

  typename Config::Pipeline::State state;
  if (thread >= kWarpgroupThreads) {
    const bool is_leader = elect_sync();
    // CUDA 12.3 sees no use in a list of coordinates.
    [[maybe_unused]] const int batch_a = params.a_is_batched ? tile.batch : 0;
    [[maybe_unused]] const int batch_b = params.b_is_batched ? tile.batch : 0;
    for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
      smem.pipeline.producer_wait_uniform(state);
      if (is_leader) {
        const SmemAddr bar =
            smem.pipeline.producer_announce(state, (params.a_rows + Config::BLOCK_N) * Config::kLineBytes);
        const int k = (first_k_block + k_block) * Config::BLOCK_K;
        cp_async_bulk_tensor_g2s(smem_addr(smem.b[state.stage]), &tensor_map_b, {k, tile.column, batch_b},
                                 bar);
        cp_async_bulk_tensor_g2s(smem_addr(smem.a[state.stage]), &tensor_map_a, {k, tile.row, batch_a}, bar);
      }
      state.advance();
    }
    // The next kernel may set itself up where SMs become free: it waits for this one's end all the same. Before, it
    // would crowd on those that are free first.
    griddepcontrol_launch_dependents();
    if (params.split > 1) barrier_cluster_wait();
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
    add_and_store<Config>(accum, smem, params, tile, rank, thread);
  }
}

}  // namespace hopper_gemm::library::skinny
