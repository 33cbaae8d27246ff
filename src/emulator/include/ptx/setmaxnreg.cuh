// Emulated: the wrappers of ptx/setmaxnreg.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

template <int kRegisters>
HG_PTX_INLINE void setmaxnreg_inc() {
  static_assert(kRegisters % 8 == 0, "setmaxnreg: the register count is a multiple of 8");
  static_assert(kRegisters >= 24 && kRegisters <= 256, "setmaxnreg: the register count is 24 to 256");
  emulator::set_max_registers(kRegisters, true);
}

template <int kRegisters>
HG_PTX_INLINE void setmaxnreg_dec() {
  static_assert(kRegisters % 8 == 0, "setmaxnreg: the register count is a multiple of 8");
  static_assert(kRegisters >= 24 && kRegisters <= 256, "setmaxnreg: the register count is 24 to 256");
  emulator::set_max_registers(kRegisters, false);
}

}  // namespace ptx
}  // namespace hopper_gemm
