#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/std/cstddef>
#include <cuda/std/cstdint>

#include "common/gemm_shape.hpp"
#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/gemm_epilogue.hpp"
#ifndef __CUDACC_RTC__
#include <cstdint>

#include "hopper_gemm/status.hpp"
#endif

namespace hopper_gemm {

/// A GEMM without its operands: D[M,N] = activation(alpha · A[M,K] · B[K,N] + beta · C[M,N] + bias), accumulated in
/// fp32 and rounded once. C and D are row-major. A gated D has half as many columns, see GemmDescriptor::gated.
///
/// As in BLAS, C is not read if beta is 0, and A and B are not read if alpha or K is 0. NaNs there do not reach D.
struct GemmProblem {
  GemmShape shape{};
  DataType input_type = DataType::BFloat16;   ///< of A and B
  DataType output_type = DataType::BFloat16;  ///< of C and D
  Layout a_layout = Layout::RowMajor;         ///< A [M,K] column-major is [K,M] row-major, M-major
  Layout b_layout = Layout::ColumnMajor;      ///< B [K,N] column-major is [N,K] row-major, K-major: "TN"
  float alpha = 1;
  float beta = 0;
  Bias bias = Bias::None;  ///< elements of the output's type
  Activation activation = Activation::None;
  bool gated = false;
  int batch_count = 1;  ///< number of products, which share the bias
};

/// A GEMM with its operands. The fields after the pointers have the meaning and the defaults of GemmProblem.
///
/// All pointers are device pointers, aligned at least to their element. A leading dimension is the number of elements
/// from the start of a row to the start of the next, or from column to column if the layout is column-major. It is at
/// least their length. D must not overlap A or B. It may be C itself, with the same leading dimension, but must not
/// overlap C otherwise. Elements of D's rows past N (if ldd > N) are never written.
struct GemmArgs {
  GemmShape shape;
  const void* a;  // [M, K] in a_layout
  cuda::std::int64_t lda;
  const void* b;  // [K, N] in b_layout
  cuda::std::int64_t ldb;
  void* d;  // [M, N] row-major
  cuda::std::int64_t ldd;
  const void* c = nullptr;  // [M, N] row-major
  cuda::std::int64_t ldc = 0;
  DataType input_type = DataType::BFloat16;
  DataType output_type = DataType::BFloat16;
  Layout a_layout = Layout::RowMajor;
  Layout b_layout = Layout::ColumnMajor;
  float alpha = 1;
  float beta = 0;
  const void* bias = nullptr;  // [M] or [N], of output_type
  Bias bias_kind = Bias::None;
  Activation activation = Activation::None;
  bool gated = false;
  // Matrices of A, B, C and D. A matrix begins where the one before would have another line.
  int batch_count = 1;
  void* workspace = nullptr;  // for this launch alone, 16-byte aligned; a kernel may not need it
  cuda::std::size_t workspace_bytes = 0;

  /// D's elements as `T`, which must be the type that output_type names.
  template <typename T>
  HG_HOST_DEVICE T* d_as() const {
    return static_cast<T*>(d);
  }
};

/// Elements per 16 bytes of bf16: TMA addresses rows at this granularity.
inline constexpr int kTmaAlignmentElems = 8;

#ifndef __CUDACC_RTC__
/// The operation of `args`.
GemmProblem problem_of(const GemmArgs& args);

/// Checks what every GEMM needs. InvalidArgument: an extent is negative; a gated GEMM has a C, or an N that is no
/// multiple of 16; or an operand that is read or written has a null pointer, a leading dimension shorter than its line,
/// or an address that is no multiple of the element's size.
Status check_gemm(const GemmArgs& args);

/// Unsupported: `args` have a bias, an activation, a gate or batches, which no kernel of the ladders can do.
Status check_ladder_operation(const GemmArgs& args);

/// The GEMM of one batch, from 0 to batch_count - 1.
GemmArgs args_of_batch(const GemmArgs& args, int batch);

/// Elements from a batch's matrix to the next batch's.
struct BatchStrides {
  std::int64_t a;
  std::int64_t b;
  std::int64_t c;
  std::int64_t d;
};
BatchStrides batch_strides_of(const GemmArgs& args);

/// The checks that all TMA kernels of the Hopper ladder share.
///
/// InvalidArgument: see check_gemm(); or an extent is 0.
/// Unsupported: the operation is not the ladder's, which is D = A·B with a row-major A, a column-major B and all
/// matrices in bf16; K or a leading dimension is no multiple of 8 elements, or a base address is not 16-byte aligned
/// (PTX ISA "Tensors": TMA's addresses and pitches are multiples of 16 bytes); or a pitch has 2^40 bytes or more.
Status check_tma_gemm(const GemmArgs& args);

/// The checks that versions 1 to 5 of the Ampere ladder share.
///
/// InvalidArgument: see check_gemm(); or an extent is 0.
/// Unsupported: the operation is not D = A·B with a row-major A, a column-major B and all matrices in bf16 or all in
/// fp16; or K or a leading dimension is no multiple of 8 elements, or a base address is not 16-byte aligned, because
/// cp.async moves 16 bytes.
Status check_mma_gemm(const GemmArgs& args);
#endif

}  // namespace hopper_gemm
