#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "hopper_gemm/status.hpp"
#include "registry/registry.hpp"

namespace hopper_gemm {

/// What the benchmark needs to know about the GPU and its software.
struct DeviceInfo {
  std::string name;  ///< "NVIDIA H200"
  ComputeCapability compute_capability{};
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t total_bytes = 0;
  std::int64_t free_bytes = 0;
  int shared_bytes_per_sm = 0;
  int max_sm_clock_khz = 0;  ///< 0: the driver does not say
  int memory_clock_khz = 0;  ///< likewise
  int memory_bus_bits = 0;   ///< likewise
  int driver_version = 0;    ///< the newest CUDA that the driver supports, 1000 * major + 10 * minor
  int runtime_version = 0;   ///< the CUDA runtime that this program was built with, in the same form
  std::string cublas;        ///< the version of the cuBLAS that was loaded, which may be newer: "13.1.0"
  std::string pci_bus_id;    ///< "0000:1B:00.0"
  double memory_bytes_per_us = 0;  ///< the peak of the memory's data rate; 0: unknown
};

/// Describes CUDA device 0 (CUDA_VISIBLE_DEVICES chooses another). Errors: as check_any_device().
Status query_cuda_device(DeviceInfo* info);

/// Judges the results of cudaDriverGetVersion and cudaGetDeviceCount. Unsupported: there is no driver or no GPU, or the
/// driver is too old for the runtime.
Status check_any_device(int driver_version, cudaError_t count_error, int count);

/// "13.1.0" for 130100, the form of cublasLtGetVersion() from cuBLAS 12 on.
std::string cublas_version_text(std::size_t version);

/// "13.0" for 13000.
std::string cuda_version_text(int version);

}  // namespace hopper_gemm
