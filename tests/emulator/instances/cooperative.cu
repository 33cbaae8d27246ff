// The library's cooperative kernels for the four tiles that mutants run. The first runs in clusters that share loads of
// A and B. The second has two consumer warpgroups, and its CTAs may share K. The last piece of D of the third overlaps
// the one before. The fourth swaps A and B. make_mutants.py lets a mutant compile one of them.

#include <array>
#include <cstddef>
#include <utility>

#include "gemm/instances/cooperative.cuh"

namespace hopper_gemm::library::cooperative {
namespace {

constexpr bool is_run(const KernelConfig& kernel) {
  const bool shares_loads = kernel == config(1, 64, 64, 12);
  const bool shares_k = kernel == config(2, 128, 128, 6);
  const bool stores_twice = kernel == alpha_only_config(1, 64, 96, 10);
  const bool swaps_ab = kernel == swapped_config(1, 48, 64, 12);
  return shares_loads || shares_k || stores_twice || swaps_ab;
}

template <const auto& kKernels>
constexpr auto instances_that_are_run() {
  return []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    const auto instance = []<std::size_t kNumber>(std::integral_constant<std::size_t, kNumber>) {
      if constexpr (is_run(kKernels[kNumber])) {
        return instance_of<kKernels[kNumber]>();
      } else {
        return Instance{kKernels[kNumber], nullptr, nullptr, 0};
      }
    };
    return std::array{instance(std::integral_constant<std::size_t, kIndex>{})...};
  }
  (std::make_index_sequence<kKernels.size()>{});
}

}  // namespace

const std::array<Instance, kLargeKernels.size()> kLargeInstances = instances_that_are_run<kLargeKernels>();
const std::array<Instance, kSmallKernels.size()> kSmallInstances = instances_that_are_run<kSmallKernels>();
const std::array<Instance, kAlphaOnlyKernels.size()> kAlphaOnlyInstances =
    instances_that_are_run<kAlphaOnlyKernels>();
const std::array<Instance, kSwappedKernels.size()> kSwappedInstances =
    instances_that_are_run<kSwappedKernels>();
const std::array<Instance, kSmallSwappedKernels.size()> kSmallSwappedInstances =
    instances_that_are_run<kSmallSwappedKernels>();

}  // namespace hopper_gemm::library::cooperative
