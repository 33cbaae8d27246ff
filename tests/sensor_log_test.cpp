#include "benchmark/sensor_log.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace hopper_gemm {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point at(int milliseconds) { return Clock::time_point(std::chrono::milliseconds(milliseconds)); }

SensorReading energy(int milliseconds, double joules) { return {at(milliseconds), std::nullopt, joules}; }

TEST(MeanWatts, IsEmptyBeforeTheSecondStep) {
  EXPECT_FALSE(mean_watts({}));
  EXPECT_FALSE(mean_watts(std::vector{energy(0, 100), energy(1000, 100)}));
  EXPECT_FALSE(
      mean_watts(std::vector{energy(0, 100), energy(1000, 100), energy(2000, 170), energy(3000, 170)}));
}

TEST(MeanWatts, CountsFromStepToStep) {
  EXPECT_EQ(mean_watts(std::vector{energy(0, 100), energy(2000, 170), energy(3000, 170), energy(4000, 310)}),
            70);
}

// A constant 600 W, through a counter that moves every 100 ms and is read every millisecond at an odd phase.
TEST(MeanWatts, ReadsAConstantPowerThroughASteppedCounter) {
  std::vector<SensorReading> readings;
  for (int ms = 37; ms < 337; ++ms) readings.push_back(energy(ms, 5000 + 60 * std::floor(ms / 100.0)));
  ASSERT_TRUE(mean_watts(readings));
  EXPECT_NEAR(*mean_watts(readings), 600, 1e-6);
}

TEST(MeanWatts, PassesOverReadingsThatFailed) {
  const SensorReading failed = {at(1500), std::nullopt, std::nullopt};
  EXPECT_EQ(mean_watts(std::vector{energy(0, 0), energy(1000, 10), failed, energy(2000, 30)}), 20);
}

TEST(ClockWithin, TakesTheReadingNearestToTheMiddle) {
  const std::vector<SensorReading> readings = {
      {at(0), 345, {}}, {at(9), 1980, {}}, {at(12), 1755, {}}, {at(19), 1500, {}}};
  EXPECT_EQ(clock_within(readings, at(8), at(20)), 1755);
  EXPECT_EQ(clock_within(readings, at(8), at(11)), 1980);
}

TEST(ClockWithin, IsEmptyWithoutAReadingWithin) {
  const std::vector<SensorReading> readings = {{at(0), 345, {}}, {at(30), 1980, {}}};
  EXPECT_FALSE(clock_within(readings, at(8), at(20)));
  EXPECT_FALSE(clock_within({}, at(8), at(20)));
}

TEST(SensorLog, IsEmptyWithoutNvml) {
  SensorLog log(nullptr);
  EXPECT_TRUE(log.stop().empty());
}

}  // namespace
}  // namespace hopper_gemm
