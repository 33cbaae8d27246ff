// createpolicy: L2 eviction priorities, for the cache_policy argument of the TMA wrappers.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

/// createpolicy.fractional.L2::evict_first.b64 — policy for lines that are read once and should leave L2 before others.
/// PTX ISA "Data Movement and Conversion Instructions: createpolicy" #data-movement-and-conversion-instructions-createpolicy; ISA 7.4, sm_80.
/// fraction: the part of the accesses that gets the priority, in (0, 1]; the rest stay evict_unchanged. Returns an
/// opaque value, which only this instruction can make, in the kernel. It is a hint to L2 and never changes results.
/// Threads: any.
HG_PTX_INLINE uint64_t createpolicy_fractional_evict_first(float fraction = 1.0f) {
  uint64_t policy = 0;
  HG_PTX_SM_80(createpolicy_fractional_evict_first, asm("createpolicy.fractional.L2::evict_first.b64 %0, %1;"
                                                        : "=l"(policy)
                                                        : "f"(fraction)));
  return policy;
}

/// createpolicy.fractional.L2::evict_last.b64 — policy for lines that many CTAs read again and that should stay in L2 longest.
/// PTX ISA "Data Movement and Conversion Instructions: createpolicy" #data-movement-and-conversion-instructions-createpolicy; ISA 7.4, sm_80.
/// fraction: the part of the accesses that gets the priority, in (0, 1]; the rest stay evict_unchanged. Returns an
/// opaque value. The policy is useless if more is marked than fits into L2, and the marks outlive the kernel. Threads:
/// any.
HG_PTX_INLINE uint64_t createpolicy_fractional_evict_last(float fraction = 1.0f) {
  uint64_t policy = 0;
  HG_PTX_SM_80(createpolicy_fractional_evict_last, asm("createpolicy.fractional.L2::evict_last.b64 %0, %1;"
                                                       : "=l"(policy)
                                                       : "f"(fraction)));
  return policy;
}

/// createpolicy.fractional.L2::evict_normal.b64 — the policy of an access that names none.
/// PTX ISA "Data Movement and Conversion Instructions: createpolicy" #data-movement-and-conversion-instructions-createpolicy; ISA 7.4, sm_80.
/// fraction: the part of the accesses, in (0, 1]. Returns an opaque value. Use it to undo evict_last marks. Threads:
/// any.
HG_PTX_INLINE uint64_t createpolicy_fractional_evict_normal(float fraction = 1.0f) {
  uint64_t policy = 0;
  HG_PTX_SM_80(createpolicy_fractional_evict_normal,
               asm("createpolicy.fractional.L2::evict_normal.b64 %0, %1;"
                   : "=l"(policy)
                   : "f"(fraction)));
  return policy;
}

/// createpolicy.fractional.L2::evict_unchanged.b64 — policy that leaves a line the priority that it already has.
/// PTX ISA "Data Movement and Conversion Instructions: createpolicy" #data-movement-and-conversion-instructions-createpolicy; ISA 7.4, sm_80.
/// fraction: the part of the accesses, in (0, 1]. Returns an opaque value. Threads: any.
HG_PTX_INLINE uint64_t createpolicy_fractional_evict_unchanged(float fraction = 1.0f) {
  uint64_t policy = 0;
  HG_PTX_SM_80(createpolicy_fractional_evict_unchanged,
               asm("createpolicy.fractional.L2::evict_unchanged.b64 %0, %1;"
                   : "=l"(policy)
                   : "f"(fraction)));
  return policy;
}

}  // namespace ptx
}  // namespace hopper_gemm
