#pragma once

#include <span>
#include <string_view>

#include "gemm/problem.hpp"

namespace hopper_gemm::library {

/// A problem with K-major A, row-major D and one batch, and a configuration that was measured as fast for it.
struct TunedProblem {
  GemmShape shape;
  OperandMajor b_major;
  std::string_view config;
};

/// What was measured on an H200, most of it by `matmul tune best` (tools/generate_tuned_table.py; profiles/h200/README.md
/// says where the table holds another than the fastest).
std::span<const TunedProblem> tuned_problems();

/// The table's configuration for a problem of this shape and these layouts, or nothing: measured on an H200, and so for
/// GPUs with as many SMs.
std::string_view tuned_config(const KernelArgs& args, const Device& device);

}  // namespace hopper_gemm::library
