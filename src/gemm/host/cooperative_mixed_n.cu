// The host's half of the cooperative kernel with a mixed tile N.

#include "gemm/kernel/cooperative_mixed_n.cuh"

#include <cstdint>

#include "device/wave_steps.hpp"
#include "gemm/host/mixed_n_launch.hpp"

namespace hopper_gemm::library {
namespace {

using cooperative_mixed_n::Config;

__device__ WaveSteps steps_of_launches;

struct Kernels {
  template <typename Operands, EpilogueKind>
  static auto of() {
    return cooperative_mixed_n::gemm_kernel<Operands>;
  }

  /// See find_wave_steps().
  static Status load() {
    void* steps = nullptr;
    return find_wave_steps(steps_of_launches, &steps);
  }

  /// tiles: of which the first fill waves of so many clusters.
  static Status begin_steps(const MixedNTiles<Config>& tiles, int num_k_blocks, int clusters,
                            cudaStream_t stream, cuda::std::uint32_t** steps) {
    const std::int64_t waves = tiles.wide.num_tiles() / static_cast<std::uint32_t>(clusters);
    return begin_wave_steps(steps_of_launches, waves * num_k_blocks, stream, steps);
  }
};

}  // namespace

const MixedNKernel kWideKernel =
    MixedNLauncher<Config, cooperative_mixed_n::SharedStorage, MixedNParams<Config>, Kernels>::kKernel;

}  // namespace hopper_gemm::library
