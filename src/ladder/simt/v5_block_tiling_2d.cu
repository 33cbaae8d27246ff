// simt.5 block_tiling_2d   prev: simt.4   Change: a thread computes a patch of 8x8 elements of D
// Why: the sum over K of a patch is a sum of outer products: 8 elements of A and 8 of B, once in registers,
//   serve 64 multiply-adds. That is a quarter of a load for each, where v4 needs more than one. The tile is
//   128x128, so that global memory delivers half of what it does in v4.
// Expected: about twice v4, for the first time more multiply-adds than other instructions. Of the loads from
//   shared memory those of B conflict: 16 neighbours read every eighth word, four to a bank.
// Measured: 22.9 TFLOP/s, 44.7 % of cublasSgemm, twice v4 (H200, 4096³, burst: profiles/h200/). A load from shared
//   memory takes four cycles instead of one on average.
// Limits: none.

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/launch.hpp"
#include "ladder/simt/simt_gemm.cuh"

namespace hopper_gemm::simt::v5 {

struct Config {
  static constexpr int BLOCK_M = 128;
  static constexpr int BLOCK_N = 128;
  static constexpr int BLOCK_K = 8;
  static constexpr int kThreadM = 8;
  static constexpr int kThreadN = 8;
  static constexpr int kThreadsN = BLOCK_N / kThreadN;
  static constexpr int kNumThreads = BLOCK_M / kThreadM * kThreadsN;
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
  const int thread_row = thread / Config::kThreadsN * Config::kThreadM;
  const int thread_col = thread % Config::kThreadsN * Config::kThreadN;

  float accum[Config::kThreadM][Config::kThreadN] = {};
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

    // Unrolled further, the loads of later steps would take the registers that 64 accumulators leave of 128.
#pragma unroll 2
    for (int k = 0; k < Config::BLOCK_K; ++k) {
      float fragment_a[Config::kThreadM];
      float fragment_b[Config::kThreadN];
#pragma unroll
      for (int i = 0; i < Config::kThreadM; ++i) fragment_a[i] = smem.a[thread_row + i][k];
#pragma unroll
      for (int j = 0; j < Config::kThreadN; ++j) fragment_b[j] = smem.b[k][thread_col + j];
#pragma unroll
      for (int i = 0; i < Config::kThreadM; ++i) {
#pragma unroll
        for (int j = 0; j < Config::kThreadN; ++j) accum[i][j] += fragment_a[i] * fragment_b[j];
      }
    }
    // All threads have read the tiles before the next ones replace them.
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < Config::kThreadM; ++i) {
#pragma unroll
    for (int j = 0; j < Config::kThreadN; ++j) {
      store_d(gemm, first_row + thread_row + i, first_col + thread_col, j, accum[i][j]);
    }
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

}  // namespace hopper_gemm::simt::v5
