// simt.4 block_tiling_1d   prev: simt.3   Change: a thread computes a column of 8 elements of D
// Why: v3 loads two elements from shared memory for each multiply-add. A thread that has 8 elements of a
//   column loads the element of B that they share once: 9 loads for 8 multiply-adds, and those of A are the
//   same address for the whole warp and, over four steps of K, one 16-byte load. The tile grows to 64x64 with
//   it.
// Expected: two to three times v3. Shared memory remains the limit.
// Measured: 11.2 TFLOP/s, 21.9 % of cublasSgemm, 69 % more than v3 (H200, 4096³, burst: profiles/h200/): less than
//   expected, since half as many warps are there to wait for global memory now.
// Limits: none.

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/launch.hpp"
#include "ladder/simt/simt_gemm.cuh"

namespace hopper_gemm::simt::v4 {

struct Config {
  static constexpr int BLOCK_M = 64;
  static constexpr int BLOCK_N = 64;
  static constexpr int BLOCK_K = 8;
  static constexpr int kThreadM = 8;
  static constexpr int kNumThreads = BLOCK_M / kThreadM * BLOCK_N;
};

struct alignas(16) SharedStorage {
  float a[Config::BLOCK_M][Config::BLOCK_K];
  float b[Config::BLOCK_K][Config::BLOCK_N];
};

__global__ void __launch_bounds__(Config::kNumThreads) gemm_kernel(Gemm gemm) {
  SharedStorage& smem = dynamic_shared_storage<SharedStorage>();
  const int thread = static_cast<int>(threadIdx.x);
  const int tiles_n = ceil_div(gemm.shape.n, Config::BLOCK_N);
  const int tile_m = static_cast<int>(blockIdx.x) / tiles_n;
  const int tile_n = static_cast<int>(blockIdx.x) % tiles_n;
  const int first_row = tile_m * Config::BLOCK_M;
  const int first_col = tile_n * Config::BLOCK_N;
  const int num_k_blocks = ceil_div(gemm.shape.k, Config::BLOCK_K);
  const int thread_row = thread / Config::BLOCK_N * Config::kThreadM;
  const int thread_col = thread % Config::BLOCK_N;

  float accum[Config::kThreadM] = {};
  for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
    const int first_k = k_block * Config::BLOCK_K;
    for (int i = thread; i < Config::BLOCK_M * Config::BLOCK_K; i += Config::kNumThreads) {
      const int row = i / Config::BLOCK_K;
      const int k = i % Config::BLOCK_K;
      smem.a[row][k] = load_a(gemm, first_row + row, first_k + k);
    }
    for (int i = thread; i < Config::BLOCK_K * Config::BLOCK_N; i += Config::kNumThreads) {
      const int k = i / Config::BLOCK_N;
      const int col = i % Config::BLOCK_N;
      smem.b[k][col] = load_b(gemm, first_k + k, first_col + col);
    }
    __syncthreads();

#pragma unroll
    for (int k = 0; k < Config::BLOCK_K; ++k) {
      const float fragment_b = smem.b[k][thread_col];
#pragma unroll
      for (int i = 0; i < Config::kThreadM; ++i) accum[i] += smem.a[thread_row + i][k] * fragment_b;
    }
    // All threads have read the tiles before the next ones replace them.
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < Config::kThreadM; ++i) {
    store_d(gemm, first_row + thread_row + i, first_col + thread_col, 0, accum[i]);
  }
}

// Host side
Status can_implement(const GemmArgs& args) {
  return check_simt_gemm(args, Config::BLOCK_M, Config::BLOCK_N, Config::BLOCK_K);
}

Status launch(const GemmArgs& args, cudaStream_t stream) {
  HG_RETURN_IF_ERROR(can_implement(args));
  const dim3 grid = tile_grid(args.shape, Config::BLOCK_M, Config::BLOCK_N);
  if (grid.x == 0) return {};
  return launch_kernel(gemm_kernel, grid, Config::kNumThreads, sizeof(SharedStorage), stream, gemm_of(args));
}

}  // namespace hopper_gemm::simt::v4
