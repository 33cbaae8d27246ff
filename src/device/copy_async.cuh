#pragma once

#include <ptx/address.cuh>
#include <ptx/cp_async.cuh>

#include "device/device_common.cuh"

namespace hopper_gemm {

// cp.async on every GPU. GPUs before sm_80 have no cp.async. There the thread copies through a register, the copy is
// complete when the call returns, and groups do nothing.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
inline constexpr bool kHasCpAsync = true;
#else
inline constexpr bool kHasCpAsync = false;
#endif

/// Copies kCount elements from global to shared memory: 4, 8 or 16 bytes, aligned to their size on both sides. Copies
/// of 16 bytes bypass L1. The thread sees the copy after copy_async_wait_group(), and other threads after a barrier
/// that follows.
/// Threads: any.
template <int kCount, typename T>
__device__ __forceinline__ void copy_async(T* destination, const T* source) {
  constexpr int kBytes = kCount * static_cast<int>(sizeof(T));
  if constexpr (!kHasCpAsync) {
    struct alignas(kBytes) Vector {
      T elements[kCount];
    };
    *reinterpret_cast<Vector*>(destination) = *reinterpret_cast<const Vector*>(source);
  } else if constexpr (kBytes == 16) {
    ptx::cp_async_cg(ptx::smem_addr(destination), source);
  } else {
    ptx::cp_async_ca<kBytes>(ptx::smem_addr(destination), source);
  }
}

/// The same if `valid` is true. Otherwise it reads nothing and writes zeros. source: must be an address in an
/// allocation in either case.
template <int kCount, typename T>
__device__ __forceinline__ void copy_async_or_zero(T* destination, const T* source, bool valid) {
  constexpr int kBytes = kCount * static_cast<int>(sizeof(T));
  if constexpr (!kHasCpAsync) {
    struct alignas(kBytes) Vector {
      T elements[kCount];
    };
    *reinterpret_cast<Vector*>(destination) = valid ? *reinterpret_cast<const Vector*>(source) : Vector{};
  } else if constexpr (kBytes == 16) {
    ptx::cp_async_cg(ptx::smem_addr(destination), source, valid ? kBytes : 0);
  } else {
    ptx::cp_async_ca<kBytes>(ptx::smem_addr(destination), source, valid ? kBytes : 0);
  }
}

/// Makes a group of the copies that the thread has started since its last group. A group may be empty.
__device__ __forceinline__ void copy_async_commit_group() {
  if constexpr (kHasCpAsync) ptx::cp_async_commit_group();
}

/// Waits until at most kPending of the thread's latest groups are in flight.
template <int kPending>
__device__ __forceinline__ void copy_async_wait_group() {
  if constexpr (kHasCpAsync) ptx::cp_async_wait_group<kPending>();
}

}  // namespace hopper_gemm
