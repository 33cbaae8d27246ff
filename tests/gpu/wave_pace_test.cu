// Clusters of a wave stay together, but not at any price.

#include "device/wave_pace.cuh"

#include <gtest/gtest.h>

#include "device/device_common.cuh"
#include "gpu_test_support.cuh"
#include "require_hopper.hpp"

namespace hopper_gemm {
namespace {

constexpr std::uint32_t kBlocks = 16;

struct PaceLog {
  bool is_waiting;      ///< after all blocks
  std::uint32_t steps;  ///< counted by then
};

/// The second of two clusters takes its time.
__global__ void pace_kernel(std::uint32_t* steps, PaceLog* logs) {
  if (threadIdx.x != 0) return;
  PaceLog& log = logs[blockIdx.x];
  WavePace pace(steps, 2);
  for (std::uint32_t block = 1; block <= kBlocks; ++block) {
    if (blockIdx.x == 1) __nanosleep(500);
    pace.advance();
  }
  log.is_waiting = pace.is_waiting();
  log.steps = ptx::ld_relaxed_gpu(steps);
}

class WavePaceTest : public testing::Test {
 protected:
  void SetUp() override {
    HG_SKIP_WITHOUT_HOPPER();
    ASSERT_NE(steps_.data(), nullptr);
    ASSERT_NE(logs_.data(), nullptr);
  }

  /// The CTAs are a cluster, so that all run at the same time. To WavePace each is one by itself.
  void run(unsigned ctas) {
    run_cluster_kernel(pace_kernel, ctas, static_cast<int>(ctas), kWarpThreads, 0, steps_.data(),
                       logs_.data());
  }

  ManagedArray<std::uint32_t> steps_{1};
  ManagedArray<PaceLog> logs_{2};
};

// The emulator may keep the second from running for as long as it likes, and then the first goes on alone.
TEST_F(WavePaceTest, WaitsForThoseWhoAreBehind) {
  int runs_together = 0;
  for (int i = 0; i < 10; ++i) {
    steps_[0] = 0;
    run(2);
    EXPECT_EQ(steps_[0], 2 * kBlocks / WavePace::kStep);
    if (!logs_[0].is_waiting) continue;
    ++runs_together;
    // All of its own, and on average all but one.
    EXPECT_GE(logs_[0].steps, 2 * (kBlocks / WavePace::kStep - 1));
  }
  EXPECT_GT(runs_together, 0);
}

TEST_F(WavePaceTest, GoesOnWithoutThoseWhoDoNotCome) {
  run(1);
  EXPECT_FALSE(logs_[0].is_waiting);
  EXPECT_EQ(steps_[0], kBlocks / WavePace::kStep);
}

TEST_F(WavePaceTest, WaitsForNobodyWhereMoreHasBeenCounted) {
  steps_[0] = 2 * kBlocks;
  run(1);
  EXPECT_TRUE(logs_[0].is_waiting);
}

}  // namespace
}  // namespace hopper_gemm
