#pragma once

namespace hopper_gemm {

/// The peak data rate, in bytes per microsecond, of memory that transfers `bus_bits` on both edges of its clock.
constexpr double memory_bytes_per_us(int clock_khz, int bus_bits) { return 2e-3 * clock_khz * bus_bits / 8; }

}  // namespace hopper_gemm
