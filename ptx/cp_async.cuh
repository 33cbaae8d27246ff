// cp.async: copies of 4, 8 or 16 bytes from global to shared memory that go on while the thread that issued them does
// something else. One address a thread, no descriptor: what sm_80 has, where TMA (tma.cuh) came with sm_90.
//
// What is easily overlooked:
// - Completion is the issuing thread's alone. Groups are counted for each thread; wait_group waits for the
//   caller's own, and shows what they wrote to the caller. For the other threads a barrier follows: every
//   thread waits, then __syncthreads().
// - Overwriting is the other way round: before a copy is issued, a barrier after the last reads of its destination.
// - It is the generic proxy: after the wait and the barrier, ldmatrix and ordinary loads need no proxy fence;
//   TMA stores and wgmma do, as after ordinary stores (fence.cuh).
// - wait_group counts groups, not copies. A loop that has nothing left to load still commits, so that its
//   count stays right: a group may be empty.
// - src_bytes below the size fills the rest with zeros; 0 reads nothing, which makes a predicated load that
//   also clears. Give it an address of the allocation all the same, such as the matrix' first element.
#pragma once

#include <ptx/address.cuh>
#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

// How much of the memory around the source L2 is asked to fetch: a hint, and only of use to what is copied next.
enum class L2Prefetch { None, B64, B128, B256 };

// The text of one instruction differs by the prefetch size; operands are %0 the destination, %1 the source,
// %2 the size.
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
/// kBytes: 4, 8 or 16; dst and src are aligned to it. src: generic, to global memory; not to be written
/// before the copy is over. kPrefetch: ISA 7.4 if not None. Keeps the lines in L1, for what other threads or
/// later copies read again. Threads: any, each its own copy. Orders: nothing at issue. The thread sees the
/// bytes after its cp_async_wait_group or cp_async_wait_all, the others after a barrier behind that, or all
/// after cp_async_mbarrier_arrive and a wait for it.
template <int kBytes, L2Prefetch kPrefetch = L2Prefetch::None>
HG_PTX_INLINE void cp_async_ca(SmemAddr dst, const void* src) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async.ca: 4, 8 or 16 bytes");
  HG_PTX_CP_ASYNC(cp_async_ca, "cp.async.ca.shared.global", "", "r"(dst.value),
                  "l"(__cvta_generic_to_global(src)), "n"(kBytes))
}

/// cp.async.ca.shared.global{.L2::prefetch} — the same, of src_bytes, and zeros up to kBytes.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async" #data-movement-and-conversion-instructions-cp-async; ISA 7.0, sm_80.
/// src_bytes: 0 to kBytes; more is undefined. Memory behind them is not read, with 0 none; src stays aligned
/// to kBytes and should be an address of the allocation. The rest as without it. Threads: any, each its own
/// copy. Orders: as without it.
template <int kBytes, L2Prefetch kPrefetch = L2Prefetch::None>
HG_PTX_INLINE void cp_async_ca(SmemAddr dst, const void* src, uint32_t src_bytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async.ca: 4, 8 or 16 bytes");
  HG_PTX_CP_ASYNC(cp_async_ca, "cp.async.ca.shared.global", ", %3", "r"(dst.value),
                  "l"(__cvta_generic_to_global(src)), "n"(kBytes), "r"(src_bytes))
}

/// cp.async.cg.shared.global{.L2::prefetch} — copy 16 bytes from global to shared memory, past L1.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async" #data-movement-and-conversion-instructions-cp-async; ISA 7.0, sm_80.
/// dst, src: 16-byte aligned; there is no smaller size. src: generic, to global memory. kPrefetch: ISA 7.4 if not None.
/// Bypasses L1, where tiles that are read once would only displace others. Threads: any, each its own copy. Orders: as
/// cp_async_ca.
template <L2Prefetch kPrefetch = L2Prefetch::None>
HG_PTX_INLINE void cp_async_cg(SmemAddr dst, const void* src) {
  HG_PTX_CP_ASYNC(cp_async_cg, "cp.async.cg.shared.global", "", "r"(dst.value),
                  "l"(__cvta_generic_to_global(src)), "n"(16))
}

/// cp.async.cg.shared.global{.L2::prefetch} — the same, of src_bytes, and zeros up to 16.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async" #data-movement-and-conversion-instructions-cp-async; ISA 7.0, sm_80.
/// src_bytes: 0 to 16; more is undefined. Otherwise as cp_async_ca with src_bytes. Threads: any, each its own
/// copy. Orders: as cp_async_ca.
template <L2Prefetch kPrefetch = L2Prefetch::None>
HG_PTX_INLINE void cp_async_cg(SmemAddr dst, const void* src, uint32_t src_bytes) {
  HG_PTX_CP_ASYNC(cp_async_cg, "cp.async.cg.shared.global", ", %3", "r"(dst.value),
                  "l"(__cvta_generic_to_global(src)), "n"(16), "r"(src_bytes))
}

#undef HG_PTX_CP_ASYNC
#undef HG_PTX_CP_ASYNC_FORM

/// cp.async.commit_group — close a group of all cp.async that this thread has not yet committed.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.commit_group" #data-movement-and-conversion-instructions-cp-async-commit-group; ISA 7.0, sm_80.
/// With nothing to commit the group is empty, and counts all the same. Threads: any, for its own copies.
/// Orders: nothing.
HG_PTX_INLINE void cp_async_commit_group() {
  HG_PTX_SM_80(cp_async_commit_group, asm volatile("cp.async.commit_group;" : : : "memory"));
}

/// cp.async.wait_group — wait until at most kPendingGroups of this thread's newest groups are unfinished.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.wait_group / cp.async.wait_all" #data-movement-and-conversion-instructions-cp-async-wait-group; ISA 7.0, sm_80.
/// kPendingGroups: 0 waits for all groups, though not for copies that no group holds yet. In a ring of S
/// stages, with one commit an iteration and S - 1 before the first, S - 2 leaves all but the oldest stage in
/// flight. Threads: any, for its own groups: other threads' it does not wait for. Orders: what the finished
/// groups wrote before what this thread does next; for the other threads a barrier must follow.
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
/// As cp_async_commit_group and cp_async_wait_group<0>. Threads: any, for its own copies. Orders: as
/// cp_async_wait_group.
HG_PTX_INLINE void cp_async_wait_all() {
  HG_PTX_SM_80(cp_async_wait_all, asm volatile("cp.async.wait_all;" : : : "memory"));
}

/// cp.async.mbarrier.arrive.shared.b64 — arrive on an mbarrier once all earlier cp.async of this thread are over.
/// PTX ISA "Parallel Synchronization and Communication Instructions: cp.async.mbarrier.arrive" #parallel-synchronization-and-communication-instructions-cp-async-mbarrier-arrive; ISA 7.0, sm_80.
/// bar: 8-byte aligned, this CTA's. Adds one to the pending count of the phase in progress at once, which the
/// arrival takes off again: the count of mbarrier_init does not include it, and something else must keep the
/// phase from ending before. Groups do not matter to it. Threads: any, for its own copies. Orders: the copies
/// before what those do who wait for bar; of the thread's other accesses nothing.
HG_PTX_INLINE void cp_async_mbarrier_arrive(SmemAddr bar) {
  HG_PTX_SM_80(cp_async_mbarrier_arrive, asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];"
                                                      :
                                                      : "r"(bar.value)
                                                      : "memory"));
}

/// cp.async.mbarrier.arrive.noinc.shared.b64 — the same, for an mbarrier whose count includes the arrival.
/// PTX ISA "Parallel Synchronization and Communication Instructions: cp.async.mbarrier.arrive" #parallel-synchronization-and-communication-instructions-cp-async-mbarrier-arrive; ISA 7.0, sm_80.
/// bar: 8-byte aligned, this CTA's; initialised with one arrival for each thread that calls this. The form
/// for a ring of stages: what producers arrive with on `full`. Threads: any, for its own copies. Orders: as
/// cp_async_mbarrier_arrive.
HG_PTX_INLINE void cp_async_mbarrier_arrive_noinc(SmemAddr bar) {
  HG_PTX_SM_80(cp_async_mbarrier_arrive_noinc, asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];"
                                                            :
                                                            : "r"(bar.value)
                                                            : "memory"));
}

}  // namespace ptx
}  // namespace hopper_gemm
