// Emulated: the wrappers of ptx/elect.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

HG_PTX_INLINE bool elect_sync(uint32_t member_mask = 0xffffffffu) { return emulator::elect(member_mask); }

}  // namespace ptx
}  // namespace hopper_gemm
