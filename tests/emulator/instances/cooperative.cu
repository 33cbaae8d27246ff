// The library's wgmma kernels for the three tiles that mutants run, to have as little to compile of each as there can be:
// one whose CTAs share loads of A and B, one whose CTAs may share K, of two consumer warpgroups, and one whose last
// piece of D overlaps the one before.

#include <array>
#include <cstddef>
#include <utility>

#include "gemm/instances/cooperative.cuh"

namespace hopper_gemm::library::wgmma {
namespace {

constexpr bool is_run(const Tile& tile) {
  const bool shares_both =
      tile ==
      Tile{.block_m = 64, .block_n = 64, .stages = 12, .cluster_m = 2, .cluster_n = 2, .consumers = 1};
  const bool shares_k = can_split(tile) && tile.consumers == 2 && tile.block_n == 128;
  const bool stores_twice = tile.block_n == 80 && tile.consumers == 1;
  return shares_both || shares_k || stores_twice;
}

template <const auto& kTiles>
constexpr auto instances_that_are_run() {
  return []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    const auto instance = []<std::size_t kTile>(std::integral_constant<std::size_t, kTile>) {
      if constexpr (is_run(kTiles[kTile])) {
        return instance_of<kTiles[kTile]>();
      } else {
        return Instance{kTiles[kTile], nullptr, nullptr, 0};
      }
    };
    return std::array{instance(std::integral_constant<std::size_t, kIndex>{})...};
  }
  (std::make_index_sequence<kTiles.size()>{});
}

}  // namespace

const std::array<Instance, kLargeTiles.size()> kLargeInstances = instances_that_are_run<kLargeTiles>();
const std::array<Instance, kSmallTiles.size()> kSmallInstances = instances_that_are_run<kSmallTiles>();
const std::array<Instance, kPlainTiles.size()> kPlainInstances = instances_that_are_run<kPlainTiles>();

}  // namespace hopper_gemm::library::wgmma
