// Emulated: the wrappers of ptx/fence.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

HG_PTX_INLINE void fence_proxy_async() { emulator::fence_proxy_async(true, true); }

HG_PTX_INLINE void fence_proxy_async_shared_cta() { emulator::fence_proxy_async(true, false); }

HG_PTX_INLINE void fence_proxy_async_shared_cluster() { emulator::fence_proxy_async(true, false); }

HG_PTX_INLINE void fence_proxy_async_global() { emulator::fence_proxy_async(false, true); }

HG_PTX_INLINE void fence_mbarrier_init_release_cluster() { emulator::fence_mbarrier_init(); }

// A copy reads its tensor map when it is issued, so no stale map can be used.
HG_PTX_INLINE void fence_proxy_tensormap_generic_release_gpu() {}

HG_PTX_INLINE void fence_proxy_tensormap_generic_acquire_gpu(const void* tensor_map) {
  emulator::check_tensor_map(tensor_map);
}

// The relaxed operations of ptx/ are those of a cluster's barriers and of flags of the GPU. This one orders neither.
HG_PTX_INLINE void fence_acq_rel_cta() {}

HG_PTX_INLINE void fence_acq_rel_cluster() { emulator::fence_acq_rel(false); }

HG_PTX_INLINE void fence_acq_rel_gpu() { emulator::fence_acq_rel(true); }

}  // namespace ptx
}  // namespace hopper_gemm
