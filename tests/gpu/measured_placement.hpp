#pragma once

#include <chrono>
#include <thread>

#include "device/cluster_placement.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Measures until the GPU was idle enough, at most 10 s: other processes may share it.
inline Status measure_patiently(GpcOfCluster* placement) {
  constexpr int kMostTries = 1000;
  for (int tries = 1;; ++tries) {
    Status status = measure_cluster_placement(placement);
    if (status.ok() || tries == kMostTries) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace hopper_gemm
