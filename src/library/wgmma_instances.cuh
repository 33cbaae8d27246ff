#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "library/wgmma_configs.hpp"
#include "library/wgmma_gemm.cuh"

namespace hopper_gemm::library::wgmma {

/// The kernel for each of kTiles. This is what instantiates them.
template <const auto& kTiles>
constexpr auto instances_of() {
  return []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array{Instance{kTiles[kIndex], gemm_kernel<Config<kTiles[kIndex]>>,
                               sizeof(SharedStorage<Config<kTiles[kIndex]>>)}...};
  }(std::make_index_sequence<kTiles.size()>{});
}

}  // namespace hopper_gemm::library::wgmma
