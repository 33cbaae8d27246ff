// Emulated: the wrappers of ptx/mma.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ptx/common.cuh>
#include <type_traits>

namespace hopper_gemm {
namespace ptx {

template <typename T>
HG_PTX_INLINE void mma_m16n8k16(float (&accum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  static_assert(std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>,
                "mma_m16n8k16: operands of bf16 or half");
  emulator::mma(accum, a, b, 16, std::is_same_v<T, __half>);
}

template <typename T>
HG_PTX_INLINE void mma_m16n8k8(float (&accum)[4], const uint32_t (&a)[2], const uint32_t (&b)[1]) {
  static_assert(std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>,
                "mma_m16n8k8: operands of bf16 or half");
  emulator::mma(accum, a, b, 8, std::is_same_v<T, __half>);
}

}  // namespace ptx
}  // namespace hopper_gemm
