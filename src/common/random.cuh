#pragma once

#include <cuda/std/cstdint>

namespace hopper_gemm {

/// 64 well-mixed bits for each index: SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
/// Generators", 2014) entered at position `index` of its sequence, so that threads draw independently of each
/// other.
__device__ __forceinline__ cuda::std::uint64_t random_bits(cuda::std::uint64_t seed,
                                                           cuda::std::uint64_t index) {
  cuda::std::uint64_t z = seed * 0xD1342543DE82EF95ULL + (index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/// Uniform in (0, 1], from the upper 24 bits.
__device__ __forceinline__ float uniform_deviate(cuda::std::uint64_t bits) {
  return (static_cast<float>(bits >> 40) + 1.0F) * 0x1p-24F;
}

/// N(0, 1) by Box and Muller's transform of the upper and the lower bits.
__device__ __forceinline__ float normal_deviate(cuda::std::uint64_t bits) {
  return sqrtf(-2.0F * logf(uniform_deviate(bits))) * cospif(2.0F * uniform_deviate(bits << 40));
}

}  // namespace hopper_gemm
