#pragma once

#include <cuda/std/cstdint>

#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/gemm_epilogue.hpp"

#ifndef __CUDACC_RTC__
#include <cuda_runtime_api.h>

#include <cstdint>

#include "hopper_gemm/status.hpp"
#endif

namespace hopper_gemm {

/// The rule by which an element counts as correct. NaN satisfies neither rule.
struct CheckRule {
  enum class Kind {
    Exact,  ///< equal to the reference rounded to the element's type
    Bounded  ///< |element - ref| <= u |ref| + slack: one rounding to the element's type, whose unit roundoff is u
    ///< (2^-8 for bf16), and `slack` for fp32 accumulation. After an activation, which may be approximated,
    ///< approximation_error() adds to the bound, and largest_slope() multiplies the slack
  };
  Kind kind = Kind::Exact;
  double slack = 0;  ///< before the activation
  /// Bounded: alpha · sum + beta · C was rounded to the element's type before the bias.
  bool rounds_before = false;
  double largest_bias = 0;  ///< of the bias that is added after that rounding
};

/// A matrix D and its fp64 reference. The reference of a gated D has twice as many columns.
struct CheckOperands {
  const void* d;  // [m, n], rows ldd elements apart
  cuda::std::int64_t ldd;
  const double* ref;  // [m, n] or [m, 2 n], packed, before the activation
  cuda::std::int64_t m;
  cuda::std::int64_t n;
  DataType type = DataType::BFloat16;
  Activation activation = Activation::None;
  bool gated = false;
};

/// The 16-bit pattern that poisons outputs before a kernel runs. It is a NaN in bf16 and fp16, and twice in a row in
/// fp32.
inline constexpr cuda::std::uint16_t kPoison = 0xFFFF;
/// The 16-bit pattern of bytes that no kernel may touch.
inline constexpr cuda::std::uint16_t kGuard = 0x5AA5;

/// An output matrix D within a larger allocation. Everything around its [m, n] elements is guarded. All sizes are in
/// units of 16 bits: an fp32 element has two.
struct GuardedOutput {
  cuda::std::uint16_t* allocation;  // device memory of `size` units
  cuda::std::int64_t size;
  cuda::std::int64_t offset;  // of D's first unit
  cuda::std::int64_t m;
  cuda::std::int64_t n;
  cuda::std::int64_t ldd;
};

#ifndef __CUDACC_RTC__
/// The result of a comparison of a matrix with its reference.
struct CheckResult {
  std::int64_t wrong = 0;              ///< elements that break the rule, NaNs included
  std::int64_t nans = 0;               ///< NaNs among them; in a poisoned output most likely never written
  std::int64_t first_wrong_index = 0;  ///< row * N + column of the first wrong element, in row-major order
  double first_wrong_value = 0;
  double first_wrong_reference = 0;

  bool ok() const { return wrong == 0; }
};

/// Compares every element of `operands`, which is in device memory, on the GPU. Waits for `stream`.
Status check_device(const CheckOperands& operands, const CheckRule& rule, cudaStream_t stream,
                    CheckResult* result);

/// The same for operands in host memory.
CheckResult check_host(const CheckOperands& operands, const CheckRule& rule);

/// Enqueues on `stream`: fills D with kPoison and the rest of the allocation with kGuard.
Status poison_output(const GuardedOutput& output, cudaStream_t stream);

/// Counts the guard units that changed. Waits for `stream`.
Status count_touched_guards(const GuardedOutput& output, cudaStream_t stream, std::int64_t* touched);

/// Counts the units that differ between the two allocations in any bit. Both must have the same layout. Waits for
/// `stream`.
Status count_differences(const GuardedOutput& x, const GuardedOutput& y, cudaStream_t stream,
                         std::int64_t* differences);

/// The largest |value - ref| over packed device arrays [size], or infinity if any value is NaN. Waits for `stream`.
Status max_abs_error(const float* values, const double* ref, std::int64_t size, cudaStream_t stream,
                     double* max_error);

/// The largest |ref| of a packed device array [size]. Waits for `stream`.
Status max_abs(const double* ref, std::int64_t size, cudaStream_t stream, double* max_value);
#endif

}  // namespace hopper_gemm
