#include "benchmark/platform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "benchmark/operand_buffers.hpp"
#include "benchmark/shapes.hpp"
#include "registry/registry.hpp"
#include "test_support.hpp"
#include "verify/cublas_gemm.hpp"
#include "verify/verify.hpp"

namespace hopper_gemm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kL2BytesOfGpu = 60 << 20;

TEST(CudaPlatform, CountsOperandsWorkspacesAndVerification) {
  CudaPlatform platform;
  for (const GemmShape& shape : {GemmShape{1, 8, 8}, GemmShape{129, 257, 264}, GemmShape{8192, 8192, 8192}}) {
    const std::int64_t measured = platform.required_bytes({shape}, kL2BytesOfGpu, false);
    const std::int64_t verified = platform.required_bytes({shape}, kL2BytesOfGpu, true);
    constexpr auto kWorkspaces = static_cast<std::int64_t>(3 * kWorkspaceBytes);
    EXPECT_GE(measured, required_bytes({shape}, kL2BytesOfGpu) + kWorkspaces) << to_string(shape);
    EXPECT_EQ(verified - measured, verify_required_bytes({shape})) << to_string(shape);
  }
}

TEST(CudaPlatform, CountingBytesDoesNotOverflow) {
  constexpr int kMost = std::numeric_limits<int>::max();
  EXPECT_EQ(CudaPlatform().required_bytes({{kMost, kMost, kMost}}, kL2BytesOfGpu, true),
            std::numeric_limits<std::int64_t>::max());
}

TEST(VerifyRequiredBytes, CoversOperandsTwoOutputsAndTwoReferences) {
  for (const GemmShape& shape : {GemmShape{1, 8, 8}, GemmShape{129, 257, 264}, GemmShape{8192, 28672, 8192},
                                 GemmShape{65536, 65536, 65536}}) {
    const std::int64_t m = shape.m;
    const std::int64_t n = shape.n;
    const std::int64_t k = shape.k;
    EXPECT_GE(verify_required_bytes({shape}), (m + n) * k * 2 + m * n * (2 * 2 + 8 + 4)) << to_string(shape);
  }
}

TEST(CheckAnyDevice, AcceptsAGpu) { EXPECT_TRUE(check_any_device(13000, cudaSuccess, 1).ok()); }

TEST(CheckAnyDevice, NoDriver) {
  const Status status = check_any_device(0, cudaErrorInsufficientDriver, 0);
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("no NVIDIA driver is installed"), HasSubstr("`./matmul list`")));
}

TEST(CheckAnyDevice, DriverTooOld) {
  const Status status = check_any_device(11080, cudaErrorInsufficientDriver, 0);
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("driver supports CUDA 11.8"),
                                      HasSubstr("built with CUDA " + cuda_version_text(CUDART_VERSION) + ";"),
                                      HasSubstr("update the driver, or build with an older toolkit")));
}

TEST(CheckAnyDevice, NoGpu) {
  for (const cudaError_t error : {cudaErrorNoDevice, cudaSuccess}) {
    const Status status = check_any_device(13000, error, 0);
    EXPECT_EQ(status.code(), StatusCode::Unsupported);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("no NVIDIA GPU is visible"), HasSubstr("`./matmul list`")));
  }
}

TEST(CheckAnyDevice, OtherErrorsAreNamed) {
  const Status status = check_any_device(13000, cudaErrorUnknown, 0);
  EXPECT_EQ(status.code(), StatusCode::CudaError);
  EXPECT_THAT(status.message(), HasSubstr("cudaGetDeviceCount: cudaErrorUnknown"));
}

TEST(CublasStatus, KeepsTheMeaningOfItsCodes) {
  EXPECT_TRUE(cublas_status(CUBLAS_STATUS_SUCCESS, "call").ok());
  EXPECT_EQ(cublas_status(CUBLAS_STATUS_ALLOC_FAILED, "call").code(), StatusCode::OutOfMemory);
  EXPECT_EQ(cublas_status(CUBLAS_STATUS_NOT_SUPPORTED, "call").code(), StatusCode::Unsupported);
  EXPECT_EQ(cublas_status(CUBLAS_STATUS_EXECUTION_FAILED, "call").code(), StatusCode::CudaError);
  const Status refused = cublas_status(CUBLAS_STATUS_NOT_INITIALIZED, "cublasCreate");
  EXPECT_EQ(refused.code(), StatusCode::Unsupported) << "the machine's fault, no kernel's";
  EXPECT_THAT(refused.message(), HasSubstr("cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED"));
}

}  // namespace
}  // namespace hopper_gemm
