#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "benchmark/cutlass_baseline.hpp"
#include "benchmark/platform.hpp"
#include "test_support.hpp"

namespace hopper_gemm {
namespace {

using ::testing::HasSubstr;

GemmArgs aligned_args(GemmShape shape) {
  alignas(16) static unsigned char aligned[16];
  return {.shape = shape,
          .a = aligned,
          .lda = shape.k,
          .b = aligned,
          .ldb = shape.k,
          .d = aligned,
          .ldd = shape.n};
}

TEST(CutlassCheck, TakesWhatTheAmpereLadderIsMeasuredAt) {
  GemmArgs args = aligned_args({1, 8, 8});
  EXPECT_TRUE(check_cutlass_gemm(args).ok());
  args.input_type = args.output_type = DataType::Float16;
  EXPECT_TRUE(check_cutlass_gemm(args).ok());
  EXPECT_TRUE(check_cutlass_gemm(aligned_args({129, 264, 1000})).ok());
}

TEST(CutlassCheck, RefusesOtherProblems) {
  const GemmArgs good = aligned_args({64, 64, 64});
  GemmArgs args = good;
  args.input_type = args.output_type = DataType::Float32;
  EXPECT_EQ(check_cutlass_gemm(args).code(), StatusCode::Unsupported);
  args = good;
  args.output_type = DataType::Float32;
  EXPECT_EQ(check_cutlass_gemm(args).code(), StatusCode::Unsupported);
  args = good;
  args.b_layout = Layout::RowMajor;
  EXPECT_EQ(check_cutlass_gemm(args).code(), StatusCode::Unsupported);
  args = good;
  args.a_layout = Layout::ColumnMajor;
  EXPECT_EQ(check_cutlass_gemm(args).code(), StatusCode::Unsupported);
  EXPECT_THAT(check_cutlass_gemm(args).message(), HasSubstr("CUTLASS is built only for"));
  args = good;
  args.alpha = 2;
  EXPECT_EQ(check_cutlass_gemm(args).code(), StatusCode::Unsupported);
}

TEST(CutlassCheck, RefusesRowsThatAreNotAlignedAndExtentsBeyondTheGrid) {
  for (const GemmShape& shape :
       {GemmShape{64, 60, 64}, GemmShape{64, 64, 60}, GemmShape{std::numeric_limits<int>::max(), 64, 64}}) {
    GemmArgs args = aligned_args(shape);
    args.lda = args.ldb = args.ldd = 64;
    EXPECT_EQ(check_cutlass_gemm(args).code(), StatusCode::Unsupported);
  }
  GemmArgs args = aligned_args({64, 64, 64});
  args.ldd = 68;
  EXPECT_EQ(check_cutlass_gemm(args).code(), StatusCode::Unsupported);
  args = aligned_args({64, 64, 64});
  args.a = static_cast<const unsigned char*>(args.a) + 2;
  EXPECT_EQ(check_cutlass_gemm(args).code(), StatusCode::Unsupported);
}

TEST(CutlassConfigs, AreThereForBothTypesOrForNone) {
  EXPECT_EQ(cutlass_configs(DataType::BFloat16).size(), cutlass_configs(DataType::Float16).size());
  EXPECT_TRUE(cutlass_configs(DataType::Float32).empty());
  EXPECT_EQ(CudaPlatform().has_cutlass(), !cutlass_configs(DataType::BFloat16).empty());
}

// Looked at before the GPU is.
TEST(CutlassConfigs, RefuseWhatTheyDoNotTake) {
  for (const DataType type : {DataType::BFloat16, DataType::Float16}) {
    for (const CutlassConfig& config : cutlass_configs(type)) {
      GemmArgs args = aligned_args({64, 64, 64});
      args.input_type = args.output_type =
          type == DataType::BFloat16 ? DataType::Float16 : DataType::BFloat16;
      EXPECT_THAT(config.launch(args, nullptr).message(), HasSubstr(to_string(type))) << config.name;
      args.b_layout = Layout::RowMajor;
      EXPECT_EQ(config.launch(args, nullptr).code(), StatusCode::Unsupported) << config.name;
    }
  }
}

TEST(SuitsCutlass, FromAmpereOn) {
  DeviceInfo device = h200();
  EXPECT_TRUE(suits_cutlass({}, device));
  EXPECT_FALSE(suits_cutlass({.input_type = DataType::Float32, .output_type = DataType::Float32}, device));
  EXPECT_FALSE(suits_cutlass({.a_layout = Layout::ColumnMajor}, device));
  EXPECT_FALSE(suits_cutlass({.b_layout = Layout::RowMajor}, device));
  device.compute_capability = {8, 0};
  EXPECT_TRUE(suits_cutlass({}, device));
  device.compute_capability = {7, 5};
  EXPECT_FALSE(suits_cutlass({}, device));
}

}  // namespace
}  // namespace hopper_gemm
