// The checkers must fail where a result is wrong: each way once.

#include "verify/check.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "verify/fill.hpp"
#include "verify/reference.hpp"

namespace hopper_gemm {
namespace {

constexpr int kSize = 48;
constexpr CheckRule kExact = {CheckRule::Kind::Exact, 0};
constexpr CheckRule kBounded = {CheckRule::Kind::Bounded, 1e-3};

// A correct product of position-dependent small integers.
class Check : public testing::TestWithParam<CheckRule> {
 protected:
  Check() : d_(kSize * kSize), ref_(kSize * kSize) {
    std::vector<__nv_bfloat16> a(kSize * kSize);
    std::vector<__nv_bfloat16> b(kSize * kSize);
    for (int i = 0; i < kSize * kSize; ++i) {
      const auto index = static_cast<std::size_t>(i);
      a[index] = __float2bfloat16(static_cast<float>(i * 7 % 5 - 2));
      b[index] = __float2bfloat16(static_cast<float>(i * 11 % 3 - 1));
    }
    reference_gemm_host({{kSize, kSize, kSize}, a.data(), kSize, b.data(), kSize, nullptr, 0}, ref_.data());
    for (std::size_t i = 0; i < d_.size(); ++i) d_[i] = __double2bfloat16(ref_[i]);
  }

  CheckResult check() const { return check_host({d_.data(), kSize, ref_.data(), kSize, kSize}, GetParam()); }

  std::vector<__nv_bfloat16> d_;
  std::vector<double> ref_;
};

TEST_P(Check, PassesTheCorrectProduct) { EXPECT_TRUE(check().ok()); }

TEST_P(Check, FailsOnANan) {
  d_[100] = __float2bfloat16(std::numeric_limits<float>::quiet_NaN());
  const CheckResult result = check();
  EXPECT_EQ(result.wrong, 1);
  EXPECT_EQ(result.nans, 1);
  EXPECT_EQ(result.first_wrong_index, 100);
}

TEST_P(Check, FailsOnOneWrongElement) {
  d_[1234] = __float2bfloat16(__bfloat162float(d_[1234]) + 1);
  const CheckResult result = check();
  EXPECT_EQ(result.wrong, 1);
  EXPECT_EQ(result.nans, 0);
  EXPECT_EQ(result.first_wrong_index, 1234);
  EXPECT_EQ(static_cast<double>(result.first_wrong_value), ref_[1234] + 1);
  EXPECT_EQ(result.first_wrong_reference, ref_[1234]);
}

TEST_P(Check, FailsOnATransposedOutput) {
  for (std::size_t row = 0; row < kSize; ++row) {
    for (std::size_t col = 0; col < row; ++col) std::swap(d_[row * kSize + col], d_[col * kSize + row]);
  }
  EXPECT_GT(check().wrong, kSize * kSize / 4);
}

TEST_P(Check, FailsOnAnInfinity) {
  d_[0] = __float2bfloat16(std::numeric_limits<float>::infinity());
  EXPECT_EQ(check().wrong, 1);
}

TEST_P(Check, FailsOnANanReference) {
  ref_[5] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(check().wrong, 1);
}

INSTANTIATE_TEST_SUITE_P(Rules, Check, testing::Values(kExact, kBounded),
                         [](const testing::TestParamInfo<CheckRule>& rule) {
                           return rule.param.kind == CheckRule::Kind::Exact ? "Exact" : "Bounded";
                         });

TEST(BoundedRule, AllowsOneRoundingAndTheSlackButNoMore) {
  const double ref = 1.0;
  const auto ok = [&](double value) {
    const __nv_bfloat16 element = __double2bfloat16(value);
    return check_host({&element, 1, &ref, 1, 1}, {CheckRule::Kind::Bounded, 1e-3}).ok();
  };
  EXPECT_TRUE(ok(1.0));
  EXPECT_TRUE(ok(1.0 - 0x1p-8));
  EXPECT_FALSE(ok(1.0 + 0x1p-7));
  EXPECT_FALSE(ok(1.0 - 0x1p-7));
}

TEST(CheckHost, IgnoresThePaddingOfRows) {
  const double ref[] = {1, 2};
  const __nv_bfloat16 d[] = {__float2bfloat16(1), __float2bfloat16(99), __float2bfloat16(2)};
  EXPECT_TRUE(check_host({d, 2, ref, 2, 1}, kExact).ok());
}

// Ten standard deviations of a dot product stay where bf16 holds every integer.
TEST(IntegerDensity, KeepsDotProductsExactInBf16) {
  for (std::int64_t k = 8; k <= 65536; k *= 2) {
    const double density = integer_density(k);
    EXPECT_LE(density * std::sqrt(static_cast<double>(k)) * 10, 256) << k;
    EXPECT_GT(density, 0.05) << k;
  }
}

}  // namespace
}  // namespace hopper_gemm
