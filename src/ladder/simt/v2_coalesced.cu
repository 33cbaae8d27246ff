// simt.2 coalesced   prev: simt.1   Change: consecutive threads along N instead of M
// Why: global memory answers a warp by cache lines. With its threads side by side in a row of D, a warp's
//   load of B is one line, that of A one element for all, and its store to D one line: 2 lines a step instead
//   of 33.
// Expected: several times v1. Then each multiply-add still waits for two loads, and an SM's load unit, which
//   serves one warp a cycle, is asked eight times as often as it can answer.
// Measured: 5.2 TFLOP/s, 10.2 % of cublasSgemm, ten times v1 (H200, 4096³, burst: profiles/h200/).
// Limits: none.

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/launch.hpp"
#include "ladder/simt/simt_gemm.cuh"

namespace hopper_gemm::simt::v2 {

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
  const int row = tile_m * Config::BLOCK_M + thread / Config::BLOCK_N;
  const int col = tile_n * Config::BLOCK_N + thread % Config::BLOCK_N;

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

}  // namespace hopper_gemm::simt::v2
