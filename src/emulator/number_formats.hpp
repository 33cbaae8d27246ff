#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>
#include <cstdint>

// CUDA's conversions, on bits.
namespace hopper_gemm::emulator {

inline float bf16_to_float(std::uint16_t bits) {
  return __bfloat162float(std::bit_cast<__nv_bfloat16>(bits));
}

inline std::uint16_t float_to_bf16(float value) {
  return std::bit_cast<std::uint16_t>(__float2bfloat16_rn(value));
}

inline float half_to_float(std::uint16_t bits) { return __half2float(std::bit_cast<__half>(bits)); }

inline std::uint16_t float_to_half(float value) {
  return std::bit_cast<std::uint16_t>(__float2half_rn(value));
}

}  // namespace hopper_gemm::emulator
