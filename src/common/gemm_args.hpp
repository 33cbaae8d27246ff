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

/// What a GEMM computes, whatever its operands: D[M,N] = activation(alpha · A[M,K] · B[K,N] + beta · C[M,N] + bias),
/// accumulated in fp32 and rounded once. C and D are row-major. A gated one has half of D's columns, see
/// GemmDescriptor::gated.
///
/// As in BLAS, C is not read where beta is 0, nor A and B where alpha or K is 0: NaN there stays there.
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
  int batch_count = 1;  ///< as many products, which share the bias
};

/// A GEMM with its operands; what stands behind the pointers has the meaning and the defaults of GemmProblem.
///
/// All pointers are device pointers, aligned to their element at least. Leading dimensions are in elements: the
/// distance between the starts of consecutive rows (of columns where the layout is column-major), at least the
/// length of one. D must not overlap A or B; it may be C itself, with the same leading dimension, and must not
/// overlap C otherwise. Elements of D's rows beyond N (when ldd > N) are never written.
struct GemmArgs {
  GemmShape shape;
  const void* a;  // [M, K], as a_layout says
  cuda::std::int64_t lda;
  const void* b;  // [K, N], as b_layout says
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
  int batch_count = 1;  // matrices of A, B, C and D: the next begins where another line of the last would
  void* workspace = nullptr;  // of this launch's own, 16-byte aligned; a kernel may do without
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
/// The operation that `args` ask for.
GemmProblem problem_of(const GemmArgs& args);

/// What no GEMM can take. InvalidArgument: a negative extent; a gate with a C, or with N no multiple of 16; a null pointer, a leading dimension shorter than
/// its line, or an address that is no multiple of the element's size, of an operand that is read or written.
Status check_gemm(const GemmArgs& args);

/// Unsupported where args ask for a bias, an activation, a gate or batches, which no kernel of the ladders has.
Status check_ladder_operation(const GemmArgs& args);

/// The GEMM of one batch, 0 to batch_count - 1, by itself.
GemmArgs args_of_batch(const GemmArgs& args, int batch);

/// Elements from a matrix to that of the next batch.
struct BatchStrides {
  std::int64_t a;
  std::int64_t b;
  std::int64_t c;
  std::int64_t d;
};
BatchStrides batch_strides_of(const GemmArgs& args);

/// The checks every TMA kernel of the Hopper ladder shares.
///
/// InvalidArgument: as check_gemm, and an extent of 0.
/// Unsupported: other than the ladder's operation, D = A·B with A row-major, B column-major and all of bf16; K or a
/// leading dimension that is not a multiple of 8 elements, a base address that is not 16-byte aligned (PTX ISA
/// "Tensors": TMA's addresses and pitches are multiples of 16 bytes), or a pitch of 2^40 bytes and more.
Status check_tma_gemm(const GemmArgs& args);

/// The checks that versions 1 to 5 of the Ampere ladder share.
///
/// InvalidArgument: as check_gemm, and an extent of 0.
/// Unsupported: other than D = A·B with A row-major, B column-major and all three of bf16 or all of fp16; K or a leading
/// dimension that is not a multiple of 8 elements, or a base address that is not 16-byte aligned: cp.async moves 16
/// bytes.
Status check_mma_gemm(const GemmArgs& args);
#endif

}  // namespace hopper_gemm
