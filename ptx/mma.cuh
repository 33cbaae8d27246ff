// mma: a warp multiplies matrices that its lanes hold in registers. It is the tensor core instruction of sm_80, and
// later architectures still have it. Operands usually come from ldmatrix (ldmatrix.cuh), whose matrices are laid out
// for it.
//
// The asm has no "memory" clobber: the instruction touches registers only, and a clobber would keep loads and stores of
// shared memory from moving past it. The asm is volatile because the instruction is .sync.aligned. If only a branch
// reads the accumulators, the mma must not sink into that branch, where lanes may be missing. volatile costs nothing:
// ptxas schedules the instructions and does not see it.
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

// Operands %0 to %3 are the accumulators. The registers of A and then those of B follow.
#define HG_PTX_MMA(shape, type, a, b)                                                           \
  "mma.sync.aligned." shape ".row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {" a "}, {" b \
  "}, {%0, %1, %2, %3};"

/// mma.sync.aligned.m16n8k16.row.col.f32.T.T.f32 — D[16,8] += A[16,16] * B[16,8], T = bf16 or f16, in fp32.
/// PTX ISA "Multiply-and-Accumulate Instruction: mma" #warp-level-matrix-instructions-mma; ISA 7.0, sm_80.
/// T: __nv_bfloat16 or __half. t is the lane, r = t / 4 and c = 2 * (t % 4); the low half of a register comes first:
///   accum[0] = D[r][c]          accum[1] = D[r][c+1]          accum[2] = D[r+8][c]      accum[3] = D[r+8][c+1]
///   a[0] = A[r][c], A[r][c+1]   a[1] = A[r+8][c], A[r+8][c+1]   a[2], a[3] = the same at columns c+8, c+9
///   b[0] = B[c][r], B[c+1][r]   b[1] = B[c+8][r], B[c+9][r]
/// If K is contiguous, ldmatrix x4 of A gives a in this order, and ldmatrix x2 of B's columns gives b. row and col name
/// this order of registers; nothing is transposed. Threads: the whole warp, converged. Orders: nothing. The instruction
/// uses registers only. Its result is there at once, unlike that of wgmma.
template <typename T>
HG_PTX_INLINE void mma_m16n8k16(float (&accum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  static_assert(is_mma_bf16<T> || is_mma_f16<T>, "mma_m16n8k16: operands of bf16 or half");
  if constexpr (is_mma_bf16<T>) {
    HG_PTX_SM_80(mma_m16n8k16,
                 asm volatile(HG_PTX_MMA("m16n8k16", "bf16", "%4, %5, %6, %7", "%8, %9")
                              : "+f"(accum[0]), "+f"(accum[1]), "+f"(accum[2]), "+f"(accum[3])
                              : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])));
  } else {
    HG_PTX_SM_80(mma_m16n8k16,
                 asm volatile(HG_PTX_MMA("m16n8k16", "f16", "%4, %5, %6, %7", "%8, %9")
                              : "+f"(accum[0]), "+f"(accum[1]), "+f"(accum[2]), "+f"(accum[3])
                              : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])));
  }
}

/// mma.sync.aligned.m16n8k8.row.col.f32.T.T.f32 — D[16,8] += A[16,8] * B[8,8], T = bf16 or f16, in fp32.
/// PTX ISA "Multiply-and-Accumulate Instruction: mma" #warp-level-matrix-instructions-mma; ISA 7.0, sm_80.
/// It has half the depth of m16n8k16, for the last 8 of a K that is no multiple of 16. accum, r and c are as there.
///   a[0] = A[r][c], A[r][c+1]   a[1] = A[r+8][c], A[r+8][c+1]   b[0] = B[c][r], B[c+1][r]
/// Threads: the whole warp, converged. Orders: nothing, as with m16n8k16.
template <typename T>
HG_PTX_INLINE void mma_m16n8k8(float (&accum)[4], const uint32_t (&a)[2], const uint32_t (&b)[1]) {
  static_assert(is_mma_bf16<T> || is_mma_f16<T>, "mma_m16n8k8: operands of bf16 or half");
  if constexpr (is_mma_bf16<T>) {
    HG_PTX_SM_80(mma_m16n8k8, asm volatile(HG_PTX_MMA("m16n8k8", "bf16", "%4, %5", "%6")
                                           : "+f"(accum[0]), "+f"(accum[1]), "+f"(accum[2]), "+f"(accum[3])
                                           : "r"(a[0]), "r"(a[1]), "r"(b[0])));
  } else {
    HG_PTX_SM_80(mma_m16n8k8, asm volatile(HG_PTX_MMA("m16n8k8", "f16", "%4, %5", "%6")
                                           : "+f"(accum[0]), "+f"(accum[1]), "+f"(accum[2]), "+f"(accum[3])
                                           : "r"(a[0]), "r"(a[1]), "r"(b[0])));
  }
}

#undef HG_PTX_MMA

}  // namespace ptx
}  // namespace hopper_gemm
