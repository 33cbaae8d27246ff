#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "common/cuda_check.hpp"

namespace hopper_gemm {

/// Owns `size` elements of uninitialised device memory.
template <typename T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { cudaFree(data_); }

  /// Frees what the buffer held, and allocates `size` elements. OutOfMemory: the device has no room for them.
  Status allocate(std::int64_t size) {
    *this = DeviceBuffer();
    void* data = nullptr;
    HG_RETURN_IF_ERROR(cuda_status(cudaMalloc(&data, bytes_of(size)),
                                   "allocating " + std::to_string(bytes_of(size)) + " bytes of GPU memory"));
    data_ = static_cast<T*>(data);
    size_ = size;
    return {};
  }

  T* data() const { return data_; }
  std::int64_t size() const { return size_; }
  std::size_t size_bytes() const { return bytes_of(size_); }

 private:
  static std::size_t bytes_of(std::int64_t size) { return static_cast<std::size_t>(size) * sizeof(T); }

  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace hopper_gemm
