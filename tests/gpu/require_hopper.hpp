#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>

namespace hopper_gemm {

/// Why the tests cannot run here, or an empty string where the current device is an sm_90 GPU.
inline std::string reason_without_hopper() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return "no CUDA device";
  int major = 0;
  int minor = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0);
  if (major == 9 && minor == 0) return "";
  return "device 0 is sm_" + std::to_string(major) + std::to_string(minor) + ", not sm_90";
}

}  // namespace hopper_gemm

/// Skips the current test, with the reason, where there is no sm_90 GPU.
#define HG_SKIP_WITHOUT_HOPPER()                                                                \
  if (const std::string hg_reason = ::hopper_gemm::reason_without_hopper(); !hg_reason.empty()) \
  GTEST_SKIP() << "needs an sm_90 GPU: " << hg_reason
