// ampere.6 general   prev: ampere.5   Change: any shape, alignment, alpha, beta, output type; the tile as a parameter
// Why: this is what a library falls back on. The tile is a template parameter, so that a larger one can do
//   more products per byte (64x64 of each warp, in 128x256 of the CTA), and a smaller one can fill a GPU with
//   a small D. Tiles go in bands that share their operands in L2. The loop computes no addresses but those of
//   the copies: rows beyond the edges are copies of the last row, and columns beyond K copies of fewer bytes.
//   D passes through shared memory, for rows of whole 16-byte chunks.
// Diff: the kernel takes its tile as a template argument, its copies and its epilogue take any alignment.
// Expected: the tensor cores wait for nothing but the start and the end of a tile.
// Measured: 502 TFLOP/s, 63.3 % of cuBLAS, which has wgmma, and 102.7 % of the best of nine CUTLASS
//   configurations for sm_80 (H200, 4096³, burst: profiles/h200/). By ncu at 8192³ the tensor pipe is busy
//   for 81 % of the time, with a third of v5's instructions and 64 % of its reads from L2.
// Limits: A and B of one type, bf16 or fp16, B column-major.

#pragma once

#include <cuda/std/cstdint>
#include <ptx/cp_async.cuh>
#include <ptx/ldmatrix.cuh>
#include <ptx/mma.cuh>

#include "common/gemm_shape.hpp"
#include "common/tile_config.hpp"
#include "common/type_traits.hpp"
#include "device/device_common.cuh"
#include "device/launch.hpp"
#include "device/mma_epilogue.cuh"
#include "device/tile_scheduler.hpp"

namespace hopper_gemm::ampere::v6 {

/// Shared memory of a CTA that sm_80 has; other GPUs have less, and some of the configurations are not for them.
inline constexpr int kMaxSharedBytes = 163 * 1024;

/// The ring of stages. Elements of A and B are 2 bytes.
HG_HOST_DEVICE constexpr int shared_bytes(const TileConfig& config) {
  return config.stages * (config.block_m + config.block_n) * config.block_k * 2;
}

HG_HOST_DEVICE constexpr int num_warps(const TileConfig& config) {
  return config.block_m / config.warp_m * (config.block_n / config.warp_n);
}

/// Why the kernel cannot be compiled for a configuration, or nullptr.
HG_HOST_DEVICE constexpr const char* fault_of(const TileConfig& config) {
  if (config.thread_m != 0 || config.thread_n != 0)
    return "mma decides what a thread computes: thread_m, thread_n = 0";
  if (config.warp_m < 16 || config.warp_m % 16 != 0) return "warp_m is a multiple of 16, the rows of an mma";
  if (config.warp_n != 32 && config.warp_n != 64)
    return "warp_n is 32 or 64, so that whole rows leave a warp";
  if (config.block_m % config.warp_m != 0) return "block_m is a multiple of warp_m";
  if (config.block_n % config.warp_n != 0) return "block_n is a multiple of warp_n";
  if (config.warp_m * config.warp_n > 64 * 64) return "a warp's tile takes more registers than 64x64 does";
  if (num_warps(config) != 4 && num_warps(config) != 8) return "a CTA has 4 or 8 warps";
  if (config.block_k != 32 && config.block_k != 64) return "the swizzle spans rows of 32 or 64 elements";
  if (config.stages < 3) return "a ring has at least 3 stages: one read, one waited for, one filled";
  if (shared_bytes(config) > kMaxSharedBytes) return "the stages take more than 163 KiB of shared memory";
  if (config.band_m < 1) return "band_m is at least 1";
  return nullptr;
}

template <TileConfig kTile, typename T_, int kCopyElems_>
struct Config {
  static_assert(fault_of(kTile) == nullptr);
  using T = T_;
  static constexpr int BLOCK_M = kTile.block_m;
  static constexpr int BLOCK_N = kTile.block_n;
  static constexpr int BLOCK_K = kTile.block_k;
  static constexpr int WARP_M = kTile.warp_m;
  static constexpr int WARP_N = kTile.warp_n;
  static constexpr int kNumStages = kTile.stages;
  static constexpr int kBandM = kTile.band_m;
  static constexpr int kCopyElems = kCopyElems_;  // of a row, at a time: what the rows' alignment allows
  static constexpr int kMmaM = 16;
  static constexpr int kMmaN = 8;
  static constexpr int kMmaK = 16;
  static constexpr int kNumSteps = BLOCK_K / kMmaK;
  static constexpr int kMmaTilesM = WARP_M / kMmaM;
  static constexpr int kMmaTilesN = WARP_N / kMmaN;
  static constexpr int kWarpsN = BLOCK_N / WARP_N;
  static constexpr int kNumWarps = num_warps(kTile);
  static constexpr int kNumThreads = kNumWarps * kWarpThreads;
  static constexpr int kStageBytesA = BLOCK_M * BLOCK_K * int{sizeof(T)};
  static constexpr int kStageBytesB = BLOCK_N * BLOCK_K * int{sizeof(T)};
};

template <typename Config>
struct alignas(128) SharedStorage {
  using T = typename Config::T;
  T a[Config::kNumStages][Config::BLOCK_M * Config::BLOCK_K];  // [BLOCK_M, BLOCK_K] K-major, swizzled
  T b[Config::kNumStages][Config::BLOCK_N * Config::BLOCK_K];  // [BLOCK_N, BLOCK_K] K-major, swizzled

  /// Where a warp's accumulators pass through on their way to D, once all warps have done with the stages.
  __device__ __forceinline__ float* staging(int warp) {
    constexpr int kElems = staging_elems(Config::WARP_N);
    static_assert(Config::kNumWarps * kElems * sizeof(float) <= sizeof(SharedStorage));
    return reinterpret_cast<float*>(this) + warp * kElems;
  }
};

/// Where in a tile the element at row, column lies. The banks repeat every 128 bytes: rows of 64 bytes share a
/// permutation of their chunks with one neighbour. Rows count from a multiple of 8 of the tile's.
template <int BLOCK_K>
__device__ __forceinline__ int swizzled(int row, int column) {
  constexpr int kChunksPerRow = BLOCK_K / kChunkElems;
  constexpr int kRowsPerLine = 8 / kChunksPerRow;
  const int chunk = column / kChunkElems ^ row / kRowsPerLine % kChunksPerRow;
  return row * BLOCK_K + chunk * kChunkElems + column % kChunkElems;
}

/// A thread's part in copying kRows rows of a matrix to shared memory, one K block after the other.
template <typename Config, int kRows>
class TileLoader {
 public:
  using T = typename Config::T;
  static constexpr int kCopiesPerRow = Config::BLOCK_K / Config::kCopyElems;
  static constexpr int kRowsPerPass = Config::kNumThreads / kCopiesPerRow;
  static constexpr int kPasses = kRows / kRowsPerPass;
  static_assert(kPasses * kRowsPerPass == kRows);

  /// The column of a K block that the thread copies from on, in every row.
  __device__ __forceinline__ static int column_of(int thread) {
    return thread % kCopiesPerRow * Config::kCopyElems;
  }

  /// row: the first one, inside of the matrix of so many rows.
  __device__ __forceinline__ TileLoader(const T* matrix, cuda::std::int64_t leading_dimension, int row,
                                        int rows, int thread)
      : row_(thread / kCopiesPerRow), column_(column_of(thread)) {
    source_ = matrix + row * leading_dimension + column_;
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      // Of rows beyond the edge any numbers will do, as only rows of D that nobody stores depend on them.
      const int tile_row = row_ + pass * kRowsPerPass;
      const int inside = tile_row < rows - row ? tile_row : rows - row - 1;
      offsets_[pass] = static_cast<Offset>(inside * (leading_dimension / kOffsetElems));
    }
  }

  /// Begins to copy the rows of one pass into the tile. valid: elements to read, which may be none; the others of
  /// kCopyElems become zeros.
  __device__ __forceinline__ void copy(T* tile, int pass, int valid) const {
    const auto valid_bytes = static_cast<cuda::std::uint32_t>(valid) * cuda::std::uint32_t{sizeof(T)};
    const T* const source = source_ + static_cast<cuda::std::int64_t>(offsets_[pass]) * kOffsetElems;
    T* const destination = tile + swizzled<Config::BLOCK_K>(row_ + pass * kRowsPerPass, column_);
    if constexpr (Config::kCopyElems == 8) {
      ptx::cp_async_cg<ptx::L2Prefetch::B128>(ptx::smem_addr(destination), source, valid_bytes);
    } else if constexpr (Config::kCopyElems == 2) {
      ptx::cp_async_ca<4>(ptx::smem_addr(destination), source, valid_bytes);
    } else {
      static_assert(Config::kCopyElems == 1);
      *destination = valid > 0 ? *source : T{};
    }
  }

  /// Goes on by so many columns.
  __device__ __forceinline__ void move(cuda::std::int64_t columns) { source_ += columns; }

 private:
  // Counted in copies an offset takes one register and one instruction to add; can_count_in_copies() says when.
  static constexpr int kOffsetElems = Config::kCopyElems == 8 ? 8 : 1;
  using Offset = conditional_t<kOffsetElems == 1, cuda::std::int64_t, cuda::std::uint32_t>;

  const T* source_;  // the thread's first element in the tile's first row and the K block that comes next
  int row_;          // of the tile, in the first pass
  int column_;
  Offset offsets_[kPasses];
};

/// What a warp multiplies in one step along K.
template <typename Config>
struct Fragments {
  cuda::std::uint32_t a[Config::kMmaTilesM][4];
  cuda::std::uint32_t b[Config::kMmaTilesN][2];
};

/// Where a lane's row starts for ldmatrix, in step 0, of the warp's first tile in stage 0.
template <typename Config>
struct LaneAddresses {
  ptx::SmemAddr a;
  ptx::SmemAddr b;

  __device__ __forceinline__ LaneAddresses(const SharedStorage<Config>& smem, int warp_m, int warp_n,
                                           int lane)
      // Lane i addresses row i % 8 of matrix i / 8. Of A these are the upper and the lower rows of 8 columns, then of
      // the next 8; of B, two tiles at a time, 8 rows' first and second 8 columns, then those of the next 8 rows.
      : a(ptx::smem_addr(smem.a[0] + swizzled<Config::BLOCK_K>(warp_m + lane % 16, lane / 16 * kChunkElems))),
        b(ptx::smem_addr(smem.b[0] + swizzled<Config::BLOCK_K>(warp_n + lane / 16 * 8 + lane % 8,
                                                               lane / 8 % 2 * kChunkElems))) {}
};

/// Threads: the whole warp.
template <typename Config>
__device__ __forceinline__ void load_fragments(Fragments<Config>& fragments,
                                               const LaneAddresses<Config>& lane, int stage, int step) {
  constexpr auto kRowBytes = cuda::std::uint32_t{Config::BLOCK_K * sizeof(typename Config::T)};
  // A step is two chunks, in which lanes differ by the lowest bit: under the swizzle, too, it flips other bits only.
  const auto of_step = [&](ptx::SmemAddr first, int stage_bytes) {
    return ptx::SmemAddr{(first.value + static_cast<cuda::std::uint32_t>(stage * stage_bytes)) ^
                         static_cast<cuda::std::uint32_t>(step * 32)};
  };
  const ptx::SmemAddr a = of_step(lane.a, Config::kStageBytesA);
  const ptx::SmemAddr b = of_step(lane.b, Config::kStageBytesB);
#pragma unroll
  for (int i = 0; i < Config::kMmaTilesM; ++i) {
    ptx::ldmatrix(fragments.a[i], a + static_cast<cuda::std::uint32_t>(i * Config::kMmaM) * kRowBytes);
  }
#pragma unroll
  for (int j = 0; j < Config::kMmaTilesN; j += 2) {
    cuda::std::uint32_t matrices[4];
    ptx::ldmatrix(matrices, b + static_cast<cuda::std::uint32_t>(j * Config::kMmaN) * kRowBytes);
#pragma unroll
    for (int e = 0; e < 4; ++e) fragments.b[j + e / 2][e % 2] = matrices[e];
  }
}

template <typename Config>
__global__ void __launch_bounds__(Config::kNumThreads)
    gemm_kernel(const typename Config::T* a, cuda::std::int64_t lda, const typename Config::T* b,
                cuda::std::int64_t ldb, GemmOutput output, GemmShape shape) {
  using T = typename Config::T;
  using LoaderA = TileLoader<Config, Config::BLOCK_M>;
  using LoaderB = TileLoader<Config, Config::BLOCK_N>;
  auto& smem = dynamic_shared_storage<SharedStorage<Config>>();
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarpThreads;
  const int lane = thread % kWarpThreads;
  const int warp_m = warp / Config::kWarpsN * Config::WARP_M;
  const int warp_n = warp % Config::kWarpsN * Config::WARP_N;

  const TileGrid grid = make_tile_grid(shape, Config::BLOCK_M, Config::BLOCK_N);
  const TileCoord tile = supertile_order(blockIdx.x, grid, Config::kBandM);
  const int m0 = tile.m * Config::BLOCK_M;
  const int n0 = tile.n * Config::BLOCK_N;
  const int num_k_blocks = ceil_div(shape.k, Config::BLOCK_K);

  float accum[Config::kMmaTilesM][Config::kMmaTilesN][4] = {};

  LoaderA loader_a(a, lda, m0, shape.m, thread);
  LoaderB loader_b(b, ldb, n0, shape.n, thread);
  int write_stage = 0;
  const auto next = [](int stage) { return stage + 1 == Config::kNumStages ? 0 : stage + 1; };
  // A K block is loaded in so many parts.
  const auto load_part = [&](int part, int parts, int valid) {
    constexpr int kPasses = LoaderA::kPasses + LoaderB::kPasses;
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      if (pass * parts / kPasses != part) continue;
      if (pass < LoaderA::kPasses) {
        loader_a.copy(smem.a[write_stage], pass, valid);
      } else {
        loader_b.copy(smem.b[write_stage], pass - LoaderA::kPasses, valid);
      }
    }
    if (part + 1 < parts) return;
    ptx::cp_async_commit_group();
    loader_a.move(Config::BLOCK_K);
    loader_b.move(Config::BLOCK_K);
    write_stage = next(write_stage);
  };
  // Each thread waits for what it copied itself; the barrier makes it all of the K block.
  const auto wait_for_next_k_block = [] {
    ptx::cp_async_wait_group<Config::kNumStages - 2>();
    __syncthreads();
  };

  // The last K block comes first, so that the only one that may be cut short is none of the loop's. Those beyond the
  // last are zeros: the groups of copies that may be unfinished are always equally many.
  const cuda::std::int64_t last_k = num_k_blocks == 0 ? 0 : (num_k_blocks - 1) * Config::BLOCK_K;
  loader_a.move(last_k);
  loader_b.move(last_k);
  const int left = shape.k - static_cast<int>(last_k) - LoaderA::column_of(thread);
  load_part(0, 1, left <= 0 ? 0 : left < Config::kCopyElems ? left : Config::kCopyElems);
  loader_a.move(-last_k - Config::BLOCK_K);
  loader_b.move(-last_k - Config::BLOCK_K);
  const auto whole_if = [](bool exists) { return exists ? Config::kCopyElems : 0; };
#pragma unroll
  for (int k_block = 1; k_block < Config::kNumStages - 1; ++k_block) {
    load_part(0, 1, whole_if(k_block < num_k_blocks));
  }
  const LaneAddresses<Config> lane_addresses(smem, warp_m, warp_n, lane);
  Fragments<Config> fragments[2];
  int read_stage = 0;
  wait_for_next_k_block();
  load_fragments(fragments[0], lane_addresses, read_stage, 0);
  for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
#pragma unroll
    for (int step = 0; step < Config::kNumSteps; ++step) {
      // All warps passed the last barrier after they had read the K block before this one, whose stage is filled in
      // this one's steps but the last.
      if (step + 1 < Config::kNumSteps) {
        load_fragments(fragments[(step + 1) % 2], lane_addresses, read_stage, step + 1);
        load_part(step, Config::kNumSteps - 1, whole_if(k_block + Config::kNumStages - 1 < num_k_blocks));
      } else {
        wait_for_next_k_block();
        read_stage = next(read_stage);
        load_fragments(fragments[(step + 1) % 2], lane_addresses, read_stage, 0);
      }
      const Fragments<Config>& operands = fragments[step % 2];
#pragma unroll
      for (int i = 0; i < Config::kMmaTilesM; ++i) {
#pragma unroll
        for (int j = 0; j < Config::kMmaTilesN; ++j) {
          // Back and forth, so that one operand of each mma is that of the one before.
          const int column = i % 2 == 0 ? j : Config::kMmaTilesN - 1 - j;
          ptx::mma_m16n8k16<T>(accum[i][column], operands.a[i], operands.b[column]);
        }
      }
    }
  }

  // The last copies, all zeros, have landed before the stages become the staging buffers.
  ptx::cp_async_wait_all();
  __syncthreads();
  store_scaled_accumulators(accum, smem.staging(warp), output, m0 + warp_m, n0 + warp_n, shape, lane);
}

// Host side
#ifndef __CUDACC_RTC__

/// What enqueues the GEMM with one configuration, its arguments being checked.
using LaunchFunction = Status (*)(const GemmArgs& args, cudaStream_t stream);

template <TileConfig kTile, typename T, int kCopyElems>
Status launch_tile(const GemmArgs& args, cudaStream_t stream) {
  using Config = v6::Config<kTile, T, kCopyElems>;
  HG_RETURN_IF_ERROR(check_tile_grid(args.shape, Config::BLOCK_M, Config::BLOCK_N));
  GemmShape shape = args.shape;
  GemmOutput output{args.d, args.ldd, args.c, args.ldc, args.output_type, args.alpha, args.beta};
  const T* a = static_cast<const T*>(args.a);
  const T* b = static_cast<const T*>(args.b);
  // The sum of no products is 0, whatever alpha is; with alpha 0 there is no need to sum up any. Copies of no bytes
  // are left, whose addresses need to be aligned all the same.
  if (shape.k == 0 || output.alpha == 0) {
    shape.k = 0;
    output.alpha = 0;
    a = nullptr;
    b = nullptr;
  }
  const dim3 grid = tile_grid(shape, Config::BLOCK_M, Config::BLOCK_N);
  return launch_kernel(gemm_kernel<Config>, grid, Config::kNumThreads, sizeof(SharedStorage<Config>), stream,
                       a, shape.k == 0 ? 0 : args.lda, b, shape.k == 0 ? 0 : args.ldb, output, shape);
}

#endif  // __CUDACC_RTC__

}  // namespace hopper_gemm::ampere::v6
