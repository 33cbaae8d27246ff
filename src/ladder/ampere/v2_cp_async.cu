// ampere.2 cp_async   prev: ampere.1   Change: the next K block is on its way while this one is multiplied
// Why: in v1 the tensor cores wait for every load, and each of its bytes passes through a register. cp.async
//   copies from global to shared memory by itself, so that one stage fills while the warps multiply the
//   other. What lies beyond the edges is a copy of no bytes, which fills with zeros.
// Expected: most of the memory's latency hidden behind a K block's products, and registers free. The loads of fragments
//   stay as they were, with their bank conflicts.
// Measured: 165 TFLOP/s, 20.9 % of cuBLAS, 58 % more than v1 (H200, 4096³, burst: profiles/h200/). The bank
//   conflicts are as many as before, and now the limit.
// Limits: A, B and D of one type, bf16 or fp16; K and the leading dimensions multiples of 8.

#include <mma.h>

#include <cuda/std/cstdint>
#include <ptx/cp_async.cuh>

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/launch.hpp"
#include "device/mma_epilogue.cuh"

namespace hopper_gemm::ampere::v2 {

struct Config {
  static constexpr int BLOCK_M = 128;
  static constexpr int BLOCK_N = 128;
  static constexpr int BLOCK_K = 32;
  static constexpr int WARP_M = 64;
  static constexpr int WARP_N = 64;
  static constexpr int kNumStages = 2;
  static constexpr int kMmaM = 16;
  static constexpr int kMmaN = 16;
  static constexpr int kMmaK = 16;
  static constexpr int kMmaTilesM = WARP_M / kMmaM;
  static constexpr int kMmaTilesN = WARP_N / kMmaN;
  static constexpr int kWarpsN = BLOCK_N / WARP_N;
  static constexpr int kNumWarps = BLOCK_M / WARP_M * kWarpsN;
  static constexpr int kNumThreads = kNumWarps * kWarpThreads;
};

template <typename T>
struct alignas(128) SharedStorage {
  T a[Config::kNumStages][Config::BLOCK_M * Config::BLOCK_K];       // [BLOCK_M, BLOCK_K] K-major
  T b[Config::kNumStages][Config::BLOCK_N * Config::BLOCK_K];       // [BLOCK_N, BLOCK_K] K-major
  float staging[Config::kNumWarps][Config::kMmaM * Config::kMmaN];  // a tile of accumulators on its way to D
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
    ptx::cp_async_cg(ptx::smem_addr(tile + tile_row * Config::BLOCK_K + tile_column),
                     inside ? source : matrix, inside ? 16 : 0);
  }
}

template <typename T>
__global__ void __launch_bounds__(Config::kNumThreads)
    gemm_kernel(const T* a, cuda::std::int64_t lda, const T* b, cuda::std::int64_t ldb, T* d,
                cuda::std::int64_t ldd, GemmShape shape) {
  using namespace nvcuda;
  constexpr int kMmaTilesM = Config::kMmaTilesM;
  constexpr int kMmaTilesN = Config::kMmaTilesN;
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

  wmma::fragment<wmma::accumulator, 16, 16, 16, float> accum[kMmaTilesM][kMmaTilesN];
#pragma unroll
  for (auto& row : accum) {
#pragma unroll
    for (auto& tile : row) wmma::fill_fragment(tile, 0.0F);
  }

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
    const T* const warp_a = smem.a[stage] + warp_m * Config::BLOCK_K;
    const T* const warp_b = smem.b[stage] + warp_n * Config::BLOCK_K;
#pragma unroll
    for (int k = 0; k < Config::BLOCK_K; k += Config::kMmaK) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> a_tiles[kMmaTilesM];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> b_tiles[kMmaTilesN];
#pragma unroll
      for (int i = 0; i < kMmaTilesM; ++i) {
        wmma::load_matrix_sync(a_tiles[i], warp_a + i * Config::kMmaM * Config::BLOCK_K + k, Config::BLOCK_K);
      }
#pragma unroll
      for (int j = 0; j < kMmaTilesN; ++j) {
        wmma::load_matrix_sync(b_tiles[j], warp_b + j * Config::kMmaN * Config::BLOCK_K + k, Config::BLOCK_K);
      }
#pragma unroll
      for (int i = 0; i < kMmaTilesM; ++i) {
#pragma unroll
        for (int j = 0; j < kMmaTilesN; ++j) {
          wmma::mma_sync(accum[i][j], a_tiles[i], b_tiles[j], accum[i][j]);
        }
      }
    }
  }

  float* const staging = smem.staging[warp];
  const int chunk_row = lane / 2;
  const int chunk_column = lane % 2 * kChunkElems;
#pragma unroll
  for (int i = 0; i < kMmaTilesM; ++i) {
#pragma unroll
    for (int j = 0; j < kMmaTilesN; ++j) {
      // Where a fragment's elements belong is known only once they lie in memory.
      wmma::store_matrix_sync(staging, accum[i][j], Config::kMmaN, wmma::mem_row_major);
      __syncwarp();
      float values[kChunkElems];
#pragma unroll
      for (int e = 0; e < kChunkElems; ++e) values[e] = staging[chunk_row * Config::kMmaN + chunk_column + e];
      const int row = m0 + warp_m + i * Config::kMmaM + chunk_row;
      const int column = n0 + warp_n + j * Config::kMmaN + chunk_column;
      store_chunk(values, d + row * ldd + column, row < shape.m ? shape.n - column : 0, true);
      __syncwarp();
    }
  }
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

}  // namespace hopper_gemm::ampere::v2
