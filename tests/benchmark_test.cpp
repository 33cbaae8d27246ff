#include "benchmark/benchmark.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "benchmark/gpu_sampler.hpp"

namespace hopper_gemm {
namespace {

using ::testing::ElementsAre;

/// Contestant c takes c + 1 milliseconds, plus a microsecond for each sample it took before.
class FakeSampler : public Sampler {
 public:
  Status sample(std::size_t contestant, Mode mode, Sample* sample) override {
    visits_.push_back(contestant);
    if (contestant == broken_) return {StatusCode::CudaError, "broken"};
    sample->seconds = 1e-3 * static_cast<double>(contestant + 1) + 1e-6 * taken_[contestant]++;
    sample->sm_clock_mhz = 1600;
    if (mode == Mode::Sustained) sample->watts = 700;
    return {};
  }

  std::vector<std::size_t> visits_;
  std::map<std::size_t, int> taken_;
  std::size_t broken_ = 1000;
};

TEST(RandomOrder, IsAPermutation) {
  std::mt19937_64 generator(1);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{13}}) {
    std::vector<std::size_t> order = random_order(count, generator);
    std::sort(order.begin(), order.end());
    std::vector<std::size_t> expected(count);
    std::iota(expected.begin(), expected.end(), std::size_t{0});
    EXPECT_EQ(order, expected);
  }
}

TEST(RandomOrder, ReachesEveryPermutationAboutEquallyOften) {
  std::mt19937_64 generator(7);
  std::map<std::vector<std::size_t>, int> seen;
  for (int i = 0; i < 6000; ++i) ++seen[random_order(3, generator)];
  ASSERT_EQ(seen.size(), 6U);
  for (const auto& [order, count] : seen) EXPECT_NEAR(count, 1000, 150);
}

TEST(RandomOrder, FollowsTheSeedOnEveryPlatform) {
  std::mt19937_64 generator(42);
  EXPECT_THAT(random_order(10, generator), ElementsAre(1, 7, 9, 0, 3, 8, 4, 2, 5, 6));
}

TEST(RunRounds, EveryRoundVisitsEveryContestantOnce) {
  FakeSampler sampler;
  constexpr int kRounds = 20;
  const std::array<std::size_t, 4> contestants = {0, 2, 5, 7};
  std::vector<Measurement> measurements;
  ASSERT_TRUE(run_rounds(contestants, Mode::Burst, kRounds, 3, sampler, nullptr, &measurements).ok());
  ASSERT_EQ(sampler.visits_.size(), kRounds * contestants.size());
  std::set<std::vector<std::size_t>> orders;
  for (auto round = sampler.visits_.begin(); round != sampler.visits_.end(); round += contestants.size()) {
    std::vector<std::size_t> order(round, round + contestants.size());
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_THAT(order, ElementsAre(0, 2, 5, 7));
  }
  EXPECT_GT(orders.size(), 8U) << "the order must change from round to round";
}

TEST(RunRounds, MeasurementsBelongToTheirContestants) {
  FakeSampler sampler;
  const std::array<std::size_t, 2> contestants = {4, 1};
  std::vector<Measurement> measurements;
  ASSERT_TRUE(run_rounds(contestants, Mode::Sustained, 3, 9, sampler, nullptr, &measurements).ok());
  ASSERT_EQ(measurements.size(), 2U);
  EXPECT_DOUBLE_EQ(measurements[0].seconds.median, 5.001e-3);
  EXPECT_DOUBLE_EQ(measurements[0].seconds.min, 5e-3);
  EXPECT_DOUBLE_EQ(measurements[0].seconds.max, 5.002e-3);
  EXPECT_DOUBLE_EQ(measurements[1].seconds.median, 2.001e-3);
  EXPECT_EQ(measurements[0].watts, 700);
  EXPECT_EQ(measurements[0].samples_seconds.size(), 3U);
}

TEST(RunRounds, TellsTheObserverBeforeEachSample) {
  FakeSampler sampler;
  const std::array<std::size_t, 2> contestants = {0, 1};
  std::vector<int> rounds;
  std::vector<Measurement> measurements;
  const auto observe = [&](int round, std::size_t) { rounds.push_back(round); };
  ASSERT_TRUE(run_rounds(contestants, Mode::Burst, 2, 1, sampler, observe, &measurements).ok());
  EXPECT_THAT(rounds, ElementsAre(0, 0, 1, 1));
}

TEST(RunRounds, StopsAtTheFirstError) {
  FakeSampler sampler;
  sampler.broken_ = 0;
  const std::array<std::size_t, 1> contestants = {0};
  std::vector<Measurement> measurements;
  EXPECT_EQ(run_rounds(contestants, Mode::Burst, 5, 1, sampler, nullptr, &measurements).message(), "broken");
  EXPECT_EQ(sampler.visits_.size(), 1U);
}

TEST(Aggregate, ReadingsThatAreMissingStayEmpty) {
  const std::array samples = {Sample{.seconds = 1, .sm_clock_mhz = 1500, .temperature_c = {}, .watts = {}},
                              Sample{.seconds = 3, .sm_clock_mhz = {}, .temperature_c = {}, .watts = {}},
                              Sample{.seconds = 2, .sm_clock_mhz = 1700, .temperature_c = {}, .watts = {}}};
  const Measurement measurement = aggregate(samples);
  EXPECT_EQ(measurement.seconds.median, 2);
  EXPECT_THAT(measurement.samples_seconds, ElementsAre(1, 3, 2));
  EXPECT_EQ(measurement.sm_clock_mhz, 1600);
  EXPECT_FALSE(measurement.temperature_c.has_value());
  EXPECT_FALSE(measurement.watts.has_value());
}

TEST(BestByMedian, IgnoresALuckySample) {
  std::array<Measurement, 3> measurements;
  measurements[0].seconds = {.median = 2, .min = 0.1, .max = 3};
  measurements[1].seconds = {.median = 1.5, .min = 1.4, .max = 9};
  measurements[2].seconds = {.median = 1.6, .min = 1.5, .max = 1.7};
  EXPECT_EQ(best_by_median(measurements), 1U);
}

TEST(LaunchesPerGraph, FillFourMillisecondsWithWholeRotations) {
  EXPECT_EQ(launches_per_graph(1.25, 1), 3);
  EXPECT_EQ(launches_per_graph(0.5, 2), 8);
  EXPECT_EQ(launches_per_graph(0.5, 3), 9);
  EXPECT_EQ(launches_per_graph(10, 1), 1);
  EXPECT_EQ(launches_per_graph(10, 5), 5) << "every set takes part";
}

TEST(LaunchesPerGraph, NeverExceedTheCap) {
  EXPECT_EQ(launches_per_graph(1e-6, 1), kMaxLaunchesPerGraph);
  EXPECT_EQ(launches_per_graph(1e-6, 3), kMaxLaunchesPerGraph / 3 * 3);
  EXPECT_EQ(launches_per_graph(1e-6, kMaxLaunchesPerGraph), kMaxLaunchesPerGraph);
  EXPECT_EQ(launches_per_graph(1, kMaxLaunchesPerGraph), kMaxLaunchesPerGraph);
}

TEST(SampleTiming, FollowsTheMethod) {
  EXPECT_EQ(sample_timing(Mode::Burst).idle_ms, 50);
  EXPECT_EQ(sample_timing(Mode::Burst).warm_up_ms, 4);
  EXPECT_EQ(sample_timing(Mode::Burst).timed_ms, 4);
  EXPECT_EQ(sample_timing(Mode::Burst, 10).idle_ms, 10);
  EXPECT_EQ(sample_timing(Mode::Sustained, 10).idle_ms, 0) << "a rest would lift the sustained clock";
  EXPECT_GE(sample_timing(Mode::Sustained).warm_up_ms + sample_timing(Mode::Sustained).timed_ms, 200)
      << "the energy counter needs at least 200 ms";
}

}  // namespace
}  // namespace hopper_gemm
