// simt.6 vectorized   prev: simt.5   Change: 16-byte loads and stores, A transposed in shared memory
// Why: an instruction that moves 16 bytes does the work of four. Along B's and D's rows the four elements lie
//   side by side already; for A's fragment, a column, the tile must be transposed, which its store into
//   shared memory does at no cost. Where the operands do not consist of aligned vectors, a second instance of
//   the kernel copies element by element.
// Expected: 64 multiply-adds for 4 loads from shared memory instead of 16. The loads of B still conflict, in
//   pairs.
// Measured: 27.7 TFLOP/s, 54.1 % of cublasSgemm, 21 % more than v5 (H200, 4096³, burst: profiles/h200/). The
//   conflicts are two thirds of v5's.
// Limits: none.

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/launch.hpp"
#include "ladder/simt/simt_gemm.cuh"

namespace hopper_gemm::simt::v6 {

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
  // K is the outer index. Padded, so that the two halves of a row of A that a warp stores lie in different
  // banks.
  float a[Config::BLOCK_K][Config::BLOCK_M + kVectorElems];
  float b[Config::BLOCK_K][Config::BLOCK_N];
};

template <bool kVector>
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
    for (int i = thread; i < Config::BLOCK_M * Config::BLOCK_K / kVectorElems; i += Config::kNumThreads) {
      const int row = i / (Config::BLOCK_K / kVectorElems);
      const int k = i % (Config::BLOCK_K / kVectorElems) * kVectorElems;
      const float4 vector = load_a_vector<kVector>(gemm, first_row + row, first_k + k);
      smem.a[k][row] = vector.x;
      smem.a[k + 1][row] = vector.y;
      smem.a[k + 2][row] = vector.z;
      smem.a[k + 3][row] = vector.w;
    }
    for (int i = thread; i < Config::BLOCK_K * Config::BLOCK_N / kVectorElems; i += Config::kNumThreads) {
      const int k = i / (Config::BLOCK_N / kVectorElems);
      const int col = i % (Config::BLOCK_N / kVectorElems) * kVectorElems;
      const float4 vector = load_b_vector<kVector>(gemm, first_k + k, first_col + col);
      *reinterpret_cast<float4*>(&smem.b[k][col]) = vector;
    }
    __syncthreads();

    // Unrolled further, the loads of later steps would take the registers that 64 accumulators leave of 128.
#pragma unroll 2
    for (int k = 0; k < Config::BLOCK_K; ++k) {
      float fragment_a[Config::kThreadM];
      float fragment_b[Config::kThreadN];
#pragma unroll
      for (int i = 0; i < Config::kThreadM; i += kVectorElems) {
        load_vector(&smem.a[k][thread_row + i], &fragment_a[i]);
      }
#pragma unroll
      for (int j = 0; j < Config::kThreadN; j += kVectorElems) {
        load_vector(&smem.b[k][thread_col + j], &fragment_b[j]);
      }
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
    for (int j = 0; j < Config::kThreadN; j += kVectorElems) {
      store_d_vector<kVector>(gemm, first_row + thread_row + i, first_col + thread_col, j, &accum[i][j]);
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
  const Gemm gemm = gemm_of(args);
  const auto kernel = holds_whole_vectors(gemm) ? gemm_kernel<true> : gemm_kernel<false>;
  return launch_kernel(kernel, grid, Config::kNumThreads, sizeof(SharedStorage), stream, gemm);
}

}  // namespace hopper_gemm::simt::v6
