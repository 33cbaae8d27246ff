#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hopper_gemm/tile_scheduler.hpp"

namespace hopper_gemm {

/// What the waves of a persistent kernel read: the rows of A tiles and the columns of B tiles that each wave
/// touches, counted once a wave and added up. When the L2 cache holds what a wave reads at a time, and
/// nothing of the wave before, memory delivers that many strips of A and B.
struct TouchedStrips {
  std::int64_t a = 0;
  std::int64_t b = 0;

  std::int64_t total() const { return a + b; }
};

/// The strips that `workers` workers touch which walk over `grid` in the order of `order(index, grid)`. Takes
/// time and memory in proportion to the number of tiles.
template <typename Order>
TouchedStrips touched_strips(Order order, TileGrid grid, int workers) {
  TouchedStrips touched;
  std::vector<std::int64_t> last_wave_of_row(static_cast<std::size_t>(grid.m), -1);
  std::vector<std::int64_t> last_wave_of_column(static_cast<std::size_t>(grid.n), -1);
  for (std::uint32_t index = 0; index < grid.num_tiles(); ++index) {
    const std::int64_t wave = index / static_cast<std::uint32_t>(workers);
    const TileCoord tile = order(index, grid);
    std::int64_t& last_of_row = last_wave_of_row[static_cast<std::size_t>(tile.m)];
    std::int64_t& last_of_column = last_wave_of_column[static_cast<std::size_t>(tile.n)];
    touched.a += last_of_row != wave ? 1 : 0;
    touched.b += last_of_column != wave ? 1 : 0;
    last_of_row = wave;
    last_of_column = wave;
  }
  return touched;
}

}  // namespace hopper_gemm
