#pragma once

#include <cuda/std/cstdint>

#ifdef HG_DEVICE_WATCHDOG
#include <ptx/special_registers.cuh>
#ifndef __CUDACC_RTC__
#include <cstdio>
#endif
#endif

namespace hopper_gemm {

/// Turns a barrier that never completes into a message and a trap, where HG_DEVICE_WATCHDOG is defined (the debug build);
/// empty elsewhere. A wait loop creates one and calls check() after each failed try. `role` must be a string literal.
class WaitWatchdog {
#ifdef HG_DEVICE_WATCHDOG
 public:
  __device__ WaitWatchdog(const char* role, int stage, cuda::std::uint32_t parity)
      : role_(role), stage_(stage), parity_(parity), deadline_(ptx::globaltimer() + kTimeoutNs) {}

  __device__ void check() {
    if (ptx::globaltimer() < deadline_) return;
    printf("hang: %s of CTA %u, thread %u, waits at stage %d for the phase of parity %u\n", role_, blockIdx.x,
           threadIdx.x, stage_, parity_);
    __trap();
  }

 private:
  static constexpr cuda::std::uint64_t kTimeoutNs = 5'000'000'000;
  const char* role_;
  int stage_;
  cuda::std::uint32_t parity_;
  cuda::std::uint64_t deadline_;
#else
 public:
  __device__ constexpr WaitWatchdog(const char*, int, cuda::std::uint32_t) {}
  __device__ constexpr void check() {}
#endif
};

}  // namespace hopper_gemm
