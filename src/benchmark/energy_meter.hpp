#pragma once

#include <optional>

namespace hopper_gemm {

/// Mean power from an energy counter that moves in steps of tens of milliseconds: the difference of two readings at
/// arbitrary moments would be off by up to two steps. Only the time from one step to a later one counts.
class EnergyMeter {
 public:
  /// A reading of the counter, in order of time; often enough that a step is noticed within a millisecond or two.
  void read(double seconds, double joules) {
    if (!joules_) {
      joules_ = joules;
      return;
    }
    if (joules == *joules_) return;
    joules_ = joules;
    const Step step = {seconds, joules};
    if (!first_) first_ = step;
    last_ = step;
  }

  /// Watts between the first and the last step seen; empty before the second.
  std::optional<double> mean_watts() const {
    if (!first_ || last_.seconds <= first_->seconds) return std::nullopt;
    return (last_.joules - first_->joules) / (last_.seconds - first_->seconds);
  }

 private:
  struct Step {
    double seconds = 0;
    double joules = 0;
  };

  std::optional<double> joules_;
  std::optional<Step> first_;
  Step last_;
};

}  // namespace hopper_gemm
