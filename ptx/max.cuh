// The larger of two numbers.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

/// max.NaN.f32 — the larger of x and y, or NaN if either is NaN; fmaxf() would return the other one.
/// PTX ISA "Floating Point Instructions: max" #floating-point-instructions-max; ISA 7.0, sm_80.
/// Threads: any.
HG_PTX_INLINE float max_nan(float x, float y) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(x), "f"(y));
  return result;
}

}  // namespace ptx
}  // namespace hopper_gemm
