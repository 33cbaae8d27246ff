#pragma once

#include <cstdint>

#include "hopper_gemm/gemm_args.hpp"

namespace hopper_gemm {

/// A matrix in memory: `lines` contiguous lines of `elems` elements each.
struct MatrixLines {
  std::int64_t lines;
  std::int64_t elems;
};

constexpr MatrixLines lines_of_a(const GemmProblem& problem) { return {problem.shape.m, problem.shape.k}; }

constexpr MatrixLines lines_of_b(const GemmProblem& problem) {
  const auto [m, n, k] = problem.shape;
  return problem.b_layout == Layout::RowMajor ? MatrixLines{k, n} : MatrixLines{n, k};
}

/// Of C and of D.
constexpr MatrixLines lines_of_d(const GemmProblem& problem) { return {problem.shape.m, problem.shape.n}; }

}  // namespace hopper_gemm
