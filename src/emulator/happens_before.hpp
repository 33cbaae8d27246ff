#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hopper_gemm::emulator {

/// A vector clock (Mattern, "Virtual Time and Global States of Distributed Systems", 1989): how far each component of a
/// cluster had come when something happened. Components are the threads, then the warpgroups, whose clocks count wgmma
/// groups, then the mbarriers, whose clocks count pieces of TMA copies. What one thread did is ordered before what
/// another thread does if the other knows about it: directly, or through barriers on which the one arrived and the
/// other waited.
/// A clock is only as long as the last component that it knows about, because every thread has one.
class VectorClock {
 public:
  VectorClock() = default;
  explicit VectorClock(std::size_t components) : times_(components) {}

  std::uint32_t& operator[](std::size_t component) {
    if (times_.size() <= component) times_.resize(component + 1);
    return times_[component];
  }
  bool knows(std::size_t component, std::uint32_t time) const {
    return component < times_.size() ? times_[component] >= time : time == 0;
  }

  void join(const VectorClock& other) {
    if (times_.size() < other.times_.size()) times_.resize(other.times_.size());
    for (std::size_t i = 0; i < other.times_.size(); ++i) times_[i] = std::max(times_[i], other.times_[i]);
  }

 private:
  std::vector<std::uint32_t> times_;
};

/// What the threads that arrive at a barrier know. When its phase ends, the threads that waited know it, too.
struct BarrierClock {
  VectorClock arriving;
  VectorClock completed;

  void complete() { completed.join(arriving); }
};

}  // namespace hopper_gemm::emulator
