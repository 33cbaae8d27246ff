// ampere.3 mma_sync   prev: ampere.2   Change: ldmatrix and mma.sync.m16n8k16 instead of wmma, rows padded for them
// Why: wmma decides how fragments are loaded, and keeps to itself which lane holds what. ldmatrix loads four
//   8x8 matrices at once, from row addresses of our choice: with 16 bytes of padding rows are 80 bytes apart,
//   so that the eight rows of a matrix lie in different banks, where those of v2 met four by four. The layout
//   of mma.sync's accumulators is documented: they go from registers to D without a detour.
// Expected: shared memory no longer the limit, and a short epilogue. The padding is a fifth of the tiles' memory, and
//   pairs of the copies' rows still meet in some banks.
// Measured: 244 TFLOP/s, 30.9 % of cuBLAS, 48 % more than v2 (H200, 4096³, burst: profiles/h200/). ldmatrix
//   meets no bank conflict; without the padding the same kernel ran no faster than v2. 337,176 are left in
//   the copies, at 8192³.
// Limits: A, B and D of one type, bf16 or fp16; K and the leading dimensions multiples of 8.

#include <cuda/std/cstdint>
#include <ptx/cp_async.cuh>
#include <ptx/ldmatrix.cuh>
#include <ptx/mma.cuh>

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/launch.hpp"
#include "device/mma_epilogue.cuh"

namespace hopper_gemm::ampere::v3 {

struct Config {
  static constexpr int BLOCK_M = 128;
  static constexpr int BLOCK_N = 128;
  static constexpr int BLOCK_K = 32;
  static constexpr int kRowPitch = BLOCK_K + kChunkElems;  // of a tile in shared memory
  static constexpr int WARP_M = 64;
  static constexpr int WARP_N = 64;
  static constexpr int kNumStages = 2;
  static constexpr int kMmaM = 16;
  static constexpr int kMmaN = 8;
  static constexpr int kMmaK = 16;
  static constexpr int kMmaTilesM = WARP_M / kMmaM;
  static constexpr int kMmaTilesN = WARP_N / kMmaN;
  static constexpr int kWarpsN = BLOCK_N / WARP_N;
  static constexpr int kNumWarps = BLOCK_M / WARP_M * kWarpsN;
  static constexpr int kNumThreads = kNumWarps * kWarpThreads;
};

template <typename T>
struct alignas(128) SharedStorage {
  T a[Config::kNumStages][Config::BLOCK_M * Config::kRowPitch];  // [BLOCK_M, BLOCK_K] K-major, padded
  T b[Config::kNumStages][Config::BLOCK_N * Config::kRowPitch];  // [BLOCK_N, BLOCK_K] K-major, padded
};

/// Begins to copy [kRows, BLOCK_K] of the matrix [rows, columns], from row, column on, and to fill with zeros what
/// lies beyond its edges.
template <int kRows, typename T>
__device__ __forceinline__ void load_tile(T* tile, const T* matrix, cuda::std::int64_t leading_dimension,
                                          int row, int rows, int column, int columns, int thread) {
  constexpr int kChunksPerRow = Config::BLOCK_K / kChunkElems;
#pragma unroll
  for (int i = thread; i < kRows * kChunksPerRow; i += Config::kNumThreads) {
    const int tile_row = i / kChunksPerRow;
    const int tile_column = i % kChunksPerRow * kChunkElems;
    const T* const source = matrix + (row + tile_row) * leading_dimension + column + tile_column;
    const bool inside = row + tile_row < rows && column + tile_column < columns;
    ptx::cp_async_cg(ptx::smem_addr(tile + tile_row * Config::kRowPitch + tile_column),
                     inside ? source : matrix, inside ? 16 : 0);
  }
}

/// What a warp multiplies in one step along K.
struct Fragments {
  cuda::std::uint32_t a[Config::kMmaTilesM][4];
  cuda::std::uint32_t b[Config::kMmaTilesN][2];
};

/// Loads the fragments at column k of the tiles. a, b: the warp's first row in each. Threads: the whole warp.
template <typename T>
__device__ __forceinline__ void load_fragments(Fragments& fragments, const T* a, const T* b, int k,
                                               int lane) {
  // Lane i addresses row i % 8 of matrix i / 8. Of A these are the upper and the lower rows of 8 columns, then of the
  // next 8; of B, two tiles at a time, 8 rows' first and second 8 columns, then those of the next 8 rows.
#pragma unroll
  for (int i = 0; i < Config::kMmaTilesM; ++i) {
    const int row = i * Config::kMmaM + lane % 16;
    const int column = k + lane / 16 * kChunkElems;
    ptx::ldmatrix(fragments.a[i], ptx::smem_addr(a + row * Config::kRowPitch + column));
  }
#pragma unroll
  for (int j = 0; j < Config::kMmaTilesN; j += 2) {
    const int row = j * Config::kMmaN + lane / 16 * 8 + lane % 8;
    const int column = k + lane / 8 % 2 * kChunkElems;
    cuda::std::uint32_t matrices[4];
    ptx::ldmatrix(matrices, ptx::smem_addr(b + row * Config::kRowPitch + column));
#pragma unroll
    for (int e = 0; e < 4; ++e) fragments.b[j + e / 2][e % 2] = matrices[e];
  }
}

template <typename T>
__global__ void __launch_bounds__(Config::kNumThreads)
    gemm_kernel(const T* a, cuda::std::int64_t lda, const T* b, cuda::std::int64_t ldb, T* d,
                cuda::std::int64_t ldd, GemmShape shape) {
  SharedStorage<T>& smem = dynamic_shared_storage<SharedStorage<T>>();
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarpThreads;
  const int lane = thread % kWarpThreads;
  const int warp_m = warp / Config::kWarpsN * Config::WARP_M;
  const int warp_n = warp % Config::kWarpsN * Config::WARP_N;

  const int tiles_n = ceil_div(shape.n, Config::BLOCK_N);
  const int m0 = static_cast<int>(blockIdx.x) / tiles_n * Config::BLOCK_M;
  const int n0 = static_cast<int>(blockIdx.x) % tiles_n * Config::BLOCK_N;
  const int num_k_blocks = ceil_div(shape.k, Config::BLOCK_K);

  float accum[Config::kMmaTilesM][Config::kMmaTilesN][4] = {};

  const auto load_k_block = [&](int k_block) {
    const int stage = k_block % Config::kNumStages;
    const int k0 = k_block * Config::BLOCK_K;
    load_tile<Config::BLOCK_M>(smem.a[stage], a, lda, m0, shape.m, k0, shape.k, thread);
    load_tile<Config::BLOCK_N>(smem.b[stage], b, ldb, n0, shape.n, k0, shape.k, thread);
    ptx::cp_async_commit_group();
  };
  load_k_block(0);
  for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
    // Each thread waits for what it copied itself; the barrier makes it all of the K block, and tells that all
    // warps have read the one before, whose stage is filled next.
    ptx::cp_async_wait_group<0>();
    __syncthreads();
    if (k_block + 1 < num_k_blocks) load_k_block(k_block + 1);

    const int stage = k_block % Config::kNumStages;
    const T* const warp_a = smem.a[stage] + warp_m * Config::kRowPitch;
    const T* const warp_b = smem.b[stage] + warp_n * Config::kRowPitch;
#pragma unroll
    for (int k = 0; k < Config::BLOCK_K; k += Config::kMmaK) {
      Fragments fragments;
      load_fragments(fragments, warp_a, warp_b, k, lane);
#pragma unroll
      for (int i = 0; i < Config::kMmaTilesM; ++i) {
#pragma unroll
        for (int j = 0; j < Config::kMmaTilesN; ++j) {
          ptx::mma_m16n8k16<T>(accum[i][j], fragments.a[i], fragments.b[j]);
        }
      }
    }
  }

  store_mma_accumulators(accum, d, ldd, m0 + warp_m, n0 + warp_n, shape, lane);
}

// Host side
namespace {

template <typename T>
Status launch_typed(const GemmArgs& args, cudaStream_t stream) {
  const dim3 grid = tile_grid(args.shape, Config::BLOCK_M, Config::BLOCK_N);
  return launch_kernel(gemm_kernel<T>, grid, Config::kNumThreads, sizeof(SharedStorage<T>), stream,
                       static_cast<const T*>(args.a), args.lda, static_cast<const T*>(args.b), args.ldb,
                       args.d_as<T>(), args.ldd, args.shape);
}

}  // namespace

Status can_implement(const GemmArgs& args) {
  HG_RETURN_IF_ERROR(check_mma_gemm(args));
  return check_tile_grid(args.shape, Config::BLOCK_M, Config::BLOCK_N);
}

Status launch(const GemmArgs& args, cudaStream_t stream) {
  HG_RETURN_IF_ERROR(can_implement(args));
  if (args.input_type == DataType::Float16) return launch_typed<__half>(args, stream);
  return launch_typed<__nv_bfloat16>(args, stream);
}

}  // namespace hopper_gemm::ampere::v3
