// mbarrier: the 8-byte barrier in shared memory that counts arrivals of threads and bytes of asynchronous
// copies. A phase completes when both the pending arrivals and the pending bytes (tx-count) are zero; the
// next phase then begins with the full arrival count. See "Phase and parity" in README.md for the wait that
// does not wait.
#pragma once

#include <ptx/address.cuh>
#include <ptx/common.cuh>

// Relaxed mbarrier operations came with PTX ISA 8.6, which CUDA 12.7 brought.
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1207
#define HG_PTX_MBARRIER_RELAXED_CLUSTER(older) ".relaxed.cluster"
#else
#define HG_PTX_MBARRIER_RELAXED_CLUSTER(older) older
#endif

namespace hopper_gemm {
namespace ptx {

/// mbarrier.init.shared::cta.b64 — make an mbarrier that expects `count` arrivals a phase; phase 0 is then in progress.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.init" #parallel-synchronization-and-communication-instructions-mbarrier-init; ISA 7.8, sm_80.
/// bar: 8-byte aligned, 8 bytes. count: arrivals, 1 to 2^20-1; bytes are not part of it. Threads: one thread,
/// once. Orders: nothing. Other threads see it after __syncthreads(); TMA and peer CTAs only after
/// fence_mbarrier_init_release_cluster() by this thread and then the CTA or cluster barrier. Initializing a
/// live barrier is undefined: mbarrier_inval it first.
HG_PTX_INLINE void mbarrier_init(SmemAddr bar, uint32_t count) {
  HG_PTX_SM_80(mbarrier_init, asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                                           :
                                           : "r"(bar.value), "r"(count)
                                           : "memory"));
}

/// mbarrier.inval.shared::cta.b64 — end the life of an mbarrier, so that its 8 bytes may hold something else.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.inval" #parallel-synchronization-and-communication-instructions-mbarrier-inval; ISA 7.8, sm_80.
/// bar: 8-byte aligned, initialized. Threads: one thread, when no thread or copy can still touch it. Orders:
/// nothing. Not needed at kernel exit; needed before the bytes are reused or initialized again.
HG_PTX_INLINE void mbarrier_inval(SmemAddr bar) {
  HG_PTX_SM_80(mbarrier_inval, asm volatile("mbarrier.inval.shared::cta.b64 [%0];"
                                            :
                                            : "r"(bar.value)
                                            : "memory"));
}

/// mbarrier.arrive.shared::cta.b64 — arrive once: pending arrivals of the current phase go down by 1.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.arrive" #parallel-synchronization-and-communication-instructions-mbarrier-arrive; ISA 7.8, sm_80.
/// bar: 8-byte aligned, this CTA's. Returns the opaque state of the phase arrived on, for mbarrier_test_wait;
/// parity waiters ignore it. Threads: any, no convergence needed; every executing thread counts, so one
/// elected lane or a count of 32 a warp. Orders: release.cta. It releases this thread's accesses only: a lane
/// that arrives for its warp needs __syncwarp() first. More arrivals than the count in one phase is
/// undefined.
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
/// bar: 8-byte aligned, this CTA's. count: arrivals, at least 1 and at most what is pending. Returns the
/// phase's state. Threads: any, no convergence needed. Orders: release.cta, of this thread's accesses only.
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
/// bar: from mapa, 8-byte aligned. No state comes back from a remote barrier. Threads: any, no convergence
/// needed. Orders: release.cluster; pair it with mbarrier_try_wait_parity_cluster. The owning CTA must still
/// be running, and its mbarrier_init must be visible here: a cluster barrier after initialization, and one
/// before any CTA exits.
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
/// bar: from mapa, 8-byte aligned. Threads: any, no convergence needed. Orders: nothing, which is enough to hand back
/// a stage that wgmma or a TMA store has read: after wgmma_wait_group or cp_async_bulk_wait_group_read those reads are
/// over, not merely ordered. Where a release is not needed this is worth much: release.cluster costs MEMBAR.ALL.GPU,
/// which in the main loop of a GEMM takes a good part of its speed.
/// .relaxed needs ISA 8.6 (CUDA 12.7); before that .release.cta is emitted, the same machine instruction.
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
/// bar: 8-byte aligned, this CTA's. tx_bytes: bytes, up to 2^20-1 pending. It does arrive: a barrier fed by
/// one producer thread has count 1 and needs no further arrive. Call it before or after issuing the copies,
/// but in the phase they complete in. Under multicast every receiving CTA announces all bytes that land in
/// its own shared memory. Threads: any, usually one elected. Orders: release.cta.
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
/// bar: 8-byte aligned, this CTA's. tx_bytes: bytes. Threads: any. Orders: nothing (relaxed). The phase must
/// be held open by an arrival that is still to come, or it may complete between this and the copy.
HG_PTX_INLINE void mbarrier_expect_tx(SmemAddr bar, uint32_t tx_bytes) {
  HG_PTX_SM_90(mbarrier_expect_tx, asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                                                :
                                                : "r"(bar.value), "r"(tx_bytes)
                                                : "memory"));
}

/// mbarrier.test_wait.shared::cta.b64 — test, without suspending, whether the phase named by `state` completed.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.test_wait / mbarrier.try_wait" #parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait; ISA 7.8, sm_80.
/// bar: 8-byte aligned, this CTA's. state: from an arrive on the current or the phase just before it.
/// Threads: any, no convergence needed. Orders: acquire.cta on success, nothing on failure.
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

/// mbarrier.test_wait.parity.shared::cta.b64 — test, without suspending, whether the phase of this parity completed.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.test_wait / mbarrier.try_wait" #parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait; ISA 7.8, sm_80.
/// bar: 8-byte aligned, this CTA's. parity: 0 or 1, of the phase waited for. True means "the phase in
/// progress has the other parity", so parity 1 is true on a fresh barrier. Threads: any. Orders: acquire.cta
/// on success.
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

/// mbarrier.try_wait.shared::cta.b64 — test whether the phase named by `state` completed; may suspend up to a time limit.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.test_wait / mbarrier.try_wait" #parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait; ISA 7.8, sm_90.
/// bar: 8-byte aligned, this CTA's. state: from an arrive on the current or the phase just before it.
/// Threads: any, no convergence needed. Orders: acquire.cta on success, nothing on failure.
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

/// mbarrier.try_wait.parity.shared::cta.b64 — test whether phase `parity` completed; may suspend up to a time limit.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.test_wait / mbarrier.try_wait" #parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait; ISA 7.8, sm_90.
/// bar: 8-byte aligned, this CTA's. parity: 0 or 1. False is no error: loop until true. One bit names the
/// phase, so a waiter may be at most one phase behind: two behind reads as "not complete" and hangs. Threads:
/// any, no convergence needed. Orders: acquire.cta on success; bytes that bulk copies announced here are then
/// readable with no further fence.
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

/// mbarrier.try_wait.parity.shared::cta.b64 (suspend-time hint) — the same with the longest suspension asked for.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.test_wait / mbarrier.try_wait" #parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait; ISA 7.8, sm_90.
/// bar: 8-byte aligned, this CTA's. parity: 0 or 1. suspend_time_hint_ns: nanoseconds, a hint in place of the
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
/// bar: 8-byte aligned; only this CTA's own barrier can be waited on, never a peer's. parity: 0 or 1.
/// Threads: any, no convergence needed. Orders: acquire.cluster on success: the peers' accesses before their
/// mbarrier_arrive_cluster are visible. With the default .cta scope that pairing is not a synchronization.
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

/// mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 — the same wait, acquiring nothing.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.test_wait / mbarrier.try_wait" #parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait; ISA 8.6, sm_90.
/// bar, parity: as above. Threads: any, no convergence needed. Orders: nothing: for a producer that reads
/// nothing of what the arriving threads wrote, and only starts a TMA copy into what they have finished
/// reading. acquire.cluster costs CCTL.IVALL, which empties the L1 cache. .relaxed needs ISA 8.6 (CUDA 12.7);
/// before that .acquire.cta is emitted, the same machine instruction.
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

/// mbarrier.pending_count.b64 — read the number of arrivals still pending out of a state that an arrive returned.
/// PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier.pending_count" #parallel-synchronization-and-communication-instructions-mbarrier-pending-count; ISA 7.0, sm_80.
/// state: from an arrive; the count is that just before this arrive took effect. Touches no memory. Threads:
/// any.
HG_PTX_INLINE uint32_t mbarrier_pending_count(uint64_t state) {
  uint32_t count = 0;
  HG_PTX_SM_80(mbarrier_pending_count, asm("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state)));
  return count;
}

}  // namespace ptx
}  // namespace hopper_gemm

#undef HG_PTX_MBARRIER_RELAXED_CLUSTER
