#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "tests/ladder_problems.hpp"
#include "verify/verify.hpp"

namespace hopper_gemm {

/// Verifies `target` at `problem`; a fatal failure where that could not be carried out. A kernel that hangs takes the
/// process down with a message: no later CUDA call would return.
inline void verify_launch(const VerifyTarget& target, const LadderProblem& problem, bool integers_only,
                          VerifyReport* report) {
  const std::vector<VerifyTarget> targets = {target};
  const VerifyOptions options = {.seed = 20260101,
                                 .timeout_seconds = 20,
                                 .integers_only = integers_only,
                                 .offset = problem.offset,
                                 .pitch_remainder = problem.pitch_remainder,
                                 .in_place = problem.in_place};
  std::vector<VerifyReport> reports;
  const Status status = verify_targets(problem.problem, targets, options, &reports);
  if (status.code() == StatusCode::Timeout) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    std::_Exit(EXIT_FAILURE);
  }
  ASSERT_TRUE(status.ok()) << status.message();
  *report = reports.at(0);
}

/// Fails the test unless `kernel` computes the fp64 product at `problem`.
inline void expect_verified(const KernelInfo& kernel, const LadderProblem& problem,
                            bool integers_only = false) {
  VerifyReport report;
  ASSERT_NO_FATAL_FAILURE(
      verify_launch({std::string(kernel.name), kernel.launch}, problem, integers_only, &report));
  EXPECT_TRUE(report.verified) << report.detail;
}

}  // namespace hopper_gemm
