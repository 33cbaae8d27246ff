// Emulated: the wrappers of ptx/cp_async.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/address.cuh>
#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

enum class L2Prefetch { None, B64, B128, B256 };

template <int kBytes, L2Prefetch kPrefetch = L2Prefetch::None>
HG_PTX_INLINE void cp_async_ca(SmemAddr dst, const void* src) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async.ca: 4, 8 or 16 bytes");
  emulator::cp_async(dst.value, src, kBytes, kBytes);
}

template <int kBytes, L2Prefetch kPrefetch = L2Prefetch::None>
HG_PTX_INLINE void cp_async_ca(SmemAddr dst, const void* src, uint32_t src_bytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async.ca: 4, 8 or 16 bytes");
  emulator::cp_async(dst.value, src, kBytes, src_bytes);
}

template <L2Prefetch kPrefetch = L2Prefetch::None>
HG_PTX_INLINE void cp_async_cg(SmemAddr dst, const void* src) {
  emulator::cp_async(dst.value, src, 16, 16);
}

template <L2Prefetch kPrefetch = L2Prefetch::None>
HG_PTX_INLINE void cp_async_cg(SmemAddr dst, const void* src, uint32_t src_bytes) {
  emulator::cp_async(dst.value, src, 16, src_bytes);
}

HG_PTX_INLINE void cp_async_commit_group() { emulator::cp_async_commit_group(); }

template <int kPendingGroups>
HG_PTX_INLINE void cp_async_wait_group() {
  static_assert(kPendingGroups >= 0, "cp.async.wait_group: the number of groups that may be unfinished");
  emulator::cp_async_wait_group(kPendingGroups);
}

HG_PTX_INLINE void cp_async_wait_all() { emulator::cp_async_wait_all(); }

HG_PTX_INLINE void cp_async_mbarrier_arrive(SmemAddr bar) {
  emulator::cp_async_mbarrier_arrive(bar.value, true);
}

HG_PTX_INLINE void cp_async_mbarrier_arrive_noinc(SmemAddr bar) {
  emulator::cp_async_mbarrier_arrive(bar.value, false);
}

}  // namespace ptx
}  // namespace hopper_gemm
