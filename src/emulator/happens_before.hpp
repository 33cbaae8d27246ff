#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace hopper_gemm::emulator {

/// How far each component has come, for the clocks that know the same to share: most threads of a CTA differ only in
/// their own component. Host threads that emulate at the same time would need locks, and there is one at a time.
struct SharedTimes {
  std::vector<std::uint32_t> times;
  std::uint64_t id = 0;  ///< names the contents: no others have had this number
  std::uint32_t users = 0;
};

/// Counts the users of SharedTimes. Those that nobody uses keep their memory for the next.
class TimesPointer {
 public:
  TimesPointer() = default;
  explicit TimesPointer(SharedTimes* times) : times_(times) { ++times_->users; }
  TimesPointer(const TimesPointer& other) : times_(other.times_) {
    if (times_ != nullptr) ++times_->users;
  }
  TimesPointer(TimesPointer&& other) noexcept : times_(std::exchange(other.times_, nullptr)) {}
  TimesPointer& operator=(TimesPointer other) noexcept {
    std::swap(times_, other.times_);
    return *this;
  }
  ~TimesPointer() {
    if (times_ != nullptr && --times_->users == 0) give_back(times_);
  }

  SharedTimes* get() const { return times_; }
  SharedTimes* operator->() const { return times_; }
  explicit operator bool() const { return times_ != nullptr; }

 private:
  static void give_back(SharedTimes* times);

  SharedTimes* times_ = nullptr;
};

/// A vector clock (Mattern, "Virtual Time and Global States of Distributed Systems", 1989): how far each component of a
/// cluster had come when something happened. Components are the threads, then the warpgroups, whose clocks count wgmma
/// groups, then the mbarriers, whose clocks count pieces of TMA copies. What one thread did is ordered before what
/// another thread does if the other knows about it: directly, or through barriers on which the one arrived and the
/// other waited.
/// A clock is the times that it shares with others, and one component that is further: a thread's own. What it knows of
/// other clusters came through global memory, and most clocks know nothing of them.
class VectorClock {
 public:
  std::uint32_t operator[](std::size_t component) const {
    const std::uint32_t shared = shared_ && component < shared_->times.size() ? shared_->times[component] : 0;
    return component == own_ ? std::max(shared, own_time_) : shared;
  }
  bool knows(std::size_t component, std::uint32_t time) const { return (*this)[component] >= time; }
  /// The same of a component of another cluster.
  bool knows_of(std::uint32_t cluster, std::size_t component, std::uint32_t time) const {
    const auto other = others_.find(cluster);
    if (other == others_.end() || component >= other->second.size()) return time == 0;
    return other->second[component] >= time;
  }

  bool empty() const { return !shared_ && own_time_ == 0 && others_.empty(); }

  /// All that launches up to this number did. Launches have numbers from 1.
  std::uint32_t launches() const { return launches_; }
  void know_launches(std::uint32_t last) { launches_ = std::max(launches_, last); }

  /// The next time of `component`, which is the thread's own.
  void tick(std::size_t component) {
    if (own_ != component) share_own();
    own_time_ = (*this)[component] + 1;
    own_ = component;
  }
  /// `component` has come to `time`, or further. A barrier's clock raises; a thread's learns.
  void raise(std::size_t component, std::uint32_t time);
  void learn(std::size_t component, std::uint32_t time);

  /// This clock is a barrier's and gathers what those know that come. other: of the same cluster.
  void join(const VectorClock& other);
  /// This clock is a thread's. It will often learn what other threads that knew the same have just learnt, and then shares
  /// the result with them. other: of the same cluster.
  void learn(const VectorClock& other);

  /// Lets clocks that are copied from this one share all that it knows.
  void share_own();

  /// What a clock of `cluster` knows, as others see it: a clock that belongs to no cluster.
  VectorClock seen_from_outside(std::uint32_t cluster) const;
  /// This clock is one of `cluster`, and outside belongs to none.
  void learn_outside(const VectorClock& outside, std::uint32_t cluster);

 private:
  using Times = std::vector<std::uint32_t>;

  /// Raises a component of the times that are shared, in a copy if another clock has them, too.
  void raise_shared(std::size_t component, std::uint32_t time);
  void join_others(const VectorClock& other);

  TimesPointer shared_;
  std::uint64_t joined_ = 0;  ///< the id of the times that join() has joined last
  std::size_t own_ = 0;
  std::uint32_t own_time_ = 0;  ///< 0: no component is further
  std::uint32_t launches_ = 0;
  std::map<std::uint32_t, Times> others_;  ///< by the number of the cluster
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
    arriving.share_own();
    completed = arriving;
    arriving_over.share_own();
    completed_over = arriving_over;
  }
};

}  // namespace hopper_gemm::emulator
