#pragma once

#include <cstddef>
#include <cstdint>

#include "gemm/kernel_args.hpp"

namespace hopper_gemm::library {

/// The GPU that a plan is made for, and the CUDA context.
struct Device {
  int id;
  int major;  ///< compute capability
  int minor;
  int sm_count;               ///< that the context may use
  int max_shared_bytes;       ///< of a CTA
  std::uint64_t context = 0;  ///< current_context_id(); 0: unknown

  friend bool operator==(const Device&, const Device&) = default;
};

/// What the addresses of the operands will be multiples of, in bytes.
struct Alignments {
  int a;
  int b;
  int c;
  int d;
  int aux = 16;
};

/// What is to be prepared: `args` without addresses, which come with each launch. No extent is 0 but K may be.
struct Problem {
  KernelArgs args;
  Alignments alignments;
  bool programmatic_dependent_launch;
  std::size_t workspace_limit_bytes;
};

}  // namespace hopper_gemm::library
