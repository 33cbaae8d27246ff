// stmatrix: a warp stores 8x8 matrices of 16-bit elements from the registers of a matrix fragment to shared memory, one
// 16-byte row per address.
#pragma once

#include <ptx/address.cuh>
#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

/// stmatrix.sync.aligned.m8n8.x1.shared.b16 — store one 8x8 matrix of 16-bit elements.
/// PTX ISA "Warp Level Matrix Instructions: stmatrix" #warp-level-matrix-instructions-stmatrix; ISA 7.8, sm_90.
/// row: 16-byte aligned. Lane i gives the address of row i, for i below 8; the other lanes' addresses are not used.
/// matrix: lane t holds elements 2 * (t % 4) and 2 * (t % 4) + 1 of row t / 4, the first one in the lower half.
/// Threads: the whole warp, converged. Orders: as other generic stores; call fence_proxy_async_shared_cta() before TMA
/// reads the result. Rows that lie in different banks are stored in one cycle.
HG_PTX_INLINE void stmatrix(SmemAddr row, const uint32_t (&matrix)[1]) {
  HG_PTX_SM_90(stmatrix_x1, asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
                                         :
                                         : "r"(row.value), "r"(matrix[0])
                                         : "memory"));
}

/// stmatrix.sync.aligned.m8n8.x2.shared.b16 — store two 8x8 matrices of 16-bit elements.
/// PTX ISA "Warp Level Matrix Instructions: stmatrix" #warp-level-matrix-instructions-stmatrix; ISA 7.8, sm_90.
/// row: 16-byte aligned. Lane 8 * j + i gives the address of row i of matrix j, for j below 2. matrices: one register
/// for each matrix, as for x1. Threads: the whole warp, converged. Orders: as x1.
HG_PTX_INLINE void stmatrix(SmemAddr row, const uint32_t (&matrices)[2]) {
  HG_PTX_SM_90(stmatrix_x2, asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
                                         :
                                         : "r"(row.value), "r"(matrices[0]), "r"(matrices[1])
                                         : "memory"));
}

/// stmatrix.sync.aligned.m8n8.x4.shared.b16 — store four 8x8 matrices of 16-bit elements.
/// PTX ISA "Warp Level Matrix Instructions: stmatrix" #warp-level-matrix-instructions-stmatrix; ISA 7.8, sm_90.
/// row: 16-byte aligned. Lane 8 * j + i gives the address of row i of matrix j. matrices: one register for each matrix,
/// as for x1. Threads: the whole warp, converged. Orders: as x1.
HG_PTX_INLINE void stmatrix(SmemAddr row, const uint32_t (&matrices)[4]) {
  HG_PTX_SM_90(stmatrix_x4, asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                                         :
                                         : "r"(row.value), "r"(matrices[0]), "r"(matrices[1]),
                                           "r"(matrices[2]), "r"(matrices[3])
                                         : "memory"));
}

/// stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 — store one 8x8 matrix of 16-bit elements, transposed.
/// PTX ISA "Warp Level Matrix Instructions: stmatrix" #warp-level-matrix-instructions-stmatrix; ISA 7.8, sm_90.
/// It works as x1, but what lane t holds goes to column t / 4 of rows 2 * (t % 4) and 2 * (t % 4) + 1. Use it for
/// row-major fragments and a column-major result. Threads: the whole warp, converged. Orders: as x1.
HG_PTX_INLINE void stmatrix_trans(SmemAddr row, const uint32_t (&matrix)[1]) {
  HG_PTX_SM_90(stmatrix_x1_trans, asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};"
                                               :
                                               : "r"(row.value), "r"(matrix[0])
                                               : "memory"));
}

/// stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 — store two 8x8 matrices of 16-bit elements, each transposed.
/// PTX ISA "Warp Level Matrix Instructions: stmatrix" #warp-level-matrix-instructions-stmatrix; ISA 7.8, sm_90.
/// It works as x2, with the elements of x1.trans. Threads: the whole warp, converged. Orders: as x1.
HG_PTX_INLINE void stmatrix_trans(SmemAddr row, const uint32_t (&matrices)[2]) {
  HG_PTX_SM_90(stmatrix_x2_trans,
               asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
                            :
                            : "r"(row.value), "r"(matrices[0]), "r"(matrices[1])
                            : "memory"));
}

/// stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 — store four 8x8 matrices of 16-bit elements, each transposed.
/// PTX ISA "Warp Level Matrix Instructions: stmatrix" #warp-level-matrix-instructions-stmatrix; ISA 7.8, sm_90.
/// It works as x4, with the elements of x1.trans. Threads: the whole warp, converged. Orders: as x1.
HG_PTX_INLINE void stmatrix_trans(SmemAddr row, const uint32_t (&matrices)[4]) {
  HG_PTX_SM_90(
      stmatrix_x4_trans,
      asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                   :
                   : "r"(row.value), "r"(matrices[0]), "r"(matrices[1]), "r"(matrices[2]), "r"(matrices[3])
                   : "memory"));
}

}  // namespace ptx
}  // namespace hopper_gemm
