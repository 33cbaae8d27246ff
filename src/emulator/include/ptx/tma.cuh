// Emulated: the wrappers of ptx/tma.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/address.cuh>
#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

enum class ReduceOp { kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor };

template <int kDims>
HG_PTX_INLINE void cp_async_bulk_tensor_g2s(SmemAddr dst, const void* tensor_map,
                                            const int32_t (&coords)[kDims], SmemAddr bar) {
  emulator::tma_load(dst.value, tensor_map, coords, kDims, bar.value, 1U << emulator::cluster_rank());
}

template <int kDims>
HG_PTX_INLINE void cp_async_bulk_tensor_g2s(SmemAddr dst, const void* tensor_map,
                                            const int32_t (&coords)[kDims], SmemAddr bar,
                                            uint64_t cache_policy) {
  static_cast<void>(cache_policy);
  emulator::tma_load(dst.value, tensor_map, coords, kDims, bar.value, 1U << emulator::cluster_rank());
}

template <int kDims>
HG_PTX_INLINE void cp_async_bulk_tensor_g2s_multicast(SmemAddr dst, const void* tensor_map,
                                                      const int32_t (&coords)[kDims], SmemAddr bar,
                                                      uint16_t cta_mask) {
  emulator::tma_load(dst.value, tensor_map, coords, kDims, bar.value, cta_mask);
}

template <int kDims>
HG_PTX_INLINE void cp_async_bulk_tensor_g2s_multicast(SmemAddr dst, const void* tensor_map,
                                                      const int32_t (&coords)[kDims], SmemAddr bar,
                                                      uint16_t cta_mask, uint64_t cache_policy) {
  static_cast<void>(cache_policy);
  emulator::tma_load(dst.value, tensor_map, coords, kDims, bar.value, cta_mask);
}

template <int kDims>
HG_PTX_INLINE void cp_async_bulk_tensor_s2g(const void* tensor_map, const int32_t (&coords)[kDims],
                                            SmemAddr src) {
  emulator::tma_store(tensor_map, coords, kDims, src.value, emulator::Reduction::None);
}

template <int kDims>
HG_PTX_INLINE void cp_async_bulk_tensor_s2g(const void* tensor_map, const int32_t (&coords)[kDims],
                                            SmemAddr src, uint64_t cache_policy) {
  static_cast<void>(cache_policy);
  emulator::tma_store(tensor_map, coords, kDims, src.value, emulator::Reduction::None);
}

template <ReduceOp kOp, int kDims>
HG_PTX_INLINE void cp_reduce_async_bulk_tensor_s2g(const void* tensor_map, const int32_t (&coords)[kDims],
                                                   SmemAddr src) {
  if constexpr (kOp == ReduceOp::kAdd) {
    emulator::tma_store(tensor_map, coords, kDims, src.value, emulator::Reduction::Add);
  } else if constexpr (kOp == ReduceOp::kMin) {
    emulator::tma_store(tensor_map, coords, kDims, src.value, emulator::Reduction::Min);
  } else if constexpr (kOp == ReduceOp::kMax) {
    emulator::tma_store(tensor_map, coords, kDims, src.value, emulator::Reduction::Max);
  } else {
    emulator::trap("this reduction needs a tensor map of integers, which the project does not make");
  }
}

template <ReduceOp kOp, int kDims>
HG_PTX_INLINE void cp_reduce_async_bulk_tensor_s2g(const void* tensor_map, const int32_t (&coords)[kDims],
                                                   SmemAddr src, uint64_t cache_policy) {
  static_cast<void>(cache_policy);
  if constexpr (kOp == ReduceOp::kAdd) {
    emulator::tma_store(tensor_map, coords, kDims, src.value, emulator::Reduction::Add);
  } else if constexpr (kOp == ReduceOp::kMin) {
    emulator::tma_store(tensor_map, coords, kDims, src.value, emulator::Reduction::Min);
  } else if constexpr (kOp == ReduceOp::kMax) {
    emulator::tma_store(tensor_map, coords, kDims, src.value, emulator::Reduction::Max);
  } else {
    emulator::trap("this reduction needs a tensor map of integers, which the project does not make");
  }
}

template <int kDims>
HG_PTX_INLINE void cp_async_bulk_prefetch_tensor(const void* tensor_map, const int32_t (&coords)[kDims]) {
  emulator::tma_prefetch(tensor_map, coords, kDims);
}

template <int kDims>
HG_PTX_INLINE void cp_async_bulk_prefetch_tensor(const void* tensor_map, const int32_t (&coords)[kDims],
                                                 uint64_t cache_policy) {
  static_cast<void>(cache_policy);
  emulator::tma_prefetch(tensor_map, coords, kDims);
}

HG_PTX_INLINE void prefetch_tensormap(const void* tensor_map) { emulator::check_tensor_map(tensor_map); }

HG_PTX_INLINE void cp_async_bulk_g2s(SmemAddr dst, const void* src, uint32_t size_bytes, SmemAddr bar) {
  emulator::bulk_load(dst.value, src, size_bytes, bar.value);
}

HG_PTX_INLINE void cp_async_bulk_g2s(SmemAddr dst, const void* src, uint32_t size_bytes, SmemAddr bar,
                                     uint64_t cache_policy) {
  static_cast<void>(cache_policy);
  emulator::bulk_load(dst.value, src, size_bytes, bar.value);
}

HG_PTX_INLINE void cp_async_bulk_s2g(void* dst, SmemAddr src, uint32_t size_bytes) {
  emulator::bulk_store(dst, src.value, size_bytes);
}

HG_PTX_INLINE void cp_async_bulk_s2g(void* dst, SmemAddr src, uint32_t size_bytes, uint64_t cache_policy) {
  static_cast<void>(cache_policy);
  emulator::bulk_store(dst, src.value, size_bytes);
}

HG_PTX_INLINE void cp_async_bulk_commit_group() { emulator::bulk_commit_group(); }

template <int kPendingGroups>
HG_PTX_INLINE void cp_async_bulk_wait_group() {
  static_assert(kPendingGroups >= 0, "cp.async.bulk.wait_group: a number of groups");
  emulator::bulk_wait_group(kPendingGroups, false);
}

template <int kPendingGroups>
HG_PTX_INLINE void cp_async_bulk_wait_group_read() {
  static_assert(kPendingGroups >= 0, "cp.async.bulk.wait_group.read: a number of groups");
  emulator::bulk_wait_group(kPendingGroups, true);
}

}  // namespace ptx
}  // namespace hopper_gemm
