#include "benchmark/statistics.hpp"

#include <algorithm>
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

}  // namespace hopper_gemm
