#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "gemm/instances/cooperative_configs.hpp"
#include "gemm/kernel/cooperative.cuh"

namespace hopper_gemm::library::wgmma {

/// The kernels for a tile. This is what instantiates them.
template <Tile kTile>
constexpr Instance instance_of() {
  using Plain = Config<kTile, EpilogueKind::Plain>;
  constexpr std::size_t kSmemBytes = sizeof(SharedStorage<Plain>);
  if constexpr (is_plain_only(kTile)) {
    return {kTile, gemm_kernel<Plain>, nullptr, kSmemBytes};
  } else {
    using General = Config<kTile, EpilogueKind::General>;
    static_assert(sizeof(SharedStorage<General>) == kSmemBytes);
    return {kTile, gemm_kernel<Plain>, gemm_kernel<General>, kSmemBytes};
  }
}

template <const auto& kTiles>
constexpr auto instances_of() {
  return []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array{instance_of<kTiles[kIndex]>()...};
  }
  (std::make_index_sequence<kTiles.size()>{});
}

}  // namespace hopper_gemm::library::wgmma
