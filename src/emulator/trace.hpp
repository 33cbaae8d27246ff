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
    unsigned launch;  ///< from 1, since configure()
    unsigned cta;
    std::string lane;  ///< of the timeline: "warpgroup 0", "TMA"
    std::string name;
    std::string detail;
    bool overlaps = false;  ///< it may overlap others of its lane
  };

  /// Chains of launches follow each other on the timeline.
  void begin_chain() {
    for (const Event& event : events_) begin_ = std::max(begin_, event.end);
  }
  /// event: of the chain that began last, with times from its begin.
  void add(Event event) {
    event.begin += begin_;
    event.end += begin_;
    events_.push_back(std::move(event));
  }
  const std::vector<Event>& events() const { return events_; }

 private:
  std::vector<Event> events_;
  std::uint64_t begin_ = 0;
};

}  // namespace hopper_gemm::emulator
