// A wait that never ends must say who waits, and where.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include <ptx/fence.cuh>

#include "device/pipeline.cuh"
#include "device/tile_queue.cuh"
#include "require_hopper.hpp"

namespace hopper_gemm {
namespace {

using TestPipeline = Pipeline<2, 1024, 1>;
using TestQueue = TileQueue<2, 1>;

// A pipeline and a queue that nobody else ever comes to.
template <typename Wait>
__device__ void wait_alone(Wait wait) {
  __shared__ TestPipeline pipeline;
  __shared__ TestQueue queue;
  pipeline.init();
  queue.init();
  ptx::fence_mbarrier_init_release_cluster();
  wait(pipeline, queue);
}

__global__ void consumer_kernel() {
  wait_alone([](TestPipeline& pipeline, TestQueue&) { pipeline.consumer_wait({.stage = 1, .phase = 0}); });
}

__global__ void producer_kernel() {
  wait_alone([](TestPipeline& pipeline, TestQueue&) { pipeline.producer_acquire({.stage = 0, .phase = 1}); });
}

__global__ void reader_kernel() {
  wait_alone([](TestPipeline&, TestQueue& queue) { queue.receive({.stage = 0, .phase = 0}); });
}

__global__ void scheduler_kernel() {
  wait_alone([](TestPipeline&, TestQueue& queue) { queue.send({.stage = 1, .phase = 1}, {0, 0}); });
}

struct Hang {
  const char* name;
  void (*kernel)();
  const char* report;
};

[[noreturn]] void run_hanging_kernel(void (*kernel)()) {
  // A death test sees only stderr; the runtime prints what kernels print to stdout.
  std::fflush(stdout);
  if (std::freopen("/dev/stderr", "w", stdout) == nullptr) std::_Exit(5);
  kernel<<<1, 1>>>();
  const bool failed = cudaDeviceSynchronize() != cudaSuccess;
  std::fflush(stdout);
  std::_Exit(failed ? 3 : 4);
}

class WaitWatchdogDeathTest : public testing::TestWithParam<Hang> {};

// In a process of its own: the trap leaves no context behind.
TEST_P(WaitWatchdogDeathTest, NamesRoleStageAndPhase) {
  HG_SKIP_WITHOUT_HOPPER();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_hanging_kernel(GetParam().kernel), testing::ExitedWithCode(3), GetParam().report);
}

INSTANTIATE_TEST_SUITE_P(
    Waits, WaitWatchdogDeathTest,
    testing::Values(
        Hang{"Consumer", consumer_kernel, "hang: consumer waits at stage 1 for the phase of parity 0"},
        Hang{"Producer", producer_kernel, "hang: producer waits at stage 0 for the phase of parity 0"},
        Hang{"Reader", reader_kernel,
             "hang: reader of the tile queue waits at stage 0 for the phase of parity 0"},
        Hang{"Scheduler", scheduler_kernel, "hang: scheduler waits at stage 1 for the phase of parity 0"}),
    [](const testing::TestParamInfo<Hang>& info) { return info.param.name; });

}  // namespace
}  // namespace hopper_gemm
