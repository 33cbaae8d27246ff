// What the GPU tests share. Those of them that the emulator runs too (tests/emulator/CMakeLists.txt) launch
// by run_kernel() and have their shared memory from dynamic_shared_storage(): it has neither <<<>>> nor
// static shared memory.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ptx/mbarrier.cuh>
#include <ptx/special_registers.cuh>
#include <utility>

#include "common/watchdog.hpp"
#include "device/dynamic_shared_memory.cuh"
#include "device/launch.hpp"

namespace hopper_gemm {

/// Memory that both sides read, value-initialised.
template <typename T>
class ManagedArray {
 public:
  explicit ManagedArray(std::size_t count) : count_(count) {
    if (cudaMallocManaged(&data_, count * sizeof(T)) != cudaSuccess) data_ = nullptr;
    for (std::size_t i = 0; data_ != nullptr && i < count; ++i) data_[i] = T{};
  }
  ~ManagedArray() { cudaFree(data_); }
  ManagedArray(const ManagedArray&) = delete;
  ManagedArray& operator=(const ManagedArray&) = delete;
  T* data() { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  std::size_t size() const { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

/// Polls `try_wait()` for at most two seconds; false if it never came true.
template <typename TryWait>
__device__ bool wait_or_give_up(TryWait try_wait) {
  constexpr std::uint64_t kTimeoutNs = 2'000'000'000;
  const std::uint64_t deadline = ptx::globaltimer() + kTimeoutNs;
  while (!try_wait()) {
    if (ptx::globaltimer() > deadline) return false;
  }
  return true;
}

__device__ inline bool wait_parity(ptx::SmemAddr bar, std::uint32_t parity) {
  return wait_or_give_up([&] { return ptx::mbarrier_try_wait_parity(bar, parity); });
}

/// Fails the test if the kernels launched on the default stream failed. One that never ends takes the whole process
/// down with a message: no later CUDA call would return.
inline void expect_kernels_ok() {
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  constexpr double kTimeoutSeconds = 20;
  const Status status = wait_with_watchdog(nullptr, kTimeoutSeconds);
  if (status.code() == StatusCode::Timeout) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    std::_Exit(EXIT_FAILURE);
  }
  EXPECT_TRUE(status.ok()) << status.message();
}

/// Launches `kernel` in clusters of `cluster_size` CTAs and waits for it; fails the test if it fails.
template <typename... Params, typename... Args>
void run_cluster_kernel(void (*kernel)(Params...), unsigned ctas, int cluster_size, int block_threads,
                        std::size_t smem_bytes, Args&&... args) {
  const Status launched = launch_cluster_kernel(kernel, dim3(ctas), cluster_size, block_threads, smem_bytes,
                                                nullptr, std::forward<Args>(args)...);
  EXPECT_TRUE(launched.ok()) << launched.message();
  expect_kernels_ok();
}

/// The same for one CTA.
template <typename... Params, typename... Args>
void run_kernel(void (*kernel)(Params...), int block_threads, std::size_t smem_bytes, Args&&... args) {
  run_cluster_kernel(kernel, 1, 1, block_threads, smem_bytes, std::forward<Args>(args)...);
}

}  // namespace hopper_gemm
