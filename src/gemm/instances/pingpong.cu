// The host's half of the pingpong kernel.

#include "gemm/kernel/pingpong.cuh"

#include <array>
#include <cstddef>
#include <utility>

#include "gemm/host/mixed_n_launch.hpp"

namespace hopper_gemm::library {
namespace {

template <typename Config>
struct Kernels {
  static constexpr bool kHasGeneral = has_general_epilogue(Config::kTile);

  template <typename Operands, wgmma::EpilogueKind kEpilogueKind>
  static auto of() {
    return pingpong::gemm_kernel<Config, Operands, kEpilogueKind>;
  }

  static Status load() { return {}; }

  /// It is for products that are too short to drift apart.
  static Status begin_steps(const TwoWidthTiles<Config>&, int, int, cudaStream_t,
                            cuda::std::uint32_t** steps) {
    *steps = nullptr;
    return {};
  }
};

template <wgmma::Tile kTile>
constexpr TwoWidthKernel kernel_of() {
  using Config = pingpong::Config<kTile>;
  return TwoWidthLauncher<Config, pingpong::SharedStorage<Config>, pingpong::Params<Config>,
                          Kernels<Config>>::kKernel;
}

}  // namespace

const std::array<TwoWidthKernel, kPingpongTiles.size()> kPingpongKernels =
    []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array{kernel_of<kPingpongTiles[kIndex]>()...};
}
(std::make_index_sequence<kPingpongTiles.size()>{});

}  // namespace hopper_gemm::library
