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

/// What was measured on one kind of GPU, mostly with `matmul tune best` (tools/generate_tuned_table.py).
struct TunedTable {
  std::string_view gpu;  ///< "an H200"
  int sm_count;
  double memory_bytes_per_us;
  std::span<const TunedProblem> problems;
};

/// The tables. The README.md of each folder of profiles/ says for which shapes its table does not hold the fastest
/// configuration.
std::span<const TunedTable> tuned_tables();

/// An entry of a table, or nothing.
struct TunedChoice {
  std::string_view config;
  std::string_view gpu;  ///< on which it was measured
};

/// The entry for this shape and these layouts, in the table of a GPU with as many SMs and as fast a memory.
TunedChoice tuned_choice(const KernelArgs& args, const Device& device);

}  // namespace hopper_gemm::library
