#pragma once

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/mbarrier.cuh>
#include <ptx/special_registers.cuh>

#ifndef __CUDACC_RTC__
#include <cstdio>
#endif

namespace hopper_gemm {

/// Turns a wait for an mbarrier that never completes into a message and a trap. A wait loop creates a watchdog and
/// calls check() after each failed try, when its cost does not matter. A disabled watchdog does nothing.
template <bool kEnabled>
class BasicWaitWatchdog {
 public:
  static constexpr cuda::std::uint64_t kTimeoutNs = 5'000'000'000;

  /// role: a string literal that says who waits. stage: of the mbarrier's ring. parity: of the phase that it waits for.
  __device__ __forceinline__ BasicWaitWatchdog(const char* role, int stage, cuda::std::uint32_t parity)
      : role_(role), stage_(stage), parity_(parity) {}

  __device__ __forceinline__ void check() {
    if (deadline_ == 0) deadline_ = ptx::globaltimer() + kTimeoutNs;
    if (ptx::globaltimer() < deadline_) return;
    printf("hang: %s waits at stage %d for the phase of parity %u (CTA %u, thread %u)\n", role_, stage_,
           parity_, blockIdx.x, threadIdx.x);
    __trap();
  }

 private:
  const char* role_;
  int stage_;
  cuda::std::uint32_t parity_;
  cuda::std::uint64_t deadline_ = 0;
};

template <>
class BasicWaitWatchdog<false> {
 public:
  __device__ __forceinline__ BasicWaitWatchdog(const char*, int, cuda::std::uint32_t) {}
  __device__ __forceinline__ void check() {}
};

// The call of printf makes ptxas serialise wgmmas, so only debug builds have it.
#ifdef HG_DEVICE_WATCHDOG
using WaitWatchdog = BasicWaitWatchdog<true>;
#else
using WaitWatchdog = BasicWaitWatchdog<false>;
#endif

/// Waits until mbarrier_try_wait_parity() says that the phase of that parity is complete. role, stage: see
/// BasicWaitWatchdog.
__device__ __forceinline__ void watched_wait(ptx::SmemAddr bar, cuda::std::uint32_t parity, const char* role,
                                             int stage) {
  WaitWatchdog watchdog(role, stage, parity);
  while (!ptx::mbarrier_try_wait_parity(bar, parity)) watchdog.check();
}

}  // namespace hopper_gemm
