// Emulated: the wrappers of ptx/stmatrix.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/address.cuh>
#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

HG_PTX_INLINE void stmatrix(SmemAddr row, const uint32_t (&matrix)[1]) {
  emulator::store_matrices(row.value, matrix, 1, false);
}

HG_PTX_INLINE void stmatrix(SmemAddr row, const uint32_t (&matrices)[2]) {
  emulator::store_matrices(row.value, matrices, 2, false);
}

HG_PTX_INLINE void stmatrix(SmemAddr row, const uint32_t (&matrices)[4]) {
  emulator::store_matrices(row.value, matrices, 4, false);
}

HG_PTX_INLINE void stmatrix_trans(SmemAddr row, const uint32_t (&matrix)[1]) {
  emulator::store_matrices(row.value, matrix, 1, true);
}

HG_PTX_INLINE void stmatrix_trans(SmemAddr row, const uint32_t (&matrices)[2]) {
  emulator::store_matrices(row.value, matrices, 2, true);
}

HG_PTX_INLINE void stmatrix_trans(SmemAddr row, const uint32_t (&matrices)[4]) {
  emulator::store_matrices(row.value, matrices, 4, true);
}

}  // namespace ptx
}  // namespace hopper_gemm
