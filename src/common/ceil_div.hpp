#pragma once

#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm {

/// dividend / divisor, rounded up. dividend ≥ 0, divisor ≥ 1. It is correct up to the type's largest value, for which
/// the usual dividend + divisor - 1 would overflow.
template <typename T>
HG_HOST_DEVICE constexpr T ceil_div(T dividend, T divisor) {
  return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}

}  // namespace hopper_gemm
