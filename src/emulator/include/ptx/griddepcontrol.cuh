// Emulated: the wrappers of ptx/griddepcontrol.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

HG_PTX_INLINE void griddepcontrol_wait() { emulator::wait_for_launches(); }

HG_PTX_INLINE void griddepcontrol_launch_dependents() { emulator::let_dependents_begin(); }

}  // namespace ptx
}  // namespace hopper_gemm
