// Emulated: the wrappers of ptx/mbarrier.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/address.cuh>
#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

HG_PTX_INLINE void mbarrier_init(SmemAddr bar, uint32_t count) { emulator::mbarrier_init(bar.value, count); }

HG_PTX_INLINE void mbarrier_inval(SmemAddr bar) { emulator::mbarrier_inval(bar.value); }

HG_PTX_INLINE uint64_t mbarrier_arrive(SmemAddr bar) { return emulator::mbarrier_arrive(bar.value, 1, 0); }

HG_PTX_INLINE uint64_t mbarrier_arrive(SmemAddr bar, uint32_t count) {
  return emulator::mbarrier_arrive(bar.value, count, 0);
}

HG_PTX_INLINE void mbarrier_arrive_cluster(ClusterAddr bar) { emulator::mbarrier_arrive(bar.value, 1, 0); }

HG_PTX_INLINE void mbarrier_arrive_cluster(ClusterAddr bar, uint32_t count) {
  emulator::mbarrier_arrive(bar.value, count, 0);
}

HG_PTX_INLINE void mbarrier_arrive_relaxed_cluster(ClusterAddr bar) {
  emulator::mbarrier_arrive(bar.value, 1, 0, false);
}

HG_PTX_INLINE uint64_t mbarrier_arrive_expect_tx(SmemAddr bar, uint32_t tx_bytes) {
  return emulator::mbarrier_arrive(bar.value, 1, tx_bytes);
}

HG_PTX_INLINE void mbarrier_arrive_expect_tx_cluster(ClusterAddr bar, uint32_t tx_bytes) {
  emulator::mbarrier_arrive(bar.value, 1, tx_bytes);
}

HG_PTX_INLINE void mbarrier_expect_tx(SmemAddr bar, uint32_t tx_bytes) {
  emulator::mbarrier_expect(bar.value, tx_bytes);
}

HG_PTX_INLINE bool mbarrier_test_wait(SmemAddr bar, uint64_t state) {
  return emulator::mbarrier_wait_phase(bar.value, state, emulator::FirstWait::Tests);
}

HG_PTX_INLINE bool mbarrier_test_wait_parity(SmemAddr bar, uint32_t parity) {
  return emulator::mbarrier_wait_parity(bar.value, parity, emulator::FirstWait::Tests);
}

HG_PTX_INLINE bool mbarrier_try_wait(SmemAddr bar, uint64_t state) {
  return emulator::mbarrier_wait_phase(bar.value, state, emulator::FirstWait::Suspends);
}

HG_PTX_INLINE bool mbarrier_try_wait_parity(SmemAddr bar, uint32_t parity) {
  return emulator::mbarrier_wait_parity(bar.value, parity, emulator::FirstWait::Suspends);
}

HG_PTX_INLINE bool mbarrier_try_wait_parity(SmemAddr bar, uint32_t parity, uint32_t suspend_time_hint_ns) {
  static_cast<void>(suspend_time_hint_ns);
  return emulator::mbarrier_wait_parity(bar.value, parity, emulator::FirstWait::Suspends);
}

HG_PTX_INLINE bool mbarrier_try_wait_parity_cluster(SmemAddr bar, uint32_t parity) {
  return emulator::mbarrier_wait_parity(bar.value, parity, emulator::FirstWait::Suspends);
}

HG_PTX_INLINE bool mbarrier_try_wait_parity_relaxed_cluster(SmemAddr bar, uint32_t parity) {
  return emulator::mbarrier_wait_parity(bar.value, parity, emulator::FirstWait::Suspends, false);
}

HG_PTX_INLINE uint32_t mbarrier_pending_count(uint64_t state) { return emulator::mbarrier_pending(state); }

}  // namespace ptx
}  // namespace hopper_gemm
