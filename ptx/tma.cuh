// Bulk asynchronous copies: TMA tensor tiles (1-D to 5-D) and plain byte ranges.
//
// Loads complete on an mbarrier: announce the bytes with mbarrier_arrive_expect_tx, and wait with
// mbarrier_try_wait_parity. Stores complete through bulk groups, which belong to the thread that issued them. One and
// the same thread issues the stores, commits the group and waits for it, and then tells the others through a barrier.
//
// Coordinates are in elements, fastest dimension first. A box may end beyond the tensor. A load then fills what lies
// outside with the map's fill value, and counts the bytes of the whole box. A store leaves out what lies outside.
//
// The manual does not spell out two rules. On an H200, a kernel that breaks them ends with an illegal instruction. The
// fastest coordinate of a load or a store must be a multiple of 16 bytes, with and without a swizzle. A load may start
// before 0, but a store or a reduction may not.
#pragma once

#include <ptx/address.cuh>
#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

// A tensor instruction has one form for each number of dimensions. The forms differ in ".Nd" and in the coordinate
// list:
//   <opcode>.Nd<modifiers> <before>{c0, ..., cN-1}<after>
// The coordinates are always operands %0 to %4, and the PTX names the first N of them. The other operands start at %5.
#define HG_PTX_TENSOR_FORM(name, opcode, dims, modifiers, before, list, after, ...)                        \
  HG_PTX_SM_90(                                                                                            \
      name, asm volatile(opcode dims modifiers " " before "{" list "}" after ";"                           \
                         :                                                                                 \
                         : "r"(coords[0]), "r"(coords[kDims > 1 ? 1 : 0]), "r"(coords[kDims > 2 ? 2 : 0]), \
                           "r"(coords[kDims > 3 ? 3 : 0]), "r"(coords[kDims > 4 ? 4 : 0]), __VA_ARGS__     \
                         : "memory"))

#define HG_PTX_TENSOR(name, opcode, modifiers, before, after, ...)                                        \
  static_assert(kDims >= 1 && kDims <= 5, "a tensor map has 1 to 5 dimensions");                          \
  if constexpr (kDims == 1) {                                                                             \
    HG_PTX_TENSOR_FORM(name, opcode, ".1d", modifiers, before, "%0", after, __VA_ARGS__);                 \
  } else if constexpr (kDims == 2) {                                                                      \
    HG_PTX_TENSOR_FORM(name, opcode, ".2d", modifiers, before, "%0, %1", after, __VA_ARGS__);             \
  } else if constexpr (kDims == 3) {                                                                      \
    HG_PTX_TENSOR_FORM(name, opcode, ".3d", modifiers, before, "%0, %1, %2", after, __VA_ARGS__);         \
  } else if constexpr (kDims == 4) {                                                                      \
    HG_PTX_TENSOR_FORM(name, opcode, ".4d", modifiers, before, "%0, %1, %2, %3", after, __VA_ARGS__);     \
  } else {                                                                                                \
    HG_PTX_TENSOR_FORM(name, opcode, ".5d", modifiers, before, "%0, %1, %2, %3, %4", after, __VA_ARGS__); \
  }

/// cp.async.bulk.tensor.Nd.shared::cluster.global.tile.mbarrier::complete_tx::bytes — load one box of a tensor into this CTA's shared memory.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.bulk.tensor" #data-movement-and-conversion-instructions-cp-async-bulk-tensor; ISA 8.0, sm_90.
/// dst: 128-byte aligned. The 128B swizzle repeats every 1024 bytes, so align its tiles to that. tensor_map: generic
/// address, 64-byte aligned, a __grid_constant__ parameter. coords: elements, fastest dimension first. bar: 8-byte
/// aligned, this CTA's. It receives the bytes of the whole box, including the part outside the tensor. Threads: one;
/// every executing thread issues its own copy. Orders: nothing at issue; the copy is asynchronous, in the async proxy.
/// A thread sees the bytes after it has waited on bar. The caller must make sure that no ordinary load still reads dst.
template <int kDims>
HG_PTX_INLINE void cp_async_bulk_tensor_g2s(SmemAddr dst, const void* tensor_map,
                                            const int32_t (&coords)[kDims], SmemAddr bar) {
  HG_PTX_TENSOR(cp_async_bulk_tensor_g2s, "cp.async.bulk.tensor",
                ".shared::cluster.global.tile.mbarrier::complete_tx::bytes",  //
                "[%5], [%6, ", "], [%7]", "r"(dst.value), "l"(tensor_map), "r"(bar.value))
}

/// cp.async.bulk.tensor.Nd.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint — the same load with an L2 policy.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.bulk.tensor" #data-movement-and-conversion-instructions-cp-async-bulk-tensor; ISA 8.0, sm_90.
/// Operands, threads and ordering are as in the form without a policy. cache_policy: from createpolicy
/// (cache_policy.cuh).
template <int kDims>
HG_PTX_INLINE void cp_async_bulk_tensor_g2s(SmemAddr dst, const void* tensor_map,
                                            const int32_t (&coords)[kDims], SmemAddr bar,
                                            uint64_t cache_policy) {
  HG_PTX_TENSOR(cp_async_bulk_tensor_g2s, "cp.async.bulk.tensor",
                ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint",  //
                "[%5], [%6, ", "], [%7], %8", "r"(dst.value), "l"(tensor_map), "r"(bar.value),
                "l"(cache_policy))
}

/// cp.async.bulk.tensor.Nd.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster — load one box once, into several CTAs.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.bulk.tensor" #data-movement-and-conversion-instructions-cp-async-bulk-tensor; ISA 8.0, sm_90.
/// dst, bar: this CTA's addresses. Each receiver gets the box at the same offset in its shared memory, and the bytes on
/// its own barrier at the same offset. cta_mask: bit r stands for the CTA of rank r (cluster_ctarank); the issuer
/// receives only if its bit is set. Other operands are as in cp_async_bulk_tensor_g2s. Threads: one, in one CTA of the
/// cluster. Orders: nothing at issue. Every receiver announces the bytes itself. Its stage must be free before the
/// issuer starts, which takes an empty barrier across CTAs. No receiver may exit before the copy has landed.
template <int kDims>
HG_PTX_INLINE void cp_async_bulk_tensor_g2s_multicast(SmemAddr dst, const void* tensor_map,
                                                      const int32_t (&coords)[kDims], SmemAddr bar,
                                                      uint16_t cta_mask) {
  HG_PTX_TENSOR(cp_async_bulk_tensor_g2s_multicast, "cp.async.bulk.tensor",
                ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster",  //
                "[%5], [%6, ", "], [%7], %8", "r"(dst.value), "l"(tensor_map), "r"(bar.value), "h"(cta_mask))
}

/// cp.async.bulk.tensor.Nd.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint — the same multicast with an L2 policy.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.bulk.tensor" #data-movement-and-conversion-instructions-cp-async-bulk-tensor; ISA 8.0, sm_90.
/// Operands, threads and ordering are as in the form without a policy. cache_policy: from createpolicy
/// (cache_policy.cuh).
template <int kDims>
HG_PTX_INLINE void cp_async_bulk_tensor_g2s_multicast(SmemAddr dst, const void* tensor_map,
                                                      const int32_t (&coords)[kDims], SmemAddr bar,
                                                      uint16_t cta_mask, uint64_t cache_policy) {
  HG_PTX_TENSOR(
      cp_async_bulk_tensor_g2s_multicast, "cp.async.bulk.tensor",
      ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint",  //
      "[%5], [%6, ", "], [%7], %8, %9", "r"(dst.value), "l"(tensor_map), "r"(bar.value), "h"(cta_mask),
      "l"(cache_policy))
}

/// cp.async.bulk.tensor.Nd.global.shared::cta.tile.bulk_group — store one box from shared memory into a tensor.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.bulk.tensor" #data-movement-and-conversion-instructions-cp-async-bulk-tensor; ISA 8.0, sm_90.
/// src: 128-byte aligned (1024 under 128B swizzle). tensor_map: generic address, 64-byte aligned, a __grid_constant__
/// parameter. coords: elements, fastest dimension first. TMA does not write what lies outside the tensor, with one
/// exception (seen on an H200, not in the manual): it writes whole 16-byte chunks. If the row length is no multiple of
/// 16 bytes, it therefore writes past the row. Threads: one; the same thread commits and waits, because bulk groups
/// belong to the issuing thread. Orders: nothing. Each thread that wrote src needs fence_proxy_async_shared_cta() and
/// then a barrier with the issuer.
template <int kDims>
HG_PTX_INLINE void cp_async_bulk_tensor_s2g(const void* tensor_map, const int32_t (&coords)[kDims],
                                            SmemAddr src) {
  HG_PTX_TENSOR(cp_async_bulk_tensor_s2g, "cp.async.bulk.tensor", ".global.shared::cta.tile.bulk_group",  //
                "[%5, ", "], [%6]", "l"(tensor_map), "r"(src.value))
}

/// cp.async.bulk.tensor.Nd.global.shared::cta.tile.bulk_group.L2::cache_hint — the same store with an L2 policy.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.bulk.tensor" #data-movement-and-conversion-instructions-cp-async-bulk-tensor; ISA 8.0, sm_90.
/// Operands, threads and ordering are as in the form without a policy. cache_policy: from createpolicy
/// (cache_policy.cuh).
template <int kDims>
HG_PTX_INLINE void cp_async_bulk_tensor_s2g(const void* tensor_map, const int32_t (&coords)[kDims],
                                            SmemAddr src, uint64_t cache_policy) {
  HG_PTX_TENSOR(cp_async_bulk_tensor_s2g, "cp.async.bulk.tensor",
                ".global.shared::cta.tile.bulk_group.L2::cache_hint",  //
                "[%5, ", "], [%6], %7", "l"(tensor_map), "r"(src.value), "l"(cache_policy))
}

// How cp_reduce_async_bulk_tensor_s2g combines an element with the one in memory. The tensor map gives the type.
enum class ReduceOp { kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor };

#define HG_PTX_TENSOR_REDUCE(op, modifiers, after, ...)                         \
  HG_PTX_TENSOR(cp_reduce_async_bulk_tensor_s2g, "cp.reduce.async.bulk.tensor", \
                ".global.shared::cta." op ".tile.bulk_group" modifiers, "[%5, ", after, __VA_ARGS__)

#define HG_PTX_TENSOR_REDUCE_ANY(modifiers, after, ...)        \
  if constexpr (kOp == ReduceOp::kAdd) {                       \
    HG_PTX_TENSOR_REDUCE("add", modifiers, after, __VA_ARGS__) \
  } else if constexpr (kOp == ReduceOp::kMin) {                \
    HG_PTX_TENSOR_REDUCE("min", modifiers, after, __VA_ARGS__) \
  } else if constexpr (kOp == ReduceOp::kMax) {                \
    HG_PTX_TENSOR_REDUCE("max", modifiers, after, __VA_ARGS__) \
  } else if constexpr (kOp == ReduceOp::kInc) {                \
    HG_PTX_TENSOR_REDUCE("inc", modifiers, after, __VA_ARGS__) \
  } else if constexpr (kOp == ReduceOp::kDec) {                \
    HG_PTX_TENSOR_REDUCE("dec", modifiers, after, __VA_ARGS__) \
  } else if constexpr (kOp == ReduceOp::kAnd) {                \
    HG_PTX_TENSOR_REDUCE("and", modifiers, after, __VA_ARGS__) \
  } else if constexpr (kOp == ReduceOp::kOr) {                 \
    HG_PTX_TENSOR_REDUCE("or", modifiers, after, __VA_ARGS__)  \
  } else {                                                     \
    static_assert(kOp == ReduceOp::kXor, "not a ReduceOp");    \
    HG_PTX_TENSOR_REDUCE("xor", modifiers, after, __VA_ARGS__) \
  }

/// cp.reduce.async.bulk.tensor.Nd.global.shared::cta.redOp.tile.bulk_group — combine one box from shared memory with the tensor in global memory.
/// PTX ISA "Data Movement and Conversion Instructions: cp.reduce.async.bulk.tensor" #data-movement-and-conversion-instructions-cp-reduce-async-bulk-tensor; ISA 8.0, sm_90.
/// Operands, alignment, threads, groups and fences are as in cp_async_bulk_tensor_s2g. kOp must suit the map's element
/// type: floating types take add, 16-bit ones also min and max; the bitwise operations are for integers. Orders:
/// nothing. TMA combines each element atomically at gpu scope (relaxed), in no order between CTAs, so a floating-point
/// sum is not reproducible bit by bit.
template <ReduceOp kOp, int kDims>
HG_PTX_INLINE void cp_reduce_async_bulk_tensor_s2g(const void* tensor_map, const int32_t (&coords)[kDims],
                                                   SmemAddr src) {
  HG_PTX_TENSOR_REDUCE_ANY("", "], [%6]", "l"(tensor_map), "r"(src.value))
}

/// cp.reduce.async.bulk.tensor.Nd.global.shared::cta.redOp.tile.bulk_group.L2::cache_hint — the same reduction with an L2 policy.
/// PTX ISA "Data Movement and Conversion Instructions: cp.reduce.async.bulk.tensor" #data-movement-and-conversion-instructions-cp-reduce-async-bulk-tensor; ISA 8.0, sm_90.
/// Operands, threads and ordering are as in the form without a policy. cache_policy: from createpolicy
/// (cache_policy.cuh).
template <ReduceOp kOp, int kDims>
HG_PTX_INLINE void cp_reduce_async_bulk_tensor_s2g(const void* tensor_map, const int32_t (&coords)[kDims],
                                                   SmemAddr src, uint64_t cache_policy) {
  HG_PTX_TENSOR_REDUCE_ANY(".L2::cache_hint", "], [%6], %7", "l"(tensor_map), "r"(src.value),
                           "l"(cache_policy))
}

/// cp.async.bulk.prefetch.tensor.Nd.L2.global.tile — bring one box of a tensor into L2, and nowhere else.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.bulk.prefetch.tensor" #data-movement-and-conversion-instructions-cp-async-bulk-prefetch-tensor; ISA 8.0, sm_90.
/// tensor_map, coords: as cp_async_bulk_tensor_g2s. Threads: one. Orders: nothing, and nothing tells when the prefetch
/// is done.
template <int kDims>
HG_PTX_INLINE void cp_async_bulk_prefetch_tensor(const void* tensor_map, const int32_t (&coords)[kDims]) {
  HG_PTX_TENSOR(cp_async_bulk_prefetch_tensor, "cp.async.bulk.prefetch.tensor", ".L2.global.tile",  //
                "[%5, ", "]", "l"(tensor_map))
}

/// cp.async.bulk.prefetch.tensor.Nd.L2.global.tile.L2::cache_hint — the same prefetch with an L2 policy.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.bulk.prefetch.tensor" #data-movement-and-conversion-instructions-cp-async-bulk-prefetch-tensor; ISA 8.0, sm_90.
/// Operands, threads and ordering are as in the form without a policy. cache_policy: from createpolicy
/// (cache_policy.cuh).
template <int kDims>
HG_PTX_INLINE void cp_async_bulk_prefetch_tensor(const void* tensor_map, const int32_t (&coords)[kDims],
                                                 uint64_t cache_policy) {
  HG_PTX_TENSOR(cp_async_bulk_prefetch_tensor, "cp.async.bulk.prefetch.tensor",
                ".L2.global.tile.L2::cache_hint",  //
                "[%5, ", "], %6", "l"(tensor_map), "l"(cache_policy))
}

#undef HG_PTX_TENSOR_REDUCE_ANY
#undef HG_PTX_TENSOR_REDUCE
#undef HG_PTX_TENSOR
#undef HG_PTX_TENSOR_FORM

/// prefetch.tensormap — bring a tensor map into the descriptor cache, ahead of its first use.
/// PTX ISA "Data Movement and Conversion Instructions: prefetch, prefetchu" #data-movement-and-conversion-instructions-prefetch-prefetchu; ISA 8.0, sm_90.
/// tensor_map: generic address, 64-byte aligned, of a `const __grid_constant__ CUtensorMap` parameter. Take its address
/// in the kernel: a by-value parameter without __grid_constant__ would be a copy in local memory, which TMA cannot
/// read. Threads: one. Orders: nothing. It saves the first copy a fetch from memory, and results never depend on it.
HG_PTX_INLINE void prefetch_tensormap(const void* tensor_map) {
  HG_PTX_SM_90(prefetch_tensormap, asm volatile("prefetch.tensormap [%0];" : : "l"(tensor_map) : "memory"));
}

/// cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes — load `size_bytes` contiguous bytes into this CTA's shared memory.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.bulk" #data-movement-and-conversion-instructions-cp-async-bulk; ISA 8.0, sm_90.
/// dst: 16-byte aligned. src: generic address in global memory, 16-byte aligned. size_bytes: a multiple of 16. bar:
/// 8-byte aligned, this CTA's; receives size_bytes. There is no tensor map, and nothing checks bounds. Threads: one.
/// Orders: nothing at issue. A thread sees the bytes after it has waited on bar.
HG_PTX_INLINE void cp_async_bulk_g2s(SmemAddr dst, const void* src, uint32_t size_bytes, SmemAddr bar) {
  HG_PTX_SM_90(
      cp_async_bulk_g2s,
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                   :
                   : "r"(dst.value), "l"(__cvta_generic_to_global(src)), "r"(size_bytes), "r"(bar.value)
                   : "memory"));
}

/// cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint — the same load with an L2 policy.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.bulk" #data-movement-and-conversion-instructions-cp-async-bulk; ISA 8.0, sm_90.
/// Operands, threads and ordering are as in the form without a policy. cache_policy: from createpolicy
/// (cache_policy.cuh).
HG_PTX_INLINE void cp_async_bulk_g2s(SmemAddr dst, const void* src, uint32_t size_bytes, SmemAddr bar,
                                     uint64_t cache_policy) {
  HG_PTX_SM_90(cp_async_bulk_g2s, asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                                               "bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
                                               :
                                               : "r"(dst.value), "l"(__cvta_generic_to_global(src)),
                                                 "r"(size_bytes), "r"(bar.value), "l"(cache_policy)
                                               : "memory"));
}

/// cp.async.bulk.global.shared::cta.bulk_group — store `size_bytes` contiguous bytes from shared to global memory.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.bulk" #data-movement-and-conversion-instructions-cp-async-bulk; ISA 8.0, sm_90.
/// dst: generic address in global memory, 16-byte aligned. src: 16-byte aligned. size_bytes: a multiple of 16. Threads:
/// one; the same thread commits and waits. Orders: nothing. Each thread that wrote src needs
/// fence_proxy_async_shared_cta() and then a barrier with the issuer.
HG_PTX_INLINE void cp_async_bulk_s2g(void* dst, SmemAddr src, uint32_t size_bytes) {
  HG_PTX_SM_90(cp_async_bulk_s2g,
               asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                            :
                            : "l"(__cvta_generic_to_global(dst)), "r"(src.value), "r"(size_bytes)
                            : "memory"));
}

/// cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint — the same store with an L2 policy.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.bulk" #data-movement-and-conversion-instructions-cp-async-bulk; ISA 8.0, sm_90.
/// Operands, threads and ordering are as in the form without a policy. cache_policy: from createpolicy
/// (cache_policy.cuh).
HG_PTX_INLINE void cp_async_bulk_s2g(void* dst, SmemAddr src, uint32_t size_bytes, uint64_t cache_policy) {
  HG_PTX_SM_90(
      cp_async_bulk_s2g,
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;"
                   :
                   : "l"(__cvta_generic_to_global(dst)), "r"(src.value), "r"(size_bytes), "l"(cache_policy)
                   : "memory"));
}

/// cp.async.bulk.commit_group — close a bulk group with all stores that this thread issued since its last commit.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.bulk.commit_group" #data-movement-and-conversion-instructions-cp-async-bulk-commit-group; ISA 8.0, sm_90.
/// Threads: the one that issued the stores; any other thread closes an empty group. Orders: nothing. Loads that
/// complete on an mbarrier are not part of groups.
HG_PTX_INLINE void cp_async_bulk_commit_group() {
  HG_PTX_SM_90(cp_async_bulk_commit_group, asm volatile("cp.async.bulk.commit_group;" : : : "memory"));
}

/// cp.async.bulk.wait_group — wait until at most kPendingGroups of this thread's newest bulk groups are unfinished.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.bulk.wait_group" #data-movement-and-conversion-instructions-cp-async-bulk-wait-group; ISA 8.0, sm_90.
/// kPendingGroups: 0 waits for all. Threads: the issuing thread; any other thread has no groups, so it returns at once
/// and learns nothing. Orders: the stores of the finished groups are complete. Their source has been read, and their
/// destination has been written and is visible to this thread.
template <int kPendingGroups>
HG_PTX_INLINE void cp_async_bulk_wait_group() {
  static_assert(kPendingGroups >= 0, "cp.async.bulk.wait_group: a number of groups");
  HG_PTX_SM_90(cp_async_bulk_wait_group, asm volatile("cp.async.bulk.wait_group %0;"
                                                      :
                                                      : "n"(kPendingGroups)
                                                      : "memory"));
}

/// cp.async.bulk.wait_group.read — wait until at most kPendingGroups of this thread's newest groups still read their source.
/// PTX ISA "Data Movement and Conversion Instructions: cp.async.bulk.wait_group" #data-movement-and-conversion-instructions-cp-async-bulk-wait-group; ISA 8.0, sm_90.
/// kPendingGroups: 0 waits for all. Threads: the issuing thread; a barrier must follow before other threads overwrite
/// the source. Orders: the source in shared memory may be reused; the writes to global memory may still be under way.
/// It is also enough before exit: shared memory must outlive the read, not the write.
template <int kPendingGroups>
HG_PTX_INLINE void cp_async_bulk_wait_group_read() {
  static_assert(kPendingGroups >= 0, "cp.async.bulk.wait_group.read: a number of groups");
  HG_PTX_SM_90(cp_async_bulk_wait_group_read, asm volatile("cp.async.bulk.wait_group.read %0;"
                                                           :
                                                           : "n"(kPendingGroups)
                                                           : "memory"));
}

}  // namespace ptx
}  // namespace hopper_gemm
