#pragma once

#include <ptx/approximate.cuh>
#include <ptx/max.cuh>

#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm {

/// x / (1 + exp(-y)), good to 2e-6 of the result and 1e-7 of x, in five instructions: an epilogue has nothing
/// to hide more behind.
__device__ __forceinline__ float times_sigmoid(float x, float y) {
  constexpr float kLog2E = 1.44269504F;
  return x * ptx::rcp_approx_ftz(1 + ptx::ex2_approx_ftz(-kLog2E * y));
}

/// One element's activation, in fp32 throughout. NaN gives NaN. Gelu is good to 2e-7 of x, the others to what
/// times_sigmoid() is.
template <Activation kActivation>
__device__ __forceinline__ float activate(float x) {
  if constexpr (kActivation == Activation::Relu) {
    return ptx::max_nan(x, 0);
  } else if constexpr (kActivation == Activation::Gelu) {
    // x · Φ(x) = max(x, 0) - |x| · erfc(|x| / √2) / 2, by Abramowitz and Stegun, "Handbook of Mathematical Functions",
    // 7.1.26: erff() takes twice as many instructions, and registers that large tiles have not. Beyond kZero the last
    // factor is 0, and infinity must not meet it.
    constexpr float kZero = 16;
    const float y = fminf(fabsf(x), kZero);
    const float t = ptx::rcp_approx_ftz(1 + 0.3275911F * 0.70710678F * y);
    const float polynomial =
        t * (0.5F * 0.254829592F +
             t * (0.5F * -0.284496736F +
                  t * (0.5F * 1.421413741F + t * (0.5F * -1.453152027F + t * (0.5F * 1.061405429F)))));
    const float tail = y * polynomial * ptx::ex2_approx_ftz(-0.72134752F * y * y);
    return ptx::max_nan(x, 0) - tail;
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

/// x (1 + tanh(y)) / 2 by the hardware's tanh, good to 2^-12 of x.
__device__ __forceinline__ float times_tanh_sigmoid(float x, float y) {
  const float half = 0.5F * x;
  return half + half * ptx::tanh_approx(y);
}

/// The same for a D of 16 bits: Gelu, GeluTanh and Silu are what times_tanh_sigmoid() makes of them, as CUTLASS's
/// fast_tanh does.
template <int kCount>
__device__ __forceinline__ void activate_for_16_bits(float (&values)[kCount], Activation activation) {
  switch (activation) {
    case Activation::None: break;
    case Activation::Relu: activate<Activation::Relu>(values); break;
    case Activation::Gelu:
#pragma unroll
      for (float& x : values) {
        // The polynomial is fitted so that this is x · Φ(x) to 3e-5. Where it is large enough x² stays as it is, or it
        // would turn round.
        constexpr float kMostSquared = 20;
        const float squared = fminf(x * x, kMostSquared);
        x = times_tanh_sigmoid(x,
                               x * (0.797511826F + squared * (0.0369974000F + squared * -0.000350042135F)));
      }
      break;
    case Activation::GeluTanh:
    case Activation::Silu: {
      // They differ in factors alone, and so share their code. Infinity times 0 would be NaN.
      constexpr float kNearlyZero = 1e-30F;
      constexpr float kSqrtTwoOverPi = 0.797884561F;
      const float linear = activation == Activation::GeluTanh ? kSqrtTwoOverPi : 0.5F;
      const float cubic = activation == Activation::GeluTanh ? kSqrtTwoOverPi * 0.044715F : kNearlyZero;
#pragma unroll
      for (float& x : values) x = times_tanh_sigmoid(x, x * (linear + cubic * (x * x)));
      break;
    }
  }
}

}  // namespace hopper_gemm
