#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "device/tile_scheduler.hpp"

namespace hopper_gemm {

/// The strips that the waves of a persistent kernel fetch from memory. A strip is a row of A's tiles or a column of
/// B's.
struct FetchedStrips {
  std::int64_t a = 0;
  std::int64_t b = 0;

  std::int64_t total() const { return a + b; }
};

/// The strips that `workers` workers fetch if they take the tiles of `grid` in the order of `order(index, grid)`. A
/// wave fetches each strip that it touches once. It does not fetch the `kept_strips` strips that earlier waves touched
/// last, because L2 still holds them. An H200's L2 has 60 MB, which is 14 strips of 256 rows at K = 8192, and 57 at K =
/// 2048. kept_strips = 0 counts the distinct strips of each wave, its working set. Takes time in proportion to the
/// number of tiles, and to kept_strips.
template <typename Order>
FetchedStrips fetched_strips(const Order& order, TileGrid grid, int workers, int kept_strips) {
  FetchedStrips fetched;
  std::vector<int> kept;  // last touched first; rows of A from 0 up, columns of B after them
  for (std::uint32_t first = 0; first < grid.num_tiles(); first += static_cast<std::uint32_t>(workers)) {
    const std::uint32_t end = std::min(first + static_cast<std::uint32_t>(workers), grid.num_tiles());
    std::set<int> touched;
    for (std::uint32_t index = first; index < end; ++index) {
      const TileCoord tile = order(index, grid);
      touched.insert(tile.m);
      touched.insert(grid.m + tile.n);
    }
    for (const int strip : touched) {
      if (std::find(kept.begin(), kept.end(), strip) == kept.end())
        ++(strip < grid.m ? fetched.a : fetched.b);
    }
    std::erase_if(kept, [&](int strip) { return touched.contains(strip); });
    kept.insert(kept.begin(), touched.begin(), touched.end());
    kept.resize(std::min(kept.size(), static_cast<std::size_t>(kept_strips)));
  }
  return fetched;
}

}  // namespace hopper_gemm
