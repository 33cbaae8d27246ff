// The library's cooperative kernel of one tile N. It has every operation of the library. Its pipeline, roles and stores
// are those of version 12 of the Hopper ladder. Other kernels are faster for large products (cooperative_mixed_n.cuh),
// for a short K (pingpong.cuh) and for small M (small_m.cuh).
//
// A configuration is compiled twice, for EpilogueKind::AlphaOnly and General. Types, layouts, batches and split-K are
// known only at run time. There is a loop over K for each type and layout, and a branch outside of it selects one. All
// threads take the same branch. Configurations of Epilogues::AlphaOnly are compiled once, for K-major operands.
//
// Small problems take a few microseconds, so the time for everything that happens once counts. The producer initialises
// the mbarriers and then loads without waiting for anyone. A CTA with only one tile finds it without the tile queue.
// Only the stages in use get mbarriers.
//
// If D has too few tiles for the GPU, the CTAs of a cluster share a tile's K and send each other their partials
// (split_k_exchange.cuh). This needs no workspace and no second kernel, and the order of the sums is fixed. If one
// cluster is not enough either, several clusters share K. The alpha-only kernel then stores fp32 partials to the workspace
// instead of D, and reduce_partials.cu adds them up and finishes D with any epilogue.

#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/std/cstdint>
#include <ptx/cluster.cuh>
#include <ptx/elect.cuh>
#include <ptx/fence.cuh>
#include <ptx/griddepcontrol.cuh>
#include <ptx/named_barrier.cuh>
#include <ptx/setmaxnreg.cuh>
#include <ptx/special_registers.cuh>
#include <ptx/tma.cuh>
#include <ptx/wgmma.cuh>

#include "common/gemm_shape.hpp"
#include "common/type_traits.hpp"
#include "device/device_common.cuh"
#include "device/epilogue.cuh"
#include "device/fragment_epilogue.cuh"
#include "device/pipeline.cuh"
#include "device/smem_descriptor.hpp"
#include "device/tensor_map_type.hpp"
#include "device/tile_queue.cuh"
#include "device/tile_scheduler.hpp"
#include "gemm/config.hpp"
#include "gemm/epilogue/bias_queue.cuh"
#include "gemm/epilogue/epilogue.cuh"
#include "gemm/epilogue/epilogue_params.hpp"
#include "gemm/epilogue/load_c.cuh"
#include "gemm/epilogue/split_k_exchange.cuh"
#include "gemm/kernel_args.hpp"
#include "gemm/mainloop/mainloop.cuh"
#include "gemm/mainloop/operands.cuh"
#include "gemm/scheduler/cluster_starts.hpp"
#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm::library::cooperative {

/// How the CTAs of a cluster share their loads. Each loads a slice of an operand's part of a stage for all that have the
/// same lines. CTA number r of the cluster is in row r % cluster_m of its tiles. Without a cluster, or if its CTAs share
/// a tile's K, a CTA loads for itself.
struct SharedLoads {
  int cluster_m;  ///< a power of two, as cluster_n
  int cluster_n;
  int log2_cluster_m;
  int size;        ///< CTAs of the cluster that share loads; 1 without a cluster
  int slice_of_a;  ///< lines of a K-major A, or elements along K of an MN-major one
  int slice_of_b;
  cuda::std::uint16_t row;     ///< the CTAs of the cluster's first row, which share A
  cuda::std::uint16_t column;  ///< the CTAs of its first column, which share B

  /// Where a CTA of the cluster is along M and along N.
  __device__ __forceinline__ int along_m(int cta_rank) const { return cta_rank & (cluster_m - 1); }
  __device__ __forceinline__ int along_n(int cta_rank) const {
    return (cta_rank >> log2_cluster_m) & (cluster_n - 1);
  }
};

/// The kernel's parameters beside the tensor maps.
struct Params {
  int batch_count;
  // The last clusters may extend past D's edge. A CTA outside of D still multiplies, because its peer needs its share
  // of the loads.
  TileGrid grid;  ///< of a batch's cluster tiles
  /// The last row and column where a tile may begin. Residue tiles shift back to D's edge, because TMA takes long to
  /// fill in zeros. The overlap is stored twice with equal values. With beta ≠ 0 they do not shift, because C may be D.
  int last_m0;
  int last_n0;
  cuda::std::uint32_t num_tiles;  ///< cluster tiles of all batches
  OperandMajor a_major;
  OperandMajor b_major;
  bool a_is_batched;  ///< if false, all batches share one
  bool b_is_batched;
  bool is_fp16;
  int split;         ///< CTAs of a cluster that share a tile's K; 1 if a cluster shares loads
  int k_blocks;      ///< K blocks of each of these CTAs
  int longer_parts;  ///< how many of these CTAs have one K block more
  /// Clusters that share a tile's K. batch_count and num_tiles count each one's matrix of partials as a batch.
  int workspace_split_k;
  int cluster_k_blocks;  ///< K blocks from the start of one of these clusters to the start of the next
  int used_stages;       ///< the other stages need no mbarriers
  SharedLoads shared_loads;
  int a_lines;  ///< lines of a stage that TMA brings, see loaded_lines()
  int b_lines;
  /// K blocks that each CTA prefetches to L2 while it waits; 0 with several tiles for each, batches, or MN-major
  /// operands.
  int prefetched_k_blocks;
  bool triggers_dependents;  ///< GemmOptions::programmatic_dependent_launch
  EpilogueParams epilogue;
};

/// A kernel's further parameters: those of C and aux, or none.
template <EpilogueKind kEpilogueKind>
using MatricesOf = conditional_t<kEpilogueKind == EpilogueKind::AlphaOnly, NoMatrixParams, MatrixParams>;

template <KernelConfig kKernel, EpilogueKind kEpilogueKind>
struct Config {
  static_assert(fault_of(kKernel) == nullptr);
  static_assert(cluster_size(kKernel) == 1, "a kernel is compiled once for all clusters");
  static constexpr bool kIsAlphaOnly = kEpilogueKind == EpilogueKind::AlphaOnly;
  using Matrices = MatricesOf<kEpilogueKind>;
  static_assert(kIsAlphaOnly || kKernel.epilogues == Epilogues::All);
  static constexpr bool kAIsKMajor = kKernel.majors == Majors::KMajor || kKernel.majors == Majors::KMajorA;
  static constexpr bool kBIsKMajor = kKernel.majors == Majors::KMajor;
  static constexpr int BLOCK_M = kKernel.block_m;
  static constexpr int BLOCK_N = kKernel.block_n;
  static constexpr int kNumStages = kKernel.stages;
  static constexpr bool kCanSplit = can_split_k(kKernel);
  static constexpr bool kCanUseWorkspace = kIsAlphaOnly && can_use_workspace(kKernel);
  static constexpr int kNumConsumers = kKernel.consumers;
  static constexpr int kNumConsumerThreads = kNumConsumers * kWarpgroupThreads;
  static constexpr int kNumConsumerWarps = kNumConsumerThreads / kWarpThreads;
  static constexpr int kNumThreads = num_threads(kKernel);
  static constexpr bool kSwapsAB = kKernel.swap_ab;
  static constexpr int kConsumersAlongN = consumers_along_n(kKernel);
  static constexpr int kWgmmaN = wgmma_n(kKernel);
  // wgmmas along wgmma's M
  static constexpr int kConsumerBlocks =
      (kSwapsAB ? BLOCK_N : BLOCK_M) / (kNumConsumers / kConsumersAlongN) / kWgmmaM;
  static constexpr int kLeaf = 8;  // cluster tiles along N of a raster group
  // Columns of wgmma's D that a warp sends and adds up at a time if CTAs share a tile's K.
  static constexpr int kPieceN = kSwapsAB ? swapped_rows(kKernel) : kStagingN;
  static constexpr int kPiecesAcross = kWgmmaN / kPieceN;
  static constexpr int kStoreBuffers = store_buffers(kKernel);
  static constexpr int kStageLinesA = stage_lines_m(kKernel);
  static constexpr int kStageBytesA = kStageLinesA * kLineBytes;
  static constexpr int kStageBytesB = BLOCK_N * kLineBytes;
  // With one consumer warpgroup each thread already has as many registers as it can use.
  static constexpr bool kMovesRegisters = kNumConsumers > 1;
  static constexpr int kProducerRegisters = 40;
  static constexpr int kConsumerRegisters = 232;
  static_assert(!kMovesRegisters || kProducerRegisters + kNumConsumers * kConsumerRegisters <=
                                        (1 + kNumConsumers) * (kRegistersPerSm / kNumThreads / 8 * 8));

  /// Where a consumer's part of a tile begins along wgmma's M and along its N.
  static __device__ __forceinline__ int first_along_m(int consumer) {
    return kConsumersAlongN == 1 ? consumer * kConsumerBlocks * kWgmmaM : 0;
  }
  static __device__ __forceinline__ int first_along_n(int consumer) {
    return kConsumersAlongN == 1 ? 0 : consumer * kWgmmaN;
  }

  static __device__ __forceinline__ OperandMajor a_major(const Params& params) {
    return kAIsKMajor ? OperandMajor::K : params.a_major;
  }
  static __device__ __forceinline__ OperandMajor b_major(const Params& params) {
    return kBIsKMajor ? OperandMajor::K : params.b_major;
  }

  // The consumers and the producer warp read it.
  using TileQueue = hopper_gemm::TileQueue<2, kNumConsumerWarps + 1>;
  using Pipeline =
      hopper_gemm::Pipeline<kNumStages, kStageBytesA + kStageBytesB, kNumConsumers, kAnyClusterSize>;
  using Consumers = ConsumersInCluster<Pipeline>;
  using BiasQueue = library::BiasQueue<(BLOCK_M > BLOCK_N ? BLOCK_M : BLOCK_N), kNumConsumerWarps>;
  using CBarriers = library::CBarriers<kNumConsumerWarps, kStoreBuffers>;
};

/// The accumulators of a consumer's thread.
template <typename Config>
using Accumulators = float[Config::kConsumerBlocks][Config::kWgmmaN / 2];

/// The general epilogue's shared memory.
template <typename Config>
struct GeneralStorage {
  typename Config::BiasQueue bias_queue;
  typename Config::CBarriers c_barriers;
};

struct NoStorage {};

template <typename Config>
struct alignas(1024) SharedStorage {
  // A stage of A: K-major [kStageLinesA, 64], or MN-major [BLOCK_M / 64][64, 64]; the same for B. 128B swizzle.
  unsigned char a[Config::kNumStages][Config::kStageBytesA];
  unsigned char b[Config::kNumStages][Config::kStageBytesB];
  unsigned char d[Config::kNumConsumerWarps][Config::kStoreBuffers][kStoreBufferBytes];
  typename Config::Pipeline pipeline;
  typename Config::TileQueue tile_queue;
  conditional_t<Config::kIsAlphaOnly, NoStorage, GeneralStorage<Config>> general;
  SplitKExchange exchange;

  /// Where the peers' partials arrive. They overwrite the stages, so the CTA must have multiplied.
  __device__ __forceinline__ float4* peers_sums() { return reinterpret_cast<float4*>(a); }
  // No CTA adds up more than its share of the subtiles, rounded up.
  static_assert(!Config::kCanSplit ||
                Config::BLOCK_M * Config::BLOCK_N * int{sizeof(float)} + kMaxSplitK * kMostSubtileBytes <=
                    Config::kNumStages * (Config::kStageBytesA + Config::kStageBytesB));
};

// The named barrier after which the mbarriers are initialised. With swap-AB, the next ones are the consumers'.
inline constexpr cuda::std::uint32_t kSetUpBarrier = 1;

/// Where a CTA's tile of a cluster tile begins.
template <typename Config>
struct CtaTile {
  int batch;
  int m0;
  int n0;

  __device__ __forceinline__ CtaTile(TileCoord cluster_tile, const Params& params, int cta_rank) {
    const SharedLoads& shared_loads = params.shared_loads;
    // The scheduler warp has no register left for what depends on the rank.
    compute_where_used(cta_rank);
    batch = params.batch_count == 1 ? 0 : cluster_tile.m / params.grid.m;
    const int tile_m =
        (cluster_tile.m - batch * params.grid.m) * shared_loads.cluster_m + shared_loads.along_m(cta_rank);
    const int tile_n = cluster_tile.n * shared_loads.cluster_n + shared_loads.along_n(cta_rank);
    m0 = tile_m * Config::BLOCK_M;
    n0 = tile_n * Config::BLOCK_N;
    if (m0 > params.last_m0) m0 = params.last_m0;
    if (n0 > params.last_n0) n0 = params.last_n0;
  }
};

/// The cluster tile at a place of an order in which batch follows batch. Its m counts on from one batch to the next.
/// order(index, grid): the tile of a batch.
template <typename Order>
__device__ __forceinline__ TileCoord tile_at(cuda::std::uint32_t index, const Params& params,
                                             const Order& order) {
  // The scheduler warp has no registers left for what depends on the grid from one tile to the next.
  TileGrid grid = params.grid;
  compute_where_used(grid.m);
  const cuda::std::uint32_t batch = params.batch_count == 1 ? 0 : index / grid.num_tiles();
  TileCoord tile = order(index - batch * grid.num_tiles(), grid);
  tile.m += static_cast<int>(batch) * grid.m;
  return tile;
}

/// What a CTA loads of one operand for a tile.
struct OperandSlice {
  const TensorMap* tensor_map;
  OperandMajor major;
  int line0;  ///< where the tile begins along M or N
  int batch;
  int first;  ///< where the slice begins, along the lines of a K-major operand and along K of an MN-major one
  cuda::std::uint16_t sharers;  ///< the CTAs that get the slice, this one among them
};

/// Loads a CTA's slice of one operand's part of a stage, which is kLines along M or N. kIsShared: several CTAs get it.
template <int kLines, bool kIsShared>
__device__ __forceinline__ void load_operand(ptx::SmemAddr stage, const OperandSlice& slice, int k,
                                             ptx::SmemAddr bar) {
  const auto& [tensor_map, major, line0, batch, first, sharers] = slice;
  const auto load = [&](int first_row, int column, int row) {
    const ptx::SmemAddr destination = stage + static_cast<cuda::std::uint32_t>(first_row * kLineBytes);
    if constexpr (kIsShared) {
      ptx::cp_async_bulk_tensor_g2s_multicast(destination, tensor_map, {column, row, batch}, bar, sharers);
    } else {
      ptx::cp_async_bulk_tensor_g2s(destination, tensor_map, {column, row, batch}, bar);
    }
  };
  const bool is_k_major = major == OperandMajor::K;
  const int line = is_k_major ? line0 + first : line0;
  const int along_k = is_k_major ? k : k + first;
  load(first, is_k_major ? along_k : line, is_k_major ? line : along_k);
  if (!is_k_major) {
#pragma unroll
    for (int atom = 1; atom < kLines / kAtomLines; ++atom) {
      load(atom * kAtomLines + first, line0 + atom * kAtomLines, along_k);
    }
  }
}

/// Loads a CTA's slices of num_k_blocks K blocks from k0 on. Threads: the producer warp, converged; is_leader: the lane
/// that loads.
template <typename Config, bool kSharesA, bool kSharesB>
__device__ __forceinline__ void load_tile(SharedStorage<Config>& smem,
                                          typename Config::Pipeline::State& state, const Params& params,
                                          const OperandSlice& a, const OperandSlice& b, int k0,
                                          int num_k_blocks, bool is_leader) {
  for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
    smem.pipeline.producer_wait_uniform(state);
    if (is_leader) {
      const ptx::SmemAddr bar =
          smem.pipeline.producer_announce(state, (params.a_lines + params.b_lines) * kLineBytes);
      const int k = k0 + k_block * kBlockK;
      load_operand<Config::BLOCK_M, kSharesA>(ptx::smem_addr(smem.a[state.stage]), a, k, bar);
      load_operand<Config::BLOCK_N, kSharesB>(ptx::smem_addr(smem.b[state.stage]), b, k, bar);
    }
    state.advance();
  }
}

/// Marks as undefined what load_operand() does not write to a K-major stage, if a box has fewer lines than a slice.
/// These lines only reach elements of D that do not exist. lines: of all boxes together; sharers: CTAs that load a slice
/// each.
template <int kLines>
__device__ __forceinline__ void leave_rest_undefined(ptx::SmemAddr stage, int lines, int sharers) {
  for (int slice = 0; slice < sharers; ++slice) {
    const int first = slice * (kLines / sharers) + lines / sharers;
    leave_undefined(stage + static_cast<cuda::std::uint32_t>(first * kLineBytes),
                    (kLines - lines) / sharers * kLineBytes);
  }
}

/// Prefetches the CTA's first K blocks of A and B to L2 before griddepcontrol.wait. This needs no order: the kernel
/// before this one may still write the operands, but its writes go through L2, too. Clusters that share an operand's
/// lines prefetch different K blocks of them. first_k_block, num_k_blocks: of the CTA. Threads: one of each CTA.
template <typename Config>
__device__ __forceinline__ void prefetch_operands(const Params& params, const TensorMap* tensor_map_a,
                                                  const TensorMap* tensor_map_b, TileCoord cluster_tile,
                                                  CtaTile<Config> tile, int cta_rank, int first_k_block,
                                                  int num_k_blocks) {
  const SharedLoads& shared_loads = params.shared_loads;
  const int k_blocks = num_k_blocks < params.prefetched_k_blocks ? num_k_blocks : params.prefetched_k_blocks;
  const int line_a = tile.m0 + shared_loads.along_n(cta_rank) * shared_loads.slice_of_a;
  const int line_b = tile.n0 + shared_loads.along_m(cta_rank) * shared_loads.slice_of_b;
  for (int k_block = cluster_tile.n; k_block < k_blocks; k_block += params.grid.n) {
    ptx::cp_async_bulk_prefetch_tensor(tensor_map_a, {(first_k_block + k_block) * kBlockK, line_a, 0});
  }
  for (int k_block = cluster_tile.m; k_block < k_blocks; k_block += params.grid.m) {
    ptx::cp_async_bulk_prefetch_tensor(tensor_map_b, {(first_k_block + k_block) * kBlockK, line_b, 0});
  }
}

/// A consumer warpgroup's product, see multiply_stages(). kMajorA, kMajorB: of the GEMM's operands. thread: number in the
/// warpgroup. Threads: the whole warpgroup.
template <typename Config, typename T, ptx::Major kMajorA, ptx::Major kMajorB>
__device__ __forceinline__ void multiply(Accumulators<Config>& accum, SharedStorage<Config>& smem,
                                         typename Config::Pipeline::State& state, const Params& params,
                                         int num_k_blocks, int consumer, int thread) {
  typename Config::Consumers pipeline = {smem.pipeline, params.shared_loads.size};
  const int first_m = Config::first_along_m(consumer) * kLineBytes;
  const int first_n = Config::first_along_n(consumer) * kLineBytes;
  if constexpr (Config::kSwapsAB) {
    multiply_stages<Operands<T, kMajorB, kMajorA>, Config::kWgmmaN>(
        accum, pipeline, state, num_k_blocks, ptx::smem_addr(smem.b[0] + first_m), Config::kStageBytesB,
        ptx::smem_addr(smem.a[0] + first_n), Config::kStageBytesA, thread, [] {});
  } else {
    multiply_stages<Operands<T, kMajorA, kMajorB>, Config::kWgmmaN>(
        accum, pipeline, state, num_k_blocks, ptx::smem_addr(smem.a[0] + first_m), Config::kStageBytesA,
        ptx::smem_addr(smem.b[0] + first_n), Config::kStageBytesB, thread, [] {});
  }
}

/// Selects the loop for the launch's layouts. Threads: see multiply().
template <typename Config, typename T>
__device__ __forceinline__ void multiply_layouts(Accumulators<Config>& accum, SharedStorage<Config>& smem,
                                                 typename Config::Pipeline::State& state,
                                                 const Params& params, int num_k_blocks, int consumer,
                                                 int thread) {
  using ptx::Major;
  const bool a_is_k_major = Config::a_major(params) == OperandMajor::K;
  const bool b_is_k_major = Config::b_major(params) == OperandMajor::K;
  static_assert(Config::kAIsKMajor || !Config::kBIsKMajor);
  if (a_is_k_major && b_is_k_major) {
    multiply<Config, T, Major::K, Major::K>(accum, smem, state, params, num_k_blocks, consumer, thread);
  } else if constexpr (!Config::kBIsKMajor) {
    if (a_is_k_major) {
      multiply<Config, T, Major::K, Major::MN>(accum, smem, state, params, num_k_blocks, consumer, thread);
    } else if constexpr (!Config::kAIsKMajor) {
      if (b_is_k_major) {
        multiply<Config, T, Major::MN, Major::K>(accum, smem, state, params, num_k_blocks, consumer, thread);
      } else {
        multiply<Config, T, Major::MN, Major::MN>(accum, smem, state, params, num_k_blocks, consumer, thread);
      }
    }
  }
}

/// A warp's staging buffers. The warp takes one after the other, and TMA stores each as a bulk group of its own.
template <int kStoreBuffers>
struct StagingQueue {
  unsigned char (&buffers)[kStoreBuffers][kStoreBufferBytes];
  int lane;
  int number = 0;  ///< of the next buffer

  /// Waits until TMA has read the next buffer, and returns it. Threads: the whole warp.
  __device__ __forceinline__ unsigned char* acquire() {
    if (lane == 0) ptx::cp_async_bulk_wait_group_read<kStoreBuffers - 1>();
    __syncwarp();
    unsigned char* const buffer = buffers[number];
    number = next(1);
    return buffer;
  }

  /// The number of the buffer that acquire() returns after `others` more.
  __device__ __forceinline__ int next(int others) const {
    const int sum = number + others;
    return sum < kStoreBuffers ? sum : sum - kStoreBuffers;
  }

  /// Waits until TMA has read all buffers. Threads: the whole warp.
  __device__ __forceinline__ void await_all() const {
    if (lane == 0) ptx::cp_async_bulk_wait_group_read<0>();
    __syncwarp();
  }
};

/// The staging buffers of a consumer warpgroup with swap-AB. Each holds up to kSwappedRows rows of 64 columns of D, to
/// which every warp contributes 16 columns. The warpgroup takes one after the other, and TMA stores each as a bulk group of
/// its first thread.
template <int kStoreBuffers>
struct WarpgroupStaging {
  static constexpr int kBufferBytes = kSwappedRows * kLineBytes;
  static constexpr int kBuffers = 4 * kStoreBuffers * kStoreBufferBytes / kBufferBytes;

  unsigned char* buffers;   ///< those of its four warps
  cuda::std::uint32_t bar;  ///< the number of its named barrier
  int thread;               ///< number in the warpgroup
  int number = 0;           ///< of the next buffer

  /// Waits until TMA has read the next buffer, and returns it. Threads: the whole warpgroup.
  __device__ __forceinline__ ptx::SmemAddr acquire() {
    if (thread == 0) ptx::cp_async_bulk_wait_group_read<kBuffers - 1>();
    ptx::barrier_sync(bar, kWarpgroupThreads);
    const ptx::SmemAddr buffer = ptx::smem_addr(buffers + number * kBufferBytes);
    number = number + 1 < kBuffers ? number + 1 : 0;
    return buffer;
  }

  /// Stores a buffer that every warp has written. Threads: the whole warpgroup.
  __device__ __forceinline__ void store(ptx::SmemAddr buffer, const TensorMap* tensor_map_d,
                                        FragmentCorner corner) const {
    ptx::fence_proxy_async_shared_cta();
    ptx::barrier_sync(bar, kWarpgroupThreads);
    if (thread == 0) {
      ptx::cp_async_bulk_tensor_s2g(tensor_map_d, {corner.column, corner.row, corner.batch}, buffer);
      ptx::cp_async_bulk_commit_group();
    }
  }
};

/// Rounds alpha times a warp's 16 rows by kRows columns of the transpose of D to T, and stages them as rows of D. A row of
/// the buffer has 128 bytes, with the swizzle of that width. thread: number in the warpgroup. Threads: the whole warp,
/// converged.
template <typename T, int kRows>
__device__ __forceinline__ void stage_transpose(const float* fragment, ptx::SmemAddr buffer, float alpha,
                                                int thread) {
  // Lane 8 j + i addresses row i of matrix j. Matrices 0 and 1 are the left and the right eight of the warp's columns of
  // D, and matrices 2 and 3 are those of the next eight rows.
  const int lane = thread % kWarpThreads;
  const int row = lane % 8 + lane / 16 * 8;
  const int swizzled_chunk = (thread / kWarpThreads * 2 + lane / 8 % 2) ^ (row % 8);
  const ptx::SmemAddr first =
      buffer + static_cast<cuda::std::uint32_t>(row * kLineBytes + swizzled_chunk * 16);
#pragma unroll
  for (int i = 0; i < kRows / 2; i += 8) {  // 16 rows
    const auto pack = [&](int e) {
      const auto pair = round_pair<T>(alpha * fragment[i + e], alpha * fragment[i + e + 1]);
      return *reinterpret_cast<const cuda::std::uint32_t*>(&pair);
    };
    const cuda::std::uint32_t matrices[4] = {pack(0), pack(2), pack(4), pack(6)};
    ptx::stmatrix_trans(first + static_cast<cuda::std::uint32_t>(i * 2 * kLineBytes), matrices);
  }
}

/// Rounds alpha times kRows columns of a consumer's transpose of D to a 16-bit type and stores them by TMA. fragment: a
/// thread's part. Threads: the whole warpgroup.
template <int kRows, int kStoreBuffers>
__device__ __forceinline__ void store_swapped_piece(const float* fragment,
                                                    WarpgroupStaging<kStoreBuffers>& staging,
                                                    const TensorMap* tensor_map_d,
                                                    const GemmEpilogue& epilogue, FragmentCorner corner) {
  const ptx::SmemAddr buffer = staging.acquire();
  if (epilogue.output_type == DataType::Float16) {
    stage_transpose<__half, kRows>(fragment, buffer, epilogue.alpha, staging.thread);
  } else {
    stage_transpose<__nv_bfloat16, kRows>(fragment, buffer, epilogue.alpha, staging.thread);
  }
  staging.store(buffer, tensor_map_d, corner);
}

/// Stores a consumer warpgroup's part of a 16-bit D that is alpha · sum, by TMA, from accumulators of the transpose of
/// D. corner: of the part. Threads: the whole warpgroup.
template <typename Config>
__device__ __forceinline__ void store_plain_swapped(const Accumulators<Config>& accum,
                                                    WarpgroupStaging<Config::kStoreBuffers>& staging,
                                                    const TensorMap* tensor_map_d,
                                                    const GemmEpilogue& epilogue, FragmentCorner corner) {
#pragma unroll
  for (int block = 0; block < Config::kConsumerBlocks; ++block) {
#pragma unroll
    for (int piece = 0; piece < ceil_div(Config::kWgmmaN, Config::kPieceN); ++piece) {
      // The last piece ends with the part, as in store_plain().
      const int left = Config::kWgmmaN - Config::kPieceN;
      const int row = piece * Config::kPieceN < left ? piece * Config::kPieceN : left;
      store_swapped_piece<Config::kPieceN>(accum[block] + row / 2, staging, tensor_map_d, epilogue,
                                           {corner.batch, corner.row + row, corner.column + block * kWgmmaM});
    }
  }
}

/// Rounds a fragment of kStagingN columns to a 16-bit type and stores it by TMA. Threads: the whole warp.
template <int kStoreBuffers>
__device__ __forceinline__ void store_plain_piece(float (&values)[kStagingN / 2],
                                                  StagingQueue<kStoreBuffers>& queue,
                                                  const TensorMap* tensor_map_d, const GemmEpilogue& epilogue,
                                                  FragmentCorner corner, int lane) {
#pragma unroll
  for (float& value : values) value *= epilogue.alpha;
  const ptx::SmemAddr staging = ptx::smem_addr(queue.acquire());
  if (epilogue.output_type == DataType::Float16) {
    stage_fragment_swizzled<__half, kStagingN>(values, staging, 0, lane);
  } else {
    stage_fragment_swizzled<__nv_bfloat16, kStagingN>(values, staging, 0, lane);
  }
  ptx::fence_proxy_async_shared_cta();
  __syncwarp();
  if (lane == 0) {
    ptx::cp_async_bulk_tensor_s2g(tensor_map_d, {corner.column, corner.row, corner.batch}, staging);
    ptx::cp_async_bulk_commit_group();
  }
}

/// Stores a consumer warp's part of a 16-bit D that is alpha · sum, by TMA. corner: of the warp's rows.
template <typename Config>
__device__ __forceinline__ void store_plain(const Accumulators<Config>& accum,
                                            StagingQueue<Config::kStoreBuffers>& queue,
                                            const TensorMap* tensor_map_d, const GemmEpilogue& epilogue,
                                            FragmentCorner corner, int lane) {
#pragma unroll
  for (int block = 0; block < Config::kConsumerBlocks; ++block) {
#pragma unroll
    for (int piece = 0; piece < ceil_div(Config::kWgmmaN, kStagingN); ++piece) {
      // The last subtile ends with the part. The overlap with the one before is stored twice with equal values.
      const int left = Config::kWgmmaN - kStagingN;
      const int column = piece * kStagingN < left ? piece * kStagingN : left;
      float values[kStagingN / 2];
#pragma unroll
      for (int e = 0; e < kStagingN / 2; ++e) values[e] = accum[block][column / 2 + e];
      store_plain_piece(values, queue, tensor_map_d, epilogue,
                        {corner.batch, corner.row + block * kWgmmaM, corner.column + column}, lane);
    }
  }
}

/// Stores kColumns columns of a warp's 16 rows of wgmma's D to its partial matrix in the workspace. Elements outside of the
/// matrix are left out. The lanes store from their registers, 32 bytes of a row together, so that no staging buffer is in the
/// way. corner: where the fragment begins, of a warp or with swap-AB of a consumer; thread: number in the warpgroup.
template <bool kSwapsAB, int kColumns>
__device__ __forceinline__ void store_partials(const float* fragment, const EpilogueParams& params,
                                               FragmentCorner corner, int thread) {
  const GemmEpilogue& partials = params.operations;
  const int lane = thread % kWarpThreads;
  const int along = lane % 4 * 2;
  const int across = lane / 4;
  const int row = corner.row + (kSwapsAB ? along : across);
  const int column = corner.column + (kSwapsAB ? thread / kWarpThreads * 16 + across : along);
  float* const first =
      static_cast<float*>(partials.d) + corner.batch * partials.d_batch_stride + row * partials.ldd + column;
  const int rows = params.shape.m - row;
  const int columns = params.shape.n - column;
#pragma unroll
  for (int e = 0; e < kColumns / 2; e += 2) {
    const int of_8_columns = e / 4 * 8;
    const int of_8_rows = e / 2 % 2 * 8;
    if constexpr (kSwapsAB) {
      float* const element = first + of_8_columns * partials.ldd + of_8_rows;
      if (of_8_rows >= columns) continue;
      if (of_8_columns < rows) *element = fragment[e];
      if (of_8_columns + 1 < rows) element[partials.ldd] = fragment[e + 1];
    } else if (of_8_rows < rows && of_8_columns < columns) {
      // The second element may be in the padding of the row.
      *reinterpret_cast<float2*>(first + of_8_rows * partials.ldd + of_8_columns) = {fragment[e],
                                                                                     fragment[e + 1]};
    }
  }
}

/// Where a consumer warp's subtile begins, or a consumer's with swap-AB. corner: of its part of a tile.
template <typename Config>
__device__ __forceinline__ FragmentCorner corner_of_subtile(FragmentCorner corner, int subtile) {
  const int along_m = subtile / Config::kPiecesAcross * kWgmmaM;
  const int along_n = subtile % Config::kPiecesAcross * Config::kPieceN;
  return {corner.batch, corner.row + (Config::kSwapsAB ? along_n : along_m),
          corner.column + (Config::kSwapsAB ? along_m : along_n)};
}

/// Calls take(e, sum) for the accumulators of a subtile. Its number, which counts on from one block to the next, is
/// known only at run time, and registers cannot be indexed: there is a branch for each subtile. The epilogue works on a
/// copy. If it wrote the accumulators' registers, ptxas would serialise the wgmmas of every loop, one for each layout
/// (C7515).
template <typename Config, typename Take>
__device__ __forceinline__ void take_subtile(const Accumulators<Config>& accum, int subtile,
                                             const Take& take) {
  constexpr int kAcross = Config::kPiecesAcross;
  constexpr int kElems = Config::kPieceN / 2;
#pragma unroll
  for (int i = 0; i < Config::kConsumerBlocks * kAcross; ++i) {
    if (subtile != i) continue;
#pragma unroll
    for (int e = 0; e < kElems; ++e) take(e, accum[i / kAcross][i % kAcross * kElems + e]);
  }
}

/// The partials of one tile: each CTA of a cluster has one for its part of K. The tile's subtiles are dealt to the
/// CTAs. Each warp sends a subtile to the same warp of its owner, where each lane holds the same elements. A CTA adds
/// in the order of K, so that the sum does not depend on which partial came first. Without split-K there is only the
/// CTA's own.
///
/// A subtile is a warp's: 16 rows of D by kStagingN columns. With swap-AB it is a consumer's, because the consumer stages
/// kPieceN rows of D by 64 columns together.
template <typename Config>
class SplitKPartials {
 public:
  static constexpr int kSubtiles =
      Config::kConsumerBlocks * Config::kPiecesAcross;  ///< of a warp or a consumer

  /// rows: from the tile's first row to D's edge. thread: number in the CTA.
  __device__ __forceinline__ SplitKPartials(SharedStorage<Config>& smem, int split, int rank, int rows,
                                            int thread)
      : smem_(smem),
        split_(split),
        rank_(rank),
        row_blocks_(rows >= Config::BLOCK_M ? kRowBlocks : ceil_div(rows, kRowsOfSubtile)),
        thread_(thread) {}

  /// Sends the subtiles that other CTAs add up. The wgmmas of accum must be complete. Threads: all consumers of all
  /// CTAs.
  __device__ __forceinline__ void send(const Accumulators<Config>& accum) const {
    smem_.exchange.begin(split_, rank_, thread_ % kWarpgroupThreads, thread_ == 0,
                         row_blocks_ * kColumnBlocks, kSubtileBytes);
#pragma unroll
    for (int i = 0; i < kSubtiles; ++i) {
      const int owner = owner_of(number_of(i), split_);
      if (row_block_of(i) >= row_blocks_ || owner == rank_) continue;
      smem_.exchange.template send<Config::kPieceN>(
          accum[i / Config::kPiecesAcross] + i % Config::kPiecesAcross * Config::kPieceN / 2,
          place_of(i, rank_), owner);
    }
  }

  /// Whether the CTA adds up the subtile of that number.
  __device__ __forceinline__ bool owns(int subtile) const {
    return row_block_of(subtile) < row_blocks_ && owner_of(number_of(subtile), split_) == rank_;
  }

  /// Adds up a subtile that the CTA owns. sums: must be 0. Threads: the whole warp, converged.
  __device__ __forceinline__ void add(float (&sums)[Config::kPieceN / 2], const Accumulators<Config>& accum,
                                      int subtile) const {
    if (split_ > 1) smem_.exchange.await_sums();
#pragma unroll 1
    for (int source = 0; source < split_; ++source) {
      if (source == rank_) {
        take_subtile<Config>(accum, subtile, [&](int e, float sum) { sums[e] += sum; });
      } else {
        add_sums<Config::kPieceN>(sums, place_of(subtile, source));
      }
    }
  }

 private:
  static constexpr bool kIsOfConsumer = Config::kSwapsAB;
  static constexpr int kRowsOfSubtile = kIsOfConsumer ? Config::kPieceN : 16;
  static constexpr int kRowBlocks = Config::BLOCK_M / kRowsOfSubtile;
  static constexpr int kColumnBlocks = kIsOfConsumer ? Config::BLOCK_N / kWgmmaM : Config::kPiecesAcross;
  static constexpr int kWarpsOfSubtile = kIsOfConsumer ? 4 : 1;
  static constexpr int kSubtileBytes = kWarpsOfSubtile * 16 * Config::kPieceN * int{sizeof(float)};
  static_assert(kSubtileBytes <= kMostSubtileBytes);

  __device__ __forceinline__ int row_block_of(int subtile) const {
    if constexpr (kIsOfConsumer) return subtile % Config::kPiecesAcross;
    const int warp = thread_ / kWarpThreads;
    return (warp / 4 * Config::kConsumerBlocks + subtile / Config::kPiecesAcross) * 4 + warp % 4;
  }

  /// The subtile's number in the tile. A warp's is rotated by one row block for each subtile along N, so that the
  /// subtiles that a CTA owns belong to different warps.
  __device__ __forceinline__ int number_of(int subtile) const {
    if constexpr (kIsOfConsumer) {
      const int consumer = thread_ / kWarpgroupThreads;
      const int column = consumer * Config::kConsumerBlocks + subtile / Config::kPiecesAcross;
      return column * row_blocks_ + row_block_of(subtile);
    }
    const int column = subtile % Config::kPiecesAcross;
    return column * row_blocks_ + (row_block_of(subtile) + column) % row_blocks_;
  }

  __device__ __forceinline__ float4* place_of(int subtile, int source) const {
    const int warp = kIsOfConsumer ? thread_ / kWarpThreads % 4 : 0;
    float4* const of_warp = smem_.peers_sums() + warp * (Config::kPieceN / 8) * kWarpThreads;
    return place_of_sums<kWarpsOfSubtile * Config::kPieceN>(of_warp, number_of(subtile), split_, source,
                                                            thread_ % kWarpThreads);
  }

  SharedStorage<Config>& smem_;
  int split_;
  int rank_;
  int row_blocks_;
  int thread_;
};

/// Finishes and stores a consumer warp's part of D with every operation of a GemmEpilogue.
template <typename Config>
struct GeneralEpilogue {
  using StagingQueue = cooperative::StagingQueue<Config::kStoreBuffers>;

  const EpilogueParams& params;
  const MatrixParams& matrices;
  const TensorMap* tensor_map_d;
  StagingQueue& queue;
  CReader<StagingQueue>& c;
  int lane;

  __device__ __forceinline__ bool adds_c() const { return params.operations.beta != 0; }

  /// Whether the load of the next subtile's C starts while the warp finishes the current one. This needs a free buffer:
  /// an fp32 subtile, or one with an auxiliary output, takes all of them.
  __device__ __forceinline__ bool begins_ahead() const {
    return parts_of_subtile<MatrixParams>(params.operations) == 1;
  }

  /// Waits until all buffers are free, and starts the load of a subtile's C. Its buffers come after `others` more. If
  /// TMA cannot load C, CReader::stage() loads it later.
  __device__ __forceinline__ void begin_c(int others, FragmentCorner corner) const {
    queue.await_all();
    c.begin(queue, others, corner, lane);
  }

  /// Finishes and stores the part. Without split-K, the load of its first subtile's C must have been started. bias: of
  /// the tile. row: where the part begins in the tile; corner: where it begins in D.
  __device__ __forceinline__ void store(const Accumulators<Config>& accum,
                                        const SplitKPartials<Config>& partials, bool is_split,
                                        const float* bias, int row, FragmentCorner corner) const {
    constexpr int kAcross = Config::kPiecesAcross;
    constexpr int kCount = SplitKPartials<Config>::kSubtiles;
    static_assert(Config::BLOCK_N % kStagingN == 0,
                  "what is stored twice must not be added to a C that is D");
    const auto corner_of = [&](int subtile) { return corner_of_subtile<Config>(corner, subtile); };
#pragma unroll 1
    for (int subtile = 0; subtile < kCount; ++subtile) {
      if (is_split && !partials.owns(subtile)) continue;
      // Makes ptxas compute addresses from the lane at each use. Kept in registers, they make the loop slower.
      int own_lane = lane;
      compute_where_used(own_lane);
      if (adds_c() && (is_split || (subtile > 0 && !begins_ahead()))) begin_c(0, corner_of(subtile));
      if (adds_c()) c.stage(queue, corner_of(subtile), own_lane);
      float sums[kStagingN / 2] = {};
      partials.add(sums, accum, subtile);
      float alpha = params.operations.alpha;
      if (adds_c()) {
        c.add(sums, queue, own_lane);
        alpha = 1;
        if (begins_ahead() && !is_split && subtile + 1 < kCount) begin_c(1, corner_of(subtile + 1));
      }
      finish_and_store(sums, params, alpha, bias, row + subtile / kAcross * kWgmmaM,
                       subtile % kAcross * kStagingN, corner_of(subtile), tensor_map_d, matrices, own_lane,
                       [&](int) { return queue.acquire(); });
    }
  }
};

template <typename Config>
__global__ void __launch_bounds__(Config::kNumThreads, 1)
    gemm_kernel(const __grid_constant__ TensorMap tensor_map_a,
                const __grid_constant__ TensorMap tensor_map_b,
                const __grid_constant__ TensorMap tensor_map_d, const __grid_constant__ Params params,
                const __grid_constant__ typename Config::Matrices matrices,
                const __grid_constant__ ClusterStarts starts) {
  using namespace ptx;
  auto& smem = dynamic_shared_storage<SharedStorage<Config>>();
  const int thread = static_cast<int>(threadIdx.x);
  const int split = Config::kCanSplit ? params.split : 1;

  const int warp = uniform_warp();
  const bool is_in_producer_warp = warp == Config::kNumConsumerWarps;
  const SharedLoads& shared_loads = params.shared_loads;
  const bool shares_loads = shared_loads.size > 1;
  // Lone CTAs take their tiles as if they were clusters, even if the launch has clusters of two.
  const bool is_alone = !shares_loads && split == 1;
  const cuda::std::uint32_t cluster = is_alone ? blockIdx.x : clusterid_x();
  const cuda::std::uint32_t num_clusters = is_alone ? gridDim.x : nclusterid_x();
  const bool has_one_tile = params.num_tiles <= num_clusters;
  const bool has_bias = !Config::kIsAlphaOnly && params.epilogue.operations.bias_kind != Bias::None;
  if (thread == Config::kNumConsumerThreads) {
    prefetch_tensormap(&tensor_map_a);
    prefetch_tensormap(&tensor_map_b);
    smem.pipeline.init(params.used_stages, shared_loads.size);
    for (int stage = 0; stage < params.used_stages; ++stage) {
      leave_rest_undefined<Config::kStageLinesA>(smem_addr(smem.a[stage]), params.a_lines,
                                                 shared_loads.cluster_n);
      leave_rest_undefined<Config::BLOCK_N>(smem_addr(smem.b[stage]), params.b_lines, shared_loads.cluster_m);
    }
    if (!has_one_tile) smem.tile_queue.init();
    if (split > 1) smem.exchange.init(split, Config::kNumConsumers);
    if constexpr (!Config::kIsAlphaOnly) {
      if (has_bias) smem.general.bias_queue.init();
      if (params.epilogue.operations.beta != 0) smem.general.c_barriers.init();
    }
    // TMA and the peer CTA use the mbarriers, and must see them initialised.
    fence_mbarrier_init_release_cluster();
  }
  if (!shares_loads && is_in_producer_warp) {
    // The producer warp has initialised the mbarriers, so it can load without waiting for the other warps.
    __syncwarp();
    barrier_arrive(kSetUpBarrier, Config::kNumThreads);
  }
  const int cta_rank = static_cast<int>(cluster_ctarank());
  const int split_rank = Config::kCanSplit && split > 1 ? cta_rank : 0;
  // If K does not divide evenly, the first CTAs take one K block more.
  const int longer_parts = Config::kCanSplit ? params.longer_parts : 0;
  const int num_k_blocks = params.k_blocks + (split_rank < longer_parts ? 1 : 0);
  const int first_k_block =
      split_rank * params.k_blocks + (split_rank < longer_parts ? split_rank : longer_parts);
  const auto tile_of = [&](TileCoord cluster_tile) {
    return CtaTile<Config>(cluster_tile, params, cta_rank);
  };
  const bool is_listed = cluster < ClusterStarts::kMaxClusters;
  const cuda::std::uint32_t start = is_listed ? starts.start[cluster] : cluster;
  // If each cluster has one tile, the loops below run once if this is less than num_tiles, and otherwise not at all.
  const cuda::std::uint32_t first_index = !has_one_tile || !is_listed       ? start
                                          : start == ClusterStarts::kNoTile ? params.num_tiles
                                                                            : 0;
  // If each cluster has one tile, every warp finds it by itself. The producer warp does so before it waits for the
  // peers.
  const auto find_only_tile = [&]() -> TileCoord {
    if (!has_one_tile) return {};
    return is_listed ? ClusterStarts::unpacked(start) : tile_at(start, params, column_order);
  };
  const TileCoord producers_only_tile = is_in_producer_warp ? find_only_tile() : TileCoord{};

  if (shares_loads) {
    barrier_cluster_arrive_relaxed();
    barrier_cluster_wait();
  } else {
    // Not waited for yet: the peers' mbarriers are not needed before there are partials to send.
    if (split > 1) barrier_cluster_arrive_relaxed();
    if (!is_in_producer_warp) barrier_sync(kSetUpBarrier, Config::kNumThreads);
  }
  if (params.prefetched_k_blocks > 0 && is_in_producer_warp) {
    if (elect_sync()) {
      prefetch_operands<Config>(params, &tensor_map_a, &tensor_map_b, producers_only_tile,
                                tile_of(producers_only_tile), cta_rank, first_k_block, num_k_blocks);
    }
    __syncwarp();
  }
  // Before this line the kernel has read and written only shared memory.
  griddepcontrol_wait();

  typename Config::Pipeline::State state;
  typename Config::TileQueue::State queue_state;
  const auto next_tile = [&](TileCoord only_tile, int lane) {
    const CtaTile<Config> tile =
        tile_of(has_one_tile ? only_tile : smem.tile_queue.receive_uniform(queue_state, lane));
    queue_state.advance();
    return tile;
  };

  if (warp >= Config::kNumConsumerWarps) {
    if constexpr (Config::kMovesRegisters) setmaxnreg_dec<Config::kProducerRegisters>();
    if (is_in_producer_warp) {
      const bool is_leader = elect_sync();
      const int lane = thread % kWarpThreads;
      const int rank_m = shared_loads.along_m(cta_rank);
      const int rank_n = shared_loads.along_n(cta_rank);
      const auto sharers_of_a = static_cast<cuda::std::uint16_t>(shared_loads.row << rank_m);
      const auto sharers_of_b =
          static_cast<cuda::std::uint16_t>(shared_loads.column << (rank_n << shared_loads.log2_cluster_m));
      const int first_of_a = rank_n * shared_loads.slice_of_a;
      const int first_of_b = rank_m * shared_loads.slice_of_b;
      for (cuda::std::uint32_t index = first_index; index < params.num_tiles; index += num_clusters) {
        const CtaTile<Config> tile = next_tile(producers_only_tile, lane);
        int batch = tile.batch;
        int first_of_cluster = 0;
        if constexpr (Config::kCanUseWorkspace) {
          if (params.workspace_split_k > 1) {
            batch = tile.batch / params.workspace_split_k;
            first_of_cluster = tile.batch % params.workspace_split_k * params.cluster_k_blocks;
          }
        }
        const int k0 = (first_of_cluster + first_k_block) * kBlockK;
        const OperandSlice a = {&tensor_map_a, Config::a_major(params),
                                tile.m0,       params.a_is_batched ? batch : 0,
                                first_of_a,    sharers_of_a};
        const OperandSlice b = {&tensor_map_b, Config::b_major(params),
                                tile.n0,       params.b_is_batched ? batch : 0,
                                first_of_b,    sharers_of_b};
        // A loop for each of the four cases: a branch for each load takes so long that small tiles wait for it.
        if (shared_loads.cluster_n > 1) {
          if (shared_loads.cluster_m > 1) {
            load_tile<Config, true, true>(smem, state, params, a, b, k0, num_k_blocks, is_leader);
          } else {
            load_tile<Config, true, false>(smem, state, params, a, b, k0, num_k_blocks, is_leader);
          }
        } else if (shared_loads.cluster_m > 1) {
          load_tile<Config, false, true>(smem, state, params, a, b, k0, num_k_blocks, is_leader);
        } else {
          load_tile<Config, false, false>(smem, state, params, a, b, k0, num_k_blocks, is_leader);
        }
      }
      // The next kernel may now set itself up on SMs that become free. It still waits for the end of this one.
      if (params.triggers_dependents) griddepcontrol_launch_dependents();
      if (shares_loads) smem.pipeline.producer_drain_uniform(state, params.used_stages);
    } else if (warp == Config::kNumConsumerWarps + 1 && (!has_one_tile || has_bias)) {
      // Finding a tile in the raster order may take a thousand cycles or two, so the scheduler warp runs ahead. It also
      // loads the bias.
      const int lane = thread % kWarpThreads;
      typename Config::BiasQueue::State bias_state;
      for (cuda::std::uint32_t index = first_index; index < params.num_tiles; index += num_clusters) {
        const TileCoord cluster_tile =
            has_one_tile ? find_only_tile()
                         : tile_at(index, params, [](cuda::std::uint32_t place, TileGrid grid) {
                             return hilbert_order(place, grid, Config::kLeaf);
                           });
        if (!has_one_tile && lane == 0) smem.tile_queue.send(queue_state, cluster_tile);
        queue_state.advance();
        if constexpr (!Config::kIsAlphaOnly) {
          if (!has_bias) continue;
          const CtaTile<Config> tile = tile_of(cluster_tile);
          __syncwarp();
          send_bias(smem.general.bias_queue, bias_state, params.epilogue, {tile.batch, tile.m0, tile.n0},
                    Config::BLOCK_M, Config::BLOCK_N, lane);
          bias_state.advance();
        }
      }
    }
    if (split > 1) barrier_cluster_wait();
  } else {
    if constexpr (Config::kMovesRegisters) setmaxnreg_inc<Config::kConsumerRegisters>();
    const int consumer = warp / 4;
    const int lane = thread % kWarpThreads;
    using StagingQueue = cooperative::StagingQueue<Config::kStoreBuffers>;
    StagingQueue queue = {.buffers = smem.d[warp], .lane = lane};
    const TileCoord only_tile = find_only_tile();
    const auto multiply_tile = [&](Accumulators<Config>& accum) {
      if (params.is_fp16) {
        multiply_layouts<Config, __half>(accum, smem, state, params, num_k_blocks, consumer,
                                         thread % kWarpgroupThreads);
      } else {
        multiply_layouts<Config, __nv_bfloat16>(accum, smem, state, params, num_k_blocks, consumer,
                                                thread % kWarpgroupThreads);
      }
    };
    const int first_m = Config::first_along_m(consumer);
    const int first_n = Config::first_along_n(consumer);
    const int first_row = first_m + warp % 4 * 16;
    const auto next_partials = [&](const CtaTile<Config>& tile) {
      return SplitKPartials<Config>(smem, split, split_rank, params.epilogue.shape.m - tile.m0, thread);
    };
    // If accum is not defined before the loop, ptxas 12.3 serialises the wgmmas.
    Accumulators<Config> accum = {};
    if constexpr (Config::kIsAlphaOnly) {
      const GemmEpilogue& operations = params.epilogue.operations;
      WarpgroupStaging<Config::kStoreBuffers> swapped_staging = {
          .buffers = smem.d[warp / 4 * 4][0],
          .bar = kSetUpBarrier + 1 + static_cast<cuda::std::uint32_t>(consumer),
          .thread = thread % kWarpgroupThreads};
      const bool uses_workspace = Config::kCanUseWorkspace && params.workspace_split_k > 1;
      for (cuda::std::uint32_t index = first_index; index < params.num_tiles; index += num_clusters) {
        const CtaTile<Config> tile = next_tile(only_tile, lane);
        const FragmentCorner corner = {tile.batch, tile.m0 + first_row, tile.n0 + first_n};
        const FragmentCorner swapped_corner = {tile.batch, tile.m0 + first_n, tile.n0 + first_m};
        multiply_tile(accum);
        if constexpr (Config::kCanSplit) {
          if (split > 1) {
            const SplitKPartials<Config> partials = next_partials(tile);
            partials.send(accum);
#pragma unroll 1
            for (int subtile = 0; subtile < SplitKPartials<Config>::kSubtiles; ++subtile) {
              if (!partials.owns(subtile)) continue;
              float sums[Config::kPieceN / 2] = {};
              partials.add(sums, accum, subtile);
              if (uses_workspace) {
                store_partials<Config::kSwapsAB, Config::kPieceN>(
                    sums, params.epilogue,
                    corner_of_subtile<Config>(Config::kSwapsAB ? swapped_corner : corner, subtile),
                    thread % kWarpgroupThreads);
              } else if constexpr (Config::kSwapsAB) {
                store_swapped_piece<Config::kPieceN>(sums, swapped_staging, &tensor_map_d, operations,
                                                     corner_of_subtile<Config>(swapped_corner, subtile));
              } else {
                store_plain_piece(sums, queue, &tensor_map_d, operations,
                                  corner_of_subtile<Config>(corner, subtile), lane);
              }
            }
            // Such a cluster has one tile. Without the break the loops over K do not count in uniform registers: ptxas sees
            // that what owns() says differs between threads.
            break;
          }
        }
        if (uses_workspace) {
#pragma unroll
          for (int block = 0; block < Config::kConsumerBlocks; ++block) {
            FragmentCorner from = Config::kSwapsAB ? swapped_corner : corner;
            (Config::kSwapsAB ? from.column : from.row) += block * kWgmmaM;
            store_partials<Config::kSwapsAB, Config::kWgmmaN>(accum[block], params.epilogue, from,
                                                              thread % kWarpgroupThreads);
          }
        } else if constexpr (Config::kSwapsAB) {
          store_plain_swapped<Config>(accum, swapped_staging, &tensor_map_d, operations, swapped_corner);
        } else {
          store_plain<Config>(accum, queue, &tensor_map_d, operations, corner, lane);
        }
      }
    } else {
      CReader<StagingQueue> c(params.epilogue, matrices, smem_addr(smem.general.c_barriers.barriers[warp]));
      const GeneralEpilogue<Config> epilogue = {params.epilogue, matrices, &tensor_map_d, queue, c, lane};
      typename Config::BiasQueue::State bias_state;
      // Counts down instead of using the index: ptxas would keep the index in the same register as the other roles, and
      // spill it.
      for (int left = static_cast<int>(params.num_tiles - first_index); left > 0;
           left -= static_cast<int>(num_clusters)) {
        const CtaTile<Config> tile = next_tile(only_tile, lane);
        const FragmentCorner corner = {tile.batch, tile.m0 + first_row, tile.n0};
        const bool is_split = Config::kCanSplit && split > 1;
        if (epilogue.adds_c() && !is_split) epilogue.begin_c(0, corner);
        multiply_tile(accum);
        const SplitKPartials<Config> partials = next_partials(tile);
        if (is_split) partials.send(accum);
        const float* const bias = has_bias ? smem.general.bias_queue.receive(bias_state) : nullptr;
        epilogue.store(accum, partials, is_split, bias, first_row, corner);
        if (has_bias) {
          smem.general.bias_queue.release(bias_state, lane);
          bias_state.advance();
        }
      }
    }
    // Shared memory must outlive the copies that read it.
    queue.await_all();
  }
}

}  // namespace hopper_gemm::library::cooperative
