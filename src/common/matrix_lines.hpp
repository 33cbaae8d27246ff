#pragma once

#include <cstdint>

#include "common/ceil_div.hpp"
#include "common/gemm_args.hpp"

namespace hopper_gemm {

/// A matrix in memory: `lines` contiguous lines of `elems` elements each. The lines of all batches follow each other.
struct MatrixLines {
  std::int64_t lines;
  std::int64_t elems;
};

constexpr MatrixLines lines_of_a(const GemmProblem& problem) {
  const auto [m, n, k] = problem.shape;
  const std::int64_t batches = problem.batch_count;
  return problem.a_layout == Layout::RowMajor ? MatrixLines{batches * m, k} : MatrixLines{batches * k, m};
}

constexpr MatrixLines lines_of_b(const GemmProblem& problem) {
  const auto [m, n, k] = problem.shape;
  const std::int64_t batches = problem.batch_count;
  return problem.b_layout == Layout::RowMajor ? MatrixLines{batches * k, n} : MatrixLines{batches * n, k};
}

/// The lines of C, which are also those of an activation's input.
constexpr MatrixLines lines_of_c(const GemmProblem& problem) {
  return {std::int64_t{problem.batch_count} * problem.shape.m, problem.shape.n};
}

constexpr MatrixLines lines_of_d(const GemmProblem& problem) {
  const auto [lines, elems] = lines_of_c(problem);
  return {lines, problem.gated ? elems / 2 : elems};
}

/// The bias is one line. Without a bias it has no elements.
constexpr MatrixLines line_of_bias(const GemmProblem& problem) {
  switch (problem.bias) {
    case Bias::None: return {1, 0};
    case Bias::PerRow: return {1, problem.shape.m};
    case Bias::PerColumn: return {1, problem.shape.n};
  }
  return {1, 0};
}

/// A pitch that TMA accepts, with padding behind every line: padding_units times 8 elements more than the line needs.
constexpr std::int64_t padded_pitch(std::int64_t line_elems, int padding_units) {
  return (ceil_div(line_elems, std::int64_t{kTmaAlignmentElems}) + padding_units) * kTmaAlignmentElems;
}

/// `problem` with its operands, in the order of GemmArgs.
constexpr GemmArgs args_of(const GemmProblem& problem, const void* a, std::int64_t lda, const void* b,
                           std::int64_t ldb, void* d, std::int64_t ldd, const void* c = nullptr,
                           std::int64_t ldc = 0, const void* bias = nullptr) {
  return {.shape = problem.shape,
          .a = a,
          .lda = lda,
          .b = b,
          .ldb = ldb,
          .d = d,
          .ldd = ldd,
          .c = c,
          .ldc = ldc,
          .input_type = problem.input_type,
          .output_type = problem.output_type,
          .a_layout = problem.a_layout,
          .b_layout = problem.b_layout,
          .alpha = problem.alpha,
          .beta = problem.beta,
          .bias = bias,
          .bias_kind = problem.bias,
          .activation = problem.activation,
          .gated = problem.gated,
          .batch_count = problem.batch_count};
}

}  // namespace hopper_gemm
