#pragma once

#include <cuda/std/cstdint>

#include "common/gemm_shape.hpp"
#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm::library {

/// Which lines of an operand are contiguous: those along K, or those along M (of A) or N (of B).
enum class OperandMajor { K, MN };

/// op(A) as [M, K], or op(B) as [N, K]. Elements between lines and between batches; the latter 0 where all share one.
struct OperandArgs {
  const void* data;
  OperandMajor major;
  cuda::std::int64_t leading_dimension;
  cuda::std::int64_t batch_stride;
};

/// What the library's kernels are given: a checked problem whose D is row-major, as that of a column-major D is when A
/// and B change places.
struct KernelArgs {
  GemmShape shape;
  int batch_count;
  DataType input_type;
  OperandArgs a;
  OperandArgs b;
  GemmEpilogue epilogue;
};

}  // namespace hopper_gemm::library
