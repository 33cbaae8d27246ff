// A kernel that never ends must become a message and an exit, not a test run that never ends.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "common/cuda_check.hpp"
#include "require_hopper.hpp"
#include "verify/verify.hpp"

namespace hopper_gemm {
namespace {

__global__ void endless_kernel() {
  for (;;) __nanosleep(1000);
}

Status launch_endless(const GemmArgs&, cudaStream_t stream) {
  endless_kernel<<<1, 1, 0, stream>>>();
  return cuda_status(cudaGetLastError(), "launching a kernel without an end");
}

[[noreturn]] void verify_endless_kernel() {
  const std::vector<VerifyTarget> targets = {{"endless", launch_endless}};
  std::vector<VerifyReport> reports;
  const Status status = verify_targets({64, 64, 64}, targets, {.seed = 1, .timeout_seconds = 0.5}, &reports);
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::_Exit(status.code() == StatusCode::Timeout ? 3 : 4);
}

// The process that hangs is another one: its context cannot be used again.
TEST(WatchdogDeathTest, TurnsAHangIntoATimeout) {
  HG_SKIP_WITHOUT_HOPPER();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(verify_endless_kernel(), testing::ExitedWithCode(3),
              "endless: a kernel was still running after 0.5.* s, so it is taken to hang");
}

}  // namespace
}  // namespace hopper_gemm
