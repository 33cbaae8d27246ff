// A wait that never ends must say who waits, and where.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "hopper_gemm/wait_watchdog.cuh"
#include "require_hopper.hpp"

namespace hopper_gemm {
namespace {

__global__ void waiting_kernel() {
  BasicWaitWatchdog<true> watchdog("consumer", 3, 1, 1'000'000);
  for (;;) watchdog.check();
}

[[noreturn]] void run_waiting_kernel() {
  waiting_kernel<<<1, 1>>>();
  const bool failed = cudaDeviceSynchronize() != cudaSuccess;
  std::fflush(stdout);
  std::_Exit(failed ? 3 : 4);
}

// In a process of its own: the trap leaves no context behind.
TEST(WaitWatchdogDeathTest, NamesRoleStageAndPhase) {
  HG_SKIP_WITHOUT_HOPPER();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // A death test sees only stderr; the runtime prints what kernels print to stdout.
  EXPECT_EXIT(
      {
        std::fflush(stdout);
        if (std::freopen("/dev/stderr", "w", stdout) == nullptr) std::_Exit(5);
        run_waiting_kernel();
      },
      testing::ExitedWithCode(3), "hang: consumer waits at stage 3 for the phase of parity 1");
}

}  // namespace
}  // namespace hopper_gemm
