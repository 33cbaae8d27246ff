#include "benchmark/probe.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "benchmark/benchmark.hpp"

namespace hopper_gemm {
namespace {

constexpr std::array<ProbeNames, kNumProbeQuantities> kNames = {{
    {"shared_latency", "latency of shared memory", "cycles", "ns"},
    {"l1_latency", "latency of L1", "cycles", "ns"},
    {"l2_near_latency", "latency of L2, near partition", "cycles", "ns"},
    {"l2_near_again_latency", "latency of L2, near partition, again", "cycles", "ns"},
    {"l2_far_latency", "latency of L2, far partition", "cycles", "ns"},
    {"l2_far_again_latency", "latency of L2, far partition, again", "cycles", "ns"},
    {"memory_latency", "latency of memory", "cycles", "ns"},
    {"shared_bandwidth", "bandwidth of shared memory", "bytes/cycle/SM", "TB/s"},
    {"l2_sm_bandwidth", "bandwidth from L2 to one SM", "GB/s", "bytes/cycle/SM"},
    {"l2_bandwidth", "bandwidth of L2", "TB/s", "bytes/cycle/SM"},
    {"memory_read_bandwidth", "bandwidth of memory, read", "TB/s", "% of peak"},
    {"memory_write_bandwidth", "bandwidth of memory, write", "TB/s", "% of peak"},
    {"memory_copy_bandwidth", "bandwidth of memory, copy", "TB/s", "% of peak"},
    {"fp32_rate", "rate of fp32 FMA", "TFLOP/s", "FLOP/cycle/SM"},
    {"mma_sync_rate", "rate of mma.sync m16n8k16, bf16", "TFLOP/s", "FLOP/cycle/SM"},
    {"wgmma_rate", "rate of wgmma m64n256k16, bf16", "TFLOP/s", "FLOP/cycle/SM"},
    {"empty_launch", "time of an empty kernel", "us", ""},
}};

std::optional<double> median_of(std::span<const ProbeReading> readings,
                                std::optional<double> ProbeReading::*member) {
  std::vector<double> values;
  for (const ProbeReading& reading : readings) {
    if (reading.*member) values.push_back(*(reading.*member));
  }
  return median(values);
}

}  // namespace

const ProbeNames& names_of(ProbeQuantity quantity) { return kNames[static_cast<std::size_t>(quantity)]; }

std::optional<Summary> ProbeRow::value() const {
  std::vector<double> values;
  values.reserve(readings.size());
  for (const ProbeReading& reading : readings) values.push_back(reading.value);
  return summarize(values);
}

std::optional<double> ProbeRow::other_value() const {
  return median_of(readings, &ProbeReading::other_value);
}

std::optional<double> ProbeRow::sm_clock_mhz() const {
  return median_of(readings, &ProbeReading::sm_clock_mhz);
}

bool ProbeReport::any_wrong() const {
  return std::any_of(rows.begin(), rows.end(), [](const ProbeRow& row) { return row.is_wrong; });
}

std::optional<LatencyGroups> split_latencies(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const auto outliers = static_cast<std::ptrdiff_t>(sorted.size() / 100);
  const std::vector<double> kept(sorted.begin() + outliers, sorted.end() - outliers);
  const auto count = static_cast<double>(kept.size());
  double sum = 0;
  for (const double value : kept) sum += value;

  // The squared distances are the least where this sum over the groups is the largest: count * mean^2.
  std::optional<LatencyGroups> best;
  double best_score = 0;
  double best_share = 0;
  double near_sum = 0;
  for (std::size_t near = 1; near < kept.size(); ++near) {
    near_sum += kept[near - 1];
    if (kept[near - 1] == kept[near]) continue;  // one latency does not belong to two groups
    const auto near_count = static_cast<double>(near);
    const double near_mean = near_sum / near_count;
    const double far_mean = (sum - near_sum) / (count - near_count);
    const double score = near_count * near_mean * near_mean + (count - near_count) * far_mean * far_mean;
    if (best && score <= best_score) continue;
    best = {near_mean, far_mean, (kept[near - 1] + kept[near]) / 2};
    best_score = score;
    best_share = std::min(near_count, count - near_count) / count;
  }
  if (!best) return std::nullopt;
  constexpr double kLeastShare = 0.1;
  constexpr double kMostBetween = 0.1;
  const double third = (best->far_mean - best->near_mean) / 3;
  const auto between = std::count_if(kept.begin(), kept.end(), [&](double value) {
    return value > best->near_mean + third && value < best->far_mean - third;
  });
  const bool is_gap = static_cast<double>(between) < kMostBetween * count;
  return best_share >= kLeastShare && is_gap ? best : std::nullopt;
}

LatencyHistogram histogram_of(std::span<const double> values, double bin_cycles) {
  if (values.empty()) return {};
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const auto bin_of = [&](double value) { return std::floor(value / bin_cycles); };
  const double first = bin_of(sorted.front());
  const double last = bin_of(sorted[(sorted.size() - 1) * 99 / 100]);
  LatencyHistogram histogram{.first_cycles = first * bin_cycles,
                             .bin_cycles = bin_cycles,
                             .lines = std::vector<int>(static_cast<std::size_t>(last - first) + 1)};
  for (const double value : sorted) {
    ++histogram.lines[static_cast<std::size_t>(std::min(bin_of(value), last) - first)];
  }
  return histogram;
}

std::vector<std::uint32_t> link_cycle(std::span<const std::uint32_t> lines, std::uint64_t seed,
                                      std::span<std::uint32_t> next) {
  std::mt19937_64 generator(seed);
  std::vector<std::uint32_t> order;
  for (const std::size_t i : random_order(lines.size(), generator)) order.push_back(lines[i]);
  for (std::size_t i = 0; i < order.size(); ++i) next[order[i]] = order[(i + 1) % order.size()];
  return order;
}

std::uint32_t end_of_walk(std::span<const std::uint32_t> next, std::uint32_t first, std::int64_t steps) {
  std::uint32_t line = first;
  for (std::int64_t step = 0; step < steps; ++step) line = next[line];
  return line;
}

}  // namespace hopper_gemm
