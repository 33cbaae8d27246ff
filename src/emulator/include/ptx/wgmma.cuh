// Emulated: the wrappers of ptx/wgmma.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

enum class Major { K = 0, MN = 1 };

HG_PTX_INLINE void wgmma_fence() { emulator::wgmma_fence(); }

HG_PTX_INLINE void wgmma_commit_group() { emulator::wgmma_commit(); }

template <int kPendingGroups>
HG_PTX_INLINE void wgmma_wait_group() {
  static_assert(kPendingGroups >= 0 && kPendingGroups <= 7, "wgmma.wait_group: 0 to 7 pending groups");
  emulator::wgmma_wait(kPendingGroups);
}

HG_PTX_INLINE void wgmma_fence_operand(float& accum) { emulator::touch_registers(&accum, sizeof(accum)); }

HG_PTX_INLINE void wgmma_fence_operand(uint32_t& a) { emulator::touch_registers(&a, sizeof(a)); }

template <typename T, int kCount>
HG_PTX_INLINE void wgmma_fence_operand(T (&registers)[kCount]) {
  emulator::touch_registers(registers, sizeof(registers));
}

}  // namespace ptx
}  // namespace hopper_gemm

#include <ptx/wgmma_mma_async.cuh>
