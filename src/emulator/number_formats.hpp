#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace hopper_gemm::emulator {

inline float bf16_to_float(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

/// To the nearest, ties to even.
inline std::uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return 0x7FFF;
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

inline float half_to_float(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1F;
  const int mantissa = bits & 0x3FF;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0x1F) return mantissa != 0 ? std::bit_cast<float>(0x7FFFFFFFU) : sign * HUGE_VALF;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 0x400), exponent - 25);
}

/// To the nearest, ties to even.
inline std::uint16_t float_to_half(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7FFF;
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return sign | 0x7C00;
  if (magnitude < 0x1p-14F) {
    return sign |
           static_cast<std::uint16_t>(std::nearbyint(std::ldexp(magnitude, 24)));  // may round up to normal
  }
  int exponent = 0;
  const float fraction = std::frexp(magnitude, &exponent);                           // in [0.5, 1)
  const auto mantissa = static_cast<int>(std::nearbyint(std::ldexp(fraction, 11)));  // 1024 to 2048
  return sign | static_cast<std::uint16_t>(((exponent + 13) << 10) + mantissa);
}

}  // namespace hopper_gemm::emulator
