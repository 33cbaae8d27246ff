#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "benchmark/nvml.hpp"

namespace hopper_gemm {

/// NVML's readings at one moment.
struct SensorReading {
  std::chrono::steady_clock::time_point time;
  std::optional<double> sm_clock_mhz;
  std::optional<double> joules;  ///< the total energy counter
};

/// Reads a GPU's clock and energy counter about every millisecond. It has its own thread, because enqueueing many
/// graphs can block the measuring thread until most of them have run.
class SensorLog {
 public:
  /// Starts reading. `nvml` must outlive the log; nullptr leaves the log empty.
  explicit SensorLog(const Nvml* nvml);
  ~SensorLog();
  SensorLog(const SensorLog&) = delete;
  SensorLog& operator=(const SensorLog&) = delete;

  /// Stops reading, and returns the readings in the order of time.
  std::span<const SensorReading> stop();

 private:
  const Nvml* nvml_;
  std::atomic<bool> stopping_ = false;
  std::vector<SensorReading> readings_;
  std::thread thread_;  // last, because it uses the others
};

/// The clock reading nearest to the middle of [begin, end]; empty if no reading lies within.
std::optional<double> clock_within(std::span<const SensorReading> readings,
                                   std::chrono::steady_clock::time_point begin,
                                   std::chrono::steady_clock::time_point end);

/// Mean power in watts over the log. The counter moves in steps of tens of milliseconds, so the difference of two
/// arbitrary readings would be off by up to two steps. Only the time from one step to a later one counts. Empty unless
/// the counter moved at least twice.
std::optional<double> mean_watts(std::span<const SensorReading> readings);

}  // namespace hopper_gemm
