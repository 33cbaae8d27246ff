// ldmatrix: a warp loads 8x8 matrices of 16-bit elements from shared memory, one 16-byte row per address, into the
// registers of the fragments that mma (mma.cuh) takes.
//
// For m16n8k16 with K contiguous, one x4 loads A[16,16]: matrices 0 and 1 are rows 0-7 and rows 8-15, and matrices 2
// and 3 are the same rows 8 elements further along K. Lane i gives row i % 16 and its 16-byte chunk i / 16. If B is
// stored as [N, K], one x2 loads B[16,8]: lane i gives row i % 8 and its chunk i / 8. One x4 loads two of these. If M
// or N is contiguous instead of K, the trans forms give the same registers.
//
// Bank conflicts: the hardware fetches the rows of one matrix together, eight times 16 bytes, which is all 32 banks
// once. The rows must lie in eight different 16-byte columns of 128 bytes. Rows that are 128 bytes apart all lie in one
// column and take eight times as long, so the rows need padding or a swizzle.
#pragma once

#include <ptx/address.cuh>
#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

/// ldmatrix.sync.aligned.m8n8.x1.shared.b16 — load one 8x8 matrix of 16-bit elements.
/// PTX ISA "Warp-level Matrix Load Instruction: ldmatrix" #warp-level-matrix-instructions-ldmatrix; ISA 6.5, sm_75.
/// row: 16-byte aligned. Lane i gives the address of row i, for i below 8. The other lanes' addresses are not used, but
/// must be valid on sm_75. matrices: lane t gets elements 2 * (t % 4) and 2 * (t % 4) + 1 of row t / 4, the first one
/// in the lower half. Threads: the whole warp, converged; no lane may have exited. Orders: nothing, like other loads. A
/// barrier must lie between the writes of the rows and this load; after a cp.async, the wait for it comes before that
/// barrier. Another barrier must lie between this load and the next writes of the rows.
HG_PTX_INLINE void ldmatrix(uint32_t (&matrices)[1], SmemAddr row) {
  HG_PTX_SM_75(ldmatrix_x1, asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                                         : "=r"(matrices[0])
                                         : "r"(row.value)
                                         : "memory"));
}

/// ldmatrix.sync.aligned.m8n8.x2.shared.b16 — load two 8x8 matrices of 16-bit elements.
/// PTX ISA "Warp-level Matrix Load Instruction: ldmatrix" #warp-level-matrix-instructions-ldmatrix; ISA 6.5, sm_75.
/// row: 16-byte aligned. Lane 8 * j + i gives the address of row i of matrix j, for j below 2. The addresses of lanes
/// 16 to 31 are not used, but must be valid on sm_75. matrices: one register for each matrix, as for x1. Threads: the
/// whole warp, converged. Orders: as x1.
HG_PTX_INLINE void ldmatrix(uint32_t (&matrices)[2], SmemAddr row) {
  HG_PTX_SM_75(ldmatrix_x2, asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                                         : "=r"(matrices[0]), "=r"(matrices[1])
                                         : "r"(row.value)
                                         : "memory"));
}

/// ldmatrix.sync.aligned.m8n8.x4.shared.b16 — load four 8x8 matrices of 16-bit elements.
/// PTX ISA "Warp-level Matrix Load Instruction: ldmatrix" #warp-level-matrix-instructions-ldmatrix; ISA 6.5, sm_75.
/// row: 16-byte aligned. Lane 8 * j + i gives the address of row i of matrix j. matrices: one register for each matrix,
/// as for x1. Threads: the whole warp, converged. Orders: as x1.
HG_PTX_INLINE void ldmatrix(uint32_t (&matrices)[4], SmemAddr row) {
  HG_PTX_SM_75(ldmatrix_x4,
               asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                            : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                            : "r"(row.value)
                            : "memory"));
}

/// ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 — load one 8x8 matrix of 16-bit elements, transposed.
/// PTX ISA "Warp-level Matrix Load Instruction: ldmatrix" #warp-level-matrix-instructions-ldmatrix; ISA 6.5, sm_75.
/// It works as x1, but lane t gets column t / 4 of rows 2 * (t % 4) and 2 * (t % 4) + 1, which is what x1 would give
/// for the transposed matrix. Use it for an operand whose other dimension is contiguous. Threads: the whole warp,
/// converged. Orders: as x1.
HG_PTX_INLINE void ldmatrix_trans(uint32_t (&matrices)[1], SmemAddr row) {
  HG_PTX_SM_75(ldmatrix_x1_trans, asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                                               : "=r"(matrices[0])
                                               : "r"(row.value)
                                               : "memory"));
}

/// ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 — load two 8x8 matrices of 16-bit elements, each transposed.
/// PTX ISA "Warp-level Matrix Load Instruction: ldmatrix" #warp-level-matrix-instructions-ldmatrix; ISA 6.5, sm_75.
/// It works as x2, with the elements of x1.trans. Threads: the whole warp, converged. Orders: as x1.
HG_PTX_INLINE void ldmatrix_trans(uint32_t (&matrices)[2], SmemAddr row) {
  HG_PTX_SM_75(ldmatrix_x2_trans,
               asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                            : "=r"(matrices[0]), "=r"(matrices[1])
                            : "r"(row.value)
                            : "memory"));
}

/// ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 — load four 8x8 matrices of 16-bit elements, each transposed.
/// PTX ISA "Warp-level Matrix Load Instruction: ldmatrix" #warp-level-matrix-instructions-ldmatrix; ISA 6.5, sm_75.
/// It works as x4, with the elements of x1.trans. Threads: the whole warp, converged. Orders: as x1.
HG_PTX_INLINE void ldmatrix_trans(uint32_t (&matrices)[4], SmemAddr row) {
  HG_PTX_SM_75(ldmatrix_x4_trans,
               asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                            : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                            : "r"(row.value)
                            : "memory"));
}

}  // namespace ptx
}  // namespace hopper_gemm
