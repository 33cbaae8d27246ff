#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "gemm/instances/cooperative_configs.hpp"
#include "gemm/kernel/cooperative.cuh"

namespace hopper_gemm::library::cooperative {

/// The kernels of a configuration. This function instantiates them.
template <KernelConfig kKernel>
constexpr Instance instance_of() {
  using AlphaOnly = Config<kKernel, EpilogueKind::AlphaOnly>;
  if constexpr (kKernel.epilogues == Epilogues::AlphaOnly) {
    return {kKernel, gemm_kernel<AlphaOnly>, nullptr, sizeof(SharedStorage<AlphaOnly>)};
  } else {
    using General = Config<kKernel, EpilogueKind::General>;
    static_assert(sizeof(SharedStorage<General>) >= sizeof(SharedStorage<AlphaOnly>));
    static_assert(sizeof(SharedStorage<General>) <= 227 * 1024, "all that a CTA can have");
    return {kKernel, gemm_kernel<AlphaOnly>, gemm_kernel<General>, sizeof(SharedStorage<General>)};
  }
}

template <const auto& kKernels>
constexpr auto instances_of() {
  return []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array{instance_of<kKernels[kIndex]>()...};
  }
  (std::make_index_sequence<kKernels.size()>{});
}

}  // namespace hopper_gemm::library::cooperative
