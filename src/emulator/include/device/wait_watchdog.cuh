// Emulated: the scheduler finds a wait that never ends, because it knows when nothing can happen any more. The watchdog
// tells it who waits for what.
#pragma once

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/mbarrier.cuh>

namespace hopper_gemm {

class WaitWatchdog {
 public:
  WaitWatchdog(const char* role, int stage, cuda::std::uint32_t parity) {
    emulator::describe_wait(role, stage, parity);
  }
  void check() {}
};

inline void watched_wait(ptx::SmemAddr bar, cuda::std::uint32_t parity, const char* role, int stage) {
  WaitWatchdog watchdog(role, stage, parity);
  while (!ptx::mbarrier_try_wait_parity(bar, parity)) watchdog.check();
}

}  // namespace hopper_gemm
