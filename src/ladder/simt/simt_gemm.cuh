#pragma once

#include <cuda/std/cstdint>

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/launch.hpp"

#ifndef __CUDACC_RTC__
#include <bit>
#include <cstdint>
#include <string>
#endif

namespace hopper_gemm::simt {

/// GemmArgs as the kernels of this ladder take them: all of fp32, all row-major. A and B are not read where
/// shape.k is 0, nor C where beta is 0. D may be C.
struct Gemm {
  GemmShape shape;
  float alpha;
  float beta;
  const float* a;  // [M, K]
  cuda::std::int64_t lda;
  const float* b;  // [K, N]
  cuda::std::int64_t ldb;
  const float* c;  // [M, N]
  cuda::std::int64_t ldc;
  float* d;  // [M, N]
  cuda::std::int64_t ldd;
};

/// Elements of a 16-byte access.
inline constexpr int kVectorElems = 4;

/// An element of A, 0 outside of it.
__device__ __forceinline__ float load_a(const Gemm& gemm, int row, int k) {
  return row < gemm.shape.m && k < gemm.shape.k ? gemm.a[row * gemm.lda + k] : 0;
}

/// An element of B, 0 outside of it.
__device__ __forceinline__ float load_b(const Gemm& gemm, int k, int col) {
  return k < gemm.shape.k && col < gemm.shape.n ? gemm.b[k * gemm.ldb + col] : 0;
}

/// Four neighbours in a row of A, 0 outside of it. kVector: A holds whole vectors, and k is the start of one.
template <bool kVector>
__device__ __forceinline__ float4 load_a_vector(const Gemm& gemm, int row, int k) {
  if constexpr (kVector) {
    if (row >= gemm.shape.m || k >= gemm.shape.k) return {0, 0, 0, 0};
    return *reinterpret_cast<const float4*>(gemm.a + row * gemm.lda + k);
  } else {
    return {load_a(gemm, row, k), load_a(gemm, row, k + 1), load_a(gemm, row, k + 2),
            load_a(gemm, row, k + 3)};
  }
}

/// The same of B.
template <bool kVector>
__device__ __forceinline__ float4 load_b_vector(const Gemm& gemm, int k, int col) {
  if constexpr (kVector) {
    if (k >= gemm.shape.k || col >= gemm.shape.n) return {0, 0, 0, 0};
    return *reinterpret_cast<const float4*>(gemm.b + k * gemm.ldb + col);
  } else {
    return {load_b(gemm, k, col), load_b(gemm, k, col + 1), load_b(gemm, k, col + 2),
            load_b(gemm, k, col + 3)};
  }
}

/// Makes an element of D of its sum over K: the one `offset` behind (row, col) in its row. Outside of D it
/// does nothing. With the offset a constant, the elements of a row share an address; ptxas would otherwise
/// keep one for each column.
__device__ __forceinline__ void store_d(const Gemm& gemm, int row, int col, int offset, float sum) {
  if (row >= gemm.shape.m || col + offset >= gemm.shape.n) return;
  float result = gemm.alpha * sum;
  if (gemm.beta != 0) result += gemm.beta * (gemm.c + row * gemm.ldc + col)[offset];
  (gemm.d + row * gemm.ldd + col)[offset] = result;
}

/// The same for four neighbours. kVector: C and D hold whole vectors, and these are one.
template <bool kVector>
__device__ __forceinline__ void store_d_vector(const Gemm& gemm, int row, int col, int offset,
                                               const float* sums) {
  if constexpr (kVector) {
    if (row >= gemm.shape.m || col + offset >= gemm.shape.n) return;
    float4 result = {gemm.alpha * sums[0], gemm.alpha * sums[1], gemm.alpha * sums[2], gemm.alpha * sums[3]};
    if (gemm.beta != 0) {
      const float4 c = *reinterpret_cast<const float4*>(gemm.c + row * gemm.ldc + col + offset);
      result.x += gemm.beta * c.x;
      result.y += gemm.beta * c.y;
      result.z += gemm.beta * c.z;
      result.w += gemm.beta * c.w;
    }
    *reinterpret_cast<float4*>(gemm.d + row * gemm.ldd + col + offset) = result;
  } else {
#pragma unroll
    for (int i = 0; i < kVectorElems; ++i) store_d(gemm, row, col, offset + i, sums[i]);
  }
}

/// `index`, or `last` where that is smaller.
__device__ __forceinline__ int at_most(int index, int last) { return index < last ? index : last; }

/// Four neighbours from shared memory to registers. source: 16-byte aligned.
__device__ __forceinline__ void load_vector(const float* source, float* fragment) {
  const float4 vector = *reinterpret_cast<const float4*>(source);
  fragment[0] = vector.x;
  fragment[1] = vector.y;
  fragment[2] = vector.z;
  fragment[3] = vector.w;
}

#ifndef __CUDACC_RTC__
/// What each version takes: any shape, leading dimensions and alignment.
///
/// InvalidArgument: as check_gemm. Unsupported: types other than fp32, A or B column-major; more tiles than a
/// launch takes; M, N or K which, rounded up to whole tiles, is 2^31 or more.
inline Status check_simt_gemm(const GemmArgs& args, int block_m, int block_n, int block_k) {
  HG_RETURN_IF_ERROR(check_gemm(args));
  HG_RETURN_IF_ERROR(check_ladder_operation(args));
  if (args.input_type != DataType::Float32 || args.output_type != DataType::Float32) {
    return unsupported(std::string("the simt ladder multiplies fp32 to fp32, not ") +
                       to_string(args.input_type) + " to " + to_string(args.output_type));
  }
  if (args.a_layout != Layout::RowMajor) {
    return unsupported(
        "A is column-major, but the simt ladder takes a row-major A, [M, K] with K contiguous");
  }
  if (args.b_layout != Layout::RowMajor) {
    return unsupported(
        "B is column-major, but the simt ladder takes a row-major B, [K, N] with N contiguous");
  }
  constexpr int kMaxInt = 0x7fffffff;
  if (args.shape.k > kMaxInt - block_k + 1) {
    return unsupported("K, rounded up to a multiple of " + std::to_string(block_k) + ", must be below 2^31");
  }
  return check_tile_grid(args.shape, block_m, block_n);
}

/// For arguments that check_simt_gemm accepts.
inline Gemm gemm_of(const GemmArgs& args) {
  const auto [m, n, k] = args.shape;
  // The sum of no products is 0, whatever alpha is.
  const bool has_product = args.alpha != 0 && k != 0;
  return {.shape = {m, n, has_product ? k : 0},
          .alpha = has_product ? args.alpha : 0,
          .beta = args.beta,
          .a = static_cast<const float*>(args.a),
          .lda = args.lda,
          .b = static_cast<const float*>(args.b),
          .ldb = args.ldb,
          .c = static_cast<const float*>(args.c),
          .ldc = args.ldc,
          .d = args.d_as<float>(),
          .ldd = args.ldd};
}

/// Whether rows of so many elements consist of whole, aligned vectors.
inline bool rows_hold_whole_vectors(const float* matrix, std::int64_t leading_dimension, int row_elems) {
  return std::bit_cast<std::uintptr_t>(matrix) % (kVectorElems * sizeof(float)) == 0 &&
         leading_dimension % kVectorElems == 0 && row_elems % kVectorElems == 0;
}

/// The same for every operand that is read or written.
inline bool holds_whole_vectors(const Gemm& gemm) {
  const auto [m, n, k] = gemm.shape;
  return (k == 0 ||
          (rows_hold_whole_vectors(gemm.a, gemm.lda, k) && rows_hold_whole_vectors(gemm.b, gemm.ldb, n))) &&
         (gemm.beta == 0 || rows_hold_whole_vectors(gemm.c, gemm.ldc, n)) &&
         rows_hold_whole_vectors(gemm.d, gemm.ldd, n);
}
#endif

}  // namespace hopper_gemm::simt
