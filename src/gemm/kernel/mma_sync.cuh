// The library's kernel for operands that TMA cannot load, and for GPUs without wgmma. It uses cp.async, ldmatrix and
// mma.sync, runs from sm_80 on, and takes operands of any layout and alignment.
//
// It is ampere.6 with batches and the library's epilogue. The header of src/ladder/ampere/v6_general.cuh explains the
// pipeline. Operands keep their layout in shared memory: if M or N is contiguous in memory, it is contiguous there too,
// and ldmatrix transposes on the way to the registers.

#pragma once

#include <cuda/std/cstdint>
#include <ptx/cp_async.cuh>
#include <ptx/ldmatrix.cuh>
#include <ptx/mma.cuh>

#include "common/gemm_shape.hpp"
#include "common/tile_config.hpp"
#include "device/device_common.cuh"
#include "device/gemm_epilogue.cuh"
#include "device/launch.hpp"
#include "device/tile_scheduler.hpp"
#include "gemm/kernel_args.hpp"

namespace hopper_gemm::library::mma_sync {

/// What distinguishes the compiled kernels, beside types and layouts.
struct MmaConfig {
  TileConfig tile;
  int copy_elems;  ///< elements of a copy: 8, 2 or 1. Every line of A and B starts at a multiple of them

  HG_HOST_DEVICE friend constexpr bool operator==(const MmaConfig&, const MmaConfig&) = default;
};

template <MmaConfig kConfig, typename T_, OperandMajor kMajorA_, OperandMajor kMajorB_>
struct Config {
  using T = T_;
  static constexpr OperandMajor kMajorA = kMajorA_;
  static constexpr OperandMajor kMajorB = kMajorB_;
  static constexpr int BLOCK_M = kConfig.tile.block_m;
  static constexpr int BLOCK_N = kConfig.tile.block_n;
  static constexpr int BLOCK_K = kConfig.tile.block_k;
  static constexpr int WARP_M = kConfig.tile.warp_m;
  static constexpr int WARP_N = kConfig.tile.warp_n;
  static constexpr int kNumStages = kConfig.tile.stages;
  static constexpr int kBandM = kConfig.tile.band_m;
  static constexpr int kCopyElems = kConfig.copy_elems;
  // There are many narrow copies. If their loop were unrolled, their addresses would take more registers than there
  // are.
  static constexpr int kUnrolledPasses = kCopyElems == 8 ? 64 : 8;
  static constexpr int kMmaM = 16;
  static constexpr int kMmaN = 8;
  static constexpr int kMmaK = 16;
  static constexpr int kNumSteps = BLOCK_K / kMmaK;
  static constexpr int kMmaTilesM = WARP_M / kMmaM;
  static constexpr int kMmaTilesN = WARP_N / kMmaN;
  static constexpr int kWarpsN = BLOCK_N / WARP_N;
  static constexpr int kNumWarps = BLOCK_M / WARP_M * kWarpsN;
  static constexpr int kNumThreads = kNumWarps * kWarpThreads;
  // With narrow copies, threads mostly compute addresses, so an SM needs several CTAs to hide that. Without a stated
  // minimum, ptxas would spill registers to fit one more CTA.
  static constexpr int kMinCtasPerSm = kCopyElems == 8 ? 1 : 4;
  static_assert(BLOCK_M % WARP_M == 0 && BLOCK_N % WARP_N == 0);
  static_assert((WARP_M == 32 || WARP_M == 64) && (WARP_N == 32 || WARP_N == 64),
                "OperandTile::moved() counts a warp's rows and columns within 128 bytes");
  static_assert(kNumStages >= 3, "one stage is read, one waited for, one filled");
};

/// A tile of A or B in shared memory: BLOCK_MN rows of A or columns of B, and BLOCK_K elements along K. Its lines are
/// those of the operand in memory. Their chunks are permuted so that eight neighbouring lines' chunks lie in different
/// banks.
template <OperandMajor kMajor_, int BLOCK_MN, int BLOCK_K>
struct OperandTile {
  static constexpr OperandMajor kMajor = kMajor_;
  static constexpr int kElems = BLOCK_MN * BLOCK_K;
  static constexpr int kLines = kMajor == OperandMajor::K ? BLOCK_MN : BLOCK_K;
  static constexpr int kLineElems = kMajor == OperandMajor::K ? BLOCK_K : BLOCK_MN;

  /// The index of an element of a line. The banks repeat every 128 bytes. Shorter lines therefore share a permutation
  /// with their neighbours, and longer ones permute each 128 bytes by itself. line: may count from any multiple of 8.
  __device__ __forceinline__ static int index_in_line(int line, int elem) {
    constexpr int kChunks = kLineElems / kChunkElems;
    constexpr int kPermuted = kChunks < 8 ? kChunks : 8;
    static_assert(kChunks % kPermuted == 0 && 8 % kPermuted == 0);
    const int chunk = elem / kChunkElems ^ line / (8 / kPermuted) % kPermuted;
    return line * kLineElems + chunk * kChunkElems + elem % kChunkElems;
  }

  /// The index of a row of the 8x8 matrix that ldmatrix reads from mn, k on.
  __device__ __forceinline__ static int matrix_row(int mn, int k, int row) {
    return kMajor == OperandMajor::K ? index_in_line(mn + row, k) : index_in_line(k + row, mn);
  }

  /// Moves a row's address along the tile. row: the address that ldmatrix reads for the warp's first 16 of BLOCK_MN in
  /// step 0. Returns the address of the same row for the warp's group number `group` of 16, in step `step`. sizeof(T)
  /// is 2.
  ///
  /// Along a line 16 elements are two chunks, and a lane selects one by the lowest bit of the chunk's number. A step
  /// changes only the other bits, also after the permutation, so that one xor suffices.
  __device__ __forceinline__ static ptx::SmemAddr moved(ptx::SmemAddr row, int group, int step) {
    constexpr auto kLineBytes = cuda::std::uint32_t{kLineElems * 2};
    const int along_line = kMajor == OperandMajor::K ? step : group;
    const int across = kMajor == OperandMajor::K ? group : step;
    return ptx::SmemAddr{row.value ^ static_cast<cuda::std::uint32_t>(along_line * 32)} +
           static_cast<cuda::std::uint32_t>(across * 16) * kLineBytes;
  }

  /// Loads with ldmatrix, so that the two elements of a register are neighbours along K, as mma needs them.
  __device__ __forceinline__ static void load(cuda::std::uint32_t (&matrices)[4], ptx::SmemAddr row) {
    if constexpr (kMajor == OperandMajor::K) {
      ptx::ldmatrix(matrices, row);
    } else {
      ptx::ldmatrix_trans(matrices, row);
    }
  }
};

template <typename Config>
using TileA = OperandTile<Config::kMajorA, Config::BLOCK_M, Config::BLOCK_K>;
template <typename Config>
using TileB = OperandTile<Config::kMajorB, Config::BLOCK_N, Config::BLOCK_K>;

template <typename Config>
struct alignas(128) SharedStorage {
  using T = typename Config::T;
  T a[Config::kNumStages][TileA<Config>::kElems];
  T b[Config::kNumStages][TileB<Config>::kElems];

  /// Where a warp stages its accumulators for D. All warps must have finished reading the stages.
  __device__ __forceinline__ float* staging(int warp) {
    constexpr int kElems = staging_elems(Config::WARP_N, Config::WARP_M);
    static_assert(Config::kNumWarps * kElems * sizeof(float) <= sizeof(SharedStorage));
    return reinterpret_cast<float*>(this) + warp * kElems;
  }
};

/// An operand as the kernel gets it, with distances in elements. Plain data: kernels take it by value.
template <typename T>
struct Operand {
  const T* data;
  cuda::std::int64_t leading_dimension;
  cuda::std::int64_t batch_stride;
};

/// A thread's part of the copies of an operand's tiles to shared memory, one K block after the other.
template <typename Config, typename Tile>
class TileLoader {
 public:
  using T = typename Config::T;
  static constexpr bool kIsKMajor = Tile::kMajor == OperandMajor::K;
  static constexpr int kCopiesPerLine = Tile::kLineElems / Config::kCopyElems;
  static constexpr int kLinesPerPass = Config::kNumThreads / kCopiesPerLine;
  static constexpr int kPasses = Tile::kLines / kLinesPerPass;
  static_assert(kPasses * kLinesPerPass == Tile::kLines &&
                kLinesPerPass * kCopiesPerLine == Config::kNumThreads);

  /// mn: the row of A or column of B where the tile starts; it must be less than extent.
  __device__ __forceinline__ TileLoader(const Operand<T>& operand, cuda::std::int64_t batch, int mn,
                                        int extent, int thread)
      : leading_dimension_(operand.leading_dimension),
        line_(thread / kCopiesPerLine),
        elem_(thread % kCopiesPerLine * Config::kCopyElems) {
    const int inside = extent - mn;
    const T* const matrix = operand.data + batch * operand.batch_stride;
    if constexpr (kIsKMajor) {
      whole_ = Config::kCopyElems;
      source_ = matrix + mn * leading_dimension_ + elem_;
      last_line_ = inside - 1;
      if constexpr (kKeepsOffsets) {
#pragma unroll
        for (int pass = 0; pass < kPasses; ++pass) {
          offsets_[pass] = static_cast<cuda::std::uint32_t>(offset_in_copies(pass));
        }
      }
    } else {
      whole_ = first_of_copy(inside - elem_);
      // A copy that lies wholly past the edge reads no bytes, but its address must still be inside the matrix.
      source_ = matrix + mn + (whole_ == 0 ? 0 : elem_) + line_ * leading_dimension_;
    }
  }

  /// How many elements of a copy lie inside the operand. left: how many elements of the K block are inside K. is_cut:
  /// the K block may be inside K only in part.
  __device__ __forceinline__ int valid_of(int pass, int left, bool is_cut) const {
    if (!is_cut) return left > 0 ? whole_ : 0;
    if constexpr (kIsKMajor) return first_of_copy(left - elem_);
    return line_ + pass * kLinesPerPass < left ? whole_ : 0;
  }

  /// Starts the thread's copy of one pass into the tile. valid: elements to read, possibly none. The others of
  /// kCopyElems become zero.
  __device__ __forceinline__ void copy(T* tile, int pass, int valid) const {
    const auto valid_bytes = static_cast<cuda::std::uint32_t>(valid) * cuda::std::uint32_t{sizeof(T)};
    const T* const source = source_ + offset_of(pass);
    T* const destination = tile + Tile::index_in_line(line_ + pass * kLinesPerPass, elem_);
    if constexpr (Config::kCopyElems == 8) {
      ptx::cp_async_cg<ptx::L2Prefetch::B128>(ptx::smem_addr(destination), source, valid_bytes);
    } else if constexpr (Config::kCopyElems == 2) {
      ptx::cp_async_ca<4>(ptx::smem_addr(destination), source, valid_bytes);
    } else {
      static_assert(Config::kCopyElems == 1);
      *destination = valid > 0 ? *source : T{};
    }
  }

  /// Moves on by k elements along K.
  __device__ __forceinline__ void move(cuda::std::int64_t k) {
    source_ += kIsKMajor ? k : k * leading_dimension_;
  }

 private:
  // An offset counted in copies of 16 bytes fits into one register and takes one instruction to add; copy_elems_of()
  // makes sure that it fits. Other offsets are computed again for every copy.
  static constexpr bool kKeepsOffsets = kIsKMajor && Config::kCopyElems == 8;

  __device__ __forceinline__ static int first_of_copy(int left) {
    return left <= 0 ? 0 : left < Config::kCopyElems ? left : Config::kCopyElems;
  }

  /// The offset of a pass's line from the thread's first line.
  __device__ __forceinline__ cuda::std::int64_t offset_in_copies(int pass) const {
    const cuda::std::int64_t pitch = leading_dimension_ / Config::kCopyElems;
    if constexpr (!kIsKMajor) {
      // A 64-bit product of two 32-bit numbers is one instruction.
      if constexpr (Config::kCopyElems == 8) {
        return static_cast<cuda::std::int64_t>(static_cast<cuda::std::uint32_t>(pitch)) *
               (pass * kLinesPerPass);
      }
      return pitch * (pass * kLinesPerPass);
    } else {
      // Lines past the edge may hold any numbers, because they only reach rows or columns of D that nobody stores.
      const int line = line_ + pass * kLinesPerPass;
      return pitch * (line < last_line_ ? line : last_line_);
    }
  }

  __device__ __forceinline__ cuda::std::int64_t offset_of(int pass) const {
    if constexpr (kKeepsOffsets) {
      return static_cast<cuda::std::int64_t>(offsets_[pass]) * Config::kCopyElems;
    } else {
      return offset_in_copies(pass) * Config::kCopyElems;
    }
  }

  cuda::std::int64_t leading_dimension_;
  const T* source_;  // the thread's first element of the next K block
  int line_;         // of the tile, in the first pass
  int elem_;         // of every line
  int whole_;  // elements of a copy in a whole K block: kCopyElems, or fewer if M or N ends within the line
  int last_line_;  // the tile's last line inside the operand, if it is K-major
  cuda::std::uint32_t offsets_[kKeepsOffsets ? kPasses : 1];
};

/// The operands of a warp in one step along K.
template <typename Config>
struct Fragments {
  cuda::std::uint32_t a[Config::kMmaTilesM][4];
  cuda::std::uint32_t b[Config::kMmaTilesN][2];
};

/// The addresses of a lane's rows for ldmatrix: in stage 0 and step 0, for the warp's first 16 rows and columns.
template <typename Config>
struct LaneAddresses {
  ptx::SmemAddr a;
  ptx::SmemAddr b;

  __device__ __forceinline__ LaneAddresses(const SharedStorage<Config>& smem, int warp_m, int warp_n,
                                           int lane) {
    // Lane i addresses row i % 8 of matrix i / 8. The matrices of A are the upper and the lower 8 rows of the first 8
    // along K, then of the next 8. B takes two tiles at a time: the first and the second 8 along K of 8 columns, then
    // of the next 8 columns.
    const int row = lane % 8;
    const int matrix = lane / 8;
    a = ptx::smem_addr(smem.a[0] + TileA<Config>::matrix_row(warp_m + matrix % 2 * 8, matrix / 2 * 8, row));
    b = ptx::smem_addr(smem.b[0] + TileB<Config>::matrix_row(warp_n + matrix / 2 * 8, matrix % 2 * 8, row));
  }
};

/// Threads: the whole warp.
template <typename Config>
__device__ __forceinline__ void load_fragments(Fragments<Config>& fragments,
                                               const LaneAddresses<Config>& lane, int stage, int step) {
  using TileA = TileA<Config>;
  using TileB = TileB<Config>;
  const auto of_stage = [stage](ptx::SmemAddr first, int tile_elems) {
    return first + static_cast<cuda::std::uint32_t>(stage * tile_elems) *
                       cuda::std::uint32_t{sizeof(typename Config::T)};
  };
  const ptx::SmemAddr a = of_stage(lane.a, TileA::kElems);
  const ptx::SmemAddr b = of_stage(lane.b, TileB::kElems);
#pragma unroll
  for (int i = 0; i < Config::kMmaTilesM; ++i) TileA::load(fragments.a[i], TileA::moved(a, i, step));
#pragma unroll
  for (int j = 0; j < Config::kMmaTilesN; j += 2) {
    cuda::std::uint32_t matrices[4];
    TileB::load(matrices, TileB::moved(b, j / 2, step));
#pragma unroll
    for (int e = 0; e < 4; ++e) fragments.b[j + e / 2][e % 2] = matrices[e];
  }
}

/// Computes D of every batch. Each CTA computes one tile. The grid has the tiles of one batch after the other.
template <typename Config>
__global__ void __launch_bounds__(Config::kNumThreads, Config::kMinCtasPerSm)
    gemm_kernel(Operand<typename Config::T> a, Operand<typename Config::T> b,
                const __grid_constant__ GemmEpilogue epilogue, GemmShape shape) {
  using T = typename Config::T;
  using LoaderA = TileLoader<Config, TileA<Config>>;
  using LoaderB = TileLoader<Config, TileB<Config>>;
  auto& smem = dynamic_shared_storage<SharedStorage<Config>>();
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarpThreads;
  const int lane = thread % kWarpThreads;
  const int warp_m = warp / Config::kWarpsN * Config::WARP_M;
  const int warp_n = warp % Config::kWarpsN * Config::WARP_N;

  const TileGrid grid = make_tile_grid(shape, Config::BLOCK_M, Config::BLOCK_N);
  const cuda::std::uint32_t batch = blockIdx.x / grid.num_tiles();
  const TileCoord tile = supertile_order(blockIdx.x % grid.num_tiles(), grid, Config::kBandM);
  const int m0 = tile.m * Config::BLOCK_M;
  const int n0 = tile.n * Config::BLOCK_N;
  const int num_k_blocks = ceil_div(shape.k, Config::BLOCK_K);

  float accum[Config::kMmaTilesM][Config::kMmaTilesN][4] = {};

  LoaderA loader_a(a, batch, m0, shape.m, thread);
  LoaderB loader_b(b, batch, n0, shape.n, thread);
  int write_stage = 0;
  const auto next = [](int stage) { return stage + 1 == Config::kNumStages ? 0 : stage + 1; };
  // Loads one of `parts` parts of a K block. left: how many elements of the K block are inside K.
  const auto load_part = [&](int part, int parts, int left, bool is_cut) {
    constexpr int kPasses = LoaderA::kPasses + LoaderB::kPasses;
#pragma unroll Config::kUnrolledPasses
    for (int pass = 0; pass < kPasses; ++pass) {
      if (pass * parts / kPasses != part) continue;
      if (pass < LoaderA::kPasses) {
        loader_a.copy(smem.a[write_stage], pass, loader_a.valid_of(pass, left, is_cut));
      } else {
        const int pass_b = pass - LoaderA::kPasses;
        loader_b.copy(smem.b[write_stage], pass_b, loader_b.valid_of(pass_b, left, is_cut));
      }
    }
    if (part + 1 < parts) return;
    ptx::cp_async_commit_group();
    loader_a.move(Config::BLOCK_K);
    loader_b.move(Config::BLOCK_K);
    write_stage = next(write_stage);
  };
  // Each thread waits for its own copies. The barrier then makes sure that the whole K block is there.
  const auto wait_for_next_k_block = [] {
    ptx::cp_async_wait_group<Config::kNumStages - 2>();
    __syncthreads();
  };

  // The last K block is loaded first. It is the only one that K may cut short, so the loop only loads whole ones. K
  // blocks after the last are zeros, so that the number of groups in flight never changes.
  const cuda::std::int64_t last_k =
      num_k_blocks == 0 ? 0 : static_cast<cuda::std::int64_t>(num_k_blocks - 1) * Config::BLOCK_K;
  loader_a.move(last_k);
  loader_b.move(last_k);
  load_part(0, 1, shape.k - static_cast<int>(last_k), true);
  loader_a.move(-last_k - Config::BLOCK_K);
  loader_b.move(-last_k - Config::BLOCK_K);
  const auto load_whole_part = [&](int part, int parts, int k_block) {
    load_part(part, parts, k_block < num_k_blocks ? Config::BLOCK_K : 0, false);
  };
#pragma unroll
  for (int k_block = 1; k_block < Config::kNumStages - 1; ++k_block) {
    load_whole_part(0, 1, k_block);
  }
  const LaneAddresses<Config> lane_addresses(smem, warp_m, warp_n, lane);
  Fragments<Config> fragments[2];
  int read_stage = 0;
  wait_for_next_k_block();
  load_fragments(fragments[0], lane_addresses, read_stage, 0);
  for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
#pragma unroll
    for (int step = 0; step < Config::kNumSteps; ++step) {
      // All warps had read the previous K block when they passed the last barrier. All steps but the last refill its
      // stage.
      if (step + 1 < Config::kNumSteps) {
        load_fragments(fragments[(step + 1) % 2], lane_addresses, read_stage, step + 1);
        load_whole_part(step, Config::kNumSteps - 1, k_block + Config::kNumStages - 1);
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
          // Back and forth, so that each mma shares one operand with the mma before it.
          const int column = i % 2 == 0 ? j : Config::kMmaTilesN - 1 - j;
          ptx::mma_m16n8k16<T>(accum[i][column], operands.a[i], operands.b[column]);
        }
      }
    }
  }

  // The stages become staging buffers now, so the last copies, which are zeros, must have landed.
  ptx::cp_async_wait_all();
  __syncthreads();
  store_epilogue_accumulators(accum, smem.staging(warp), epilogue_of_batch(epilogue, batch), m0 + warp_m,
                              n0 + warp_n, shape, lane);
}

// Host side
#ifndef __CUDACC_RTC__

/// A compiled kernel.
struct KernelInstance {
  /// Allows the kernel its shared memory. Must be called once for each GPU, before the first launch there.
  Status (*prepare)();
  /// Enqueues the kernel with `ctas` CTAs. The arguments must have been checked.
  Status (*launch)(const KernelArgs& args, unsigned ctas, cudaStream_t stream);
};

template <typename Config>
Status prepare_kernel() {
  HG_RETURN_IF_ERROR(load_kernel(gemm_kernel<Config>));
  return allow_dynamic_shared_memory(gemm_kernel<Config>, sizeof(SharedStorage<Config>));
}

template <typename Config>
Status launch_instance(const KernelArgs& args, unsigned ctas, cudaStream_t stream) {
  using T = typename Config::T;
  const auto operand_of = [](const OperandArgs& operand) {
    return Operand<T>{static_cast<const T*>(operand.data), operand.leading_dimension, operand.batch_stride};
  };
  Operand<T> a = operand_of(args.a);
  Operand<T> b = operand_of(args.b);
  GemmShape shape = args.shape;
  GemmEpilogue epilogue = args.epilogue;
  // If K or alpha is 0, the kernel reads neither operand. It still issues copies of no bytes, whose addresses must be
  // aligned, so the pointers become null.
  if (shape.k == 0 || epilogue.alpha == 0) {
    shape.k = 0;
    epilogue.alpha = 0;
    a = {};
    b = {};
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(ctas);
  config.blockDim = dim3(Config::kNumThreads);
  config.dynamicSmemBytes = sizeof(SharedStorage<Config>);
  config.stream = stream;
  HG_RETURN_IF_CUDA_ERROR(cudaLaunchKernelEx(&config, gemm_kernel<Config>, a, b, epilogue, shape));
  return {};
}

#endif  // __CUDACC_RTC__

}  // namespace hopper_gemm::library::mma_sync
