// Emulated: the wrappers of ptx/griddepcontrol.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

// An emulated launch ends before the next one begins, so there is nothing to wait for.
HG_PTX_INLINE void griddepcontrol_wait() {}

HG_PTX_INLINE void griddepcontrol_launch_dependents() {}

}  // namespace ptx
}  // namespace hopper_gemm
