#include "benchmark/sensor_log.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "test_support.hpp"

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

TEST(SensorLog, ReadsClockAndEnergyUntilItIsStopped) {
  std::unique_ptr<Nvml> nvml;
  ASSERT_TRUE(Nvml::open(fake_nvml(), "0000:1B:00.0", &nvml).ok());
  const Clock::time_point begin = Clock::now();
  SensorLog log(nvml.get());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::span<const SensorReading> readings = log.stop();
  ASSERT_GE(readings.size(), 2U);
  Clock::time_point previous = begin;
  for (const SensorReading& reading : readings) {
    EXPECT_EQ(reading.sm_clock_mhz, 1605);
    EXPECT_EQ(reading.joules, 9000.5);
    EXPECT_GE(reading.time, previous);
    previous = reading.time;
  }
  EXPECT_LE(previous, Clock::now());
  EXPECT_EQ(log.stop().size(), readings.size());
}

TEST(SensorLog, KeepsReadingsThatNvmlRefusesEmpty) {
  NvmlApi api = fake_nvml();
  api.nvmlDeviceGetClockInfo = [](NvmlApi::Device, int, unsigned int*) { return NvmlApi::Return{3}; };
  std::unique_ptr<Nvml> nvml;
  ASSERT_TRUE(Nvml::open(api, "0000:1B:00.0", &nvml).ok());
  SensorLog log(nvml.get());
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_FALSE(log.stop().empty());
  EXPECT_FALSE(log.stop().front().sm_clock_mhz.has_value());
  EXPECT_TRUE(log.stop().front().joules.has_value());
}

TEST(SensorLog, IsEmptyWithoutNvml) {
  SensorLog log(nullptr);
  EXPECT_TRUE(log.stop().empty());
}

}  // namespace
}  // namespace hopper_gemm
