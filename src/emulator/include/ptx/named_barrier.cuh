// Emulated: the wrappers of ptx/named_barrier.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

HG_PTX_INLINE void barrier_sync(uint32_t id, uint32_t threads) { emulator::named_barrier_sync(id, threads); }

HG_PTX_INLINE void barrier_arrive(uint32_t id, uint32_t threads) {
  emulator::named_barrier_arrive(id, threads);
}

}  // namespace ptx
}  // namespace hopper_gemm
