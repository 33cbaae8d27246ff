#pragma once

#include <ptx/approximate.cuh>

#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm {

/// x / (1 + exp(-y)), good to 2e-6 of the result and 1e-7 of x, in five instructions: an epilogue has nothing
/// to hide more behind.
__device__ __forceinline__ float times_sigmoid(float x, float y) {
  constexpr float kLog2E = 1.44269504F;
  return x * ptx::rcp_approx_ftz(1 + ptx::ex2_approx_ftz(-kLog2E * y));
}

/// One element's activation. NaN gives NaN; fp32 throughout, as exact as times_sigmoid() where that is used
/// and to a few units in the last place elsewhere.
template <Activation kActivation>
__device__ __forceinline__ float activate(float x) {
  if constexpr (kActivation == Activation::Relu) {
    return x < 0 ? 0 : x;  // a NaN is not less
  } else if constexpr (kActivation == Activation::Gelu) {
    // x · Φ(x) = max(x, 0) - |x| · erfc(|x| / √2) / 2, by Abramowitz and Stegun, "Handbook of Mathematical Functions",
    // 7.1.26, which is good to 1.5e-7. Beyond kZero the last factor is 0, and infinity must not meet it.
    constexpr float kZero = 16;
    const float y = fminf(fabsf(x), kZero);
    const float t = ptx::rcp_approx_ftz(1 + 0.3275911F * 0.70710678F * y);
    const float polynomial =
        t * (0.5F * 0.254829592F +
             t * (0.5F * -0.284496736F +
                  t * (0.5F * 1.421413741F + t * (0.5F * -1.453152027F + t * (0.5F * 1.061405429F)))));
    const float tail = y * polynomial * ptx::ex2_approx_ftz(-0.72134752F * y * y);
    return (x < 0 ? 0 : x) - tail;
  } else if constexpr (kActivation == Activation::GeluTanh) {
    // (1 + tanh(y)) / 2 is the sigmoid of 2 y.
    constexpr float kTwoSqrtTwoOverPi = 1.59576912F;
    return times_sigmoid(x, x * (kTwoSqrtTwoOverPi + kTwoSqrtTwoOverPi * 0.044715F * x * x));
  } else if constexpr (kActivation == Activation::Silu) {
    return times_sigmoid(x, x);
  } else {
    return x;
  }
}

/// The same for all of `values`.
template <Activation kActivation, int kCount>
__device__ __forceinline__ void activate(float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) values[i] = activate<kActivation>(values[i]);
}

/// The same by the activation that is known at run time only: one branch for all of them.
template <int kCount>
__device__ __forceinline__ void activate(float (&values)[kCount], Activation activation) {
  switch (activation) {
    case Activation::None: break;
    case Activation::Relu: activate<Activation::Relu>(values); break;
    case Activation::Gelu: activate<Activation::Gelu>(values); break;
    case Activation::GeluTanh: activate<Activation::GeluTanh>(values); break;
    case Activation::Silu: activate<Activation::Silu>(values); break;
  }
}

}  // namespace hopper_gemm
