#include "benchmark/statistics.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace hopper_gemm {
namespace {

TEST(Statistics, MedianOfAnOddCountIsTheMiddleValue) {
  EXPECT_EQ(median(std::array{5.0, 1.0, 3.0}), 3.0);
  EXPECT_EQ(median(std::array{7.0}), 7.0);
}

TEST(Statistics, MedianOfAnEvenCountIsTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median(std::array{4.0, 1.0, 100.0, 2.0}), 3.0);
}

TEST(Statistics, SummaryHasTheExtremes) {
  const std::optional<Summary> summary = summarize(std::array{2.0, -1.0, 9.0, 4.0, 3.0});
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->median, 3.0);
  EXPECT_EQ(summary->min, -1.0);
  EXPECT_EQ(summary->max, 9.0);
}

TEST(Statistics, GeometricMeanIsOfRatios) {
  EXPECT_NEAR(geometric_mean(std::array{80.0, 125.0}).value(), 100, 1e-9);
  EXPECT_NEAR(geometric_mean(std::array{99.7}).value(), 99.7, 1e-9);
}

TEST(Statistics, NothingComesOfNothing) {
  EXPECT_FALSE(geometric_mean({}).has_value());
  EXPECT_FALSE(summarize({}).has_value());
  EXPECT_FALSE(median({}).has_value());
}

TEST(Statistics, LeavesItsInputInOrder) {
  const std::vector<double> values = {3, 1, 2};
  EXPECT_EQ(median(values), 2.0);
  EXPECT_EQ(values, (std::vector<double>{3, 1, 2}));
}

}  // namespace
}  // namespace hopper_gemm
