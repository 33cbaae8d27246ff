// mbarrier: the 8-byte barrier in shared memory that counts arrivals of threads and bytes of asynchronous copies. A
// phase completes when both the pending arrivals and the pending bytes (tx-count) are zero. The next phase then begins
// with the full arrival count. "Phase and parity" in README.md says why a wait on a fresh barrier may return at once.
#pragma once

#include <ptx/address.cuh>
#include <ptx/common.cuh>

// Relaxed mbarrier operations came with PTX ISA 8.6 in CUDA 12.7.
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1207
#define HG_PTX_MBARRIER_RELAXED_CLUSTER(older) ".relaxed.cluster"
#else
#define HG_PTX_MBARRIER_RELAXED_CLUSTER(older) older
#endif

namespace hopper_gemm {
namespace ptx {

/// mbarrier.init.shared::cta.b64 — make an mbarrier that expects `count` arrivals in each phase; phase 0 is then in progress.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.init" #parallel-synchronization-and-communication-instructions-mbarrier-init; ISA 7.8, sm_80.
/// bar: 8-byte aligned, 8 bytes. count: arrivals, 1 to 2^20-1; bytes are not part of it. Threads: one thread, once.
/// Orders: nothing. Other threads see the barrier after __syncthreads(). TMA and peer CTAs see it only after this
/// thread's fence_mbarrier_init_release_cluster() and then the CTA or cluster barrier. Initializing a live barrier is
/// undefined: call mbarrier_inval first.
HG_PTX_INLINE void mbarrier_init(SmemAddr bar, uint32_t count) {
  HG_PTX_SM_80(mbarrier_init, asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                                           :
                                           : "r"(bar.value), "r"(count)
                                           : "memory"));
}

/// mbarrier.inval.shared::cta.b64 — end the life of an mbarrier, so that its 8 bytes may hold something else.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.inval" #parallel-synchronization-and-communication-instructions-mbarrier-inval; ISA 7.8, sm_80.
/// bar: 8-byte aligned, initialized. Threads: one thread, when no thread or copy can still touch it. Orders: nothing.
/// It is needed before the bytes are reused or initialized again, but not at kernel exit.
HG_PTX_INLINE void mbarrier_inval(SmemAddr bar) {
  HG_PTX_SM_80(mbarrier_inval, asm volatile("mbarrier.inval.shared::cta.b64 [%0];"
                                            :
                                            : "r"(bar.value)
                                            : "memory"));
}

/// mbarrier.arrive.shared::cta.b64 — arrive once: pending arrivals of the current phase go down by 1.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.arrive" #parallel-synchronization-and-communication-instructions-mbarrier-arrive; ISA 7.8, sm_80.
/// bar: 8-byte aligned, this CTA's. Returns the opaque state of the phase arrived on, for mbarrier_test_wait; a wait by
/// parity does not need it. Threads: any, no convergence needed. Every executing thread counts, so either one elected
/// lane arrives, or the barrier counts 32 for a warp. Orders: release.cta, of this thread's accesses only; before a
/// lane arrives for its warp, the warp needs __syncwarp(). More arrivals in one phase than the count are undefined.
HG_PTX_INLINE uint64_t mbarrier_arrive(SmemAddr bar) {
  uint64_t state = 0;
  HG_PTX_SM_80(mbarrier_arrive, asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];"
                                             : "=l"(state)
                                             : "r"(bar.value)
                                             : "memory"));
  return state;
}

/// mbarrier.arrive.shared::cta.b64 (count) — arrive `count` times at once.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.arrive" #parallel-synchronization-and-communication-instructions-mbarrier-arrive; ISA 7.8, sm_90.
/// bar: 8-byte aligned, this CTA's. count: arrivals, at least 1 and at most the pending ones. Returns the phase's
/// state. Threads: any, no convergence needed. Orders: release.cta, of this thread's accesses only.
HG_PTX_INLINE uint64_t mbarrier_arrive(SmemAddr bar, uint32_t count) {
  uint64_t state = 0;
  HG_PTX_SM_90(mbarrier_arrive_count, asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;"
                                                   : "=l"(state)
                                                   : "r"(bar.value), "r"(count)
                                                   : "memory"));
  return state;
}

/// mbarrier.arrive.release.cluster.shared::cluster.b64 — arrive once on a barrier of any CTA of the cluster.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.arrive" #parallel-synchronization-and-communication-instructions-mbarrier-arrive; ISA 8.0, sm_90.
/// bar: from mapa, 8-byte aligned. A remote barrier returns no state. Threads: any, no convergence needed. Orders:
/// release.cluster; the waiting thread uses mbarrier_try_wait_parity_cluster. The owning CTA must still be running, and
/// its mbarrier_init must be visible here. Both take a cluster barrier: one after initialization, and one before any
/// CTA exits.
HG_PTX_INLINE void mbarrier_arrive_cluster(ClusterAddr bar) {
  HG_PTX_SM_90(mbarrier_arrive_cluster,
               asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"
                            :
                            : "r"(bar.value)
                            : "memory"));
}

/// mbarrier.arrive.release.cluster.shared::cluster.b64 (count) — arrive `count` times on a barrier of any CTA of the cluster.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.arrive" #parallel-synchronization-and-communication-instructions-mbarrier-arrive; ISA 8.0, sm_90.
/// bar: from mapa, 8-byte aligned. count: arrivals, at least 1. Threads: any, no convergence needed. Orders:
/// release.cluster. The owning CTA must still be running.
HG_PTX_INLINE void mbarrier_arrive_cluster(ClusterAddr bar, uint32_t count) {
  HG_PTX_SM_90(mbarrier_arrive_cluster_count,
               asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], %1;"
                            :
                            : "r"(bar.value), "r"(count)
                            : "memory"));
}

/// mbarrier.arrive.relaxed.cluster.shared::cluster.b64 — arrive once on a barrier of any CTA of the cluster, publishing nothing.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.arrive" #parallel-synchronization-and-communication-instructions-mbarrier-arrive; ISA 8.6, sm_90.
/// bar: from mapa, 8-byte aligned. Threads: any, no convergence needed. Orders: nothing. That is enough to hand back a
/// stage that wgmma or a TMA store has read: after wgmma_wait_group or cp_async_bulk_wait_group_read those reads are
/// over, not merely ordered. Use it wherever no release is needed: release.cluster costs MEMBAR.ALL.GPU, which slows
/// the main loop of a GEMM considerably. .relaxed needs ISA 8.6 (CUDA 12.7). Before that, the wrapper emits
/// .release.cta, which is the same machine instruction.
HG_PTX_INLINE void mbarrier_arrive_relaxed_cluster(ClusterAddr bar) {
  HG_PTX_SM_90(mbarrier_arrive_relaxed_cluster,
               asm volatile("mbarrier.arrive" HG_PTX_MBARRIER_RELAXED_CLUSTER(
                                ".release.cta") ".shared::cluster.b64 _, [%0];"
                            :
                            : "r"(bar.value)
                            : "memory"));
}

/// mbarrier.arrive.expect_tx.shared::cta.b64 — announce `tx_bytes` more bytes for this phase, then arrive once.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.arrive" #parallel-synchronization-and-communication-instructions-mbarrier-arrive; ISA 8.0, sm_90.
/// bar: 8-byte aligned, this CTA's. tx_bytes: bytes, up to 2^20-1 pending. It also arrives: a barrier that one producer
/// thread feeds has count 1 and needs no other arrive. Call it before or after issuing the copies, but in the phase in
/// which they complete. Under multicast, every receiving CTA announces all bytes that land in its own shared memory.
/// Threads: any, usually one elected. Orders: release.cta.
HG_PTX_INLINE uint64_t mbarrier_arrive_expect_tx(SmemAddr bar, uint32_t tx_bytes) {
  uint64_t state = 0;
  HG_PTX_SM_90(mbarrier_arrive_expect_tx,
               asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;"
                            : "=l"(state)
                            : "r"(bar.value), "r"(tx_bytes)
                            : "memory"));
  return state;
}

/// mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 — the same on a barrier of any CTA of the cluster.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.arrive" #parallel-synchronization-and-communication-instructions-mbarrier-arrive; ISA 8.0, sm_90.
/// bar: from mapa, 8-byte aligned. tx_bytes: bytes. Threads: any. Orders: release.cluster. The owning CTA
/// must be running.
HG_PTX_INLINE void mbarrier_arrive_expect_tx_cluster(ClusterAddr bar, uint32_t tx_bytes) {
  HG_PTX_SM_90(mbarrier_arrive_expect_tx_cluster,
               asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;"
                            :
                            : "r"(bar.value), "r"(tx_bytes)
                            : "memory"));
}

/// mbarrier.expect_tx.relaxed.cta.shared::cta.b64 — announce `tx_bytes` more bytes for this phase, without arriving.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.expect_tx" #parallel-synchronization-and-communication-instructions-mbarrier-expect-tx; ISA 8.0, sm_90.
/// bar: 8-byte aligned, this CTA's. tx_bytes: bytes. Threads: any. Orders: nothing (relaxed). An arrival that is still
/// to come must keep the phase from ending, or the phase may complete between this instruction and the copy.
HG_PTX_INLINE void mbarrier_expect_tx(SmemAddr bar, uint32_t tx_bytes) {
  HG_PTX_SM_90(mbarrier_expect_tx, asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                                                :
                                                : "r"(bar.value), "r"(tx_bytes)
                                                : "memory"));
}

/// mbarrier.test_wait.shared::cta.b64 — test, without suspending, whether the phase named by `state` has completed.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.test_wait / mbarrier.try_wait" #parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait; ISA 7.8, sm_80.
/// bar: 8-byte aligned, this CTA's. state: from an arrive on the current phase or the one just before it. Threads: any,
/// no convergence needed. Orders: acquire.cta on success, nothing on failure.
HG_PTX_INLINE bool mbarrier_test_wait(SmemAddr bar, uint64_t state) {
  uint32_t complete = 0;
  HG_PTX_SM_80(mbarrier_test_wait, asm volatile("{\n"
                                                ".reg .pred p;\n"
                                                "mbarrier.test_wait.shared::cta.b64 p, [%1], %2;\n"
                                                "selp.b32 %0, 1, 0, p;\n"
                                                "}\n"
                                                : "=r"(complete)
                                                : "r"(bar.value), "l"(state)
                                                : "memory"));
  return complete != 0;
}

/// mbarrier.test_wait.parity.shared::cta.b64 — test, without suspending, whether the phase of this parity has completed.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.test_wait / mbarrier.try_wait" #parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait; ISA 7.8, sm_80.
/// bar: 8-byte aligned, this CTA's. parity: 0 or 1, that of the phase waited for. The result is true if the phase in
/// progress has the other parity, so a fresh barrier gives true for parity 1. Threads: any. Orders: acquire.cta on
/// success.
HG_PTX_INLINE bool mbarrier_test_wait_parity(SmemAddr bar, uint32_t parity) {
  uint32_t complete = 0;
  HG_PTX_SM_80(mbarrier_test_wait_parity,
               asm volatile("{\n"
                            ".reg .pred p;\n"
                            "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                            "selp.b32 %0, 1, 0, p;\n"
                            "}\n"
                            : "=r"(complete)
                            : "r"(bar.value), "r"(parity)
                            : "memory"));
  return complete != 0;
}

/// mbarrier.try_wait.shared::cta.b64 — test whether the phase named by `state` has completed; may suspend up to a time limit.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.test_wait / mbarrier.try_wait" #parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait; ISA 7.8, sm_90.
/// bar: 8-byte aligned, this CTA's. state: from an arrive on the current phase or the one just before it. Threads: any,
/// no convergence needed. Orders: acquire.cta on success, nothing on failure.
HG_PTX_INLINE bool mbarrier_try_wait(SmemAddr bar, uint64_t state) {
  uint32_t complete = 0;
  HG_PTX_SM_90(mbarrier_try_wait, asm volatile("{\n"
                                               ".reg .pred p;\n"
                                               "mbarrier.try_wait.shared::cta.b64 p, [%1], %2;\n"
                                               "selp.b32 %0, 1, 0, p;\n"
                                               "}\n"
                                               : "=r"(complete)
                                               : "r"(bar.value), "l"(state)
                                               : "memory"));
  return complete != 0;
}

/// mbarrier.try_wait.parity.shared::cta.b64 — test whether the phase of this parity has completed; may suspend up to a time limit.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.test_wait / mbarrier.try_wait" #parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait; ISA 7.8, sm_90.
/// bar: 8-byte aligned, this CTA's. parity: 0 or 1. False is no error: loop until the result is true. One bit names the
/// phase, so a waiter may be at most one phase behind. A waiter that is two phases behind reads "not complete" and
/// hangs. Threads: any, no convergence needed. Orders: acquire.cta on success. The bytes of bulk copies that complete
/// here may then be read with no further fence.
HG_PTX_INLINE bool mbarrier_try_wait_parity(SmemAddr bar, uint32_t parity) {
  uint32_t complete = 0;
  HG_PTX_SM_90(mbarrier_try_wait_parity,
               asm volatile("{\n"
                            ".reg .pred p;\n"
                            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                            "selp.b32 %0, 1, 0, p;\n"
                            "}\n"
                            : "=r"(complete)
                            : "r"(bar.value), "r"(parity)
                            : "memory"));
  return complete != 0;
}

/// mbarrier.try_wait.parity.shared::cta.b64 (suspend-time hint) — the same, with the longest time to suspend as an argument.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.test_wait / mbarrier.try_wait" #parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait; ISA 7.8, sm_90.
/// bar: 8-byte aligned, this CTA's. parity: 0 or 1. suspend_time_hint_ns: nanoseconds, a hint that replaces the
/// system's limit. Threads: any, no convergence needed. Orders: acquire.cta on success.
HG_PTX_INLINE bool mbarrier_try_wait_parity(SmemAddr bar, uint32_t parity, uint32_t suspend_time_hint_ns) {
  uint32_t complete = 0;
  HG_PTX_SM_90(mbarrier_try_wait_parity_hint,
               asm volatile("{\n"
                            ".reg .pred p;\n"
                            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, %3;\n"
                            "selp.b32 %0, 1, 0, p;\n"
                            "}\n"
                            : "=r"(complete)
                            : "r"(bar.value), "r"(parity), "r"(suspend_time_hint_ns)
                            : "memory"));
  return complete != 0;
}

/// mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 — the wait for phases that peer CTAs arrive on.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.test_wait / mbarrier.try_wait" #parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait; ISA 8.0, sm_90.
/// bar: 8-byte aligned, this CTA's own; nobody can wait on a peer's barrier. parity: 0 or 1. Threads: any, no
/// convergence needed. Orders: acquire.cluster on success. What the peers accessed before their mbarrier_arrive_cluster
/// is then visible. A wait with the default scope, .cta, would not synchronize with those arrivals.
HG_PTX_INLINE bool mbarrier_try_wait_parity_cluster(SmemAddr bar, uint32_t parity) {
  uint32_t complete = 0;
  HG_PTX_SM_90(mbarrier_try_wait_parity_cluster,
               asm volatile("{\n"
                            ".reg .pred p;\n"
                            "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
                            "selp.b32 %0, 1, 0, p;\n"
                            "}\n"
                            : "=r"(complete)
                            : "r"(bar.value), "r"(parity)
                            : "memory"));
  return complete != 0;
}

/// mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 — the same wait, which acquires nothing.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.test_wait / mbarrier.try_wait" #parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait; ISA 8.6, sm_90.
/// bar, parity: as above. Threads: any, no convergence needed. Orders: nothing. Use it in a producer that reads nothing
/// of what the arriving threads wrote, and only starts a TMA copy into what they have finished reading: acquire.cluster
/// costs CCTL.IVALL, which empties the L1 cache. .relaxed needs ISA 8.6 (CUDA 12.7). Before that, the wrapper emits
/// .acquire.cta, which is the same machine instruction.
HG_PTX_INLINE bool mbarrier_try_wait_parity_relaxed_cluster(SmemAddr bar, uint32_t parity) {
  uint32_t complete = 0;
  HG_PTX_SM_90(mbarrier_try_wait_parity_relaxed_cluster,
               asm volatile("{\n"
                            ".reg .pred p;\n"
                            "mbarrier.try_wait.parity" HG_PTX_MBARRIER_RELAXED_CLUSTER(
                                ".acquire.cta") ".shared::cta.b64 p, [%1], %2;\n"
                                                "selp.b32 %0, 1, 0, p;\n"
                                                "}\n"
                            : "=r"(complete)
                            : "r"(bar.value), "r"(parity)
                            : "memory"));
  return complete != 0;
}

/// mbarrier.pending_count.b64 — read from a state that an arrive returned how many arrivals are still pending.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.pending_count" #parallel-synchronization-and-communication-instructions-mbarrier-pending-count; ISA 7.0, sm_80.
/// state: from an arrive. The count is the one just before this arrive took effect. The instruction touches no memory.
/// Threads: any.
HG_PTX_INLINE uint32_t mbarrier_pending_count(uint64_t state) {
  uint32_t count = 0;
  HG_PTX_SM_80(mbarrier_pending_count, asm("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state)));
  return count;
}

}  // namespace ptx
}  // namespace hopper_gemm

#undef HG_PTX_MBARRIER_RELAXED_CLUSTER
