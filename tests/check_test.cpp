// The checkers must fail where a result is wrong: each way once.

#include "verify/check.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/gemm_args.hpp"
#include "common/matrix_lines.hpp"
#include "hopper_gemm/data_type.hpp"
#include "verify/activation.cuh"
#include "verify/element.cuh"
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

// The reference is the activation's argument.
TEST(ActivationRule, ReluIsExactAndOthersMayBeApproximated) {
  const auto check = [](Activation activation, double argument, double value, const CheckRule& rule) {
    const __nv_bfloat16 element = __double2bfloat16(value);
    return check_host({&element, 1, &argument, 1, 1, DataType::BFloat16, activation}, rule);
  };
  EXPECT_TRUE(check(Activation::Relu, -3, 0, kExact).ok());
  EXPECT_TRUE(check(Activation::Relu, 3, 3, kExact).ok());
  const CheckResult negative = check(Activation::Relu, -3, -3, kExact);
  EXPECT_FALSE(negative.ok());
  EXPECT_EQ(negative.first_wrong_reference, 0) << "what it should be, not the argument";

  constexpr CheckRule kNoSlack = {CheckRule::Kind::Bounded, 0};
  for (const Activation activation : {Activation::Gelu, Activation::GeluTanh, Activation::Silu}) {
    for (const double x : {-3.0, -0.5, 0.0, 0.7, 4.0}) {
      const double exact = reference_activation(activation, x);
      EXPECT_TRUE(check(activation, x, exact, kNoSlack).ok());
      EXPECT_TRUE(check(activation, x, exact + std::fabs(x) * 0x1p-13, kNoSlack).ok());
      EXPECT_FALSE(
          check(activation, x, exact + std::fabs(exact) * 0x1p-6 + std::fabs(x) * 0x1p-9 + 1e-6, kNoSlack)
              .ok());
      EXPECT_FALSE(check(activation, x, std::nan(""), kNoSlack).ok());
    }
  }
  // The slack is before the activation, whose slope at 1 is nearly its largest.
  constexpr CheckRule kSlack = {CheckRule::Kind::Bounded, 0.1};
  const double grown = reference_activation(Activation::Gelu, 1.1);
  EXPECT_TRUE(check(Activation::Gelu, 1, grown, kSlack).ok());
  EXPECT_FALSE(check(Activation::Gelu, 1, grown + 0.05, kSlack).ok());
}

TEST(GateRule, TakesTheColumnsInGroupsOfEight) {
  constexpr std::int64_t kRows = 3;
  constexpr std::int64_t kColumns = 16;
  std::vector<double> ref(kRows * 2 * kColumns);
  for (std::size_t i = 0; i < ref.size(); ++i) ref[i] = static_cast<double>(i % 13) - 6;
  std::vector<float> d;
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t column = 0; column < kColumns; ++column) {
      const double* const gate =
          &ref[static_cast<std::size_t>(row * 2 * kColumns + column / 8 * 16 + column % 8)];
      d.push_back(static_cast<float>(std::max(gate[0], 0.0) * gate[8]));
    }
  }
  CheckOperands operands{.d = d.data(),
                         .ldd = kColumns,
                         .ref = ref.data(),
                         .m = kRows,
                         .n = kColumns,
                         .type = DataType::Float32,
                         .activation = Activation::Relu,
                         .gated = true};
  EXPECT_TRUE(check_host(operands, kExact).ok());
  d[20] += 1;
  const CheckResult result = check_host(operands, kExact);
  EXPECT_EQ(result.wrong, 1);
  EXPECT_EQ(result.first_wrong_index, 20);
  EXPECT_EQ(result.first_wrong_reference, static_cast<double>(d[20]) - 1);
}

// Both factors may be off by the slack.
TEST(GateRule, AllowsTheSlackOfBothFactorsButNoMore) {
  const std::vector<double> ref = {3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0};
  const auto ok = [&](double value, const CheckRule& rule) {
    std::vector<float> d(8);
    d[0] = static_cast<float>(value);
    return check_host({.d = d.data(),
                       .ldd = 8,
                       .ref = ref.data(),
                       .m = 1,
                       .n = 8,
                       .type = DataType::Float32,
                       .gated = true},
                      rule)
        .ok();
  };
  constexpr CheckRule kSlack = {CheckRule::Kind::Bounded, 0.1};
  EXPECT_TRUE(ok(3.1 * 5.1, kSlack));
  EXPECT_TRUE(ok(2.9 * 4.9, kSlack));
  EXPECT_FALSE(ok(3.1 * 5.1 + 0.05, kSlack));
  // Rounded before, by half a unit of fp32's last place each.
  constexpr CheckRule kRounded = {CheckRule::Kind::Bounded, 0, true};
  constexpr double kUnit = 0x1p-24;
  EXPECT_TRUE(ok(15 * (1 + 2 * kUnit), kRounded));
  EXPECT_FALSE(ok(15 * (1 + 8 * kUnit), kRounded));
}

TEST(ReferenceActivation, IsItsDefinition) {
  EXPECT_EQ(reference_activation(Activation::None, -2.5), -2.5);
  EXPECT_EQ(reference_activation(Activation::Relu, -2.5), 0);
  EXPECT_TRUE(std::isnan(reference_activation(Activation::Relu, std::nan(""))));
  // Values of Φ(1) and of the logistic function, from tables.
  EXPECT_NEAR(reference_activation(Activation::Gelu, 1), 0.8413447461, 1e-9);
  EXPECT_NEAR(reference_activation(Activation::GeluTanh, 1), 0.8411919906, 1e-9);
  EXPECT_NEAR(reference_activation(Activation::Silu, 1), 0.7310585786, 1e-9);
}

TEST(CheckHost, IgnoresThePaddingOfRows) {
  const double ref[] = {1, 2};
  const __nv_bfloat16 d[] = {__float2bfloat16(1), __float2bfloat16(99), __float2bfloat16(2)};
  EXPECT_TRUE(check_host({d, 2, ref, 2, 1}, kExact).ok());
}

// The same of every type: what a kernel's own rounding cannot make, and a NaN, are wrong.

class TypedCheck : public testing::TestWithParam<DataType> {
 protected:
  /// One element against its reference.
  CheckResult check(float value, double ref, const CheckRule& rule) const {
    float room = 0;
    store_element(&room, GetParam(), 0, value);
    return check_host({&room, 1, &ref, 1, 1, GetParam()}, rule);
  }
};

TEST_P(TypedCheck, ExactIsTheReferenceRoundedOnce) {
  const double unit = unit_roundoff(GetParam());
  EXPECT_TRUE(check(1, 1 + unit * 0.5, kExact).ok());
  EXPECT_TRUE(check(1, 1 - unit * 0.25, kExact).ok());
  EXPECT_FALSE(check(1, 1 + unit * 1.5, kExact).ok());
  EXPECT_TRUE(check(static_cast<float>(1 + unit * 2), 1 + unit * 1.5, kExact).ok());
  EXPECT_FALSE(check(2, 1, kExact).ok());
}

TEST_P(TypedCheck, BoundedAllowsOneRoundingOfItsType) {
  const CheckRule no_slack = {CheckRule::Kind::Bounded, 0};
  const double unit = unit_roundoff(GetParam());
  EXPECT_TRUE(check(1, 1 - unit * 0.9, no_slack).ok());
  EXPECT_FALSE(check(1, 1 - unit * 1.1, no_slack).ok());
  EXPECT_TRUE(check(1, 1 - unit * 1.1, {CheckRule::Kind::Bounded, unit * 0.3}).ok());
}

TEST_P(TypedCheck, NanIsWrongByEitherRule) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const CheckRule& rule : {kExact, kBounded, CheckRule{CheckRule::Kind::Bounded, 1e30}}) {
    const CheckResult result = check(nan, 0, rule);
    EXPECT_EQ(result.wrong, 1);
    EXPECT_EQ(result.nans, 1);
  }
}

// What outputs are poisoned with must not pass for a result.
TEST_P(TypedCheck, PoisonIsANan) {
  const std::uint16_t poison[] = {kPoison, kPoison};
  EXPECT_TRUE(std::isnan(load_element(poison, GetParam(), 0)));
}

TEST_P(TypedCheck, ElementsAreStoredWhereTheyAreLoaded) {
  float room[4] = {};
  for (int i = 0; i < 4; ++i) store_element(room, GetParam(), i, static_cast<float>(i * 3 - 4));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(load_element(room, GetParam(), i), i * 3 - 4);
}

INSTANTIATE_TEST_SUITE_P(Types, TypedCheck,
                         testing::Values(DataType::BFloat16, DataType::Float16, DataType::Float32),
                         [](const auto& type) { return std::string(to_string(type.param)); });

TEST(RoundTo, TurnsTheLargestIntoInfinity) {
  EXPECT_EQ(round_to(DataType::Float16, 65519), 65504);
  EXPECT_TRUE(std::isinf(round_to(DataType::Float16, 65520)));
  EXPECT_EQ(round_to(DataType::BFloat16, 65520), 65536);
  EXPECT_EQ(round_to(DataType::Float32, 65520), 65520);
}

// The reference, by a product of 2x3 and 3x2 that is easily done by hand.

class Reference : public testing::TestWithParam<std::tuple<DataType, Layout, Layout>> {
 protected:
  static constexpr int kPitch = 5;
  static constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  static constexpr float kA[2][3] = {{1, 2, 3}, {-4, 5, 6}};
  static constexpr float kB[3][2] = {{1, -1}, {2, 0}, {0.5, 4}};

  Reference() {
    const auto [type, a_layout, b_layout] = GetParam();
    args_ = {.shape = {2, 2, 3},
             .a = a_,
             .lda = kPitch,
             .b = b_,
             .ldb = kPitch,
             .d = nullptr,
             .ldd = 0,
             .c = c_,
             .ldc = kPitch,
             .input_type = type,
             .output_type = type,
             .a_layout = a_layout,
             .b_layout = b_layout};
    for (int i = 0; i < 3 * kPitch; ++i) {
      for (float* const matrix : {a_, b_, c_}) store_element(matrix, type, i, kNan);
    }
    for (int i = 0; i < 2; ++i) {
      for (int k = 0; k < 3; ++k) {
        store_element(a_, type, a_layout == Layout::RowMajor ? i * kPitch + k : k * kPitch + i, kA[i][k]);
        store_element(b_, type, b_layout == Layout::RowMajor ? k * kPitch + i : i * kPitch + k, kB[k][i]);
      }
      for (int j = 0; j < 2; ++j) store_element(c_, type, i * kPitch + j, static_cast<float>(10 * i + j));
    }
  }

  std::vector<double> reference() const {
    std::vector<double> ref(4, 99);
    reference_gemm_host(args_, ref.data());
    return ref;
  }

  void fill_with_nan(float* matrix) const {
    for (int i = 0; i < 3 * kPitch; ++i) store_element(matrix, args_.input_type, i, kNan);
  }

  GemmArgs args_{};
  float a_[3 * kPitch];  // room for any type
  float b_[3 * kPitch];
  float c_[3 * kPitch];
};

TEST_P(Reference, IsTheProduct) { EXPECT_EQ(reference(), (std::vector<double>{6.5, 11, 9, 28})); }

TEST_P(Reference, AddsBetaTimesC) {
  args_.alpha = 2;
  args_.beta = -3;
  EXPECT_EQ(reference(), (std::vector<double>{13, 22 - 3, 18 - 30, 56 - 33}));
}

TEST_P(Reference, AddsABiasAndLeavesTheActivationToTheCheck) {
  float bias[2];
  store_element(bias, args_.output_type, 0, 100);
  store_element(bias, args_.output_type, 1, 200);
  args_.bias = bias;
  args_.activation = Activation::Relu;
  args_.bias_kind = Bias::PerRow;
  EXPECT_EQ(reference(), (std::vector<double>{106.5, 111, 209, 228}));
  args_.bias_kind = Bias::PerColumn;
  EXPECT_EQ(reference(), (std::vector<double>{106.5, 211, 109, 228}));
  args_.alpha = -100;
  EXPECT_EQ(reference()[0], -550);
}

// A batch begins where the next line of the last one would: these are two of one line each in A and B.
TEST_P(Reference, OfBatchesAreOneBehindTheOther) {
  const bool a_has_rows = args_.a_layout == Layout::RowMajor;
  const bool b_has_rows = args_.b_layout == Layout::RowMajor;
  const int m = a_has_rows ? 1 : 2;
  const int n = b_has_rows ? 2 : 1;
  args_.shape = {m, n, 1};
  args_.batch_count = 2;
  std::vector<double> expected;
  for (int batch = 0; batch < 2; ++batch) {
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        expected.push_back((a_has_rows ? kA[batch][0] : kA[i][batch]) *
                           (b_has_rows ? kB[batch][j] : kB[0][batch]));
      }
    }
  }
  std::vector<double> ref(expected.size(), 99);
  reference_gemm_host(args_, ref.data());
  EXPECT_EQ(ref, expected);
  if (!a_has_rows || b_has_rows) return;
  args_.shape = {1, 1, 3};
  reference_gemm_host(args_, ref.data());
  EXPECT_EQ(ref, (std::vector<double>{6.5, 28}));
  args_.beta = 1;
  reference_gemm_host(args_, ref.data());
  EXPECT_EQ(ref, (std::vector<double>{6.5, 38})) << "C's rows are batches, too";
}

TEST_P(Reference, DoesNotLookAtCWhereBetaIsZero) {
  fill_with_nan(c_);
  EXPECT_EQ(reference(), (std::vector<double>{6.5, 11, 9, 28}));
  args_.c = nullptr;
  EXPECT_EQ(reference(), (std::vector<double>{6.5, 11, 9, 28}));
}

TEST_P(Reference, DoesNotLookAtAAndBWhereAlphaOrKIsZero) {
  args_.beta = 1;
  const std::vector<double> only_c = {0, 1, 10, 11};
  fill_with_nan(a_);
  fill_with_nan(b_);
  EXPECT_TRUE(std::isnan(reference()[0]));
  args_.alpha = 0;
  EXPECT_EQ(reference(), only_c);
  args_.a = args_.b = nullptr;
  EXPECT_EQ(reference(), only_c);
  args_.alpha = 1;
  args_.shape.k = 0;
  EXPECT_EQ(reference(), only_c);
  args_.beta = 0;
  EXPECT_EQ(reference(), (std::vector<double>{0, 0, 0, 0}));
}

TEST_P(Reference, OfNothingWritesNothing) {
  for (const GemmShape shape : {GemmShape{0, 2, 3}, GemmShape{2, 0, 3}}) {
    args_.shape = shape;
    EXPECT_EQ(reference(), (std::vector<double>{99, 99, 99, 99}));
  }
}

INSTANTIATE_TEST_SUITE_P(
    TypesAndLayouts, Reference,
    testing::Combine(testing::Values(DataType::BFloat16, DataType::Float16, DataType::Float32),
                     testing::Values(Layout::RowMajor, Layout::ColumnMajor),
                     testing::Values(Layout::RowMajor, Layout::ColumnMajor)),
    [](const auto& param) {
      const auto name_of = [](Layout layout) { return layout == Layout::RowMajor ? "row" : "col"; };
      return std::string(to_string(std::get<0>(param.param))) + "_a_" + name_of(std::get<1>(param.param)) +
             "_b_" + name_of(std::get<2>(param.param));
    });

TEST(MatrixLines, FollowTheLayouts) {
  const auto pair = [](const MatrixLines& matrix) { return std::pair(matrix.lines, matrix.elems); };
  GemmProblem problem{.shape = {2, 3, 5}};
  EXPECT_EQ(pair(lines_of_a(problem)), std::pair(std::int64_t{2}, std::int64_t{5}));
  problem.a_layout = Layout::ColumnMajor;
  EXPECT_EQ(pair(lines_of_a(problem)), std::pair(std::int64_t{5}, std::int64_t{2}));
  problem.batch_count = 4;
  EXPECT_EQ(pair(lines_of_a(problem)), std::pair(std::int64_t{20}, std::int64_t{2}));
  problem.batch_count = 1;
  EXPECT_EQ(pair(lines_of_d(problem)), std::pair(std::int64_t{2}, std::int64_t{3}));
  problem.b_layout = Layout::ColumnMajor;
  EXPECT_EQ(pair(lines_of_b(problem)), std::pair(std::int64_t{3}, std::int64_t{5}));
  problem.b_layout = Layout::RowMajor;
  EXPECT_EQ(pair(lines_of_b(problem)), std::pair(std::int64_t{5}, std::int64_t{3}));
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
