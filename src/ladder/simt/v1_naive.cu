// simt.1 naive   prev: none   Change: the starting point of the simt ladder
// Why: what one writes first. Each thread computes one element of D from a row of A and a column of B,
//   straight from global memory, and threads are numbered as matrices are in mathematics, down the rows.
// Expected: a few per cent of what the CUDA cores can do. The 32 threads of a warp are in 32 rows of D, so
//   that every load of A, and the store of D, touches 32 cache lines for 4 bytes of each.
// Measured: 0.50 TFLOP/s, 1.0 % of cublasSgemm (H200, 4096³, burst: profiles/h200/). The SM's queue for global
//   memory is full, and every warp waits for a place in it.
// Limits: none.

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/launch.hpp"
#include "ladder/simt/simt_gemm.cuh"

namespace hopper_gemm::simt::v1 {

struct Config {
  static constexpr int BLOCK_M = 32;
  static constexpr int BLOCK_N = 32;
  static constexpr int BLOCK_K = 1;
  static constexpr int kNumThreads = BLOCK_M * BLOCK_N;
};

__global__ void __launch_bounds__(Config::kNumThreads) gemm_kernel(Gemm gemm) {
  const int thread = static_cast<int>(threadIdx.x);
  const int tiles_n = ceil_div(gemm.shape.n, Config::BLOCK_N);
  const int tile_m = static_cast<int>(blockIdx.x) / tiles_n;
  const int tile_n = static_cast<int>(blockIdx.x) % tiles_n;
  const int row = tile_m * Config::BLOCK_M + thread % Config::BLOCK_M;
  const int col = tile_n * Config::BLOCK_N + thread / Config::BLOCK_M;

  float accum = 0;
  for (int k = 0; k < gemm.shape.k; ++k) accum += load_a(gemm, row, k) * load_b(gemm, k, col);
  store_d(gemm, row, col, 0, accum);
}

// Host side
Status can_implement(const GemmArgs& args) {
  return check_simt_gemm(args, Config::BLOCK_M, Config::BLOCK_N, Config::BLOCK_K);
}

Status launch(const GemmArgs& args, cudaStream_t stream) {
  HG_RETURN_IF_ERROR(can_implement(args));
  const dim3 grid = tile_grid(args.shape, Config::BLOCK_M, Config::BLOCK_N);
  if (grid.x == 0) return {};
  return launch_kernel(gemm_kernel, grid, Config::kNumThreads, 0, stream, gemm_of(args));
}

}  // namespace hopper_gemm::simt::v1
