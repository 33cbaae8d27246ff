#pragma once

#include <algorithm>
#include <cstdint>

#include "device/cluster_positions.hpp"
#include "device/tile_scheduler.hpp"
#include "gemm/scheduler/cluster_starts.hpp"

namespace hopper_gemm::library {

/// The starts of clusters that keep their order: tiles by bands of band_m rows, or with several tiles for each cluster
/// the places themselves. matrices: that the launch computes, one after the other.
inline ClusterStarts starts_in_order(TileGrid grid, int matrices, int band_m, bool has_one_tile) {
  ClusterStarts starts{};
  const std::uint32_t tiles = grid.num_tiles();
  for (std::uint32_t place = 0; place < ClusterStarts::kMaxClusters; ++place) {
    const auto matrix = static_cast<int>(place / tiles);
    TileCoord tile = supertile_order(place % tiles, grid, band_m);
    tile.m += matrix * grid.m;
    const std::uint32_t only_tile = matrix < matrices ? ClusterStarts::packed(tile) : ClusterStarts::kNoTile;
    starts.start[place] = has_one_tile ? only_tile : place;
  }
  return starts;
}

/// The same starts for clusters that take the positions of others. A position stands for in_each consecutive starts.
inline ClusterStarts starts_at(const ClusterPositions& positions, int clusters, int in_each,
                               const ClusterStarts& in_order) {
  ClusterStarts starts = in_order;
  for (int cluster = 0; cluster < clusters; ++cluster) {
    std::copy_n(in_order.start + positions.position[cluster] * in_each, in_each,
                starts.start + cluster * in_each);
  }
  return starts;
}

}  // namespace hopper_gemm::library
