#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <vector>

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

/// The seeds that a test always runs, and behind them fresh ones: as many as the environment variable HG_SCHEDULES says,
/// or one.
inline std::vector<std::uint64_t> with_fresh_seeds(std::span<const std::uint64_t> seeds) {
  const char* const value = std::getenv("HG_SCHEDULES");
  const std::uint64_t count = value == nullptr ? 1 : std::stoull(value);
  std::vector<std::uint64_t> all(seeds.begin(), seeds.end());
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(fresh_seed() + i);
  return all;
}

}  // namespace hopper_gemm::emulator
