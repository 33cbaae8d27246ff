// Ends the launches of each case, and writes into a test program's XML report how many the emulator ran for it:
// counts_test.py holds the sums.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "emulator/emulator.hpp"
#include "emulator/launch.hpp"

namespace hopper_gemm::emulator {
namespace {

class LaunchCounter : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo&) override { before_ = launches(); }
  void OnTestEnd(const testing::TestInfo&) override {
    // Nobody has looked at what a launch did after its call if that failure comes to light only here.
    EXPECT_EQ(end_launches(), cudaSuccess) << last_report();
    testing::Test::RecordProperty("emulated_launches", std::to_string(launches() - before_));
  }

 private:
  std::uint64_t before_ = 0;
};

/// The listeners are there before main() is.
[[maybe_unused]] const bool kAdded = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new LaunchCounter);
  return true;
}();

}  // namespace
}  // namespace hopper_gemm::emulator
