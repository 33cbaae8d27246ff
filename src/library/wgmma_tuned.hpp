#pragma once

#include <span>
#include <string_view>

#include "library/backend.hpp"

namespace hopper_gemm::library::wgmma {

/// A problem with K-major A, row-major D and one batch, and the configuration that was measured as its fastest.
struct TunedProblem {
  GemmShape shape;
  OperandMajor b_major;
  std::string_view config;
};

/// What `matmul tune best` measured on an H200 (tools/generate_tuned_table.py).
std::span<const TunedProblem> tuned_problems();

/// The configuration that was measured as the fastest for a problem of this shape and these layouts, or nothing: on an
/// H200, and so for GPUs with as many SMs.
std::string_view tuned_config(const KernelArgs& args, const Device& device);

}  // namespace hopper_gemm::library::wgmma
