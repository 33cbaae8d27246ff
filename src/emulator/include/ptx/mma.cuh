// Emulated: the wrappers of ptx/mma.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

// The 16-bit input types. <cuda/std/type_traits> would take longer to compile than all wrappers together.
template <typename T>
inline constexpr bool is_mma_bf16 = false;
template <>
inline constexpr bool is_mma_bf16<__nv_bfloat16> = true;
template <typename T>
inline constexpr bool is_mma_f16 = false;
template <>
inline constexpr bool is_mma_f16<__half> = true;

template <typename T>
HG_PTX_INLINE void mma_m16n8k16(float (&accum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  static_assert(is_mma_bf16<T> || is_mma_f16<T>, "mma_m16n8k16: operands of bf16 or half");
  emulator::mma(accum, a, b, 16, is_mma_f16<T>);
}

template <typename T>
HG_PTX_INLINE void mma_m16n8k8(float (&accum)[4], const uint32_t (&a)[2], const uint32_t (&b)[1]) {
  static_assert(is_mma_bf16<T> || is_mma_f16<T>, "mma_m16n8k8: operands of bf16 or half");
  emulator::mma(accum, a, b, 8, is_mma_f16<T>);
}

}  // namespace ptx
}  // namespace hopper_gemm
