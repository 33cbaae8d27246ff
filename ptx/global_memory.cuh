// Global memory that other CTAs read and write at the same time.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

/// ld.relaxed.gpu.global.u32 — read a value that another CTA may be writing.
/// PTX ISA "Data Movement and Conversion Instructions: ld" #data-movement-and-conversion-instructions-ld; ISA 6.0, sm_70.
/// address: generic address in global memory, 4-byte aligned. Returns one of the values that were written there, never
/// parts of two. It comes from L2, not from this SM's L1. Threads: any. Orders: nothing. To see what the writer wrote
/// before this value, use a release there and an acquire here.
HG_PTX_INLINE uint32_t ld_relaxed_gpu(const uint32_t* address) {
  uint32_t value = 0;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
               : "=r"(value)
               : "l"(__cvta_generic_to_global(address))
               : "memory");
  return value;
}

/// red.relaxed.gpu.global.add.u32 — add to a value that other CTAs add to.
/// PTX ISA "Parallel Synchronization and Communication Instructions: red" #parallel-synchronization-and-communication-instructions-red; ISA 6.0, sm_70.
/// address: generic address in global memory, 4-byte aligned. Threads: any. Orders: nothing. L2 does the addition, so
/// this returns at once and without a value.
HG_PTX_INLINE void red_add_relaxed_gpu(uint32_t* address, uint32_t value) {
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;"
               :
               : "l"(__cvta_generic_to_global(address)), "r"(value)
               : "memory");
}

}  // namespace ptx
}  // namespace hopper_gemm
