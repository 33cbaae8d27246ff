#pragma once

#include <optional>
#include <span>

namespace hopper_gemm {

/// Order statistics of a sample, in the unit of its values.
struct Summary {
  double median;
  double min;
  double max;
};

/// The middle value, or the mean of the two middle ones. Empty for an empty sample.
std::optional<double> median(std::span<const double> values);

/// The nth root of the product of n positive values. Empty for an empty sample.
std::optional<double> geometric_mean(std::span<const double> values);

/// Median, minimum and maximum. Empty for an empty sample.
std::optional<Summary> summarize(std::span<const double> values);

}  // namespace hopper_gemm
