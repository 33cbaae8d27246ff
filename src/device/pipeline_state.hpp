#pragma once

#include <cuda/std/cstdint>

#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm {

/// Where a producer or a consumer stands in a ring of stages: the stage, and the parity of the phase of its
/// barriers, which changes on every round. Both sides start at stage 0, phase 0, and advance once per K
/// block, through all tiles. A consumer waits for the full barrier's phase of this parity; a producer for the
/// empty barrier's phase of the other one: of a new mbarrier the phase before the first counts as complete
/// (PTX ISA "mbarrier.test_wait / mbarrier.try_wait"), so that its first round does not wait.
template <int kNumStages>
struct PipelineState {
  int stage = 0;
  cuda::std::uint32_t phase = 0;

  HG_HOST_DEVICE constexpr void advance() {
    if (++stage == kNumStages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

}  // namespace hopper_gemm
