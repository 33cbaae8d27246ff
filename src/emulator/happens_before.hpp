#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace hopper_gemm::emulator {

/// A vector clock (Mattern, "Virtual Time and Global States of Distributed Systems", 1989): how far each component of a
/// cluster had come when something happened. Components are the threads, then the warpgroups, whose clocks count wgmma
/// groups, then the mbarriers, whose clocks count pieces of TMA copies. What one thread did is ordered before what
/// another thread does if the other knows about it: directly, or through barriers on which the one arrived and the
/// other waited.
/// A clock is only as long as the last component that it knows about, because every thread has one. What it knows of
/// other clusters came through global memory, and most clocks know nothing of them.
class VectorClock {
 public:
  VectorClock() = default;
  /// Forgets all. Room for that many components stays.
  void restart(std::size_t components) {
    constexpr std::size_t kUsualMbarriers = 64;  // each adds a component
    times_.reserve(components + kUsualMbarriers);
    times_.assign(components, 0);
    others_.clear();
    launches_ = 0;
  }

  std::uint32_t& operator[](std::size_t component) {
    if (times_.size() <= component) times_.resize(component + 1);
    return times_[component];
  }
  bool knows(std::size_t component, std::uint32_t time) const { return is_within(times_, component, time); }
  /// The same of a component of another cluster.
  bool knows_of(std::uint32_t cluster, std::size_t component, std::uint32_t time) const {
    const auto other = others_.find(cluster);
    return other == others_.end() ? time == 0 : is_within(other->second, component, time);
  }

  bool empty() const { return times_.empty() && others_.empty(); }

  /// All that launches up to this number did. Launches have numbers from 1.
  std::uint32_t launches() const { return launches_; }
  void know_launches(std::uint32_t last) { launches_ = std::max(launches_, last); }

  /// other: of the same cluster.
  void join(const VectorClock& other) {
    join_times(&times_, other.times_);
    join_others(other);
  }

  /// What a clock of `cluster` knows, as others see it: a clock that belongs to no cluster.
  VectorClock seen_from_outside(std::uint32_t cluster) const {
    VectorClock outside;
    outside.others_ = others_;
    outside.others_[cluster] = times_;
    outside.launches_ = launches_;
    return outside;
  }
  /// This clock is one of `cluster`, and outside belongs to none.
  void join_outside(const VectorClock& outside, std::uint32_t cluster) {
    join_others(outside);
    const auto own = others_.find(cluster);
    if (own == others_.end()) return;
    join_times(&times_, own->second);
    others_.erase(own);
  }

 private:
  using Times = std::vector<std::uint32_t>;

  static bool is_within(const Times& times, std::size_t component, std::uint32_t time) {
    return component < times.size() ? times[component] >= time : time == 0;
  }
  static void join_times(Times* times, const Times& other);
  void join_others(const VectorClock& other) {
    launches_ = std::max(launches_, other.launches_);
    for (const auto& [cluster, times] : other.others_) join_times(&others_[cluster], times);
  }

  Times times_;
  std::map<std::uint32_t, Times> others_;  ///< by the number of the cluster
  std::uint32_t launches_ = 0;
};

/// What the threads that arrive at a barrier know. When its phase ends, the threads that waited know it, too.
struct BarrierClock {
  VectorClock arriving;
  VectorClock completed;
  /// What is over, but not released: a thread that knows this may overwrite what was read, and must not read what was
  /// written.
  VectorClock arriving_over;
  VectorClock completed_over;

  void complete() {
    completed.join(arriving);
    completed_over.join(arriving_over);
  }
};

}  // namespace hopper_gemm::emulator
