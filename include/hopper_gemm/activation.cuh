#pragma once

#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm {

/// One element's activation. NaN gives NaN; fp32 throughout, to a few units in the last place.
template <Activation kActivation>
__device__ __forceinline__ float activate(float x) {
  if constexpr (kActivation == Activation::Relu) {
    return x < 0 ? 0 : x;  // a NaN is not less
  } else if constexpr (kActivation == Activation::Gelu) {
    constexpr float kSqrtHalf = 0.70710678F;
    return 0.5F * x * (1 + erff(x * kSqrtHalf));
  } else if constexpr (kActivation == Activation::GeluTanh) {
    constexpr float kSqrtTwoOverPi = 0.79788456F;
    return 0.5F * x * (1 + tanhf(kSqrtTwoOverPi * (x + 0.044715F * x * x * x)));
  } else if constexpr (kActivation == Activation::Silu) {
    return x / (1 + expf(-x));
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
