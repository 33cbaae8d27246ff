#include "common/gemm_args.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <string>

namespace hopper_gemm {
namespace {

using testing::HasSubstr;

GemmArgs valid_args() {
  const auto pointer = [](std::uintptr_t address) { return std::bit_cast<__nv_bfloat16*>(address); };
  return {{100, 50, 72}, pointer(0x1000), 72, pointer(0x2000), 80, pointer(0x3000), 56};
}

void expect_status(const GemmArgs& args, StatusCode code, const std::string& message) {
  const Status status = check_tma_gemm(args);
  EXPECT_EQ(status.code(), code);
  EXPECT_THAT(status.message(), HasSubstr(message));
}

TEST(CheckTmaGemm, TakesAnyMAndNAndPaddedRows) {
  EXPECT_TRUE(check_tma_gemm(valid_args()).ok());
  GemmArgs args = valid_args();
  args.shape = {1, 1, 8};
  EXPECT_TRUE(check_tma_gemm(args).ok());
}

TEST(CheckTmaGemm, RefusesEmptyAndNegativeExtents) {
  for (const GemmShape shape : {GemmShape{0, 50, 72}, GemmShape{100, -1, 72}, GemmShape{100, 50, 0}}) {
    GemmArgs args = valid_args();
    args.shape = shape;
    expect_status(args, StatusCode::InvalidArgument, "M, N and K must be at least 1");
  }
}

TEST(CheckTmaGemm, RefusesKOffTheGrid) {
  GemmArgs args = valid_args();
  args.shape.k = 12;
  expect_status(args, StatusCode::Unsupported, "K = 12 is not a multiple of 8");
}

TEST(CheckTmaGemm, NamesTheLeadingDimension) {
  GemmArgs args = valid_args();
  args.lda = 64;
  expect_status(args, StatusCode::InvalidArgument,
                "lda = 64 is shorter than a row of A, which has 72 elements");
  args = valid_args();
  args.ldb = 76;
  expect_status(args, StatusCode::Unsupported, "ldb = 76 is not a multiple of 8");
  args = valid_args();
  args.ldd = 48;
  expect_status(args, StatusCode::InvalidArgument,
                "ldd = 48 is shorter than a row of D, which has 50 elements");
  args = valid_args();
  args.lda = std::int64_t{1} << 39;
  expect_status(args, StatusCode::Unsupported, "2^40 bytes or more");
}

TEST(CheckTmaGemm, NamesThePointer) {
  GemmArgs args = valid_args();
  args.d = nullptr;
  expect_status(args, StatusCode::InvalidArgument, "D is a null pointer");
  args = valid_args();
  args.a = static_cast<const __nv_bfloat16*>(args.a) + 1;
  expect_status(args, StatusCode::Unsupported, "A is not 16-byte aligned");
}

TEST(CheckTmaGemm, RefusesOtherLayouts) {
  GemmArgs args = valid_args();
  args.a_layout = Layout::ColumnMajor;
  args.lda = 104;
  expect_status(args, StatusCode::Unsupported,
                "A is column-major, but the Hopper ladder takes a row-major A, [M, K] with K contiguous");
  args = valid_args();
  args.b_layout = Layout::RowMajor;
  expect_status(args, StatusCode::Unsupported,
                "B is row-major, but the Hopper ladder takes a column-major B, [N, K] with K contiguous");
}

// What any GEMM can take.

GemmArgs general_args() {
  GemmArgs args = valid_args();
  args.c = std::bit_cast<const void*>(std::uintptr_t{0x4000});
  args.ldc = 50;
  args.beta = 2;
  return args;
}

void expect_invalid(const GemmArgs& args, const std::string& message) {
  const Status status = check_gemm(args);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(message));
}

TEST(CheckGemm, TakesAnyAlignmentOfWholeElements) {
  GemmArgs args = general_args();
  EXPECT_TRUE(check_gemm(args).ok());
  args.shape = {1, 1, 1};
  args.lda = args.ldb = args.ldc = args.ldd = 1;
  args.a = std::bit_cast<const void*>(std::uintptr_t{0x1002});
  EXPECT_TRUE(check_gemm(args).ok());
  args.a = std::bit_cast<const void*>(std::uintptr_t{0x1001});
  expect_invalid(args, "A is not aligned to its elements of 2 bytes");
  args.a = std::bit_cast<const void*>(std::uintptr_t{0x1002});
  args.input_type = DataType::Float32;
  expect_invalid(args, "A is not aligned to its elements of 4 bytes");
}

TEST(CheckGemm, RefusesNegativeExtents) {
  for (const GemmShape shape : {GemmShape{-1, 50, 72}, GemmShape{100, -1, 72}, GemmShape{100, 50, -1}}) {
    GemmArgs args = general_args();
    args.shape = shape;
    expect_invalid(args, "must not be negative");
  }
}

TEST(CheckGemm, NamesTheOperand) {
  GemmArgs args = general_args();
  args.a = nullptr;
  expect_invalid(args, "A is a null pointer");
  args = general_args();
  args.b = nullptr;
  expect_invalid(args, "B is a null pointer");
  args = general_args();
  args.c = nullptr;
  expect_invalid(args, "C is a null pointer");
  args = general_args();
  args.d = nullptr;
  expect_invalid(args, "D is a null pointer");
  args = general_args();
  args.c = std::bit_cast<const void*>(std::uintptr_t{0x4001});
  expect_invalid(args, "C is not aligned");
}

TEST(CheckGemm, NamesTheLeadingDimensionAndItsLine) {
  GemmArgs args = general_args();
  args.lda = 71;
  expect_invalid(args, "lda = 71 is shorter than a row of A, which has 72 elements");
  args.a_layout = Layout::ColumnMajor;
  args.lda = 99;
  expect_invalid(args, "lda = 99 is shorter than a column of A, which has 100 elements");
  args.lda = 100;
  EXPECT_TRUE(check_gemm(args).ok());
  args = general_args();
  args.ldb = 71;
  expect_invalid(args, "ldb = 71 is shorter than a column of B, which has 72 elements");
  args.b_layout = Layout::RowMajor;
  EXPECT_TRUE(check_gemm(args).ok());
  args.ldb = 49;
  expect_invalid(args, "ldb = 49 is shorter than a row of B, which has 50 elements");
  args = general_args();
  args.ldc = 49;
  expect_invalid(args, "ldc = 49 is shorter than a row of C, which has 50 elements");
  args = general_args();
  args.ldd = -1;
  expect_invalid(args, "ldd = -1 is shorter than a row of D");
}

// As in BLAS: null pointers will do for them, and pitches of nothing.
TEST(CheckGemm, DoesNotLookAtWhatIsNotUsed) {
  GemmArgs args = general_args();
  args.beta = 0;
  args.c = nullptr;
  args.ldc = 0;
  EXPECT_TRUE(check_gemm(args).ok());
  args = general_args();
  args.alpha = 0;
  args.a = args.b = nullptr;
  args.lda = args.ldb = 0;
  EXPECT_TRUE(check_gemm(args).ok());
  args.alpha = 1;
  args.shape.k = 0;
  EXPECT_TRUE(check_gemm(args).ok());
  args.d = nullptr;
  expect_invalid(args, "D is a null pointer");
  for (const GemmShape nothing : {GemmShape{0, 50, 72}, GemmShape{100, 0, 72}}) {
    args = {};
    args.shape = nothing;
    EXPECT_TRUE(check_gemm(args).ok());
  }
}

TEST(CheckGemm, LooksAtTheBiasWhereThereIsOne) {
  GemmArgs args = general_args();
  args.bias_kind = Bias::PerColumn;
  expect_invalid(args, "the bias is a null pointer");
  args.bias = std::bit_cast<const void*>(std::uintptr_t{0x5001});
  expect_invalid(args, "the bias is not aligned to its elements of 2 bytes");
  args.bias = std::bit_cast<const void*>(std::uintptr_t{0x5002});
  EXPECT_TRUE(check_gemm(args).ok());
}

TEST(CheckGemm, HasAGateOfWholeGroupsAndNoC) {
  GemmArgs args = valid_args();
  args.gated = true;
  EXPECT_THAT(check_gemm(args).message(), HasSubstr("N = 50 of a gated GEMM is not a multiple of 16"));
  args.shape.n = 64;
  args.ldd = 32;
  EXPECT_TRUE(check_gemm(args).ok()) << "D has half of the columns: " << check_gemm(args).message();
  args.ldd = 31;
  EXPECT_THAT(check_gemm(args).message(), HasSubstr("a row of D, which has 32 elements"));
  args.ldd = 32;
  args.beta = 1;
  EXPECT_THAT(check_gemm(args).message(), HasSubstr("a gated GEMM adds no C"));
}

TEST(CheckGemm, TakesCInPlaceWithOnePitch) {
  GemmArgs args = general_args();
  args.c = args.d;
  args.ldc = args.ldd;
  EXPECT_TRUE(check_gemm(args).ok());
  args.ldc = args.ldd + 8;
  expect_invalid(args, "C and D are one matrix, but ldc = 64 and ldd = 56");
  args.beta = 0;
  EXPECT_TRUE(check_gemm(args).ok());
}

// What versions 1 to 5 of the Ampere ladder take.

void expect_mma_status(const GemmArgs& args, StatusCode code, const std::string& message) {
  const Status status = check_mma_gemm(args);
  EXPECT_EQ(status.code(), code);
  EXPECT_THAT(status.message(), HasSubstr(message));
}

TEST(CheckMmaGemm, TakesBf16AndFp16) {
  GemmArgs args = valid_args();
  EXPECT_TRUE(check_mma_gemm(args).ok());
  args.input_type = DataType::Float16;
  expect_mma_status(args, StatusCode::Unsupported, "not fp16 to bf16");
  args.output_type = DataType::Float16;
  EXPECT_TRUE(check_mma_gemm(args).ok());
  args.output_type = DataType::Float32;
  expect_mma_status(args, StatusCode::Unsupported, "not fp16 to fp32");
  args.input_type = DataType::Float32;
  expect_mma_status(args, StatusCode::Unsupported, "not fp32 to fp32");
}

TEST(CheckMmaGemm, RefusesOtherOperationsThanTheLadders) {
  GemmArgs args = valid_args();
  args.alpha = 2;
  expect_mma_status(args, StatusCode::Unsupported, "alpha = 1 and beta = 0");
  args = general_args();
  args.ldc = 56;
  expect_mma_status(args, StatusCode::Unsupported, "alpha = 1 and beta = 0");
  args = valid_args();
  args.b_layout = Layout::RowMajor;
  expect_mma_status(args, StatusCode::Unsupported, "the Ampere ladder takes a column-major B");
  args = valid_args();
  args.a_layout = Layout::ColumnMajor;
  args.lda = 104;
  expect_mma_status(args, StatusCode::Unsupported,
                    "A is column-major, but the Ampere ladder takes a row-major A, [M, K] with K contiguous");
  args = valid_args();
  args.batch_count = 2;
  expect_mma_status(args, StatusCode::Unsupported, "one product and no batches");
  args.batch_count = 0;
  expect_mma_status(args, StatusCode::InvalidArgument, "there must be at least one batch, not 0");
  args = valid_args();
  args.activation = Activation::Relu;
  expect_mma_status(args, StatusCode::Unsupported, "add no bias and apply no activation");
  args = valid_args();
  args.bias_kind = Bias::PerRow;
  args.bias = args.a;
  expect_mma_status(args, StatusCode::Unsupported, "add no bias and apply no activation");
}

TEST(CheckMmaGemm, RefusesWhatCopiesOf16BytesCannotReach) {
  GemmArgs args = valid_args();
  args.shape.k = 70;
  expect_mma_status(args, StatusCode::Unsupported, "K = 70 is not a multiple of 8");
  args = valid_args();
  args.lda = 76;
  expect_mma_status(args, StatusCode::Unsupported, "lda = 76 is not a multiple of 8");
  args = valid_args();
  args.ldd = 51;
  expect_mma_status(args, StatusCode::Unsupported, "ldd = 51 is not a multiple of 8");
  args = valid_args();
  args.b = std::bit_cast<const void*>(std::uintptr_t{0x2008});
  expect_mma_status(args, StatusCode::Unsupported, "B is not 16-byte aligned");
}

TEST(CheckMmaGemm, RefusesEmptyExtentsAndAKThatItsStagesOvertake) {
  GemmArgs args = valid_args();
  args.shape.k = 0;
  expect_mma_status(args, StatusCode::InvalidArgument, "M, N and K must be at least 1");
  args.shape.k = std::numeric_limits<int>::max() - 7;
  args.lda = args.ldb = args.shape.k;
  expect_mma_status(args, StatusCode::Unsupported, "take at most 2147482623");
}

TEST(ArgsOfBatch, BeginWhereTheOneBeforeEnds) {
  GemmArgs args = general_args();
  args.b_layout = Layout::RowMajor;
  args.output_type = DataType::Float32;
  args.batch_count = 4;
  const GemmArgs third = args_of_batch(args, 2);
  const auto bytes = [](const void* from, const void* to) {
    return static_cast<const char*>(to) - static_cast<const char*>(from);
  };
  EXPECT_EQ(bytes(args.a, third.a), 2 * args.shape.m * args.lda * 2);
  EXPECT_EQ(bytes(args.b, third.b), 2 * args.shape.k * args.ldb * 2);
  EXPECT_EQ(bytes(args.c, third.c), 2 * args.shape.m * args.ldc * 4);
  EXPECT_EQ(bytes(args.d, third.d), 2 * args.shape.m * args.ldd * 4);
  EXPECT_EQ(third.batch_count, 1);
  args.c = nullptr;
  EXPECT_EQ(args_of_batch(args, 2).c, nullptr);
  args.a_layout = Layout::ColumnMajor;
  args.lda = 104;
  EXPECT_EQ(bytes(args.a, args_of_batch(args, 2).a), 2 * args.shape.k * args.lda * 2);
}

TEST(ProblemOf, IsTheOperationWithoutItsOperands) {
  GemmArgs args = general_args();
  args.input_type = DataType::Float16;
  args.output_type = DataType::Float32;
  args.a_layout = Layout::ColumnMajor;
  args.b_layout = Layout::RowMajor;
  args.alpha = 3;
  args.bias_kind = Bias::PerRow;
  args.activation = Activation::Silu;
  args.batch_count = 5;
  const GemmProblem problem = problem_of(args);
  EXPECT_EQ(problem.shape, args.shape);
  EXPECT_EQ(problem.input_type, DataType::Float16);
  EXPECT_EQ(problem.output_type, DataType::Float32);
  EXPECT_EQ(problem.a_layout, Layout::ColumnMajor);
  EXPECT_EQ(problem.b_layout, Layout::RowMajor);
  EXPECT_EQ(problem.alpha, 3);
  EXPECT_EQ(problem.beta, 2);
  EXPECT_EQ(problem.bias, Bias::PerRow);
  EXPECT_EQ(problem.activation, Activation::Silu);
  EXPECT_EQ(problem.batch_count, 5);
}

}  // namespace
}  // namespace hopper_gemm
