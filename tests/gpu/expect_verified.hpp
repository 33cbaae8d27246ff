#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "registry.hpp"
#include "verify/verify.hpp"

namespace hopper_gemm {

/// Fails the test unless `kernel` computes the fp64 product at `shape`. One that hangs takes the process down
/// with a message: no later CUDA call would return.
inline void expect_verified(const KernelInfo& kernel, const GemmShape& shape, bool integers_only = false) {
  const std::vector<VerifyTarget> targets = {{std::string(kernel.name), kernel.launch}};
  const VerifyOptions options = {.seed = 20260101, .timeout_seconds = 20, .integers_only = integers_only};
  std::vector<VerifyReport> reports;
  const Status status = verify_targets({shape}, targets, options, &reports);
  if (status.code() == StatusCode::Timeout) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    std::_Exit(EXIT_FAILURE);
  }
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(reports.at(0).verified) << reports.at(0).detail;
}

}  // namespace hopper_gemm
