// The host's half of the pingpong kernel.

#include "gemm/kernel/pingpong.cuh"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>

#include "gemm/host/mixed_n_launcher.hpp"

namespace hopper_gemm::library::pingpong {
namespace {

template <typename Config>
struct Kernels {
  template <typename Operands, EpilogueKind kEpilogueKind>
  static auto of() {
    return gemm_kernel<Config, Operands, kEpilogueKind>;
  }

  static Status load() { return {}; }

  /// No wave throttle: the products are too short for clusters to drift apart.
  static Status begin_steps(const MixedNTiles<Config>&, int, int, cudaStream_t, cuda::std::uint32_t** steps) {
    *steps = nullptr;
    return {};
  }
};

/// The family's functions for one configuration.
struct Member {
  Status (*active_clusters)(int* clusters);
  Status (*make_launcher)(const LauncherRequest& request, std::unique_ptr<const KernelLauncher>* launcher);
};

template <KernelConfig kKernel>
constexpr Member member_of() {
  using ThisConfig = Config<kKernel>;
  using Launcher = MixedNLauncher<ThisConfig, SharedStorage<ThisConfig>, Kernels<ThisConfig>>;
  return {Launcher::active_clusters, make_prepared<Launcher>};
}

/// In the order of kPingpongConfigs.
constexpr auto kMembers = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array{member_of<kPingpongConfigs[kIndex]>()...};
}
(std::make_index_sequence<std::size(kPingpongConfigs)>{});

const Member& member_of(const KernelConfig& kernel) {
  const auto* const found = std::find(std::begin(kPingpongConfigs), std::end(kPingpongConfigs), kernel);
  return kMembers[static_cast<std::size_t>(found - std::begin(kPingpongConfigs))];
}

Status active_clusters(const GemmConfig& config, int* clusters) {
  return member_of(config.kernel).active_clusters(clusters);
}

Status make_launcher(const LauncherRequest& request, std::unique_ptr<const KernelLauncher>* launcher) {
  return member_of(request.config.kernel).make_launcher(request, launcher);
}

}  // namespace

const KernelFamily kFamily = {active_clusters, make_launcher};

}  // namespace hopper_gemm::library::pingpong
