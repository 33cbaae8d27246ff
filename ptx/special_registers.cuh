// Special registers: where a thread is, and what time it is. Registers that never change are read by plain asm, so that
// the compiler may merge the reads. Registers that may change are read by volatile asm.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

/// mov.u32 %laneid — the thread's lane in its warp.
/// PTX ISA "Special Registers: %laneid" #special-registers-laneid; ISA 1.3, sm_20.
/// Returns 0 to 31. Threads: any. It never changes. Unlike threadIdx.x % 32, it does not depend on the block's shape.
HG_PTX_INLINE uint32_t laneid() {
  uint32_t value;
  asm("mov.u32 %0, %%laneid;" : "=r"(value));
  return value;
}

/// mov.u32 %warpid — the warp slot that the thread occupies at this moment.
/// PTX ISA "Special Registers: %warpid" #special-registers-warpid; ISA 1.3, sm_20.
/// Threads: any. It is not the warp's index in the CTA: the hardware assigns the slots, and may change them while the
/// kernel runs, so the read is volatile. For roles use threadIdx.x / 32 (through __shfl_sync, to make it uniform).
HG_PTX_INLINE uint32_t warpid() {
  uint32_t value;
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(value));
  return value;
}

/// mov.u32 %nwarpid — number of warp slots; warpid() is below it.
/// PTX ISA "Special Registers: %nwarpid" #special-registers-nwarpid; ISA 2.0, sm_20.
/// Threads: any. It is constant on a device, and says nothing about this CTA.
HG_PTX_INLINE uint32_t nwarpid() {
  uint32_t value;
  asm("mov.u32 %0, %%nwarpid;" : "=r"(value));
  return value;
}

/// mov.u32 %smid — the SM that the thread runs on at this moment.
/// PTX ISA "Special Registers: %smid" #special-registers-smid; ISA 1.3, sm_20.
/// Returns 0 to nsmid()-1. Threads: any. The read is volatile because preemption may move a CTA. Numbers need not be
/// contiguous, and neighbouring numbers need not share a TPC or GPC.
HG_PTX_INLINE uint32_t smid() {
  uint32_t value;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(value));
  return value;
}

/// mov.u32 %nsmid — upper bound of SM identifiers.
/// PTX ISA "Special Registers: %nsmid" #special-registers-nsmid; ISA 2.0, sm_20.
/// Threads: any. It may exceed the number of SMs, so take the size of a grid from the host's device properties.
HG_PTX_INLINE uint32_t nsmid() {
  uint32_t value;
  asm("mov.u32 %0, %%nsmid;" : "=r"(value));
  return value;
}

/// mov.u64 %clock64 — the SM's cycle counter.
/// PTX ISA "Special Registers: %clock64" #special-registers-clock64; ISA 2.0, sm_20.
/// Returns cycles. Threads: any. The counters of two SMs are unrelated. The asm is volatile, yet instructions that are
/// neither volatile nor memory accesses may still move across it, so check the SASS of what you time. Orders: nothing
/// in hardware.
HG_PTX_INLINE uint64_t clock64() {
  uint64_t value;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(value) : : "memory");
  return value;
}

/// mov.u64 %globaltimer — the GPU-wide timer.
/// PTX ISA "Special Registers: %globaltimer, %globaltimer_lo, %globaltimer_hi" #special-registers-globaltimer; ISA 3.1, sm_30.
/// Returns nanoseconds, the same for all SMs. Threads: any. Its resolution differs from device to device, from 32 ns to
/// about 1 us, so measure it before you trust short intervals. Orders: nothing.
HG_PTX_INLINE uint64_t globaltimer() {
  uint64_t value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value) : : "memory");
  return value;
}

/// mov.u32 %dynamic_smem_size — dynamic shared memory of this launch.
/// PTX ISA "Special Registers: %dynamic_smem_size" #special-registers-dynamic-smem-size; ISA 4.1, sm_20.
/// Returns the bytes that the launch asked for. Threads: any. Use it to check the host's arithmetic.
HG_PTX_INLINE uint32_t dynamic_smem_size() {
  uint32_t value;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(value));
  return value;
}

/// mov.u32 %total_smem_size — shared memory of this CTA, static and dynamic.
/// PTX ISA "Special Registers: %total_smem_size" #special-registers-total-smem-size; ISA 4.1, sm_20.
/// Returns bytes, rounded up to the allocation unit, without the bytes that the system reserves. Threads: any.
HG_PTX_INLINE uint32_t total_smem_size() {
  uint32_t value;
  asm("mov.u32 %0, %%total_smem_size;" : "=r"(value));
  return value;
}

/// mov.u32 %clusterid.x — the cluster's index in the grid, dimension x.
/// PTX ISA "Special Registers: %clusterid" #special-registers-clusterid; ISA 7.8, sm_90.
/// Returns 0 to nclusterid_x()-1. blockIdx.x = clusterid_x() * cluster_nctaid_x() + cluster_ctaid_x().
/// Threads: any; equal in all threads of the CTA.
HG_PTX_INLINE uint32_t clusterid_x() {
  uint32_t value = 0;
  HG_PTX_SM_90(clusterid_x, asm("mov.u32 %0, %%clusterid.x;" : "=r"(value)));
  return value;
}

/// mov.u32 %clusterid.y — the cluster's index in the grid, dimension y.
/// PTX ISA "Special Registers: %clusterid" #special-registers-clusterid; ISA 7.8, sm_90.
/// Returns 0 to nclusterid_y()-1. blockIdx.y = clusterid_y() * cluster_nctaid_y() + cluster_ctaid_y().
/// Threads: any; equal in all threads of the CTA.
HG_PTX_INLINE uint32_t clusterid_y() {
  uint32_t value = 0;
  HG_PTX_SM_90(clusterid_y, asm("mov.u32 %0, %%clusterid.y;" : "=r"(value)));
  return value;
}

/// mov.u32 %clusterid.z — the cluster's index in the grid, dimension z.
/// PTX ISA "Special Registers: %clusterid" #special-registers-clusterid; ISA 7.8, sm_90.
/// Returns 0 to nclusterid_z()-1. blockIdx.z = clusterid_z() * cluster_nctaid_z() + cluster_ctaid_z().
/// Threads: any; equal in all threads of the CTA.
HG_PTX_INLINE uint32_t clusterid_z() {
  uint32_t value = 0;
  HG_PTX_SM_90(clusterid_z, asm("mov.u32 %0, %%clusterid.z;" : "=r"(value)));
  return value;
}

/// mov.u32 %nclusterid.x — number of clusters in the grid, dimension x.
/// PTX ISA "Special Registers: %nclusterid" #special-registers-nclusterid; ISA 7.8, sm_90.
/// Returns at least 1. Threads: any; equal in all threads of the CTA.
HG_PTX_INLINE uint32_t nclusterid_x() {
  uint32_t value = 0;
  HG_PTX_SM_90(nclusterid_x, asm("mov.u32 %0, %%nclusterid.x;" : "=r"(value)));
  return value;
}

/// mov.u32 %nclusterid.y — number of clusters in the grid, dimension y.
/// PTX ISA "Special Registers: %nclusterid" #special-registers-nclusterid; ISA 7.8, sm_90.
/// Returns at least 1. Threads: any; equal in all threads of the CTA.
HG_PTX_INLINE uint32_t nclusterid_y() {
  uint32_t value = 0;
  HG_PTX_SM_90(nclusterid_y, asm("mov.u32 %0, %%nclusterid.y;" : "=r"(value)));
  return value;
}

/// mov.u32 %nclusterid.z — number of clusters in the grid, dimension z.
/// PTX ISA "Special Registers: %nclusterid" #special-registers-nclusterid; ISA 7.8, sm_90.
/// Returns at least 1. Threads: any; equal in all threads of the CTA.
HG_PTX_INLINE uint32_t nclusterid_z() {
  uint32_t value = 0;
  HG_PTX_SM_90(nclusterid_z, asm("mov.u32 %0, %%nclusterid.z;" : "=r"(value)));
  return value;
}

/// mov.u32 %cluster_ctaid.x — the CTA's index in its cluster, dimension x.
/// PTX ISA "Special Registers: %cluster_ctaid" #special-registers-cluster-ctaid; ISA 7.8, sm_90.
/// Returns 0 to cluster_nctaid_x()-1, and 0 without clusters. Threads: any; equal in all threads of the CTA.
HG_PTX_INLINE uint32_t cluster_ctaid_x() {
  uint32_t value = 0;
  HG_PTX_SM_90(cluster_ctaid_x, asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(value)));
  return value;
}

/// mov.u32 %cluster_ctaid.y — the CTA's index in its cluster, dimension y.
/// PTX ISA "Special Registers: %cluster_ctaid" #special-registers-cluster-ctaid; ISA 7.8, sm_90.
/// Returns 0 to cluster_nctaid_y()-1, and 0 without clusters. Threads: any; equal in all threads of the CTA.
HG_PTX_INLINE uint32_t cluster_ctaid_y() {
  uint32_t value = 0;
  HG_PTX_SM_90(cluster_ctaid_y, asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(value)));
  return value;
}

/// mov.u32 %cluster_ctaid.z — the CTA's index in its cluster, dimension z.
/// PTX ISA "Special Registers: %cluster_ctaid" #special-registers-cluster-ctaid; ISA 7.8, sm_90.
/// Returns 0 to cluster_nctaid_z()-1, and 0 without clusters. Threads: any; equal in all threads of the CTA.
HG_PTX_INLINE uint32_t cluster_ctaid_z() {
  uint32_t value = 0;
  HG_PTX_SM_90(cluster_ctaid_z, asm("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(value)));
  return value;
}

/// mov.u32 %cluster_nctaid.x — number of CTAs in a cluster, dimension x.
/// PTX ISA "Special Registers: %cluster_nctaid" #special-registers-cluster-nctaid; ISA 7.8, sm_90.
/// Returns 1 without clusters. Threads: any; equal in all threads of the CTA.
HG_PTX_INLINE uint32_t cluster_nctaid_x() {
  uint32_t value = 0;
  HG_PTX_SM_90(cluster_nctaid_x, asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(value)));
  return value;
}

/// mov.u32 %cluster_nctaid.y — number of CTAs in a cluster, dimension y.
/// PTX ISA "Special Registers: %cluster_nctaid" #special-registers-cluster-nctaid; ISA 7.8, sm_90.
/// Returns 1 without clusters. Threads: any; equal in all threads of the CTA.
HG_PTX_INLINE uint32_t cluster_nctaid_y() {
  uint32_t value = 0;
  HG_PTX_SM_90(cluster_nctaid_y, asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(value)));
  return value;
}

/// mov.u32 %cluster_nctaid.z — number of CTAs in a cluster, dimension z.
/// PTX ISA "Special Registers: %cluster_nctaid" #special-registers-cluster-nctaid; ISA 7.8, sm_90.
/// Returns 1 without clusters. Threads: any; equal in all threads of the CTA.
HG_PTX_INLINE uint32_t cluster_nctaid_z() {
  uint32_t value = 0;
  HG_PTX_SM_90(cluster_nctaid_z, asm("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(value)));
  return value;
}

/// mov.u32 %cluster_ctarank — the CTA's rank in its cluster, with all dimensions flattened.
/// PTX ISA "Special Registers: %cluster_ctarank" #special-registers-cluster-ctarank; ISA 7.8, sm_90.
/// Returns 0 to cluster_nctarank()-1, with x fastest. mapa and the multicast mask take this rank. Threads: any; equal
/// in all threads of the CTA.
HG_PTX_INLINE uint32_t cluster_ctarank() {
  uint32_t value = 0;
  HG_PTX_SM_90(cluster_ctarank, asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(value)));
  return value;
}

/// mov.u32 %cluster_nctarank — number of CTAs in the cluster.
/// PTX ISA "Special Registers: %cluster_nctarank" #special-registers-cluster-nctarank; ISA 7.8, sm_90.
/// Returns 1 without clusters. Threads: any.
HG_PTX_INLINE uint32_t cluster_nctarank() {
  uint32_t value = 0;
  HG_PTX_SM_90(cluster_nctarank, asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(value)));
  return value;
}

}  // namespace ptx
}  // namespace hopper_gemm
