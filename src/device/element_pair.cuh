#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace hopper_gemm {

/// The type of two neighbours of type `T` in a row of D.
template <typename T>
struct PairOf;
template <>
struct PairOf<__nv_bfloat16> {
  using Type = __nv_bfloat162;
};
template <>
struct PairOf<__half> {
  using Type = __half2;
};
template <>
struct PairOf<float> {
  using Type = float2;
};

/// Two floats rounded to `T`.
template <typename T>
__device__ __forceinline__ typename PairOf<T>::Type round_pair(float first, float second);
template <>
__device__ __forceinline__ __nv_bfloat162 round_pair<__nv_bfloat16>(float first, float second) {
  return __floats2bfloat162_rn(first, second);
}
template <>
__device__ __forceinline__ __half2 round_pair<__half>(float first, float second) {
  return __floats2half2_rn(first, second);
}
template <>
__device__ __forceinline__ float2 round_pair<float>(float first, float second) {
  return float2{first, second};
}

}  // namespace hopper_gemm
