// Typed shared memory addresses, and the one place that makes them from pointers.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

// Byte address in the shared::cta window: this CTA's own shared memory. The window lies inside shared::cluster. If PTX
// asks for a shared::cluster address, such a value is valid too and means the executing CTA's copy.
struct SmemAddr {
  uint32_t value;
};

// Byte address in the shared::cluster window: shared memory of any CTA of the cluster. mapa (cluster.cuh) makes it.
struct ClusterAddr {
  uint32_t value;
};

HG_PTX_INLINE constexpr SmemAddr operator+(SmemAddr address, uint32_t bytes) {
  return SmemAddr{address.value + bytes};
}

HG_PTX_INLINE constexpr ClusterAddr operator+(ClusterAddr address, uint32_t bytes) {
  return ClusterAddr{address.value + bytes};
}

/// cvta.to.shared.u64 — turn a generic pointer into shared memory into a 32-bit shared::cta address.
/// PTX ISA "Data Movement and Conversion Instructions: cvta" #data-movement-and-conversion-instructions-cvta; ISA 2.3, sm_20.
/// ptr: must point into this CTA's shared memory. Any other pointer gives a meaningless number, and nothing checks it.
/// For a peer CTA's shared memory, take this CTA's address of the same variable and use mapa. Threads: any.
HG_PTX_INLINE SmemAddr smem_addr(const void* ptr) {
  return SmemAddr{static_cast<uint32_t>(__cvta_generic_to_shared(ptr))};
}

}  // namespace ptx
}  // namespace hopper_gemm
