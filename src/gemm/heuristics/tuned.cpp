#include "gemm/heuristics/tuned.hpp"

#include <algorithm>
#include <iterator>

namespace hopper_gemm::library {
namespace {

constexpr TunedProblem kTunedProblems[] = {
#include "gemm/heuristics/tuned_h200.inc"
};
constexpr int kTunedSmCount = 132;

}  // namespace

std::span<const TunedProblem> tuned_problems() { return kTunedProblems; }

std::string_view tuned_config(const KernelArgs& args, const Device& device) {
  if (device.sm_count != kTunedSmCount || args.a.major != OperandMajor::K || args.batch_count != 1) return {};
  const auto* const found =
      std::find_if(std::begin(kTunedProblems), std::end(kTunedProblems), [&](const TunedProblem& problem) {
        return problem.shape == args.shape && problem.b_major == args.b.major;
      });
  return found == std::end(kTunedProblems) ? std::string_view() : found->config;
}

}  // namespace hopper_gemm::library
