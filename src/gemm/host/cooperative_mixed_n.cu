// The host's half of the cooperative kernel with a mixed tile N.

#include "gemm/kernel/cooperative_mixed_n.cuh"

#include <cstdint>
#include <memory>

#include "device/wave_steps.hpp"
#include "gemm/host/mixed_n_launcher.hpp"

namespace hopper_gemm::library::cooperative_mixed_n {
namespace {

__device__ WaveSteps steps_of_launches;

struct Kernels {
  template <typename Operands, EpilogueKind kEpilogueKind>
  static auto of() {
    return gemm_kernel<Operands, kEpilogueKind>;
  }

  /// See find_wave_steps().
  static Status load() {
    void* steps = nullptr;
    return find_wave_steps(steps_of_launches, &steps);
  }

  /// Makes the counter of the wave throttle. tiles: the first of them fill waves of `clusters` clusters.
  static Status begin_steps(const MixedNTiles<Config>& tiles, int num_k_blocks, int clusters,
                            cudaStream_t stream, cuda::std::uint32_t** steps) {
    const std::int64_t waves = tiles.wide.num_tiles() / static_cast<std::uint32_t>(clusters);
    return begin_wave_steps(steps_of_launches, waves * num_k_blocks, stream, steps);
  }
};

using Launcher = MixedNLauncher<Config, SharedStorage, Kernels>;

Status active_clusters(const GemmConfig&, int* clusters) { return Launcher::active_clusters(clusters); }

}  // namespace

const KernelFamily kFamily = {active_clusters, make_prepared<Launcher>};

}  // namespace hopper_gemm::library::cooperative_mixed_n
