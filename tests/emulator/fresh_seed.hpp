#pragma once

#include <cstdint>
#include <iostream>
#include <random>

namespace hopper_gemm::emulator {

/// A seed that no run before had, one for the whole process and printed once, so that a line of its output is enough to
/// repeat it.
inline std::uint64_t fresh_seed() {
  static const std::uint64_t seed = [] {
    const std::uint64_t drawn = std::random_device()();
    std::cout << "the fresh seed is " << drawn << '\n';
    return drawn;
  }();
  return seed;
}

}  // namespace hopper_gemm::emulator
