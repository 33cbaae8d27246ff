#include "gemm/heuristics/probed_rates.hpp"

namespace hopper_gemm::library {

LoadedFiles<ProbedRates>& loaded_probes() {
  // It is never destroyed, because threads may create plans while the process ends.
  static auto* const probes = new LoadedFiles<ProbedRates>;
  return *probes;
}

std::shared_ptr<const ProbedRates> probed_rates_of(const Device& device) {
  const auto probes = loaded_probes().measured_on(device);
  return probes.empty() ? nullptr : probes.front();
}

}  // namespace hopper_gemm::library
