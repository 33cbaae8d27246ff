// Fences: between threads (fence.acq_rel), between proxies (fence.proxy), and for barrier initialization.
// README.md, "Proxies", says which one is needed when data passes from one proxy to another.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

/// fence.proxy.async — order this thread's generic accesses before its later async-proxy accesses, in every state space.
/// PTX ISA "Parallel Synchronization and Communication Instructions: membar / fence" #parallel-synchronization-and-communication-instructions-membar; ISA 8.0, sm_90.
/// Threads: any; it covers the executing thread's own accesses. Orders: generic proxy and async proxy, both ways. It is
/// no barrier: first each thread that wrote fences, then all synchronize, then one thread issues the copy.
HG_PTX_INLINE void fence_proxy_async() {
  HG_PTX_SM_90(fence_proxy_async, asm volatile("fence.proxy.async;" : : : "memory"));
}

/// fence.proxy.async.shared::cta — the same for this CTA's shared memory only: after ordinary stores, before TMA or wgmma reads.
/// PTX ISA "Parallel Synchronization and Communication Instructions: membar / fence" #parallel-synchronization-and-communication-instructions-membar; ISA 8.0, sm_90.
/// Threads: every thread that wrote, before the barrier that the issuing thread waits on. A common mistake is one
/// thread that fences for all after the barrier; most runs do not show it. Orders: generic and async proxy on
/// shared::cta.
HG_PTX_INLINE void fence_proxy_async_shared_cta() {
  HG_PTX_SM_90(fence_proxy_async_shared_cta, asm volatile("fence.proxy.async.shared::cta;" : : : "memory"));
}

/// fence.proxy.async.shared::cluster — the same for shared memory of all CTAs of the cluster.
/// PTX ISA "Parallel Synchronization and Communication Instructions: membar / fence" #parallel-synchronization-and-communication-instructions-membar; ISA 8.0, sm_90.
/// Threads: every thread that accessed a peer's shared memory. Orders: generic and async proxy on
/// shared::cluster.
HG_PTX_INLINE void fence_proxy_async_shared_cluster() {
  HG_PTX_SM_90(fence_proxy_async_shared_cluster, asm volatile("fence.proxy.async.shared::cluster;"
                                                              :
                                                              :
                                                              : "memory"));
}

/// fence.proxy.async.global — the same for global memory: after ordinary stores, before a bulk copy reads them.
/// PTX ISA "Parallel Synchronization and Communication Instructions: membar / fence" #parallel-synchronization-and-communication-instructions-membar; ISA 8.0, sm_90.
/// Threads: every thread that wrote. Orders: generic and async proxy on global memory. Data that an earlier kernel
/// wrote does not need it.
HG_PTX_INLINE void fence_proxy_async_global() {
  HG_PTX_SM_90(fence_proxy_async_global, asm volatile("fence.proxy.async.global;" : : : "memory"));
}

/// fence.mbarrier_init.release.cluster — make this thread's earlier mbarrier_init visible to the cluster and the async proxy.
/// PTX ISA "Parallel Synchronization and Communication Instructions: membar / fence" #parallel-synchronization-and-communication-instructions-membar; ISA 8.0, sm_90.
/// Threads: the one that initialized, after its last mbarrier_init. Orders: mbarrier.init only, release.cluster. It is
/// cheap because it does not cover ordinary stores. A barrier must still follow: __syncthreads(), or a cluster barrier
/// if peers arrive remotely.
HG_PTX_INLINE void fence_mbarrier_init_release_cluster() {
  HG_PTX_SM_90(fence_mbarrier_init_release_cluster, asm volatile("fence.mbarrier_init.release.cluster;"
                                                                 :
                                                                 :
                                                                 : "memory"));
}

/// fence.proxy.tensormap::generic.release.gpu — publish a tensor map that this thread wrote with ordinary stores.
/// PTX ISA "Parallel Synchronization and Communication Instructions: membar / fence" #parallel-synchronization-and-communication-instructions-membar; ISA 8.3, sm_90.
/// Threads: the writer of the map. Orders: generic to tensormap proxy, release.gpu. It is half of a pair: the reader
/// needs the acquire form. Maps passed as __grid_constant__ kernel parameters do not need it.
HG_PTX_INLINE void fence_proxy_tensormap_generic_release_gpu() {
  HG_PTX_SM_90(fence_proxy_tensormap_generic_release_gpu,
               asm volatile("fence.proxy.tensormap::generic.release.gpu;"
                            :
                            :
                            : "memory"));
}

/// fence.proxy.tensormap::generic.acquire.gpu — let later TMA instructions of this thread see a tensor map in global memory.
/// PTX ISA "Parallel Synchronization and Communication Instructions: membar / fence" #parallel-synchronization-and-communication-instructions-membar; ISA 8.3, sm_90.
/// tensor_map: generic address in global memory, 64-byte aligned; the fence covers its 128 bytes. Threads: each thread
/// that will issue TMA with the map. Orders: generic to tensormap proxy, acquire.gpu. A map that the host copied to
/// global memory needs it too, because cudaMemcpy does not update the descriptor cache.
HG_PTX_INLINE void fence_proxy_tensormap_generic_acquire_gpu(const void* tensor_map) {
  HG_PTX_SM_90(fence_proxy_tensormap_generic_acquire_gpu,
               asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;"
                            :
                            : "l"(tensor_map)
                            : "memory"));
}

/// fence.acq_rel.cta — order this thread's earlier accesses before its later ones, as seen by the CTA.
/// PTX ISA "Parallel Synchronization and Communication Instructions: membar / fence" #parallel-synchronization-and-communication-instructions-membar; ISA 6.0, sm_70.
/// Threads: any. Orders: generic proxy only, acq_rel.cta; it does not order TMA and wgmma.
HG_PTX_INLINE void fence_acq_rel_cta() { asm volatile("fence.acq_rel.cta;" : : : "memory"); }

/// fence.acq_rel.cluster — order this thread's earlier accesses before its later ones, as seen by the cluster.
/// PTX ISA "Parallel Synchronization and Communication Instructions: membar / fence" #parallel-synchronization-and-communication-instructions-membar; ISA 7.8, sm_90.
/// Threads: any. Orders: generic proxy only, acq_rel.cluster.
HG_PTX_INLINE void fence_acq_rel_cluster() {
  HG_PTX_SM_90(fence_acq_rel_cluster, asm volatile("fence.acq_rel.cluster;" : : : "memory"));
}

/// fence.acq_rel.gpu — order this thread's earlier accesses before its later ones, as seen by the whole GPU.
/// PTX ISA "Parallel Synchronization and Communication Instructions: membar / fence" #parallel-synchronization-and-communication-instructions-membar; ISA 6.0, sm_70.
/// Threads: any. Orders: generic proxy only, acq_rel.gpu. It is __threadfence() without sequential consistency.
HG_PTX_INLINE void fence_acq_rel_gpu() { asm volatile("fence.acq_rel.gpu;" : : : "memory"); }

}  // namespace ptx
}  // namespace hopper_gemm
