#include "common/watchdog.hpp"

#include <chrono>
#include <string>
#include <thread>

#include "common/cuda_check.hpp"

namespace hopper_gemm {

Status wait_with_watchdog(cudaStream_t stream, double seconds) {
  using SteadyClock = std::chrono::steady_clock;
  // Sleeping costs tens of microseconds of latency, so it spins while the work may be short.
  constexpr auto kSpinTime = std::chrono::milliseconds(20);
  const auto start = SteadyClock::now();
  const auto deadline =
      start + std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds));
  for (;;) {
    const cudaError_t state = cudaStreamQuery(stream);
    if (state != cudaErrorNotReady) return cuda_status(state, "waiting for the GPU");
    const auto now = SteadyClock::now();
    if (now > deadline) {
      return {StatusCode::Timeout,
              "a kernel was still running after " + std::to_string(seconds) + " s, so it is taken to hang"};
    }
    if (now - start > kSpinTime) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

}  // namespace hopper_gemm
