#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>

#include "registry/registry.hpp"

namespace hopper_gemm {

/// Why code for `target` cannot run here, or an empty string where the current device runs it.
inline std::string reason_without_gpu(const KernelTarget& target) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return "no CUDA device";
  ComputeCapability gpu{};
  cudaDeviceGetAttribute(&gpu.major, cudaDevAttrComputeCapabilityMajor, 0);
  cudaDeviceGetAttribute(&gpu.minor, cudaDevAttrComputeCapabilityMinor, 0);
  if (runs_on(target, gpu)) return "";
  return "device 0 is " + sm_text(gpu);
}

}  // namespace hopper_gemm

/// Skips the current test, with the reason, where there is no GPU that runs `kernel`.
#define HG_SKIP_UNLESS_IT_RUNS(kernel)                                                                      \
  if (const std::string hg_reason = ::hopper_gemm::reason_without_gpu((kernel).target); !hg_reason.empty()) \
  GTEST_SKIP() << "needs " << ::hopper_gemm::target_text((kernel).target) << ": " << hg_reason
