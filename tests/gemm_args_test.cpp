#include "hopper_gemm/gemm_args.hpp"

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

}  // namespace
}  // namespace hopper_gemm
