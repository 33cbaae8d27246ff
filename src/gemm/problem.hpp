#pragma once

#include <cstddef>
#include <cstdint>

#include "gemm/kernel_args.hpp"

namespace hopper_gemm::library {

// Peaks of the memory's data rate, from the clock and the bus that the driver names.
inline constexpr double kH100MemoryBytesPerUs = 3.35e6;  ///< H100 SXM
inline constexpr double kH200MemoryBytesPerUs = 4.9e6;

inline constexpr double kSxmSmClockMhz = 1980;  ///< of both, and the highest

/// The GPU and the CUDA context that a plan is made for.
struct Device {
  int id;
  int major;  ///< compute capability
  int minor;
  int sm_count;                                        ///< that the context may use
  int max_shared_bytes;                                ///< of a CTA
  double memory_bytes_per_us = kH200MemoryBytesPerUs;  ///< the peak of its data rate
  double sm_clock_mhz = kSxmSmClockMhz;                ///< the highest
  std::uint64_t context = 0;                           ///< current_context_id(); 0: unknown

  friend bool operator==(const Device&, const Device&) = default;
};

/// The alignment in bytes that every address of an operand will have.
struct Alignments {
  int a;
  int b;
  int c;
  int d;
  int aux = 16;
};

/// A problem to prepare. `args` has no addresses yet, because they come with each launch. Only K may be 0.
struct Problem {
  KernelArgs args;
  Alignments alignments;
  bool programmatic_dependent_launch;
  std::size_t workspace_limit_bytes;
};

}  // namespace hopper_gemm::library
