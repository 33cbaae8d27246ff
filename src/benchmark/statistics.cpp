#include "benchmark/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hopper_gemm {

std::optional<Summary> summarize(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  const double median = sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return Summary{median, sorted.front(), sorted.back()};
}

std::optional<double> median(std::span<const double> values) {
  const std::optional<Summary> summary = summarize(values);
  return summary ? std::optional(summary->median) : std::nullopt;
}

std::optional<double> geometric_mean(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace hopper_gemm
