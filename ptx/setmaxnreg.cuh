// setmaxnreg: move registers between the warpgroups of a running CTA.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

/// setmaxnreg.inc.sync.aligned.u32 — raise this warpgroup's registers per thread to kRegisters; blocks until the CTA's pool has them.
/// PTX ISA "Miscellaneous Instructions: setmaxnreg" #miscellaneous-instructions-setmaxnreg; ISA 8.0, sm_90a.
/// kRegisters: registers for each thread, 24 to 256, a multiple of 8, at least what the warpgroup has. Threads: all
/// warps of the warpgroup, converged, with the same value; a barrier must lie between two uses by one warpgroup.
/// Orders: nothing; the new registers hold garbage. The pool is what the CTA got at launch. If the other warpgroups
/// have not given up enough with setmaxnreg_dec, this one waits for ever. ptxas ignores the instruction with only a
/// warning (C7508) if neither __launch_bounds__ nor maxnreg fixes the kernel's register count at entry.
template <int kRegisters>
HG_PTX_INLINE void setmaxnreg_inc() {
  static_assert(kRegisters % 8 == 0, "setmaxnreg: the register count is a multiple of 8");
  static_assert(kRegisters >= 24 && kRegisters <= 256, "setmaxnreg: the register count is 24 to 256");
  HG_PTX_SM_90A(setmaxnreg_inc, asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(kRegisters)));
}

/// setmaxnreg.dec.sync.aligned.u32 — lower this warpgroup's registers per thread to kRegisters and give the rest to the pool.
/// PTX ISA "Miscellaneous Instructions: setmaxnreg" #miscellaneous-instructions-setmaxnreg; ISA 8.0, sm_90a.
/// kRegisters: registers for each thread, 24 to 256, a multiple of 8, at most what the warpgroup has. Threads: all
/// warps of the warpgroup, converged, with the same value. Orders: nothing. The code that follows must fit into
/// kRegisters. `ptxas -v` reports the count at entry.
template <int kRegisters>
HG_PTX_INLINE void setmaxnreg_dec() {
  static_assert(kRegisters % 8 == 0, "setmaxnreg: the register count is a multiple of 8");
  static_assert(kRegisters >= 24 && kRegisters <= 256, "setmaxnreg: the register count is 24 to 256");
  HG_PTX_SM_90A(setmaxnreg_dec, asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(kRegisters)));
}

}  // namespace ptx
}  // namespace hopper_gemm
