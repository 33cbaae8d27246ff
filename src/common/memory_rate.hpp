#pragma once

#include <cuda_runtime_api.h>

#include "common/cuda_check.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// The peak data rate of the device's memory, which transfers on both edges of its clock. 0: the driver does not know it.
inline Status query_memory_bytes_per_us(int device, double* rate) {
  int clock_khz = 0;
  int bus_bits = 0;
  HG_RETURN_IF_ERROR(cuda_status(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrMemoryClockRate, device),
                                 "cudaDeviceGetAttribute"));
  HG_RETURN_IF_ERROR(cuda_status(cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, device),
                                 "cudaDeviceGetAttribute"));
  *rate = clock_khz > 0 && bus_bits > 0 ? 2e-3 * clock_khz * bus_bits / 8 : 0;
  return {};
}

}  // namespace hopper_gemm
