#include "gemm/heuristics/tuned.hpp"

#include <algorithm>

#include "gemm/heuristics/loaded_tuning.hpp"

namespace hopper_gemm::library {
namespace {

constexpr TunedProblem kTunedOnH100[] = {
#include "gemm/heuristics/tuned_h100.inc"
};
constexpr TunedProblem kTunedOnH200[] = {
#include "gemm/heuristics/tuned_h200.inc"
};

constexpr TunedTable kTables[] = {
    {.gpu = "an H100",
     .sm_count = 132,
     .memory_bytes_per_us = kH100MemoryBytesPerUs,
     .problems = kTunedOnH100},
    {.gpu = "an H200",
     .sm_count = 132,
     .memory_bytes_per_us = kH200MemoryBytesPerUs,
     .problems = kTunedOnH200},
};

}  // namespace

std::span<const TunedTable> tuned_tables() { return kTables; }

TunedChoice tuned_choice(const KernelArgs& args, const Device& device) {
  if (args.a.major != OperandMajor::K || args.batch_count != 1) return {};
  for (const TunedTable& table : kTables) {
    if (!is_alike(table.sm_count, table.memory_bytes_per_us, device)) continue;
    const auto found =
        std::find_if(table.problems.begin(), table.problems.end(), [&](const TunedProblem& problem) {
          return problem.shape == args.shape && problem.b_major == args.b.major;
        });
    if (found != table.problems.end()) return {found->config, table.gpu};
  }
  return {};
}

}  // namespace hopper_gemm::library
