#pragma once

#include "hopper_gemm/gemm_epilogue.hpp"
#include "hopper_gemm/host_device.hpp"

#ifndef __CUDACC_RTC__
#include <cmath>
#endif

namespace hopper_gemm {

/// The activation by its definition, in double.
HG_HOST_DEVICE inline double reference_activation(Activation activation, double x) {
  constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
  constexpr double kSqrtHalf = 0.70710678118654752440;
  switch (activation) {
    case Activation::None: return x;
    case Activation::Relu: return x <= 0 ? 0 : x;  // NaN stays
    case Activation::Gelu: return x * 0.5 * erfc(-x * kSqrtHalf);
    case Activation::GeluTanh: return 0.5 * x * (1 + tanh(kSqrtTwoOverPi * (x + 0.044715 * x * x * x)));
    case Activation::Silu: return x / (1 + exp(-x));
  }
  return x;
}

/// Whether kernels compute the activation without rounding.
HG_HOST_DEVICE constexpr bool is_exact(Activation activation) {
  return activation == Activation::None || activation == Activation::Relu;
}

/// The activation's largest slope: the most by which it can multiply an error of its argument.
HG_HOST_DEVICE constexpr double largest_slope(Activation activation) {
  return is_exact(activation) ? 1 : 1.13;
}

/// How far a result may be off for each unit of the argument. tanh.approx.f32 has a relative error of 2^-11 (PTX ISA,
/// "tanh"), and GELU and SiLU take half of that.
HG_HOST_DEVICE constexpr double approximation_error(Activation activation) {
  return is_exact(activation) ? 0 : 0x1p-12;
}

}  // namespace hopper_gemm
