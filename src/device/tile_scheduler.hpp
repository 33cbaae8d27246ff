#pragma once

#include <cuda/std/cstdint>

#include "common/ceil_div.hpp"
#include "common/gemm_shape.hpp"
#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm {

/// The place of a tile of D, or of a cluster's group of tiles, counted in tiles from the upper left corner.
struct TileCoord {
  int m;
  int n;

  HG_HOST_DEVICE friend constexpr bool operator==(TileCoord x, TileCoord y) {
    return x.m == y.m && x.n == y.n;
  }
};

/// The extents, in tiles, of the grid of tiles that covers D. It has at least 1 x 1 and fewer than 2^31 tiles.
struct TileGrid {
  int m;
  int n;

  HG_HOST_DEVICE constexpr cuda::std::uint32_t num_tiles() const {
    return static_cast<cuda::std::uint32_t>(m) * static_cast<cuda::std::uint32_t>(n);
  }
};

/// The grid of block_m x block_n tiles over D, partial ones included.
HG_HOST_DEVICE constexpr TileGrid make_tile_grid(GemmShape shape, int block_m, int block_n) {
  return {ceil_div(shape.m, block_m), ceil_div(shape.n, block_n)};
}

// Raster orders. A persistent kernel of C workers (CTAs or clusters) gives tile number w + C * i to worker w as its
// i-th tile. A wave of C consecutive numbers runs at about the same time. An order is good if the tiles of a wave share
// rows of A and columns of B, which then come from memory once. Each of the functions below maps 0 … num_tiles() - 1
// one to one onto the grid, by arithmetic alone.

/// Row by row.
HG_HOST_DEVICE constexpr TileCoord linear_order(cuda::std::uint32_t index, TileGrid grid) {
  const auto n = static_cast<cuda::std::uint32_t>(grid.n);
  return {static_cast<int>(index / n), static_cast<int>(index % n)};
}

/// Column by column.
HG_HOST_DEVICE constexpr TileCoord column_order(cuda::std::uint32_t index, TileGrid grid) {
  const auto m = static_cast<cuda::std::uint32_t>(grid.m);
  return {static_cast<int>(index % m), static_cast<int>(index / m)};
}

/// Raster groups of `band_m` rows of tiles, each column by column. A wave of C workers covers about band_m rows and
/// C / band_m columns. band_m ≥ 1.
HG_HOST_DEVICE constexpr TileCoord supertile_order(cuda::std::uint32_t index, TileGrid grid, int band_m) {
  const int band = band_m < grid.m ? band_m : grid.m;
  const auto tiles_of_band =
      static_cast<cuda::std::uint32_t>(grid.n) * static_cast<cuda::std::uint32_t>(band);
  const int first_m = static_cast<int>(index / tiles_of_band) * band;
  const int rows = grid.m - first_m < band ? grid.m - first_m : band;  // the last group may have fewer
  const int offset = static_cast<int>(index % tiles_of_band);
  return {first_m + offset % rows, offset / rows};
}

/// Along a Hilbert curve, generalised to any rectangle. Any stretch of consecutive tiles is compact, whatever the
/// number of workers, and the next stretch lies beside it. The curve does not divide raster groups of at most `leaf` x
/// `leaf` tiles. They are walked row by row, so that consecutive workers share a row of A. With leaf = 1 the curve is
/// complete: neighbours in the order are neighbours in the grid, except for at most one diagonal step.
///
/// It takes about log2(longer extent / leaf) steps of a few dozen instructions. The subdivision is that of J. Červený's
/// "Generalized Hilbert space-filling curve for rectangular domains of arbitrary sizes"
/// (https://github.com/jakubcerveny/gilbert). This function is its direct form, from index to coordinates.
HG_HOST_DEVICE constexpr TileCoord hilbert_order(cuda::std::uint32_t index, TileGrid grid, int leaf = 1) {
  // A block of the grid has a corner, and two signed axes along its sides. The curve enters at the corner and leaves at
  // the other end of the first axis.
  struct Vector {
    int m;
    int n;
  };
  const auto length = [](Vector v) { return v.m + v.n < 0 ? -(v.m + v.n) : v.m + v.n; };  // one of them is 0
  const auto sign = [](int x) { return (x > 0 ? 1 : 0) - (x < 0 ? 1 : 0); };
  const auto unit = [&](Vector v) { return Vector{sign(v.m), sign(v.n)}; };
  const auto times = [](Vector v, int factor) { return Vector{v.m * factor, v.n * factor}; };
  const auto plus = [](Vector x, Vector y) { return Vector{x.m + y.m, x.n + y.n}; };
  // Half of an axis, rounded up to even if the block is longer than one pair.
  const auto half = [&](Vector v) {
    const int whole = length(v);
    const int part = whole / 2;
    return times(unit(v), part % 2 != 0 && whole > 2 ? part + 1 : part);
  };

  Vector corner = {0, 0};
  Vector along = grid.n >= grid.m ? Vector{0, grid.n} : Vector{grid.m, 0};
  Vector across = grid.n >= grid.m ? Vector{grid.m, 0} : Vector{0, grid.n};
  auto rest = static_cast<int>(index);
  for (;;) {
    const int width = length(along);
    const int height = length(across);
    if (width <= leaf && height <= leaf) {
      const int columns = length({0, along.n + across.n});
      return {corner.m + sign(along.m + across.m) * (rest / columns),
              corner.n + sign(along.n + across.n) * (rest % columns)};
    }
    if (height == 1 || width == 1) {
      const Vector step = times(unit(height == 1 ? along : across), rest);
      return {corner.m + step.m, corner.n + step.n};
    }
    // A long block is cut into two, one behind the other.
    if (2 * static_cast<cuda::std::int64_t>(width) > 3 * static_cast<cuda::std::int64_t>(height)) {
      const Vector front = half(along);
      const int tiles_of_front = length(front) * height;
      if (rest < tiles_of_front) {
        along = front;
      } else {
        rest -= tiles_of_front;
        corner = plus(corner, front);
        along = plus(along, times(front, -1));
      }
      continue;
    }
    // Any other block is cut into three: up at the near side, along the far half, and down again.
    const Vector near = half(across);
    const Vector first = {along.m / 2, along.n / 2};
    const Vector second = plus(along, times(first, -1));
    const int tiles_up = length(near) * length(first);
    const int tiles_far = width * (height - length(near));
    if (rest < tiles_up) {
      along = near;
      across = first;
    } else if (rest < tiles_up + tiles_far) {
      rest -= tiles_up;
      corner = plus(corner, near);
      across = plus(across, times(near, -1));
    } else {
      rest -= tiles_up + tiles_far;
      corner = plus(corner, plus(plus(along, times(unit(along), -1)), plus(near, times(unit(across), -1))));
      along = times(near, -1);
      across = times(second, -1);
    }
  }
}

/// The fewest workers that finish `num_items` in as many waves as `max_workers` would. The last wave is then as full as
/// it can be, and no SM draws power without making the launch shorter. num_items ≥ 1, max_workers ≥ 1.
HG_HOST_DEVICE constexpr int even_waves(cuda::std::uint32_t num_items, int max_workers) {
  const cuda::std::uint32_t waves = ceil_div(num_items, static_cast<cuda::std::uint32_t>(max_workers));
  return static_cast<int>(ceil_div(num_items, waves));
}

}  // namespace hopper_gemm
