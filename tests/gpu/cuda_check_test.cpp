#include "common/cuda_check.hpp"

#include <gtest/gtest.h>

#include "require_hopper.hpp"

namespace hopper_gemm {
namespace {

// Left behind, it would be taken for the outcome of the next launch.
TEST(CudaStatusOnGpu, ClearsTheLastErrorOfTheRuntime) {
  HG_SKIP_WITHOUT_HOPPER();
  const cudaError_t error = cudaSetDevice(-1);
  ASSERT_NE(error, cudaSuccess);
  EXPECT_EQ(cudaPeekAtLastError(), error);
  EXPECT_FALSE(cuda_status(error, "choosing a GPU").ok());
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

}  // namespace
}  // namespace hopper_gemm
