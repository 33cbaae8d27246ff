#include "benchmark/operand_buffers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "benchmark/benchmark.hpp"
#include "test_support.hpp"

namespace hopper_gemm {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kL2Bytes = 60 << 20;

std::int64_t set_bytes(const BufferPlan& plan) {
  return plan.a_bytes + plan.b_bytes + plan.c_bytes + plan.bias_bytes + plan.d_bytes;
}

TEST(OperandBuffers, LargeShapesHaveOneSet) {
  const BufferPlan plan = plan_operand_buffers({{8192, 8192, 8192}}, kL2Bytes);
  EXPECT_EQ(plan.sets, 1);
  EXPECT_EQ(plan.total_bytes, std::int64_t{3} * 8192 * 8192 * 2);
}

TEST(OperandBuffers, SmallShapesRotateOverThreeTimesTheL2) {
  for (const GemmShape& shape : {GemmShape{1024, 1024, 1024}, GemmShape{4096, 4096, 4096},
                                 GemmShape{17, 5120, 13824}, GemmShape{1000, 1000, 1000}}) {
    const BufferPlan plan = plan_operand_buffers({shape}, kL2Bytes);
    EXPECT_GT(plan.sets, 1) << to_string(shape);
    EXPECT_GE(plan.total_bytes, 3 * kL2Bytes) << to_string(shape);
    EXPECT_LT(plan.total_bytes - set_bytes(plan), 3 * kL2Bytes)
        << to_string(shape) << ": one set more than needed";
    EXPECT_EQ(plan.total_bytes, plan.sets * set_bytes(plan));
  }
}

TEST(OperandBuffers, TinyShapesRotateOverAsManySetsAsAGraphHolds) {
  const BufferPlan plan = plan_operand_buffers({{1, 8, 8}}, kL2Bytes);
  EXPECT_EQ(plan.sets, kMaxLaunchesPerGraph);
  EXPECT_EQ(plan.total_bytes, plan.sets * set_bytes(plan));
}

TEST(OperandBuffers, OneSetExactlyAtThreeTimesTheL2) {
  const std::int64_t bytes = set_bytes(plan_operand_buffers({{512, 512, 512}}, 0));
  EXPECT_EQ(plan_operand_buffers({{512, 512, 512}}, bytes / 3).sets, 1);
  EXPECT_EQ(plan_operand_buffers({{512, 512, 512}}, bytes / 3 + 1).sets, 2);
}

TEST(OperandBuffers, EveryCopyHoldsItsRowsAndStartsOn256Bytes) {
  for (const GemmShape& shape : {GemmShape{1, 8, 8}, GemmShape{129, 257, 264}, GemmShape{4095, 4097, 4104}}) {
    const BufferPlan plan = plan_operand_buffers({shape}, kL2Bytes);
    const LeadingDimensions ld = make_leading_dimensions({shape});
    EXPECT_GE(plan.a_bytes, shape.m * ld.a * 2);
    EXPECT_GE(plan.b_bytes, shape.n * ld.b * 2);
    EXPECT_GE(plan.d_bytes, shape.m * ld.d * 2);
    for (const std::int64_t bytes : {plan.a_bytes, plan.b_bytes, plan.d_bytes}) EXPECT_EQ(bytes % 256, 0);
  }
}

TEST(OperandBuffers, EveryCopyHoldsItsLinesInTheOtherLayouts) {
  for (const GemmShape& shape : {GemmShape{1, 8, 8}, GemmShape{129, 257, 264}, GemmShape{17, 5120, 13824}}) {
    const GemmProblem problem = {
        .shape = shape, .a_layout = Layout::ColumnMajor, .b_layout = Layout::RowMajor};
    const BufferPlan plan = plan_operand_buffers(problem, kL2Bytes);
    EXPECT_EQ(plan.leading_dimensions.a, (shape.m + 7) / 8 * 8);
    EXPECT_EQ(plan.leading_dimensions.b, (shape.n + 7) / 8 * 8);
    EXPECT_GE(plan.a_bytes, shape.k * plan.leading_dimensions.a * 2);
    EXPECT_GE(plan.b_bytes, shape.k * plan.leading_dimensions.b * 2);
    for (const std::int64_t bytes : {plan.a_bytes, plan.b_bytes}) EXPECT_EQ(bytes % 256, 0);
  }
}

TEST(OperandBuffers, HoldWhatIsReadBesideAAndB) {
  GemmProblem problem{.shape = {129, 257, 264}, .output_type = DataType::Float32};
  EXPECT_EQ(plan_operand_buffers(problem, kL2Bytes).c_bytes, 0);
  EXPECT_EQ(plan_operand_buffers(problem, kL2Bytes).bias_bytes, 0);
  problem.beta = 1;
  problem.bias = Bias::PerColumn;
  const BufferPlan plan = plan_operand_buffers(problem, kL2Bytes);
  EXPECT_EQ(plan.c_bytes, plan.d_bytes);
  EXPECT_GE(plan.bias_bytes, 257 * 4);
  EXPECT_EQ(plan.total_bytes, plan.sets * set_bytes(plan));
  for (const std::int64_t bytes : {plan.c_bytes, plan.bias_bytes}) EXPECT_EQ(bytes % 64, 0);
}

TEST(OperandBuffers, BytesBeyondTheTypeSaturate) {
  constexpr int kMost = std::numeric_limits<int>::max();
  EXPECT_EQ(required_bytes({{kMost, kMost, kMost}}, kL2Bytes), std::numeric_limits<std::int64_t>::max());
}

class CheckMemory : public ::testing::Test {
 protected:
  static std::int64_t required(const GemmShape& shape) { return required_bytes({shape}, kL2Bytes); }

  DeviceInfo device_ = h200();
};

TEST_F(CheckMemory, AcceptsWhatFits) {
  EXPECT_TRUE(check_memory({8192, 8192, 8192}, device_, required).ok());
}

TEST_F(CheckMemory, SaysWhatIsAskedWhatThereIsAndWhatToTypeInstead) {
  const Status status = check_memory({262144, 262144, 262144}, device_, required);
  ASSERT_EQ(status.code(), StatusCode::OutOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("262144x262144x262144 needs 412.4 GB"));
  EXPECT_THAT(status.message(), HasSubstr("NVIDIA H200 has 100.0 GB free of 141.0 GB"));
  // 3 * N^2 * 2 bytes <= 100 GB: N <= 129099, in steps of 128.
  EXPECT_THAT(status.message(), HasSubstr("type --size 129024 or less"));
  EXPECT_TRUE(check_memory({129024, 129024, 129024}, device_, required).ok());
  EXPECT_FALSE(check_memory({129152, 129152, 129152}, device_, required).ok());
}

TEST_F(CheckMemory, SuggestsNoSquareWhenNoneFits) {
  device_.free_bytes = 1000;
  const Status status = check_memory({64, 64, 64}, device_, required);
  EXPECT_THAT(status.message(), HasSubstr("end the programs that hold its memory"));
}

}  // namespace
}  // namespace hopper_gemm
