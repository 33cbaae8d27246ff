// simt.3 smem_tiles   prev: simt.2   Change: the CTA works on tiles of A and B in shared memory
// Why: v2 loads each element of A and B once for every 32 of D that use it, from L1 at best. Here the CTA
//   copies a 32x32 tile of each, together, and all its threads read them there: global memory is asked for an
//   element of A or B once every 32 multiply-adds.
// Expected: bound by shared memory. Each multiply-add takes two loads from it, and an SM loads for one warp a
//   cycle where it multiplies for four: an eighth of the peak at most.
// Measured: 6.6 TFLOP/s, 12.9 % of cublasSgemm, 27 % more than v2 (H200, 4096³, burst: profiles/h200/). Warps
//   wait for the queue of shared memory; the multiply-adds are a tenth of what the SM could do, after v2's 8 %.
// Limits: none.

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/launch.hpp"
#include "ladder/simt/simt_gemm.cuh"

namespace hopper_gemm::simt::v3 {

struct Config {
  static constexpr int BLOCK_M = 32;
  static constexpr int BLOCK_N = 32;
  static constexpr int BLOCK_K = 32;
  static constexpr int kNumThreads = BLOCK_M * BLOCK_N;
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
  const int thread_row = thread / Config::BLOCK_N;
  const int thread_col = thread % Config::BLOCK_N;

  float accum = 0;
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
    for (int k = 0; k < Config::BLOCK_K; ++k) accum += smem.a[thread_row][k] * smem.b[k][thread_col];
    // All threads have read the tiles before the next ones replace them.
    __syncthreads();
  }

  store_d(gemm, first_row + thread_row, first_col + thread_col, 0, accum);
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

}  // namespace hopper_gemm::simt::v3
