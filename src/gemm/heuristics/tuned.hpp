#pragma once

#include <span>
#include <string_view>

#include "gemm/problem.hpp"

namespace hopper_gemm::library {

/// A problem with K-major A, row-major D and one batch, and a configuration that was fast for it when measured.
struct TunedProblem {
  GemmShape shape;
  OperandMajor b_major;
  std::string_view config;
};

/// The table, measured on an H200, mostly with `matmul tune best` (tools/generate_tuned_table.py).
/// profiles/h200/README.md says for which shapes the table does not hold the fastest configuration.
std::span<const TunedProblem> tuned_problems();

/// The table's configuration for this shape and these layouts, or an empty name. The table was measured on an H200, and
/// answers only for GPUs with as many SMs.
std::string_view tuned_config(const KernelArgs& args, const Device& device);

}  // namespace hopper_gemm::library
