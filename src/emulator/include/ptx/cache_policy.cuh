// Emulated: the wrappers of ptx/cache_policy.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

HG_PTX_INLINE uint64_t createpolicy_fractional_evict_first(float fraction = 1.0f) {
  return static_cast<uint64_t>(fraction * 1000) << 8 | 1;
}

HG_PTX_INLINE uint64_t createpolicy_fractional_evict_last(float fraction = 1.0f) {
  return static_cast<uint64_t>(fraction * 1000) << 8 | 2;
}

HG_PTX_INLINE uint64_t createpolicy_fractional_evict_normal(float fraction = 1.0f) {
  return static_cast<uint64_t>(fraction * 1000) << 8 | 3;
}

HG_PTX_INLINE uint64_t createpolicy_fractional_evict_unchanged(float fraction = 1.0f) {
  return static_cast<uint64_t>(fraction * 1000) << 8 | 4;
}

}  // namespace ptx
}  // namespace hopper_gemm
