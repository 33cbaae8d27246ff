#pragma once

#include <cstdint>

namespace hopper_gemm::emulator {

/// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers for the same seed everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  /// 0 … bound - 1, bound ≥ 1 and below 2^32.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>((next() >> 32) * bound >> 32);
  }
  /// True with a probability of weight / 2^16.
  bool chance(std::uint32_t weight) { return (next() >> 48) < weight; }

 private:
  std::uint64_t state_;
};

}  // namespace hopper_gemm::emulator
