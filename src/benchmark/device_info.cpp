#include "benchmark/device_info.hpp"

#include <cublasLt.h>
#include <fmt/format.h>

#include <array>

#include "common/cuda_check.hpp"
#include "common/memory_rate.hpp"

namespace hopper_gemm {
Status check_any_device(int driver_version, cudaError_t count_error, int count) {
  if (driver_version == 0) {
    return unsupported(
        "no NVIDIA driver is installed; type `./matmul list` to see the versions and the GPUs that they "
        "need");
  }
  if (count_error == cudaErrorInsufficientDriver) {
    return unsupported(
        fmt::format("the NVIDIA driver supports CUDA {}, but this program was built with CUDA {}; update the "
                    "driver, or build with an older toolkit (12.3 or later)",
                    cuda_version_text(driver_version), cuda_version_text(CUDART_VERSION)));
  }
  if (count_error == cudaErrorNoDevice || (count_error == cudaSuccess && count == 0)) {
    return unsupported(
        "no NVIDIA GPU is visible to CUDA (CUDA_VISIBLE_DEVICES may hide it); type `./matmul list` to see "
        "the versions and the GPUs that they need");
  }
  return cuda_status(count_error, "cudaGetDeviceCount");
}

Status query_cuda_device(DeviceInfo* info) {
  HG_RETURN_IF_CUDA_ERROR(cudaDriverGetVersion(&info->driver_version));
  int count = 0;
  const cudaError_t count_error = cudaGetDeviceCount(&count);
  HG_RETURN_IF_ERROR(check_any_device(info->driver_version, count_error, count));
  constexpr int kDevice = 0;
  HG_RETURN_IF_CUDA_ERROR(cudaSetDevice(kDevice));
  cudaDeviceProp properties{};
  HG_RETURN_IF_CUDA_ERROR(cudaGetDeviceProperties(&properties, kDevice));
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  HG_RETURN_IF_CUDA_ERROR(cudaMemGetInfo(&free_bytes, &total_bytes));
  std::array<char, 32> pci_bus_id{};
  HG_RETURN_IF_CUDA_ERROR(
      cudaDeviceGetPCIBusId(pci_bus_id.data(), static_cast<int>(pci_bus_id.size()), kDevice));
  info->name = properties.name;
  info->compute_capability = {properties.major, properties.minor};
  info->sm_count = properties.multiProcessorCount;
  info->l2_bytes = properties.l2CacheSize;
  info->total_bytes = static_cast<std::int64_t>(total_bytes);
  info->free_bytes = static_cast<std::int64_t>(free_bytes);
  info->shared_bytes_per_sm = static_cast<int>(properties.sharedMemPerMultiprocessor);
  HG_RETURN_IF_CUDA_ERROR(cudaDeviceGetAttribute(&info->max_sm_clock_khz, cudaDevAttrClockRate, kDevice));
  HG_RETURN_IF_CUDA_ERROR(
      cudaDeviceGetAttribute(&info->memory_clock_khz, cudaDevAttrMemoryClockRate, kDevice));
  HG_RETURN_IF_CUDA_ERROR(
      cudaDeviceGetAttribute(&info->memory_bus_bits, cudaDevAttrGlobalMemoryBusWidth, kDevice));
  HG_RETURN_IF_CUDA_ERROR(cudaRuntimeGetVersion(&info->runtime_version));
  info->cublas = cublas_version_text(cublasLtGetVersion());
  info->pci_bus_id = pci_bus_id.data();
  return query_memory_bytes_per_us(kDevice, &info->memory_bytes_per_us);
}

std::string cublas_version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace hopper_gemm
