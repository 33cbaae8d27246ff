#pragma once

#include <cuda/std/cstdint>

#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm {

/// The place of a producer or a consumer in a ring of stages: the stage, and the parity of its mbarriers' phase, which
/// flips on every round. Both sides start at stage 0, phase 0, and advance once per K block, through all tiles.
///
/// A consumer waits for the full barrier's phase of this parity. A producer waits for the empty barrier's phase of the
/// other parity, so that it does not wait in the first round: the phase before a new mbarrier's first one counts as
/// complete (PTX ISA "mbarrier.test_wait / mbarrier.try_wait").
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
