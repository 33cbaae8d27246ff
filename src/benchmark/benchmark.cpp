#include "benchmark/benchmark.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hopper_gemm {
namespace {

std::optional<double> median_of(std::span<const Sample> samples, std::optional<double> Sample::*reading) {
  std::vector<double> values;
  for (const Sample& sample : samples) {
    if (sample.*reading) values.push_back(*(sample.*reading));
  }
  return median(values);
}

}  // namespace

std::string_view to_string(Mode mode) { return mode == Mode::Burst ? "burst" : "sustained"; }

SampleTiming sample_timing(Mode mode, int rest_ms) {
  if (mode == Mode::Sustained) return {.idle_ms = 0, .warm_up_ms = 150, .timed_ms = 150};
  return {.idle_ms = static_cast<double>(rest_ms), .warm_up_ms = 4, .timed_ms = 4};
}

Measurement aggregate(std::span<const Sample> samples) {
  Measurement measurement;
  for (const Sample& sample : samples) measurement.samples_seconds.push_back(sample.seconds);
  measurement.seconds = summarize(measurement.samples_seconds).value();
  measurement.sm_clock_mhz = median_of(samples, &Sample::sm_clock_mhz);
  measurement.temperature_c = median_of(samples, &Sample::temperature_c);
  measurement.watts = median_of(samples, &Sample::watts);
  return measurement;
}

std::vector<std::size_t> random_order(std::size_t count, std::mt19937_64& generator) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The shuffle of Fisher and Yates. The bias of the modulo is below 2^-58 for every count that occurs.
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[generator() % i]);
  return order;
}

Status run_rounds(std::span<const std::size_t> contestants, Mode mode, int rounds, std::uint64_t seed,
                  Sampler& sampler, const SampleObserver& observer, std::vector<Measurement>* measurements) {
  std::mt19937_64 generator(seed);
  std::vector<std::vector<Sample>> samples(contestants.size());
  for (int round = 0; round < rounds; ++round) {
    for (const std::size_t i : random_order(contestants.size(), generator)) {
      if (observer) observer(round, contestants[i]);
      Sample sample;
      HG_RETURN_IF_ERROR(sampler.sample(contestants[i], mode, &sample));
      samples[i].push_back(sample);
    }
  }
  measurements->clear();
  for (const std::vector<Sample>& taken : samples) measurements->push_back(aggregate(taken));
  return {};
}

std::size_t best_by_median(std::span<const Measurement> measurements) {
  const auto best = std::min_element(
      measurements.begin(), measurements.end(),
      [](const Measurement& x, const Measurement& y) { return x.seconds.median < y.seconds.median; });
  return static_cast<std::size_t>(best - measurements.begin());
}

}  // namespace hopper_gemm
