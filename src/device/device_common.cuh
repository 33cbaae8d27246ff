#pragma once

#include "common/ceil_div.hpp"
#include "device/dynamic_shared_memory.cuh"

namespace hopper_gemm {

inline constexpr int kWarpThreads = 32;
inline constexpr int kWarpgroupThreads = 128;
inline constexpr int kRegistersPerSm = 64 * 1024;  // 32-bit; sm_80 to sm_90

/// The number of the thread's warp in its CTA. It comes from one lane, so ptxas sees that all lanes agree. In branches on it
/// ptxas keeps loop counters and wgmma's descriptors in uniform registers, and the loops get shorter. Threads: whole warps,
/// converged.
__device__ __forceinline__ int uniform_warp() {
  return __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x) / kWarpThreads, 0);
}

/// Keeps the compiler from computing what depends on `value` before a loop and holding it in registers throughout.
/// Threads: any.
__device__ __forceinline__ void compute_where_used(int& value) { asm volatile("" : "+r"(value)); }

}  // namespace hopper_gemm
