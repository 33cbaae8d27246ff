// Emulated: the wrappers of ptx/prefetch.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

// The emulator has no cache.
HG_PTX_INLINE void prefetch_l2(const void* address) { static_cast<void>(address); }

HG_PTX_INLINE void prefetch_l1(const void* address) { static_cast<void>(address); }

}  // namespace ptx
}  // namespace hopper_gemm
