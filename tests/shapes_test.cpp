#include "benchmark/shapes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace hopper_gemm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Shapes, ParsesThreeExtents) {
  GemmShape shape{};
  ASSERT_TRUE(parse_shape("--shape", "1x257x264", &shape).ok());
  EXPECT_EQ(shape, (GemmShape{1, 257, 264}));
  ASSERT_TRUE(parse_shape("--shape", "2X257x264", &shape).ok());
  EXPECT_EQ(shape, (GemmShape{2, 257, 264}));
  ASSERT_TRUE(parse_shape("--shape", "2147483647x1x1", &shape).ok());
  EXPECT_EQ(shape.m, std::numeric_limits<int>::max());
}

struct BadShape {
  const char* text;
  const char* reason;
};

class BadShapes : public ::testing::TestWithParam<BadShape> {};

TEST_P(BadShapes, AreOneSentenceNamingTheArgument) {
  GemmShape shape{};
  const Status status = parse_shape("--shape", GetParam().text, &shape);
  ASSERT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(std::string("--shape got '")));
  EXPECT_THAT(status.message(), HasSubstr(GetParam().reason));
  EXPECT_THAT(status.message(), HasSubstr("type for example --shape 4096x7168x2048"));
  EXPECT_EQ(status.message().find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, BadShapes,
                         ::testing::Values(BadShape{"0x1x1", "'0' for M"}, BadShape{"1x-1x1", "'-1' for N"},
                                           BadShape{"1x1xk", "'k' for K"}, BadShape{"1x1x", "'' for K"},
                                           BadShape{"1x+1x1", "'+1' for N"}, BadShape{" 1x1x1", "' 1' for M"},
                                           BadShape{"2147483648x1x1", "1 to 2147483647"},
                                           BadShape{"1x99999999999999999999x1", "for N"},
                                           BadShape{"1x1.5x1", "'1.5' for N"}, BadShape{"1x1", "not MxNxK"},
                                           BadShape{"1x1x1x1", "not MxNxK"}, BadShape{"", "not MxNxK"},
                                           BadShape{"64", "not MxNxK"}));

TEST(Shapes, SizeIsASquare) {
  GemmShape shape{};
  ASSERT_TRUE(parse_size("--size", "4096", &shape).ok());
  EXPECT_EQ(shape, (GemmShape{4096, 4096, 4096}));
  EXPECT_THAT(parse_size("--size", "-8", &shape).message(),
              AllOf(HasSubstr("--size got '-8'"), HasSubstr("type for example --size 8192")));
}

TEST(Shapes, SizeWithSeveralExtentsPointsToShape) {
  GemmShape shape{};
  for (const char* text : {"8192x8192x8192", "64X64"}) {
    EXPECT_THAT(parse_size("--size", text, &shape).message(),
                AllOf(HasSubstr(std::string("--size got '") + text), HasSubstr("or --shape 4096x7168x2048")));
  }
}

TEST(Shapes, LeadingDimensionsAreRowsRoundedUpToSixteenBytes) {
  const LeadingDimensions ld = make_leading_dimensions({{17, 8193, 60}});
  EXPECT_EQ(ld.a, 64);
  EXPECT_EQ(ld.b, 64);
  EXPECT_EQ(ld.d, 8200);
  const LeadingDimensions of_columns = make_leading_dimensions(
      {.shape = {17, 8193, 60}, .a_layout = Layout::ColumnMajor, .b_layout = Layout::RowMajor});
  EXPECT_EQ(of_columns.a, 24);
  EXPECT_EQ(of_columns.b, 8200);
  EXPECT_EQ(make_leading_dimensions({{1, 8, 4096}}).a, 4096);
  EXPECT_EQ(make_leading_dimensions({{1, std::numeric_limits<int>::max(), 8}}).d, std::int64_t{1} << 31);
}

TEST(Shapes, SuitesHoldWhatEveryKernelTakes) {
  for (const char* name : {"squares", "llm", "ragged", "library", "long_k", "ragged_k"}) {
    std::vector<GemmShape> shapes;
    ASSERT_TRUE(find_suite(name, &shapes).ok()) << name;
    EXPECT_GE(shapes.size(), 6U);
    for (const GemmShape& shape : shapes) {
      EXPECT_EQ(shape.k % 8, 0) << to_string(shape);
      EXPECT_GE(shape.m, 1);
      EXPECT_GE(shape.n, 1);
    }
  }
}

TEST(Shapes, RaggedKIsOffWholeBlocks) {
  std::vector<GemmShape> shapes;
  ASSERT_TRUE(find_suite("ragged_k", &shapes).ok());
  for (const GemmShape& shape : shapes) EXPECT_NE(shape.k % 64, 0) << to_string(shape);
}

TEST(Shapes, UnknownSuiteNamesTheSuites) {
  std::vector<GemmShape> shapes;
  const Status status = find_suite("cubes", &shapes);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(
      status.message(),
      HasSubstr("squares, llm, ragged, library, long_k, ragged_k, epilogues, gated, batches and random"));
}

TEST(Shapes, TheLibrarysSuiteHoldsFortyDifferentOnes) {
  std::vector<GemmShape> shapes;
  ASSERT_TRUE(find_suite("library", &shapes).ok());
  std::set<std::string> names;
  for (const GemmShape& shape : shapes) names.insert(to_string(shape));
  EXPECT_EQ(shapes.size(), 40U);
  EXPECT_EQ(names.size(), 40U);
  EXPECT_EQ(to_string(shapes.front()), "256x256x256");
  EXPECT_EQ(to_string(shapes.back()), "8191x8193x8192");
}

/// The shapes, each with its layout of B.
std::vector<std::string> random_shapes(const RandomSuite& random) {
  std::vector<std::string> shapes;
  for (const Operation& operation : find_operations(kRandomSuite, random)) {
    EXPECT_TRUE(is_plain(operation));
    for (const GemmShape& shape : operation.shapes) {
      shapes.push_back(to_string(shape) + " " + std::string(to_string(operation.b_layout.value())));
    }
  }
  return shapes;
}

TEST(Shapes, RandomShapesAreThoseOfTheirSeedEverywhere) {
  EXPECT_EQ(random_shapes({.seed = 5, .count = 3}),
            (std::vector<std::string>{"686x1536x1664 col", "2x1664x5632 col", "1x2048x16384 col"}));
  const std::vector<std::string> shapes = random_shapes({.seed = 5, .count = 100});
  EXPECT_EQ(shapes, random_shapes({.seed = 5, .count = 100}));
  EXPECT_NE(shapes, random_shapes({.seed = 6, .count = 100}));
  EXPECT_EQ(std::set<std::string>(shapes.begin(), shapes.end()).size(), 100U);
}

TEST(Shapes, RandomShapesAreOfAllKinds) {
  const std::vector<Operation> operations = find_operations(kRandomSuite, {.seed = 1, .count = 1000});
  ASSERT_EQ(operations.size(), 2U);
  EXPECT_NEAR(static_cast<double>(operations[1].shapes.size()), 1000.0 / 3, 60);
  int few_rows = 0;
  int off_multiples_of_64 = 0;
  int off_multiples_of_8 = 0;
  for (const Operation& operation : operations) {
    for (const auto& [m, n, k] : operation.shapes) {
      EXPECT_TRUE(m >= 1 && m <= 16384) << m;
      EXPECT_TRUE(n >= 64 && n <= 28672) << n;
      EXPECT_TRUE(k >= 64 && k <= 28672) << k;
      few_rows += m <= 128 ? 1 : 0;
      off_multiples_of_64 += n % 64 != 0 && n % 8 == 0 ? 1 : 0;
      off_multiples_of_8 += n % 8 != 0 ? 1 : 0;
    }
  }
  EXPECT_NEAR(few_rows, 500, 60);
  EXPECT_NEAR(off_multiples_of_64, 190, 50);
  EXPECT_NEAR(off_multiples_of_8, 44, 25);
}

TEST(Shapes, LayoutsHaveNames) {
  for (const Layout layout : {Layout::RowMajor, Layout::ColumnMajor}) {
    EXPECT_EQ(layout_of_name(to_string(layout)), layout);
  }
  EXPECT_EQ(layout_of_name("row"), Layout::RowMajor);
  EXPECT_EQ(layout_of_name("column"), std::nullopt);
}

TEST(Shapes, FlopsDoNotOverflow) {
  EXPECT_EQ(gemm_flops({8192, 8192, 8192}), 1099511627776.0);
  EXPECT_GT(gemm_flops({2147483647, 2147483647, 2147483647}), 1.9e28);
}

}  // namespace
}  // namespace hopper_gemm
