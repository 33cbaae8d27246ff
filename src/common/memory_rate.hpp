#pragma once

#include <cuda_runtime_api.h>

#include "common/cuda_check.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// The peak data rate, in bytes per microsecond, of memory that transfers `bus_bits` on both edges of its clock.
constexpr double memory_bytes_per_us(int clock_khz, int bus_bits) { return 2e-3 * clock_khz * bus_bits / 8; }

/// The peak data rate of the device's memory. 0: the driver does not know its clock or its bus.
inline Status query_memory_bytes_per_us(int device, double* rate) {
  int clock_khz = 0;
  int bus_bits = 0;
  HG_RETURN_IF_ERROR(cuda_status(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrMemoryClockRate, device),
                                 "cudaDeviceGetAttribute"));
  HG_RETURN_IF_ERROR(cuda_status(cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, device),
                                 "cudaDeviceGetAttribute"));
  *rate = memory_bytes_per_us(clock_khz, bus_bits);
  return {};
}

}  // namespace hopper_gemm
