// cp.async: copies of 4, 8 or 16 bytes from global to shared memory that go on while the thread that issued them does
// something else. Each thread gives one address, and there is no descriptor. sm_80 has cp.async; TMA (tma.cuh) came
// with sm_90.
//
// Five things are easily overlooked:
// - A wait covers the issuing thread's copies only. Each thread has its own groups. wait_group waits for the caller's
//   groups, and makes what they wrote visible to the caller. A barrier must follow for the other threads: every thread
//   waits, then __syncthreads().
// - Before a thread issues a copy that overwrites something, a barrier must follow the last reads of the destination.
// - The copies use the generic proxy. After the wait and the barrier, ldmatrix and ordinary loads need no proxy fence.
//   TMA stores and wgmma need one, as after ordinary stores (fence.cuh).
// - wait_group counts groups, not copies. A loop that has nothing left to load still commits an empty group, so that
//   its count stays right.
// - If src_bytes is below the size, zeros fill the rest. 0 reads nothing: this is a predicated load that also clears.
//   Give it an address in the allocation all the same, such as the matrix's first element.
#pragma once

#include <ptx/address.cuh>
#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

// How many bytes around the source L2 should fetch. It is a hint, and helps only the copies that follow.
enum class L2Prefetch { None, B64, B128, B256 };

// The text of one instruction differs by the prefetch size. The operands are the destination (%0), the source (%1) and
// the size (%2).
#define HG_PTX_CP_ASYNC_FORM(name, opcode, source_size, ...) \
  HG_PTX_SM_80(name, asm volatile(opcode " [%0], [%1], %2" source_size ";" : : __VA_ARGS__ : "memory"))

#define HG_PTX_CP_ASYNC(name, opcode, source_size, ...)                       \
  if constexpr (kPrefetch == L2Prefetch::None) {                              \
    HG_PTX_CP_ASYNC_FORM(name, opcode, source_size, __VA_ARGS__);             \
  } else if constexpr (kPrefetch == L2Prefetch::B64) {                        \
    HG_PTX_CP_ASYNC_FORM(name, opcode ".L2::64B", source_size, __VA_ARGS__);  \
  } else if constexpr (kPrefetch == L2Prefetch::B128) {                       \
    HG_PTX_CP_ASYNC_FORM(name, opcode ".L2::128B", source_size, __VA_ARGS__); \
  } else {                                                                    \
    HG_PTX_CP_ASYNC_FORM(name, opcode ".L2::256B", source_size, __VA_ARGS__); \
  }

/// cp.async.ca.shared.global{.L2::prefetch} — copy kBytes from global to shared memory, through L1.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async" #data-movement-and-conversion-instructions-cp-async; ISA 7.0, sm_80.
/// kBytes: 4, 8 or 16; dst and src are aligned to it. src: a generic address in global memory, which nobody may write
/// before the copy is over. kPrefetch: ISA 7.4 unless it is None. The lines stay in L1, for other threads or later
/// copies to read again. Threads: any, each its own copy. Orders: nothing at issue. The issuing thread sees the bytes
/// after its cp_async_wait_group or cp_async_wait_all, and the others after a barrier that follows. Alternatively, all
/// threads see them after a wait on the mbarrier that cp_async_mbarrier_arrive arrives on.
template <int kBytes, L2Prefetch kPrefetch = L2Prefetch::None>
HG_PTX_INLINE void cp_async_ca(SmemAddr dst, const void* src) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async.ca: 4, 8 or 16 bytes");
  HG_PTX_CP_ASYNC(cp_async_ca, "cp.async.ca.shared.global", "", "r"(dst.value),
                  "l"(__cvta_generic_to_global(src)), "n"(kBytes))
}

/// cp.async.ca.shared.global{.L2::prefetch} — copy src_bytes, and fill up to kBytes with zeros.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async" #data-movement-and-conversion-instructions-cp-async; ISA 7.0, sm_80.
/// src_bytes: 0 to kBytes; more is undefined. The copy reads no memory behind these bytes, and none at all if src_bytes
/// is 0. Even then src must be aligned to kBytes, and should be an address in the allocation. Everything else is as in
/// the form without src_bytes. Threads: any, each its own copy. Orders: as the form without src_bytes.
template <int kBytes, L2Prefetch kPrefetch = L2Prefetch::None>
HG_PTX_INLINE void cp_async_ca(SmemAddr dst, const void* src, uint32_t src_bytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async.ca: 4, 8 or 16 bytes");
  HG_PTX_CP_ASYNC(cp_async_ca, "cp.async.ca.shared.global", ", %3", "r"(dst.value),
                  "l"(__cvta_generic_to_global(src)), "n"(kBytes), "r"(src_bytes))
}

/// cp.async.cg.shared.global{.L2::prefetch} — copy 16 bytes from global to shared memory, bypassing L1.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async" #data-movement-and-conversion-instructions-cp-async; ISA 7.0, sm_80.
/// dst, src: 16-byte aligned; there is no smaller size. src: a generic address in global memory. kPrefetch: ISA 7.4
/// unless it is None. Use it for tiles that are read once, which would only displace other lines in L1. Threads: any,
/// each its own copy. Orders: as cp_async_ca.
template <L2Prefetch kPrefetch = L2Prefetch::None>
HG_PTX_INLINE void cp_async_cg(SmemAddr dst, const void* src) {
  HG_PTX_CP_ASYNC(cp_async_cg, "cp.async.cg.shared.global", "", "r"(dst.value),
                  "l"(__cvta_generic_to_global(src)), "n"(16))
}

/// cp.async.cg.shared.global{.L2::prefetch} — copy src_bytes, and fill up to 16 bytes with zeros.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async" #data-movement-and-conversion-instructions-cp-async; ISA 7.0, sm_80.
/// src_bytes: 0 to 16; more is undefined. Everything else is as in cp_async_ca with src_bytes. Threads: any, each its
/// own copy. Orders: as cp_async_ca.
template <L2Prefetch kPrefetch = L2Prefetch::None>
HG_PTX_INLINE void cp_async_cg(SmemAddr dst, const void* src, uint32_t src_bytes) {
  HG_PTX_CP_ASYNC(cp_async_cg, "cp.async.cg.shared.global", ", %3", "r"(dst.value),
                  "l"(__cvta_generic_to_global(src)), "n"(16), "r"(src_bytes))
}

#undef HG_PTX_CP_ASYNC
#undef HG_PTX_CP_ASYNC_FORM

/// cp.async.commit_group — close a group with all cp.async that this thread has not yet committed.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.commit_group" #data-movement-and-conversion-instructions-cp-async-commit-group; ISA 7.0, sm_80.
/// If there is nothing to commit, the group is empty, and wait_group counts it all the same. Threads: any, for its own
/// copies. Orders: nothing.
HG_PTX_INLINE void cp_async_commit_group() {
  HG_PTX_SM_80(cp_async_commit_group, asm volatile("cp.async.commit_group;" : : : "memory"));
}

/// cp.async.wait_group — wait until at most kPendingGroups of this thread's newest groups are unfinished.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.wait_group / cp.async.wait_all" #data-movement-and-conversion-instructions-cp-async-wait-group; ISA 7.0, sm_80.
/// kPendingGroups: 0 waits for all groups, but not for copies that are not yet in a group. In a ring of S stages, with
/// S - 1 commits before the loop and one in each iteration, S - 2 waits for the oldest stage only. Threads: any, for
/// its own groups; it does not wait for those of other threads. Orders: what the finished groups wrote before what this
/// thread does next. A barrier must follow for the other threads.
template <int kPendingGroups>
HG_PTX_INLINE void cp_async_wait_group() {
  static_assert(kPendingGroups >= 0, "cp.async.wait_group: the number of groups that may be unfinished");
  HG_PTX_SM_80(cp_async_wait_group, asm volatile("cp.async.wait_group %0;"
                                                 :
                                                 : "n"(kPendingGroups)
                                                 : "memory"));
}

/// cp.async.wait_all — wait for all cp.async of this thread, committed or not.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.wait_group / cp.async.wait_all" #data-movement-and-conversion-instructions-cp-async-wait-group; ISA 7.0, sm_80.
/// It does what cp_async_commit_group and cp_async_wait_group<0> do. Threads: any, for its own copies. Orders: as
/// cp_async_wait_group.
HG_PTX_INLINE void cp_async_wait_all() {
  HG_PTX_SM_80(cp_async_wait_all, asm volatile("cp.async.wait_all;" : : : "memory"));
}

/// cp.async.mbarrier.arrive.shared.b64 — arrive on an mbarrier once all earlier cp.async of this thread are over.
/// PTX ISA "Parallel Synchronization and Communication Instructions: cp.async.mbarrier.arrive" #parallel-synchronization-and-communication-instructions-cp-async-mbarrier-arrive; ISA 7.0, sm_80.
/// bar: 8-byte aligned, this CTA's. The instruction adds one to the pending count of the current phase at once, and the
/// arrival takes it off again. The count of mbarrier_init therefore does not include this arrival, and something else
/// must keep the phase from ending before this instruction. Groups do not matter to it. Threads: any, for its own
/// copies. Orders: the copies before what a thread does after it has waited on bar; nothing for the thread's other
/// accesses.
HG_PTX_INLINE void cp_async_mbarrier_arrive(SmemAddr bar) {
  HG_PTX_SM_80(cp_async_mbarrier_arrive, asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];"
                                                      :
                                                      : "r"(bar.value)
                                                      : "memory"));
}

/// cp.async.mbarrier.arrive.noinc.shared.b64 — the same, for an mbarrier whose count includes the arrival.
/// PTX ISA "Parallel Synchronization and Communication Instructions: cp.async.mbarrier.arrive" #parallel-synchronization-and-communication-instructions-cp-async-mbarrier-arrive; ISA 7.0, sm_80.
/// bar: 8-byte aligned, this CTA's; initialised with one arrival for each thread that calls this. This is the form for
/// a ring of stages, in which producers arrive with it on `full`. Threads: any, for its own copies. Orders: as
/// cp_async_mbarrier_arrive.
HG_PTX_INLINE void cp_async_mbarrier_arrive_noinc(SmemAddr bar) {
  HG_PTX_SM_80(cp_async_mbarrier_arrive_noinc, asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];"
                                                            :
                                                            : "r"(bar.value)
                                                            : "memory"));
}

}  // namespace ptx
}  // namespace hopper_gemm
