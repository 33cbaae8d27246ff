// What programmatic dependent launch lets two kernels do at the same time: what they may see of each other, what they get
// wrong, and what the emulator says of it.

#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <ptx/address.cuh>
#include <ptx/global_memory.cuh>
#include <ptx/griddepcontrol.cuh>
#include <ptx/mbarrier.cuh>
#include <set>
#include <string>

#include "device/launch.hpp"
#include "tests/emulator/kernel_faults.hpp"

namespace hopper_gemm::emulator {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

constexpr std::uint32_t kMinusOne = 0xffffffff;

class OverlappingLaunches : public KernelFaults {
 protected:
  /// Enqueues a launch of CTAs of one thread.
  cudaError_t enqueue(Kernel* kernel, bool overlaps, unsigned ctas = 1) {
    cudaLaunchAttribute attribute = programmatic_dependent_launch_attribute();
    cudaLaunchConfig_t config = launch_config(dim3(ctas), 1, sizeof(Storage), &attribute);
    config.numAttrs = overlaps ? 1 : 0;
    const float* const in = in_;
    float* const out = out_;
    return cudaLaunchKernelEx(&config, kernel, in, out);
  }

  /// `out` is zero when the kernels begin.
  void begin(std::uint64_t seed, int sms = 3) {
    configure({.seed = seed, .sms = sms, .max_steps = 300'000});
    std::memset(out_, 0, kElems * sizeof(float));
  }

  /// Each but the first may begin before the one ahead has ended. Returns the last report.
  std::string run_all(std::initializer_list<Kernel*> kernels, std::uint64_t seed, int sms = 3) {
    begin(seed, sms);
    bool overlaps = false;
    for (Kernel* const kernel : kernels) {
      if (enqueue(kernel, overlaps) != cudaSuccess) break;
      overlaps = true;
    }
    return last_report();
  }

  /// Every schedule must end with a report that has one of these patterns, and for each pattern there must be one.
  template <typename... Patterns>
  void expect_fault_of(std::initializer_list<Kernel*> kernels, const Patterns&... patterns) {
    std::string all;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const std::string report = run_all(kernels, seed);
      EXPECT_THAT(report, testing::AnyOf(ContainsRegex(patterns)...)) << "seed " << seed;
      all += report;
    }
    EXPECT_THAT(all, testing::AllOf(ContainsRegex(patterns)...));
  }
  void expect_none_of(std::initializer_list<Kernel*> kernels, float expected) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      EXPECT_EQ(run_all(kernels, seed), "") << "seed " << seed;
      EXPECT_EQ(out_[33], expected) << "seed " << seed;  // data(out)[1]
    }
  }
};

// ---------------------------------------------------------------------------------- what must wait for the launch ahead

template <bool kLetsDependentsBegin>
__global__ void produce(const float* in, float* out) {
  if (kLetsDependentsBegin) ptx::griddepcontrol_launch_dependents();
  data(out)[0] = in[1];
}
template <bool kTooEarly>
__global__ void consume(const float*, float* out) {
  const float early = kTooEarly ? data(out)[0] : 0;
  ptx::griddepcontrol_wait();
  data(out)[1] = data(out)[0] + early;
}
__global__ void consume_without_a_wait(const float*, float* out) { data(out)[1] = data(out)[0]; }
__global__ void wait_for_nothing(const float*, float*) {}
__global__ void read_late(const float* in, float* out) {
  ptx::griddepcontrol_launch_dependents();
  data(out)[1] = in[1];
}
template <bool kTooEarly>
__global__ void overwrite_the_input(const float* in, float*) {
  if (!kTooEarly) ptx::griddepcontrol_wait();
  const_cast<float*>(in)[1] = 1;
  if (kTooEarly) ptx::griddepcontrol_wait();
}

TEST_F(OverlappingLaunches, ReadAndWriteAfterTheWait) {
  expect_none_of({produce<true>, consume<false>}, 1);
  expect_none_of({produce<true>, consume<false>, consume<false>}, 1);
  expect_none_of({read_late, overwrite_the_input<false>}, 1);
}

TEST_F(OverlappingLaunches, AreReportedIfTheyReadWhatTheLaunchAheadWrites) {
  expect_fault_of({produce<true>, consume<true>},
                  "a thread reads global memory at .* an earlier access: a thread writes\n"
                  "  by thread 0 of CTA 0 of the launch before\n  at tests/emulator(.|\n)*"
                  "  by thread 0 of CTA 0 of launch 2 ",
                  "a thread writes global memory at .* an earlier access: a thread reads\n"
                  "  by thread 0 of CTA 0 of the launch behind\n  at tests/emulator(.|\n)*"
                  "  by thread 0 of CTA 0 of launch 1 ");
}

TEST_F(OverlappingLaunches, AreReportedIfTheyWriteWhatTheLaunchAheadReads) {
  expect_fault_of({read_late, overwrite_the_input<true>},
                  "a thread writes global memory at .* an earlier access: a thread reads\n"
                  "  by thread 0 of CTA 0 of the launch before(.|\n)*  by thread 0 of CTA 0 of launch 2 ",
                  "a thread reads global memory at .* an earlier access: a thread writes\n"
                  "  by thread 0 of CTA 0 of the launch behind(.|\n)*  by thread 0 of CTA 0 of launch 1 ");
}

TEST_F(OverlappingLaunches, MustWaitIfTheLaunchAheadLetThemBegin) {
  constexpr const char* kNoWait = "no thread of the launch executes griddepcontrol.wait.*\n  in launch 2\n";
  expect_fault_of({produce<true>, wait_for_nothing}, kNoWait);
  // Its last store comes behind the trigger.
  expect_fault_of({produce<true>, consume_without_a_wait},
                  "a thread reads global memory at .* an earlier access: a thread writes\n"
                  "  by thread 0 of CTA 0 of the launch before",
                  kNoWait);
  expect_none_of({produce<false>, consume_without_a_wait}, 1);
  expect_none_of({produce<false>, consume<true>}, 2);
}

template <bool kTooEarly>
__global__ void let_the_third_begin(const float*, float*) {
  if (kTooEarly) ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
  if (!kTooEarly) ptx::griddepcontrol_launch_dependents();
}
__global__ void read_what_the_first_wrote(const float*, float* out) {
  const float first = data(out)[0];
  ptx::griddepcontrol_wait();
  data(out)[1] = first;
}

TEST_F(OverlappingLaunches, OfThreeTheThirdOverlapsTheFirstIfTheSecondTriggersAheadOfItsWait) {
  expect_none_of({produce<true>, let_the_third_begin<false>, read_what_the_first_wrote}, 1);
  expect_fault_of({produce<true>, let_the_third_begin<true>, read_what_the_first_wrote},
                  "a thread reads global memory at .* an earlier access: a thread writes\n"
                  "  by thread 0 of CTA 0 2 launches ago",
                  "a thread writes global memory at .* an earlier access: a thread reads\n"
                  "  by thread 0 of CTA 0 2 launches behind");
}

// ---------------------------------------------------------------------------------- when they begin

__global__ void trigger_and_raise_the_flag(const float*, float* out) {
  ptx::griddepcontrol_launch_dependents();
  ptx::red_add_relaxed_gpu(counters(out), 1);
}
/// CTA 0 lets dependents begin at once, and CTA 1 when it has raised the flag: by saying so, or by its end.
template <bool kTriggers>
__global__ void raise_the_flag_in_the_second_cta(const float*, float* out) {
  if (blockIdx.x == 1) ptx::red_add_relaxed_gpu(counters(out), 1);
  if (blockIdx.x == 0 || kTriggers) ptx::griddepcontrol_launch_dependents();
}
__global__ void look_at_the_flag(const float*, float* out) {
  counters(out)[4] = ptx::ld_relaxed_gpu(counters(out));
  ptx::griddepcontrol_wait();
  counters(out)[8] = ptx::ld_relaxed_gpu(counters(out));
}

class LaunchBehind : public OverlappingLaunches {
 protected:
  /// What look_at_the_flag() has seen ahead of its wait, in all schedules. Behind the wait it must have seen 1.
  std::set<std::uint32_t> flags_seen(Kernel* ahead, unsigned ctas, bool overlaps, int sms) {
    std::set<std::uint32_t> seen;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      begin(seed, sms);
      EXPECT_EQ(enqueue(ahead, false, ctas), cudaSuccess);
      EXPECT_EQ(enqueue(look_at_the_flag, overlaps), cudaSuccess);
      EXPECT_STREQ(last_report(), "");
      seen.insert(counters(out_)[4]);
      EXPECT_EQ(counters(out_)[8], 1U) << "seed " << seed;
    }
    return seen;
  }
};

using Flags = std::set<std::uint32_t>;

TEST_F(LaunchBehind, BeginsAnyTimeAfterTheTrigger) {
  EXPECT_EQ(flags_seen(trigger_and_raise_the_flag, 1, true, 2), (Flags{0, 1}));
}

TEST_F(LaunchBehind, BeginsAfterTheEndIfItHasNotAskedToOverlap) {
  EXPECT_EQ(flags_seen(trigger_and_raise_the_flag, 1, false, 2), Flags{1});
}

TEST_F(LaunchBehind, BeginsWhenThereIsRoom) {
  EXPECT_EQ(flags_seen(trigger_and_raise_the_flag, 1, true, 1), Flags{1});
}

TEST_F(LaunchBehind, BeginsWhenEachCtaHasTriggeredOrEnded) {
  EXPECT_EQ(flags_seen(raise_the_flag_in_the_second_cta<true>, 2, true, 4), Flags{1});
  EXPECT_EQ(flags_seen(raise_the_flag_in_the_second_cta<false>, 2, true, 4), Flags{1});
}

template <unsigned kFirstPlace>
__global__ void count_who_runs(const float*, float* out) {
  ptx::red_add_relaxed_gpu(counters(out), 1);
  ptx::griddepcontrol_launch_dependents();
  counters(out)[4 * (kFirstPlace + blockIdx.x)] = ptx::ld_relaxed_gpu(counters(out));
  ptx::red_add_relaxed_gpu(counters(out), kMinusOne);
  ptx::griddepcontrol_wait();
}

TEST_F(LaunchBehind, SharesTheSmsWithTheLaunchAhead) {
  constexpr int kSms = 3;
  constexpr unsigned kCtas = 2;
  std::uint32_t most = 0;
  for (std::uint64_t seed = 0; seed < 4 * kSeeds; ++seed) {
    begin(seed, kSms);
    EXPECT_EQ(enqueue(count_who_runs<1>, false, kCtas), cudaSuccess);
    EXPECT_EQ(enqueue(count_who_runs<1 + kCtas>, true, kCtas), cudaSuccess);
    EXPECT_STREQ(last_report(), "");
    for (unsigned cta = 1; cta <= 2 * kCtas; ++cta) most = std::max(most, counters(out_)[4 * cta]);
  }
  EXPECT_EQ(most, static_cast<std::uint32_t>(kSms));
}

// ---------------------------------------------------------------------------------- deadlocks

__global__ void wait_for_an_answer(const float*, float* out) {
  ptx::griddepcontrol_launch_dependents();
  ptx::red_add_relaxed_gpu(counters(out), 1);
  wait_for(counters(out), 2);
}
__global__ void answer(const float*, float* out) {
  wait_for(counters(out), 1);
  ptx::red_add_relaxed_gpu(counters(out), 1);
  ptx::griddepcontrol_wait();
}
__global__ void answer_after_the_wait(const float*, float* out) {
  ptx::griddepcontrol_wait();
  ptx::red_add_relaxed_gpu(counters(out), 1);
}

TEST_F(OverlappingLaunches, MayWaitForEachOtherIfThereIsRoomForBoth) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    EXPECT_EQ(run_all({wait_for_an_answer, answer}, seed), "") << "seed " << seed;
    EXPECT_THAT(run_all({wait_for_an_answer, answer}, seed, 1),
                ContainsRegex("deadlock(.|\n)*  thread 0 of CTA 0 of launch 1 .*polls global memory(.|\n)*"
                              "  1 clusters of launch 2 have not begun, because the GPU has room for 1 at a "
                              "time, and 1 CTAs of launches ahead have not ended"));
  }
}

TEST_F(OverlappingLaunches, DeadlockIfTheLaunchAheadNeedsWhatComesAfterTheWait) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    EXPECT_THAT(run_all({wait_for_an_answer, answer_after_the_wait}, seed),
                ContainsRegex("deadlock(.|\n)*  thread 0 of CTA 0 of launch 1 .*polls global memory(.|\n)*"
                              "  thread 0 of CTA 0 of launch 2 .*waits for the end of the launch ahead\n"));
  }
}

// ---------------------------------------------------------------------------------- faults after the call

__global__ void fail_after_the_trigger(const float*, float*) {
  ptx::griddepcontrol_launch_dependents();
  __trap();
}

TEST_F(OverlappingLaunches, SayOnceThatTheyHaveFailedAfterTheirCall) {
  begin(1);
  EXPECT_EQ(enqueue(fail_after_the_trigger, false), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_THAT(last_report(), HasSubstr("__trap() was called"));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(enqueue(wait_for_nothing, true), cudaSuccess);
  EXPECT_STREQ(last_report(), "");
}

TEST_F(OverlappingLaunches, FailWithTheLaunchAhead) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    begin(seed);
    EXPECT_EQ(enqueue(fail_after_the_trigger, false), cudaSuccess);
    EXPECT_EQ(enqueue(answer_after_the_wait, seed % 2 == 0), cudaErrorLaunchFailure);
    EXPECT_THAT(last_report(), HasSubstr("__trap() was called"));
    EXPECT_EQ(counters(out_)[0], 0U);
  }
}

TEST_F(OverlappingLaunches, FailIfACallBetweenHasMetTheFailure) {
  begin(1);
  EXPECT_EQ(enqueue(fail_after_the_trigger, false), cudaSuccess);
  EXPECT_NE(allocate(1), nullptr);
  const std::uint64_t launches_before = launches();
  EXPECT_EQ(enqueue(wait_for_nothing, true), cudaErrorLaunchFailure);
  EXPECT_EQ(launches(), launches_before);
  EXPECT_THAT(last_report(), HasSubstr("__trap() was called"));
}

// ---------------------------------------------------------------------------------- the timeline

/// Leaves an event on the timeline.
__device__ void complete_a_phase() {
  const ptx::SmemAddr bar = ptx::smem_addr(&storage().barrier);
  ptx::mbarrier_init(bar, 1);
  ptx::mbarrier_arrive(bar);
}
__global__ void complete_a_phase_after_the_trigger(const float*, float*) {
  ptx::griddepcontrol_launch_dependents();
  complete_a_phase();
}
__global__ void complete_a_phase_ahead_of_the_wait(const float*, float*) {
  complete_a_phase();
  ptx::griddepcontrol_wait();
}

TEST_F(OverlappingLaunches, AreOnOneTimelineInTheOrderInWhichTheyRan) {
  std::set<bool> second_is_first;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    configure({.seed = seed, .sms = 2, .traces = true});
    EXPECT_EQ(enqueue(complete_a_phase_after_the_trigger, false), cudaSuccess);
    EXPECT_EQ(enqueue(complete_a_phase_ahead_of_the_wait, true), cudaSuccess);
    const std::string json = trace_json();
    const std::size_t first = json.find("\"CTA 0\"");
    const std::size_t second = json.find("\"launch 2, CTA 0\"");
    ASSERT_NE(first, std::string::npos) << json;
    ASSERT_NE(second, std::string::npos) << json;
    second_is_first.insert(second < first);
  }
  EXPECT_EQ(second_is_first, (std::set<bool>{false, true}));
}

}  // namespace
}  // namespace hopper_gemm::emulator
