#include "benchmark/sensor_log.hpp"

#include <algorithm>

namespace hopper_gemm {

using Clock = std::chrono::steady_clock;

SensorLog::SensorLog(const Nvml* nvml) : nvml_(nvml) {
  if (nvml_ == nullptr) return;
  thread_ = std::thread([this] {
    constexpr std::chrono::milliseconds kInterval(1);
    while (!stopping_) {
      const std::optional<double> joules = nvml_->total_energy_joules();
      const Clock::time_point time = Clock::now();
      readings_.push_back({time, nvml_->sm_clock_mhz(), joules});
      std::this_thread::sleep_for(kInterval);
    }
  });
}

SensorLog::~SensorLog() { stop(); }

std::span<const SensorReading> SensorLog::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  return readings_;
}

std::optional<double> clock_within(std::span<const SensorReading> readings, Clock::time_point begin,
                                   Clock::time_point end) {
  const Clock::time_point middle = begin + (end - begin) / 2;
  const auto distance = [middle](const SensorReading& reading) {
    return reading.time < middle ? middle - reading.time : reading.time - middle;
  };
  const auto nearest = std::min_element(
      readings.begin(), readings.end(),
      [&](const SensorReading& x, const SensorReading& y) { return distance(x) < distance(y); });
  if (nearest == readings.end() || nearest->time < begin || nearest->time > end) return std::nullopt;
  return nearest->sm_clock_mhz;
}

std::optional<double> mean_watts(std::span<const SensorReading> readings) {
  const SensorReading* previous = nullptr;
  const SensorReading* first_step = nullptr;
  const SensorReading* last_step = nullptr;
  for (const SensorReading& reading : readings) {
    if (!reading.joules) continue;
    if (previous != nullptr && *reading.joules != *previous->joules) {
      if (first_step == nullptr) first_step = &reading;
      last_step = &reading;
    }
    previous = &reading;
  }
  if (first_step == last_step) return std::nullopt;
  const std::chrono::duration<double> elapsed = last_step->time - first_step->time;
  return (*last_step->joules - *first_step->joules) / elapsed.count();
}

}  // namespace hopper_gemm
