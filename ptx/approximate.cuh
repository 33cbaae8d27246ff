// Approximations that the special function unit computes.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

/// ex2.approx.ftz.f32 — 2 to the power of x.
/// PTX ISA "Floating Point Instructions: ex2" #floating-point-instructions-ex2; ISA 1.4, sm_20.
/// Returns the result with a relative error of at most 2^-22.5. Subnormal numbers count as 0. A result that is too
/// small becomes 0, and one that is too large becomes infinity. Threads: any.
HG_PTX_INLINE float ex2_approx_ftz(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// rcp.approx.ftz.f32 — 1 / x.
/// PTX ISA "Floating Point Instructions: rcp" #floating-point-instructions-rcp; ISA 1.4, sm_20.
/// Returns the result with a relative error of at most 2^-23. Infinity gives 0, and subnormal numbers count
/// as 0. Threads: any.
HG_PTX_INLINE float rcp_approx_ftz(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// tanh.approx.f32 — the hyperbolic tangent of x.
/// PTX ISA "Floating Point Instructions: tanh" #floating-point-instructions-tanh; ISA 7.0, sm_75.
/// Returns the result with a relative error of at most 2^-11. Threads: any.
HG_PTX_INLINE float tanh_approx(float x) {
  float result;
  asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

}  // namespace ptx
}  // namespace hopper_gemm
