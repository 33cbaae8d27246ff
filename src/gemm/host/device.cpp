#include "gemm/host/device.hpp"

#include <cuda_runtime_api.h>

#include <mutex>
#include <string>
#include <unordered_map>

#include "common/cuda_check.hpp"
#include "common/cuda_context.hpp"
#include "common/memory_rate.hpp"

namespace hopper_gemm::library {
namespace {

constexpr int kOldestMajor = 8;

/// How fast a device runs. 0: the driver does not know.
struct Clocks {
  double memory_bytes_per_us = 0;
  int sm_clock_khz = 0;
};

/// Asks the driver once for each device. cudaDevAttrMemoryClockRate takes 374 us (H100), four times as long as all else
/// that a plan needs. Thread-safe.
Status known_clocks(int device, Clocks* clocks) {
  static std::mutex mutex;
  static std::unordered_map<int, Clocks> known;
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto entry = known.find(device); entry != known.end()) {
    *clocks = entry->second;
    return {};
  }
  HG_RETURN_IF_ERROR(query_memory_bytes_per_us(device, &clocks->memory_bytes_per_us));
  HG_RETURN_IF_ERROR(cuda_status(cudaDeviceGetAttribute(&clocks->sm_clock_khz, cudaDevAttrClockRate, device),
                                 "cudaDeviceGetAttribute"));
  known.emplace(device, *clocks);
  return {};
}

}  // namespace

Status query_current_device(Device* device) {
  const cudaError_t error = cudaGetDevice(&device->id);
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver) {
    return unsupported(cuda_status(error, "no GPU can be used").message());
  }
  HG_RETURN_IF_ERROR(cuda_status(error, "cudaGetDevice"));
  const auto query = [device](cudaDeviceAttr attribute, int* value) {
    return cuda_status(cudaDeviceGetAttribute(value, attribute, device->id), "cudaDeviceGetAttribute");
  };
  HG_RETURN_IF_ERROR(query(cudaDevAttrComputeCapabilityMajor, &device->major));
  HG_RETURN_IF_ERROR(query(cudaDevAttrComputeCapabilityMinor, &device->minor));
  Clocks clocks;
  HG_RETURN_IF_ERROR(known_clocks(device->id, &clocks));
  if (clocks.memory_bytes_per_us > 0) device->memory_bytes_per_us = clocks.memory_bytes_per_us;
  if (clocks.sm_clock_khz > 0) device->sm_clock_mhz = 1e-3 * clocks.sm_clock_khz;
  device->context = current_context_id();
  HG_RETURN_IF_ERROR(current_context_sm_count(device->id, &device->sm_count));
  return query(cudaDevAttrMaxSharedMemoryPerBlockOptin, &device->max_shared_bytes);
}

Status check_device(const Device& device) {
  if (device.major >= kOldestMajor) return {};
  return unsupported("the GPU has compute capability " + std::to_string(device.major) + "." +
                     std::to_string(device.minor) + ", but the library needs 8.0 or newer");
}

}  // namespace hopper_gemm::library
