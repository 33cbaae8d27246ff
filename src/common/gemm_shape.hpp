#pragma once

#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm {

/// The extents, in elements, of D[M,N] = A[M,K] · B[K,N]. Plain data: kernels take it by value.
struct GemmShape {
  int m;
  int n;
  int k;

  HG_HOST_DEVICE friend constexpr bool operator==(const GemmShape& x, const GemmShape& y) {
    return x.m == y.m && x.n == y.n && x.k == y.k;
  }
};

}  // namespace hopper_gemm
