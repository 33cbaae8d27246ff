#include "benchmark/energy_meter.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace hopper_gemm {
namespace {

TEST(EnergyMeter, IsEmptyBeforeTheSecondStep) {
  EnergyMeter meter;
  EXPECT_FALSE(meter.mean_watts());
  meter.read(0, 100);
  meter.read(1, 100);
  EXPECT_FALSE(meter.mean_watts());
  meter.read(2, 170);
  EXPECT_FALSE(meter.mean_watts());
  meter.read(3, 170);
  EXPECT_FALSE(meter.mean_watts());
  meter.read(4, 310);
  EXPECT_EQ(meter.mean_watts(), 70);
}

// A constant 600 W, through a counter that moves every 100 ms and is read every millisecond at an odd phase.
TEST(EnergyMeter, ReadsAConstantPowerThroughASteppedCounter) {
  EnergyMeter meter;
  for (int ms = 37; ms < 337; ++ms) {
    const double seconds = ms / 1e3;
    meter.read(seconds, 5000 + 600 * std::floor(ms / 100.0) * 0.1);
  }
  ASSERT_TRUE(meter.mean_watts());
  EXPECT_NEAR(*meter.mean_watts(), 600, 1e-6);
}

}  // namespace
}  // namespace hopper_gemm
