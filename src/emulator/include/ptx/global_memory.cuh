// Emulated: the wrappers of ptx/global_memory.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

HG_PTX_INLINE uint32_t ld_relaxed_gpu(const uint32_t* address) { return emulator::atomic_load(address); }

HG_PTX_INLINE void red_add_relaxed_gpu(uint32_t* address, uint32_t value) {
  emulator::atomic_add(address, value);
}

}  // namespace ptx
}  // namespace hopper_gemm
