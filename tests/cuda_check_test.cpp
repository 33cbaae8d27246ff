#include "common/cuda_check.hpp"

#include <gtest/gtest.h>

namespace hopper_gemm {
namespace {

TEST(CudaStatus, KeepsWhatTheCallerCanActOn) {
  EXPECT_TRUE(cuda_status(cudaSuccess, "anything").ok());
  EXPECT_EQ(cuda_status(cudaErrorMemoryAllocation, "allocating").code(), StatusCode::OutOfMemory);
  EXPECT_EQ(cuda_status(cudaErrorNoKernelImageForDevice, "launching").code(), StatusCode::Unsupported);
  const Status status = cuda_status(cudaErrorInvalidValue, "copying");
  EXPECT_EQ(status.code(), StatusCode::CudaError);
  EXPECT_EQ(status.message(), "copying: cudaErrorInvalidValue (invalid argument)");
}

}  // namespace
}  // namespace hopper_gemm
