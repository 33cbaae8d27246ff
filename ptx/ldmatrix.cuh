// ldmatrix: a warp loads 8x8 matrices of 16-bit elements from shared memory, one 16-byte row per address, into the
// registers of the fragments that mma (mma.cuh) takes.
//
// What K contiguous makes of it, for m16n8k16: one x4 is A[16,16], matrices 0 to 3 being rows 0-7, rows 8-15,
// and both again 8 further along K: lane i gives row i % 16, chunk i / 16 of 16 bytes. One x2 is B[16,8]
// where B is stored as [N, K]: lane i gives row i % 8, chunk i / 8; one x4 is two of them. Where M or N is
// contiguous instead, the trans forms give the same registers.
//
// Bank conflicts: the rows of one matrix are fetched together, eight of 16 bytes, which is all 32 banks once.
// They must lie in eight different 16-byte columns of 128 bytes: rows 128 bytes apart all lie in one, and
// take eight times as long. Hence padding of the rows, or a swizzle.
#pragma once

#include <ptx/address.cuh>
#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

/// ldmatrix.sync.aligned.m8n8.x1.shared.b16 — load one 8x8 matrix of 16-bit elements.
/// PTX ISA "Warp-level Matrix Load Instruction: ldmatrix" #warp-level-matrix-instructions-ldmatrix; ISA 6.5, sm_75.
/// row: 16-byte aligned; lane i gives the address of row i, for i below 8; the others' are not used, but must
/// be valid on sm_75. matrices: lane t gets elements 2 * (t % 4) and the next of row t / 4, the lower one in
/// the lower half. Threads: the whole warp, converged, none of it exited. Orders: nothing, as other loads:
/// who wrote the rows is waited for through a barrier (after a cp.async, its wait first), and an overwrite of
/// them waits through one for this.
HG_PTX_INLINE void ldmatrix(uint32_t (&matrices)[1], SmemAddr row) {
  HG_PTX_SM_75(ldmatrix_x1, asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                                         : "=r"(matrices[0])
                                         : "r"(row.value)
                                         : "memory"));
}

/// ldmatrix.sync.aligned.m8n8.x2.shared.b16 — load two 8x8 matrices of 16-bit elements.
/// PTX ISA "Warp-level Matrix Load Instruction: ldmatrix" #warp-level-matrix-instructions-ldmatrix; ISA 6.5, sm_75.
/// row: 16-byte aligned; lane 8 * j + i gives the address of row i of matrix j, for j below 2; those of lanes
/// 16 to 31 are not used, but must be valid on sm_75. matrices: one register a matrix, as for x1. Threads:
/// the whole warp, converged. Orders: as x1.
HG_PTX_INLINE void ldmatrix(uint32_t (&matrices)[2], SmemAddr row) {
  HG_PTX_SM_75(ldmatrix_x2, asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                                         : "=r"(matrices[0]), "=r"(matrices[1])
                                         : "r"(row.value)
                                         : "memory"));
}

/// ldmatrix.sync.aligned.m8n8.x4.shared.b16 — load four 8x8 matrices of 16-bit elements.
/// PTX ISA "Warp-level Matrix Load Instruction: ldmatrix" #warp-level-matrix-instructions-ldmatrix; ISA 6.5, sm_75.
/// row: 16-byte aligned; lane 8 * j + i gives the address of row i of matrix j. matrices: one register a matrix, as for
/// x1. Threads: the whole warp, converged. Orders: as x1.
HG_PTX_INLINE void ldmatrix(uint32_t (&matrices)[4], SmemAddr row) {
  HG_PTX_SM_75(ldmatrix_x4,
               asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                            : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                            : "r"(row.value)
                            : "memory"));
}

/// ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 — load one 8x8 matrix of 16-bit elements, transposed.
/// PTX ISA "Warp-level Matrix Load Instruction: ldmatrix" #warp-level-matrix-instructions-ldmatrix; ISA 6.5, sm_75.
/// As x1, but lane t gets column t / 4 of rows 2 * (t % 4) and the next: what x1 would give of the transposed
/// matrix. For an operand whose other dimension is contiguous. Threads: the whole warp, converged. Orders: as
/// x1.
HG_PTX_INLINE void ldmatrix_trans(uint32_t (&matrices)[1], SmemAddr row) {
  HG_PTX_SM_75(ldmatrix_x1_trans, asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                                               : "=r"(matrices[0])
                                               : "r"(row.value)
                                               : "memory"));
}

/// ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 — load two 8x8 matrices of 16-bit elements, each transposed.
/// PTX ISA "Warp-level Matrix Load Instruction: ldmatrix" #warp-level-matrix-instructions-ldmatrix; ISA 6.5, sm_75.
/// As x2, with the elements as for x1.trans. Threads: the whole warp, converged. Orders: as x1.
HG_PTX_INLINE void ldmatrix_trans(uint32_t (&matrices)[2], SmemAddr row) {
  HG_PTX_SM_75(ldmatrix_x2_trans,
               asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                            : "=r"(matrices[0]), "=r"(matrices[1])
                            : "r"(row.value)
                            : "memory"));
}

/// ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 — load four 8x8 matrices of 16-bit elements, each transposed.
/// PTX ISA "Warp-level Matrix Load Instruction: ldmatrix" #warp-level-matrix-instructions-ldmatrix; ISA 6.5, sm_75.
/// As x4, with the elements as for x1.trans. Threads: the whole warp, converged. Orders: as x1.
HG_PTX_INLINE void ldmatrix_trans(uint32_t (&matrices)[4], SmemAddr row) {
  HG_PTX_SM_75(ldmatrix_x4_trans,
               asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                            : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                            : "r"(row.value)
                            : "memory"));
}

}  // namespace ptx
}  // namespace hopper_gemm
