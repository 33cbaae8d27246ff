// Named barriers: a CTA has 16 hardware barriers, which subsets of its warps can use. __syncthreads() uses id 0.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

/// barrier.cta.sync.aligned — arrive at barrier `id` and wait until `threads` threads have arrived (bar.sync).
/// PTX ISA "Parallel Synchronization and Communication Instructions: bar, barrier" #parallel-synchronization-and-communication-instructions-bar; ISA 7.8, sm_30.
/// id: 0 to 15; keep 0 for __syncthreads(). threads: a multiple of 32. It counts those of sync and arrive together, and
/// is the same in every call of one use. Threads: whole warps, converged (.aligned); each warp counts 32. Orders: for
/// the participants, generic accesses before it are visible after it. The async proxy is not included.
HG_PTX_INLINE void barrier_sync(uint32_t id, uint32_t threads) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" : : "r"(id), "r"(threads) : "memory");
}

/// barrier.cta.arrive.aligned — arrive at barrier `id` without waiting (bar.arrive); the other side uses barrier_sync.
/// PTX ISA "Parallel Synchronization and Communication Instructions: bar, barrier" #parallel-synchronization-and-communication-instructions-bar; ISA 7.8, sm_30.
/// id: 0 to 15; keep 0 for __syncthreads(). threads: a multiple of 32, the same number as in the matching barrier_sync.
/// Threads: whole warps, converged (.aligned). Orders: accesses before it are visible to the threads that barrier_sync
/// on the id. A second arrive on an id that has not yet completed corrupts the barrier: alternate two ids.
HG_PTX_INLINE void barrier_arrive(uint32_t id, uint32_t threads) {
  asm volatile("barrier.cta.arrive.aligned %0, %1;" : : "r"(id), "r"(threads) : "memory");
}

}  // namespace ptx
}  // namespace hopper_gemm
