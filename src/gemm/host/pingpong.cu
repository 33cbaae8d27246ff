// The host's half of the pingpong kernel.

#include "gemm/kernel/pingpong.cuh"

#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

#include "gemm/host/mixed_n_launch.hpp"

namespace hopper_gemm::library {
namespace {

template <typename Config>
struct Kernels {
  template <typename Operands, EpilogueKind kEpilogueKind>
  static auto of() {
    return pingpong::gemm_kernel<Config, Operands, kEpilogueKind>;
  }

  static Status load() { return {}; }

  /// It is for products that are too short to drift apart.
  static Status begin_steps(const MixedNTiles<Config>&, int, int, cudaStream_t, cuda::std::uint32_t** steps) {
    *steps = nullptr;
    return {};
  }
};

template <KernelConfig kKernel>
constexpr MixedNKernel kernel_of() {
  using Config = pingpong::Config<kKernel>;
  return MixedNLauncher<Config, pingpong::SharedStorage<Config>, pingpong::Params<Config>,
                        Kernels<Config>>::kKernel;
}

}  // namespace

const std::array<MixedNKernel, std::size(kPingpongConfigs)> kPingpongKernels =
    []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array{kernel_of<kPingpongConfigs[kIndex]>()...};
}
(std::make_index_sequence<std::size(kPingpongConfigs)>{});

}  // namespace hopper_gemm::library
