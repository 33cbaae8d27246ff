#pragma once

#include <cuda/std/cstdint>

#include "common/gemm_shape.hpp"
#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm::library {

/// The dimension along which an operand is contiguous: K, or M of A and N of B.
enum class OperandMajor { K, MN };

/// op(A) as [M, K], or op(B) as [N, K]. The leading dimension and the batch stride are in elements. The batch stride is
/// 0 if all batches share one matrix.
struct OperandArgs {
  const void* data;
  OperandMajor major;
  cuda::std::int64_t leading_dimension;
  cuda::std::int64_t batch_stride;
};

/// What the library's kernels get: a checked problem with a row-major D. If the caller's D is column-major, its
/// transpose is row-major, and A and B change places.
struct KernelArgs {
  GemmShape shape;
  int batch_count;
  DataType input_type;
  OperandArgs a;
  OperandArgs b;
  GemmEpilogue epilogue;
};

}  // namespace hopper_gemm::library
