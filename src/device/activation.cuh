#pragma once

#include <ptx/approximate.cuh>
#include <ptx/max.cuh>

#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm {

/// x / (1 + exp(-y)), with an error of at most 2e-6 of the result and 1e-7 of x. It takes five instructions. An
/// epilogue has nothing behind which it could hide more.
__device__ __forceinline__ float times_sigmoid(float x, float y) {
  constexpr float kLog2E = 1.44269504F;
  return x * ptx::rcp_approx_ftz(1 + ptx::ex2_approx_ftz(-kLog2E * y));
}

/// x · Φ(x), with an error of at most 2e-7 of x. NaN gives NaN.
__device__ __forceinline__ float gelu(float x) {
  // max(x, 0) - |x| · erfc(|x| / √2) / 2, by Abramowitz and Stegun, "Handbook of Mathematical Functions", 7.1.26.
  // erff() takes twice as many instructions, and more registers than large tiles leave. Beyond kZero the last factor is
  // 0. Infinity times 0 would be NaN, so y ends there.
  constexpr float kZero = 16;
  const float y = fminf(fabsf(x), kZero);
  const float t = ptx::rcp_approx_ftz(1 + 0.3275911F * 0.70710678F * y);
  const float polynomial =
      t * (0.5F * 0.254829592F +
           t * (0.5F * -0.284496736F +
                t * (0.5F * 1.421413741F + t * (0.5F * -1.453152027F + t * (0.5F * 1.061405429F)))));
  const float tail = y * polynomial * ptx::ex2_approx_ftz(-0.72134752F * y * y);
  return ptx::max_nan(x, 0) - tail;
}

/// x (1 + tanh(y)) / 2 by the hardware's tanh, with an error of at most 2^-12 of x.
__device__ __forceinline__ float times_tanh_sigmoid(float x, float y) {
  const float half = 0.5F * x;
  return half + half * ptx::tanh_approx(y);
}

/// x · Φ(x) by times_tanh_sigmoid().
__device__ __forceinline__ float gelu_for_16_bits(float x) {
  // The polynomial is fitted so that this is x · Φ(x) to 3e-5. For a large x² it would decrease again, so x² is limited
  // to a value that is large enough.
  constexpr float kMostSquared = 20;
  const float squared = fminf(x * x, kMostSquared);
  return times_tanh_sigmoid(x, x * (0.797511826F + squared * (0.0369974000F + squared * -0.000350042135F)));
}

/// GeluTanh and Silu are x (1 + tanh(y)) / 2 with y = x · (linear + cubic · x²). They differ only in these factors, so
/// that they share their code.
struct TanhSigmoid {
  float linear;
  float cubic;

  __device__ __forceinline__ explicit TanhSigmoid(Activation activation) {
    constexpr float kSqrtTwoOverPi = 0.797884561F;
    constexpr float kNearlyZero = 1e-30F;  // infinity times 0 would be NaN
    linear = activation == Activation::GeluTanh ? kSqrtTwoOverPi : 0.5F;
    cubic = activation == Activation::GeluTanh ? kSqrtTwoOverPi * 0.044715F : kNearlyZero;
  }

  __device__ __forceinline__ float y(float x) const { return x * (linear + cubic * (x * x)); }
};

/// Applies a function to the values, or to the first half of them.
template <int kCount, typename Function>
__device__ __forceinline__ void apply(float (&values)[kCount], bool is_half, const Function& function) {
#pragma unroll
  for (int i = 0; i < kCount / 2; ++i) values[i] = function(values[i]);
  if (is_half) return;
#pragma unroll
  for (int i = kCount / 2; i < kCount; ++i) values[i] = function(values[i]);
}

/// Applies the activation to the values, or to the first half of them, in fp32. There is one branch for all values. NaN
/// gives NaN. Gelu has an error of at most 2e-7 of x. GeluTanh and Silu have that of times_sigmoid().
template <int kCount>
__device__ __forceinline__ void activate(float (&values)[kCount], Activation activation,
                                         bool is_half = false) {
  switch (activation) {
    case Activation::None: break;
    case Activation::Relu: apply(values, is_half, [](float x) { return ptx::max_nan(x, 0); }); break;
    case Activation::Gelu: apply(values, is_half, [](float x) { return gelu(x); }); break;
    case Activation::GeluTanh:
    case Activation::Silu: {
      const TanhSigmoid parts(activation);
      apply(values, is_half, [&](float x) { return times_sigmoid(x, 2 * parts.y(x)); });
      break;
    }
  }
}

/// The same for a D of 16 bits. Gelu, GeluTanh and Silu use times_tanh_sigmoid() and so the hardware's tanh, like
/// CUTLASS's fast_tanh.
template <int kCount>
__device__ __forceinline__ void activate_for_16_bits(float (&values)[kCount], Activation activation,
                                                     bool is_half = false) {
  switch (activation) {
    case Activation::None: break;
    case Activation::Relu: apply(values, is_half, [](float x) { return ptx::max_nan(x, 0); }); break;
    case Activation::Gelu: apply(values, is_half, [](float x) { return gelu_for_16_bits(x); }); break;
    case Activation::GeluTanh:
    case Activation::Silu: {
      const TanhSigmoid parts(activation);
      apply(values, is_half, [&](float x) { return times_tanh_sigmoid(x, parts.y(x)); });
      break;
    }
  }
}

}  // namespace hopper_gemm
