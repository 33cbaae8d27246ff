// Clusters: the cluster-wide barrier, addresses in a peer CTA's shared memory, and stores to it. Ranks are in
// special_registers.cuh.
#pragma once

#include <ptx/address.cuh>
#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

/// barrier.cluster.arrive.release — arrive at the cluster barrier without waiting.
/// PTX ISA "Parallel Synchronization and Communication Instructions: barrier.cluster" #parallel-synchronization-and-communication-instructions-barrier-cluster; ISA 8.0, sm_90.
/// Threads: every thread of every CTA of the cluster, once before each wait. An exited thread counts as arrived. No
/// convergence is needed, since this is not the .aligned form. Orders: release.cluster.
HG_PTX_INLINE void barrier_cluster_arrive() {
  HG_PTX_SM_90(barrier_cluster_arrive, asm volatile("barrier.cluster.arrive.release;" : : : "memory"));
}

/// barrier.cluster.arrive.relaxed — arrive at the cluster barrier without waiting and without publishing anything.
/// PTX ISA "Parallel Synchronization and Communication Instructions: barrier.cluster" #parallel-synchronization-and-communication-instructions-barrier-cluster; ISA 8.0, sm_90.
/// Threads: as barrier_cluster_arrive. Orders: nothing. That is enough after fence_mbarrier_init_release_cluster, and
/// where only "every peer got here" matters. It is not enough before exit if a relaxed arrival or a store of this
/// thread may still be on its way to a peer: a release must order it, or the peer must wait for it.
HG_PTX_INLINE void barrier_cluster_arrive_relaxed() {
  HG_PTX_SM_90(barrier_cluster_arrive_relaxed, asm volatile("barrier.cluster.arrive.relaxed;"
                                                            :
                                                            :
                                                            : "memory"));
}

/// barrier.cluster.wait.acquire — wait until all threads of the cluster have arrived.
/// PTX ISA "Parallel Synchronization and Communication Instructions: barrier.cluster" #parallel-synchronization-and-communication-instructions-barrier-cluster; ISA 8.0, sm_90.
/// Threads: every thread that arrived, once after each arrive; no convergence needed. Orders: acquire.cluster. If a
/// peer may still touch the shared memory or the barriers of a CTA, that CTA must pass this wait before it exits.
HG_PTX_INLINE void barrier_cluster_wait() {
  HG_PTX_SM_90(barrier_cluster_wait, asm volatile("barrier.cluster.wait.acquire;" : : : "memory"));
}

/// mapa.shared::cluster.u32 — the address of the same variable in the shared memory of CTA `cta_rank` of the cluster.
/// PTX ISA "Data Movement and Conversion Instructions: mapa" #data-movement-and-conversion-instructions-mapa; ISA 7.8, sm_90.
/// address: this CTA's; all CTAs of a cluster have the same layout. cta_rank: 0 to cluster_nctarank()-1 (not checked).
/// This is address arithmetic only and reads nothing. Threads: any. When a thread uses the address, the peer must have
/// started (use a cluster barrier) and must not have exited.
HG_PTX_INLINE ClusterAddr mapa(SmemAddr address, uint32_t cta_rank) {
  ClusterAddr result{0};
  HG_PTX_SM_90(mapa, asm("mapa.shared::cluster.u32 %0, %1, %2;"
                         : "=r"(result.value)
                         : "r"(address.value), "r"(cta_rank)));
  return result;
}

/// getctarank.shared::cluster.u32 — the rank of the CTA whose shared memory `address` lies in.
/// PTX ISA "Data Movement and Conversion Instructions: getctarank" #data-movement-and-conversion-instructions-getctarank; ISA 7.8, sm_90.
/// address: in the shared::cluster window. This is address arithmetic only. Threads: any.
HG_PTX_INLINE uint32_t getctarank(ClusterAddr address) {
  uint32_t cta_rank = 0;
  HG_PTX_SM_90(getctarank, asm("getctarank.shared::cluster.u32 %0, %1;"
                               : "=r"(cta_rank)
                               : "r"(address.value)));
  return cta_rank;
}

/// st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 — store 16 bytes in the shared memory of any CTA of the cluster and tell its mbarrier.
/// PTX ISA "Data Movement and Conversion Instructions: st.async" #data-movement-and-conversion-instructions-st-async; ISA 8.1, sm_90.
/// dst: from mapa, 16-byte aligned. bar: from mapa, 8-byte aligned, in the same CTA as dst. This store brings 16 of the
/// bytes that bar's phase waits for. Threads: any, no convergence needed; each stores its own values. Orders: nothing
/// at issue. A thread may read the bytes after it has waited on bar with mbarrier_try_wait_parity_cluster. No fence is
/// needed, whereas a release.cluster would cost MEMBAR.ALL.GPU. All earlier uses of dst must be over: if the peer reads
/// dst, it arrives on an mbarrier afterwards, and this thread waits for that arrival. The CTA that owns dst must run
/// until its own wait is over.
HG_PTX_INLINE void st_async(ClusterAddr dst, const float (&values)[4], ClusterAddr bar) {
  HG_PTX_SM_90(
      st_async,
      asm volatile(
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];"
          :
          : "r"(dst.value), "f"(values[0]), "f"(values[1]), "f"(values[2]), "f"(values[3]), "r"(bar.value)
          : "memory"));
}

}  // namespace ptx
}  // namespace hopper_gemm
