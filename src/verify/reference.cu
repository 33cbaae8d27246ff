#include <cuda_bf16.h>

#include <cuda/std/cstdint>

#include "hopper_gemm/gemm_args.hpp"

namespace hopper_gemm::reference {

constexpr int kTile = 64;       // output rows and columns of a CTA
constexpr int kThreadTile = 4;  // output rows and columns of a thread
constexpr int kThreads1d = kTile / kThreadTile;
constexpr int kBlockK = 16;

__device__ void load_tile(double (&tile)[kBlockK][kTile + 1], const __nv_bfloat16* matrix,
                          cuda::std::int64_t ld, cuda::std::int64_t row0, int rows, cuda::std::int64_t k0,
                          int k) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kBlockK; i += kThreads1d * kThreads1d) {
    const cuda::std::int64_t row = row0 + i / kBlockK;
    const cuda::std::int64_t col = k0 + i % kBlockK;
    const bool inside = row < rows && col < k;
    tile[i % kBlockK][i / kBlockK] =
        inside ? static_cast<double>(__bfloat162float(matrix[row * ld + col])) : 0.0;
  }
}

__global__ void __launch_bounds__(kThreads1d* kThreads1d)
    reference_kernel(GemmArgs args, double* ref, cuda::std::int64_t tiles_n, cuda::std::int64_t tiles) {
  __shared__ double tile_a[kBlockK][kTile + 1];
  __shared__ double tile_b[kBlockK][kTile + 1];
  const cuda::std::int64_t tile = cuda::std::int64_t{blockIdx.y} * gridDim.x + blockIdx.x;
  if (tile >= tiles) return;
  const cuda::std::int64_t m0 = tile / tiles_n * kTile;
  const cuda::std::int64_t n0 = tile % tiles_n * kTile;
  const int thread_m = static_cast<int>(threadIdx.x) / kThreads1d;
  const int thread_n = static_cast<int>(threadIdx.x) % kThreads1d;

  double sum[kThreadTile][kThreadTile] = {};
  for (cuda::std::int64_t k0 = 0; k0 < args.shape.k; k0 += kBlockK) {
    load_tile(tile_a, args.a, args.lda, m0, args.shape.m, k0, args.shape.k);
    load_tile(tile_b, args.b, args.ldb, n0, args.shape.n, k0, args.shape.k);
    __syncthreads();
    for (int k = 0; k < kBlockK; ++k) {
      for (int i = 0; i < kThreadTile; ++i) {
        for (int j = 0; j < kThreadTile; ++j) {
          sum[i][j] += tile_a[k][thread_m + i * kThreads1d] * tile_b[k][thread_n + j * kThreads1d];
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < kThreadTile; ++i) {
    for (int j = 0; j < kThreadTile; ++j) {
      const cuda::std::int64_t row = m0 + thread_m + i * kThreads1d;
      const cuda::std::int64_t col = n0 + thread_n + j * kThreads1d;
      if (row < args.shape.m && col < args.shape.n) ref[row * args.shape.n + col] = sum[i][j];
    }
  }
}

}  // namespace hopper_gemm::reference

// Host side
#include "cuda_check.hpp"
#include "verify/reference.hpp"

namespace hopper_gemm {

using namespace reference;

namespace {

constexpr int kTilesPerGridRow = 32768;  // below the limit of gridDim.y

std::int64_t tiles_of(int extent) { return (std::int64_t{extent} + kTile - 1) / kTile; }

}  // namespace

Status reference_gemm_device(const GemmArgs& args, double* ref, cudaStream_t stream) {
  const std::int64_t tiles_n = tiles_of(args.shape.n);
  const std::int64_t tiles = tiles_of(args.shape.m) * tiles_n;
  const dim3 grid(kTilesPerGridRow, static_cast<unsigned>((tiles + kTilesPerGridRow - 1) / kTilesPerGridRow));
  reference_kernel<<<grid, kThreads1d * kThreads1d, 0, stream>>>(args, ref, tiles_n, tiles);
  return cuda_status(cudaGetLastError(), "launching the fp64 reference");
}

void reference_gemm_host(const GemmArgs& args, double* ref) {
  const auto [m, n, k] = args.shape;
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t col = 0; col < n; ++col) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        sum += static_cast<double>(__bfloat162float(args.a[row * args.lda + i])) *
               static_cast<double>(__bfloat162float(args.b[col * args.ldb + i]));
      }
      ref[row * n + col] = sum;
    }
  }
}

}  // namespace hopper_gemm
