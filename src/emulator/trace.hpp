#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hopper_gemm::emulator {

/// What happened when, in steps of the scheduler. trace_json() writes it (see emulator.hpp).
struct Trace {
  struct Event {
    std::uint64_t begin;
    std::uint64_t end;
    unsigned cta;
    std::string lane;  ///< of the timeline: "warpgroup 0", "TMA"
    std::string name;
    std::string detail;
    bool overlaps = false;  ///< it may overlap others of its lane
    unsigned launch = 0;    ///< add() sets it
  };

  /// Launches follow each other on the timeline.
  void begin_launch() {
    ++launch_;
    for (const Event& event : events_) begin_ = std::max(begin_, event.end);
  }
  /// event: of the launch that began last, with times from its begin.
  void add(Event event) {
    event.begin += begin_;
    event.end += begin_;
    event.launch = launch_;
    events_.push_back(std::move(event));
  }
  const std::vector<Event>& events() const { return events_; }

 private:
  std::vector<Event> events_;
  unsigned launch_ = 0;
  std::uint64_t begin_ = 0;
};

}  // namespace hopper_gemm::emulator
