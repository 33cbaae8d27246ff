// prefetch: bring global memory into a cache, ahead of the loads. The prefetches of tensor maps and tensors are in
// tma.cuh.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

/// prefetch.global.L2 — bring the cache line at `address` into L2.
/// PTX ISA "Data Movement and Conversion Instructions: prefetch, prefetchu" #data-movement-and-conversion-instructions-prefetch-prefetchu; ISA 2.0, sm_20.
/// address: generic address in global memory, of any alignment. Threads: any, each its own line. Orders: nothing. It is
/// a hint: it returns at once, and results never depend on it.
HG_PTX_INLINE void prefetch_l2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" : : "l"(__cvta_generic_to_global(address)) : "memory");
}

/// prefetch.global.L1 — bring the cache line at `address` into this SM's L1, and into L2.
/// PTX ISA "Data Movement and Conversion Instructions: prefetch, prefetchu" #data-movement-and-conversion-instructions-prefetch-prefetchu; ISA 2.0, sm_20.
/// address: generic address in global memory, of any alignment. Threads: any, each its own line. Orders: nothing. It is
/// a hint: it returns at once, and results never depend on it.
HG_PTX_INLINE void prefetch_l1(const void* address) {
  asm volatile("prefetch.global.L1 [%0];" : : "l"(__cvta_generic_to_global(address)) : "memory");
}

}  // namespace ptx
}  // namespace hopper_gemm
