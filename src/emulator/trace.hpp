#pragma once

#include <cstdint>
#include <string>
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
  };
  std::vector<Event> events;
};

}  // namespace hopper_gemm::emulator
