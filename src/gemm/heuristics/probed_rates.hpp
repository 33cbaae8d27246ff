#pragma once

#include <memory>
#include <optional>

#include "gemm/heuristics/loaded_files.hpp"
#include "gemm/problem.hpp"

namespace hopper_gemm::library {

/// What `matmul probe` has measured of a GPU, as far as the cost model uses it.
struct ProbedRates : MeasuredOnGpu {
  double l2_bytes_per_us;              ///< to all SMs
  double sm_flops_per_us;              ///< of wgmma
  std::optional<double> sm_clock_mhz;  ///< while that was measured, if a sensor said so
};

/// The files that probed_rates_of() looks into.
LoadedFiles<ProbedRates>& loaded_probes();

/// The file that counts for this GPU, or null.
std::shared_ptr<const ProbedRates> probed_rates_of(const Device& device);

}  // namespace hopper_gemm::library
