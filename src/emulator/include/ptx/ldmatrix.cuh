// Emulated: the wrappers of ptx/ldmatrix.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/address.cuh>
#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

HG_PTX_INLINE void ldmatrix(uint32_t (&matrices)[1], SmemAddr row) {
  emulator::load_matrices(matrices, row.value, 1, false);
}

HG_PTX_INLINE void ldmatrix(uint32_t (&matrices)[2], SmemAddr row) {
  emulator::load_matrices(matrices, row.value, 2, false);
}

HG_PTX_INLINE void ldmatrix(uint32_t (&matrices)[4], SmemAddr row) {
  emulator::load_matrices(matrices, row.value, 4, false);
}

HG_PTX_INLINE void ldmatrix_trans(uint32_t (&matrices)[1], SmemAddr row) {
  emulator::load_matrices(matrices, row.value, 1, true);
}

HG_PTX_INLINE void ldmatrix_trans(uint32_t (&matrices)[2], SmemAddr row) {
  emulator::load_matrices(matrices, row.value, 2, true);
}

HG_PTX_INLINE void ldmatrix_trans(uint32_t (&matrices)[4], SmemAddr row) {
  emulator::load_matrices(matrices, row.value, 4, true);
}

}  // namespace ptx
}  // namespace hopper_gemm
