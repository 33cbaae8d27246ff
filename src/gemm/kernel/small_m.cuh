// The library's kernel for small M on sm_90, as in decode. Its speed is bound by how fast B comes from memory.
//
// wgmma's M is 64, and its N is any multiple of 8. If D has fewer than 64 rows, the kernel computes the transpose of D
// (swap-AB): B supplies wgmma's M, and A its N. It then multiplies no rows that do not exist and holds no registers for
// them, and the stages hold mostly B. A tile may have fewer columns than wgmma computes, so that the SMs get equal
// shares of D. wgmma then also reads lines behind the tile's, and the kernel does not store their products.
//
// One thread issues all loads of a CTA, and each load takes it some 50 ns. A stage therefore has several K blocks,
// which one TMA box brings. The CTAs of a cluster can share K. They send each other their partials
// (split_k_exchange.cuh).
//
// Nothing is loaded between the last product and the end of the launch. The code there runs once, so it must be short:
// it has no divisions, and no branches for each register. The kernel is compiled for EpilogueKind::AlphaOnly and
// General.

#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/std/cstdint>
#include <ptx/cluster.cuh>
#include <ptx/elect.cuh>
#include <ptx/fence.cuh>
#include <ptx/griddepcontrol.cuh>
#include <ptx/special_registers.cuh>
#include <ptx/stmatrix.cuh>
#include <ptx/tma.cuh>
#include <ptx/wgmma.cuh>

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/element_pair.cuh"
#include "device/fragment_epilogue.cuh"
#include "device/pipeline.cuh"
#include "device/smem_descriptor.hpp"
#include "device/tensor_map_type.hpp"
#include "gemm/config.hpp"
#include "gemm/epilogue/split_k_exchange.cuh"
#include "gemm/mainloop/mainloop.cuh"
#include "gemm/mainloop/operands.cuh"
#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm::library::small_m {

template <KernelConfig kKernel>
struct Config {
  static_assert(kKernel.schedule == Schedule::SmallM && cluster_size(kKernel) == 1 && kKernel.consumers == 1);
  static constexpr int BLOCK_M = kKernel.block_m;  // rows of D
  static constexpr int BLOCK_N = kKernel.block_n;  // the most columns of D
  static constexpr bool kTransposes = kKernel.swap_ab;
  static_assert(kTransposes == (BLOCK_M < kWgmmaM), "wgmma has no fewer rows");
  static constexpr int kWgmmaN = kTransposes ? BLOCK_M : BLOCK_N;
  static constexpr int kNumBlocks = (kTransposes ? BLOCK_N : BLOCK_M) / kWgmmaM;  // wgmmas along wgmma's M
  static_assert(BLOCK_M * BLOCK_N == kNumBlocks * kWgmmaM * kWgmmaN);
  static constexpr int kStageBlocks = kKernel.block_k / kBlockK;
  static_assert(kKernel.block_k % kBlockK == 0);
  // The K blocks of a stage alternate between two accumulation chains. A chain of half as many terms is rounded half as
  // often.
  static constexpr int kNumChains = kStageBlocks > 1 ? 2 : 1;
  static constexpr int kNumStages = kKernel.stages;
  static_assert(kNumStages >= 2, "the consumer holds one stage while it waits for the next");
  static constexpr int kNumThreads = num_threads(kKernel);
  static constexpr int kStageBytesA = kStageBlocks * BLOCK_M * kLineBytes;
  static constexpr int kStageBytesB = kStageBlocks * BLOCK_N * kLineBytes;
  static_assert(kStageBytesA + kStageBytesB == stage_bytes(kKernel));
  static constexpr int kPiece = kSmallMSubtile;
  static constexpr int kWgmmaPieces = kWgmmaN / kPiece;
  static_assert(kWgmmaN % kPiece == 0);
  static constexpr int kNumWarps = kWarpgroupThreads / kWarpThreads;
  static constexpr int kWarpPieces = kNumBlocks * kWgmmaPieces;
  static constexpr int kNumPieces = kNumWarps * kWarpPieces;
  static constexpr int kPieceFloat4s = kPiece * kPiece / 4;
  static constexpr int kPeersFloat4s = most_peers_subtiles(kNumPieces, max_split_k(kKernel)) * kPieceFloat4s;
  // The pitch of a subtile while it is transposed. The four extra floats keep lanes from writing to the same banks.
  static constexpr int kPieceLd = kPiece + 4;
  using Pipeline = hopper_gemm::Pipeline<kNumStages, kStageBytesA + kStageBytesB, 1>;
};

template <typename Config>
struct alignas(1024) SharedStorage {
  // A stage: [kStageBlocks, lines, kBlockK], K-major, 128B swizzle; see lines_of_block()
  unsigned char b[Config::kNumStages][Config::kStageBytesB];
  unsigned char a[Config::kNumStages][Config::kStageBytesA];
  // The partials have memory of their own beside the stages, so that peers need not wait until this CTA has multiplied.
  float4 peers_sums[Config::kPeersFloat4s];
  typename Config::Pipeline pipeline;
  SplitKExchange exchange;

  /// Where a warp keeps its own sums of a subtile, [kPiece, kPieceLd] floats. It lies in the stages, so all of them
  /// must have been multiplied.
  __device__ __forceinline__ float* own_sums(int warp, int piece_of_warp) {
    return reinterpret_cast<float*>(b) +
           (warp * Config::kWarpPieces + piece_of_warp) * Config::kPiece * Config::kPieceLd;
  }
  static_assert(Config::kNumPieces * Config::kPiece * Config::kPieceLd * int{sizeof(float)} <=
                Config::kNumStages * Config::kStageBytesB);
};

/// The kernel's parameters beside the tensor maps.
struct Params {
  GemmShape shape;
  int tiles_m;  ///< of a batch
  int tiles_n;
  int columns;              ///< of a tile: BLOCK_N or fewer, in multiples of 8
  int split;                ///< CTAs of a cluster that share a tile's K
  int k_stages;             ///< stages along K, of kStageBlocks blocks each; at least `split`
  int a_rows;               ///< of a box of A; further rows of a stage are multiplied, but not stored
  bool loads_whole_stages;  ///< one box brings a stage: the tensor map has a dimension for the K blocks
  bool a_is_batched;
  bool b_is_batched;
  int prefetched_stages;     ///< that each CTA prefetches to L2 while it waits; 0 with batches
  bool triggers_dependents;  ///< GemmOptions::programmatic_dependent_launch
  GemmEpilogue epilogue;
};

/// The distance in lines between a stage's K blocks. A box of several blocks leaves no gap between them. If each block
/// has a box of its own, it has room for all lines that wgmma reads.
__device__ __forceinline__ int lines_of_block(const Params& params, int box_lines, int wgmma_lines) {
  return params.loads_whole_stages ? box_lines : wgmma_lines;
}

/// Marks the lines of a stage that no box writes as undefined. They are multiplied, but not stored.
template <typename Config>
__device__ __forceinline__ void leave_rest_undefined(const unsigned char* stage, const Params& params,
                                                     int box_lines, int wgmma_lines) {
  if (params.loads_whole_stages) {
    leave_undefined(ptx::smem_addr(stage + Config::kStageBlocks * box_lines * kLineBytes),
                    Config::kStageBlocks * (wgmma_lines - box_lines) * kLineBytes);
    return;
  }
  for (int block = 0; block < Config::kStageBlocks; ++block) {
    leave_undefined(ptx::smem_addr(stage + (block * wgmma_lines + box_lines) * kLineBytes),
                    (wgmma_lines - box_lines) * kLineBytes);
  }
}

/// The index of half a row of a staged subtile of 16-bit elements, in chunks of 16 bytes. Eight rows lie in different
/// banks.
__device__ __forceinline__ int staged_chunk(int row, int chunk) { return row * 2 + (chunk ^ row / 4 % 2); }

/// Rounds alpha · sum of a subtile to T and stages it in shared memory, see staged_chunk(). Threads: the whole warp.
template <typename Config, typename T>
__device__ __forceinline__ void stage_plain(const float* sums, ptx::SmemAddr staging, float alpha, int lane) {
  const auto pack = [&](int e) {
    const auto pair = round_pair<T>(alpha * sums[e], alpha * sums[e + 1]);
    return *reinterpret_cast<const cuda::std::uint32_t*>(&pair);
  };
  const cuda::std::uint32_t matrices[4] = {pack(0), pack(2), pack(4), pack(6)};
  // Lane 8 j + i addresses row i of matrix j, see stage_fragment_swizzled(). With swap-AB matrices 1 and 2 change
  // places.
  const int row = Config::kTransposes ? lane % 8 + lane / 16 * 8 : lane % 16;
  const int chunk = Config::kTransposes ? lane / 8 % 2 : lane / 16;
  const ptx::SmemAddr place = staging + static_cast<cuda::std::uint32_t>(staged_chunk(row, chunk) * 16);
  if constexpr (Config::kTransposes) {
    ptx::stmatrix_trans(place, matrices);
  } else {
    ptx::stmatrix(place, matrices);
  }
}

/// Stores what stage_plain() has staged, 16 bytes a lane. corner: of the subtile. Threads: the whole warp.
template <typename Config, typename T>
__device__ __forceinline__ void store_plain(const void* staging, const GemmEpilogue& epilogue,
                                            FragmentCorner corner, GemmShape shape, int lane) {
  constexpr int kChunk = 8;
  const int row = corner.row + lane / 2;
  const int column = corner.column + lane % 2 * kChunk;
  if (row >= shape.m || column >= shape.n) return;
  T* const d = static_cast<T*>(epilogue.d) + corner.batch * epilogue.d_batch_stride;
  *reinterpret_cast<uint4*>(d + row * epilogue.ldd + column) =
      static_cast<const uint4*>(staging)[staged_chunk(lane / 2, lane % 2)];
}

/// Transposes a warp's subtile of 16 rows and columns through shared memory. transposed: [kPiece, kPieceLd]. Threads:
/// the whole warp.
template <typename Config>
__device__ __forceinline__ void transpose(float (&sums)[Config::kPiece / 2], float* transposed, int lane) {
#pragma unroll
  for (int e = 0; e < Config::kPiece / 2; ++e) {
    transposed[(e / 4 * 8 + lane % 4 * 2 + e % 2) * Config::kPieceLd + lane / 4 + e / 2 % 2 * 8] = sums[e];
  }
  __syncwarp();
#pragma unroll
  for (int e = 0; e < Config::kPiece / 2; ++e) {
    sums[e] = transposed[(lane / 4 + e / 2 % 2 * 8) * Config::kPieceLd + lane % 4 * 2 + e / 4 * 8 + e % 2];
  }
}

/// Adds up the partials of a cluster's CTAs, each over its part of K, and stores the sums. The subtiles of 16x16 are
/// dealt to the CTAs round-robin. Each CTA adds in the order of K, so that the sum does not depend on which partial
/// came first. A CTA may exit when its own partials have come, because nobody sends anything else. accum: of wgmma, so
/// with swap-AB of the transpose. Threads: all consumers of all CTAs.
template <typename Config, typename T, EpilogueKind kEpilogueKind>
__device__ __forceinline__ void add_and_store(const float (&accum)[Config::kNumBlocks][Config::kWgmmaN / 2],
                                              SharedStorage<Config>& smem, const Params& params,
                                              FragmentCorner tile, int rank, int thread) {
  constexpr int kPiece = Config::kPiece;
  constexpr int kSums = kPiece / 2;  // of a lane
  constexpr bool kIsAlphaOnly = kEpilogueKind == EpilogueKind::AlphaOnly;
  const int lane = thread % kWarpThreads;
  const int warp = thread / kWarpThreads;
  const int split = params.split;
  // The tile ends with its columns: the elements behind them belong to the next tile.
  GemmShape shape = params.shape;
  if (shape.n - tile.column > params.columns) shape.n = tile.column + params.columns;
  const auto sums_of = [&](int i) {
    return accum[i / Config::kWgmmaPieces] + i % Config::kWgmmaPieces * kSums;
  };
  const auto corner_of = [&](int i) {
    const int along_m = (i / Config::kWgmmaPieces * Config::kNumWarps + warp) * kPiece;
    const int along_n = i % Config::kWgmmaPieces * kPiece;
    return FragmentCorner{tile.batch, tile.row + (Config::kTransposes ? along_n : along_m),
                          tile.column + (Config::kTransposes ? along_m : along_n)};
  };

  if (kIsAlphaOnly && split == 1) {
#pragma unroll
    for (int i = 0; i < Config::kWarpPieces; ++i) {
      stage_plain<Config, T>(sums_of(i), ptx::smem_addr(smem.own_sums(warp, i)), params.epilogue.alpha, lane);
    }
    __syncwarp();
#pragma unroll 4
    for (int i = 0; i < Config::kWarpPieces; ++i) {
      store_plain<Config, T>(smem.own_sums(warp, i), params.epilogue, corner_of(i), shape, lane);
    }
    return;
  }

  const int first_piece = warp * Config::kWarpPieces;
  const int first_slot = first_piece / split;
  const int first_owner = first_piece % split;
  const auto own_place = [&](int i) { return reinterpret_cast<float4*>(smem.own_sums(warp, i)) + lane; };
  // Where `owner` receives its subtile number `slot` from `source`.
  const auto place_of = [&](int slot, int owner, int source) {
    const int of_others = slot * (split - 1) + source - (source < owner ? 0 : 1);
    return smem.peers_sums + of_others * Config::kPieceFloat4s + lane;
  };
  if (split > 1) ptx::barrier_cluster_wait();
  int owner = first_owner;
  int slot = first_slot;
#pragma unroll
  for (int i = 0; i < Config::kWarpPieces; ++i) {
    const float* const sums = sums_of(i);
    if (owner == rank) {
      // The loop below indexes the sums at run time, which registers do not allow.
#pragma unroll
      for (int e = 0; e < kSums / 4; ++e) {
        own_place(i)[e * kWarpThreads] = {sums[e * 4], sums[e * 4 + 1], sums[e * 4 + 2], sums[e * 4 + 3]};
      }
    } else {
      smem.exchange.template send<kPiece>(sums, place_of(slot, owner, rank), owner);
    }
    if (++owner == split) {
      owner = 0;
      ++slot;
    }
  }
  const bool is_behind = rank < first_owner;
  slot = first_slot + (is_behind ? 1 : 0);
#pragma unroll 1
  for (int i = rank - first_owner + (is_behind ? split : 0); i < Config::kWarpPieces; i += split, ++slot) {
    const FragmentCorner corner = corner_of(i);
    const FragmentPosition position = position_of_lane(corner, lane);
    EpilogueInputs<kPiece / 8> inputs;
    if constexpr (!kIsAlphaOnly) inputs = load_epilogue_inputs<kPiece / 8>(params.epilogue, position, shape);
    float sums[kSums] = {};
    if (split > 1) smem.exchange.await_sums();
#pragma unroll 1
    for (int source = 0; source < split; ++source) {
      add_sums<kPiece>(sums, source == rank ? own_place(i) : place_of(slot, rank, source));
    }
    __syncwarp();  // a lane writes below where other lanes have read
    float* const staging = smem.own_sums(warp, i);
    if constexpr (kIsAlphaOnly) {
      stage_plain<Config, T>(sums, ptx::smem_addr(staging), params.epilogue.alpha, lane);
      __syncwarp();
      store_plain<Config, T>(staging, params.epilogue, corner, shape, lane);
    } else {
      if constexpr (Config::kTransposes) transpose<Config>(sums, staging, lane);
      scale_and_add(sums, params.epilogue, inputs);
      activate_and_store<kPiece / 8>(sums, params.epilogue, position, shape);
    }
  }
}

/// The coordinates of a box, in the host's order: K, line, block and batch.
using Coords = int[4];

/// Calls visit(coords, block) for each box of an operand in a stage. block: the stage's K block where the box begins.
template <typename Config, typename Visit>
__device__ __forceinline__ void for_each_box(const Params& params, int stage, int line, int batch,
                                             Visit visit) {
  const int first_block = stage * Config::kStageBlocks;
  if (params.loads_whole_stages) {
    const Coords coords = {0, line, first_block, batch};
    visit(coords, 0);
    return;
  }
#pragma unroll
  for (int block = 0; block < Config::kStageBlocks; ++block) {
    const Coords coords = {(first_block + block) * kBlockK, line, 0, batch};
    visit(coords, block);
  }
}

/// Prefetches the CTA's first stages of B to L2 before griddepcontrol.wait. This needs no order: the kernel before this
/// one may still write the operands, but its writes go through L2, too. All tiles share the rows of A, so each CTA
/// prefetches only one stage of A. tile_number: along N. first_stage, num_stages: of the CTA. Threads: one of each CTA.
template <typename Config>
__device__ __forceinline__ void prefetch_operands(const Params& params, const TensorMap* tensor_map_a,
                                                  const TensorMap* tensor_map_b, FragmentCorner tile,
                                                  int tile_number, int first_stage, int num_stages) {
  const int stages = num_stages < params.prefetched_stages ? num_stages : params.prefetched_stages;
  for_each_box<Config>(
      params, first_stage + tile_number % stages, tile.row, 0,
      [&](const Coords& coords, int) { ptx::cp_async_bulk_prefetch_tensor(tensor_map_a, coords); });
  for (int stage = 0; stage < stages; ++stage) {
    for_each_box<Config>(params, first_stage + stage, tile.column, 0, [&](const Coords& coords, int) {
      ptx::cp_async_bulk_prefetch_tensor(tensor_map_b, coords);
    });
  }
}

/// tensor_map_a, tensor_map_b: see encode_stages().
template <typename Config, typename T, EpilogueKind kEpilogueKind>
__global__ void __launch_bounds__(Config::kNumThreads)
    gemm_kernel(const __grid_constant__ TensorMap tensor_map_a,
                const __grid_constant__ TensorMap tensor_map_b, const __grid_constant__ Params params) {
  using namespace ptx;
  auto& smem = dynamic_shared_storage<SharedStorage<Config>>();
  const int thread = static_cast<int>(threadIdx.x);
  const bool is_in_producer_warp = uniform_warp() == kWarpgroupThreads / kWarpThreads;

  const int rank = static_cast<int>(cluster_ctarank());
  int tile_number = static_cast<int>(clusterid_x());
  const int tile_m = tile_number % params.tiles_m;
  tile_number /= params.tiles_m;
  const FragmentCorner tile = {tile_number / params.tiles_n, tile_m * Config::BLOCK_M,
                               tile_number % params.tiles_n * params.columns};
  // If K does not divide evenly, the first CTAs take one stage more.
  const int stages_of_all = params.k_stages / params.split;
  const int longer_parts = params.k_stages % params.split;
  const int num_stages = stages_of_all + (rank < longer_parts ? 1 : 0);
  const int first_stage = rank * stages_of_all + (rank < longer_parts ? rank : longer_parts);
  if (thread == kWarpgroupThreads) {
    prefetch_tensormap(&tensor_map_a);
    prefetch_tensormap(&tensor_map_b);
    smem.pipeline.init(num_stages < Config::kNumStages ? num_stages : Config::kNumStages);
    for (int stage = 0; stage < Config::kNumStages; ++stage) {
      leave_rest_undefined<Config>(smem.a[stage], params, params.a_rows, Config::BLOCK_M);
      leave_rest_undefined<Config>(smem.b[stage], params, params.columns, Config::BLOCK_N);
    }
    if (params.split > 1) {
      smem.exchange.init(params.split, 0);
      smem.exchange.announce(params.split, rank, Config::kNumPieces,
                             Config::kPieceFloat4s * int{sizeof(float4)});
    }
    // TMA and the peers use the mbarriers, and must see them initialised.
    fence_mbarrier_init_release_cluster();
  }
  __syncthreads();
  // Not waited for yet: the peers' mbarriers are not needed before there are partials to send.
  if (params.split > 1) barrier_cluster_arrive_relaxed();
  if (params.prefetched_stages > 0 && is_in_producer_warp) {
    if (elect_sync()) {
      prefetch_operands<Config>(params, &tensor_map_a, &tensor_map_b, tile, tile_number, first_stage,
                                num_stages);
    }
    __syncwarp();
  }
  // Before this line the kernel has read and written only shared memory.
  griddepcontrol_wait();

  const int block_bytes_a = lines_of_block(params, params.a_rows, Config::BLOCK_M) * kLineBytes;
  const int block_bytes_b = lines_of_block(params, params.columns, Config::BLOCK_N) * kLineBytes;
  typename Config::Pipeline::State state;
  if (is_in_producer_warp) {
    const bool is_leader = elect_sync();
    const int batch_a = params.a_is_batched ? tile.batch : 0;
    const int batch_b = params.b_is_batched ? tile.batch : 0;
    for (int stage = first_stage; stage < first_stage + num_stages; ++stage) {
      smem.pipeline.producer_wait_uniform(state);
      if (is_leader) {
        const SmemAddr bar = smem.pipeline.producer_announce(
            state, Config::kStageBlocks * (params.a_rows + params.columns) * kLineBytes);
        for_each_box<Config>(params, stage, tile.column, batch_b, [&](const Coords& coords, int block) {
          cp_async_bulk_tensor_g2s(smem_addr(smem.b[state.stage] + block * block_bytes_b), &tensor_map_b,
                                   coords, bar);
        });
        for_each_box<Config>(params, stage, tile.row, batch_a, [&](const Coords& coords, int block) {
          cp_async_bulk_tensor_g2s(smem_addr(smem.a[state.stage] + block * block_bytes_a), &tensor_map_a,
                                   coords, bar);
        });
      }
      state.advance();
    }
    // The next kernel may now set itself up on SMs that become free. It still waits for the end of this one. If it
    // started before all loads are issued, its CTAs would crowd on the SMs that become free first.
    if (params.triggers_dependents) griddepcontrol_launch_dependents();
    if (params.split > 1) barrier_cluster_wait();
  } else {
    // The operands of wgmma's M and of its N.
    const cuda::std::uint64_t first_desc_m =
        make_k_major_b128_desc(smem_addr(Config::kTransposes ? smem.b[0] : smem.a[0]).value);
    const cuda::std::uint64_t first_desc_n =
        make_k_major_b128_desc(smem_addr(Config::kTransposes ? smem.a[0] : smem.b[0]).value);
    constexpr int kStageBytesM = Config::kTransposes ? Config::kStageBytesB : Config::kStageBytesA;
    constexpr int kStageBytesN = Config::kTransposes ? Config::kStageBytesA : Config::kStageBytesB;
    const int block_bytes_m = Config::kTransposes ? block_bytes_b : block_bytes_a;
    const int block_bytes_n = Config::kTransposes ? block_bytes_a : block_bytes_b;
    // If accum is not defined before the loop, ptxas 12.3 serialises the wgmmas.
    float accum[Config::kNumChains][Config::kNumBlocks][Config::kWgmmaN / 2] = {};
    const auto fence_accum = [&] {
#pragma unroll
      for (auto& chain : accum) {
#pragma unroll
        for (auto& block : chain) wgmma_fence_operand(block);
      }
    };
    fence_accum();
    struct Place {
      cuda::std::uint64_t desc_m;
      cuda::std::uint64_t desc_n;
    };
    const auto locate = [&](int stage) {
      return Place{advance_smem_desc(first_desc_m, stage * kStageBytesM),
                   advance_smem_desc(first_desc_n, stage * kStageBytesN)};
    };
    const auto multiply = [&](const Place& place, bool is_first) {
#pragma unroll
      for (int step = 0; step < Config::kStageBlocks * kBlockK / kWgmmaK; ++step) {
        constexpr int kBlockSteps = kBlockK / kWgmmaK;
        const int k_block = step / kBlockSteps;
        const int offset = step % kBlockSteps * kWgmmaK * kElemBytes;
        const auto desc_m = advance_smem_desc(place.desc_m, k_block * block_bytes_m + offset);
        const auto desc_n = advance_smem_desc(place.desc_n, k_block * block_bytes_n + offset);
#pragma unroll
        for (int block = 0; block < Config::kNumBlocks; ++block) {
          wgmma_mma_async<Config::kWgmmaN, T>(
              accum[k_block % Config::kNumChains][block],
              advance_smem_desc(desc_m, block * kWgmmaM * kLineBytes), desc_n,
              !is_first || k_block >= Config::kNumChains || step % kBlockSteps != 0);
        }
      }
    };
    // Afterwards own sums may overwrite the stages: all have been loaded and multiplied.
    for_each_stage(smem.pipeline, state, num_stages, thread, locate, multiply, [] {});
    fence_accum();
#pragma unroll
    for (int chain = 1; chain < Config::kNumChains; ++chain) {
#pragma unroll
      for (int block = 0; block < Config::kNumBlocks; ++block) {
#pragma unroll
        for (int i = 0; i < Config::kWgmmaN / 2; ++i) accum[0][block][i] += accum[chain][block][i];
      }
    }
    add_and_store<Config, T, kEpilogueKind>(accum[0], smem, params, tile, rank, thread);
  }
}

}  // namespace hopper_gemm::library::small_m
