#include <cuda/std/cstdint>

#include "common/gemm_args.hpp"
#include "verify/element.cuh"

namespace hopper_gemm::reference {

constexpr int kTile = 64;       // output rows and columns of a CTA
constexpr int kThreadTile = 4;  // output rows and columns of a thread
constexpr int kThreads1d = kTile / kThreadTile;
constexpr int kBlockK = 16;

// A as [M, K], or B as [N, K], in any layout: element (line, k) is at line * line_stride + k * k_stride.
struct Operand {
  const void* data;
  DataType type;
  cuda::std::int64_t line_stride;
  cuda::std::int64_t k_stride;
};

HG_HOST_DEVICE inline double element_at(const Operand& operand, cuda::std::int64_t line,
                                        cuda::std::int64_t k) {
  return load_element(operand.data, operand.type, line * operand.line_stride + k * operand.k_stride);
}

HG_HOST_DEVICE inline Operand a_of(const GemmArgs& args) {
  if (args.a_layout == Layout::ColumnMajor) return {args.a, args.input_type, 1, args.lda};
  return {args.a, args.input_type, args.lda, 1};
}

HG_HOST_DEVICE inline Operand b_of(const GemmArgs& args) {
  if (args.b_layout == Layout::RowMajor) return {args.b, args.input_type, 1, args.ldb};
  return {args.b, args.input_type, args.ldb, 1};
}

// alpha · sum + beta · C + bias. It does not read what is multiplied by zero, so that NaNs there do not reach the
// result.
HG_HOST_DEVICE inline double combine(const GemmArgs& args, double sum, cuda::std::int64_t row,
                                     cuda::std::int64_t col) {
  const bool has_product = args.alpha != 0 && args.shape.k != 0;
  double result = has_product ? static_cast<double>(args.alpha) * sum : 0;
  if (args.beta != 0) {
    result += static_cast<double>(args.beta) * load_element(args.c, args.output_type, row * args.ldc + col);
  }
  if (args.bias_kind != Bias::None) {
    result += load_element(args.bias, args.output_type, args.bias_kind == Bias::PerRow ? row : col);
  }
  return result;
}

__device__ void load_tile(double (&tile)[kBlockK][kTile + 1], const Operand& operand,
                          cuda::std::int64_t line0, int lines, cuda::std::int64_t k0, int k) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kBlockK; i += kThreads1d * kThreads1d) {
    const cuda::std::int64_t line = line0 + i / kBlockK;
    const cuda::std::int64_t col = k0 + i % kBlockK;
    tile[i % kBlockK][i / kBlockK] = line < lines && col < k ? element_at(operand, line, col) : 0.0;
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

  const Operand a = a_of(args);
  const Operand b = b_of(args);
  const int num_k = args.alpha == 0 ? 0 : args.shape.k;
  double sum[kThreadTile][kThreadTile] = {};
  for (cuda::std::int64_t k0 = 0; k0 < num_k; k0 += kBlockK) {
    load_tile(tile_a, a, m0, args.shape.m, k0, args.shape.k);
    load_tile(tile_b, b, n0, args.shape.n, k0, args.shape.k);
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
      if (row < args.shape.m && col < args.shape.n) {
        ref[row * args.shape.n + col] = combine(args, sum[i][j], row, col);
      }
    }
  }
}

}  // namespace hopper_gemm::reference

// Host side
#include <numeric>
#include <vector>

#include "common/cuda_check.hpp"
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
  if (tiles == 0) return {};
  const dim3 grid(kTilesPerGridRow, static_cast<unsigned>((tiles + kTilesPerGridRow - 1) / kTilesPerGridRow));
  for (int batch = 0; batch < args.batch_count; ++batch) {
    reference_kernel<<<grid, kThreads1d * kThreads1d, 0, stream>>>(args_of_batch(args, batch), ref, tiles_n,
                                                                   tiles);
    ref += std::int64_t{args.shape.m} * args.shape.n;
  }
  return cuda_status(cudaGetLastError(), "launching the fp64 reference");
}

void reference_gemm_host(const GemmArgs& args, double* ref) {
  const auto [m, n, k] = args.shape;
  if (args.batch_count > 1) {
    for (int batch = 0; batch < args.batch_count; ++batch) {
      reference_gemm_host(args_of_batch(args, batch), ref + batch * (std::int64_t{m} * n));
    }
    return;
  }
  const std::int64_t num_k = args.alpha == 0 ? 0 : k;
  const auto unpack = [num_k](const Operand& operand, std::int64_t lines) {
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(lines * num_k));
    for (std::int64_t line = 0; line < lines; ++line) {
      for (std::int64_t i = 0; i < num_k; ++i) values.push_back(element_at(operand, line, i));
    }
    return values;
  };
  const std::vector<double> a = unpack(a_of(args), m);
  const std::vector<double> b = unpack(b_of(args), n);
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t col = 0; col < n; ++col) {
      const double* const a_line = a.data() + row * num_k;
      const double sum = std::inner_product(a_line, a_line + num_k, b.data() + col * num_k, 0.0);
      ref[row * n + col] = combine(args, sum, row, col);
    }
  }
}

}  // namespace hopper_gemm
