// Writes into a test program's XML report how many launches the emulator ran for each case: counts_test.py holds the sums.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "emulator/emulator.hpp"

namespace hopper_gemm::emulator {
namespace {

class LaunchCounter : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo&) override { before_ = launches(); }
  void OnTestEnd(const testing::TestInfo&) override {
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
