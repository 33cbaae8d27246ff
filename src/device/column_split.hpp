#pragma once

#include "common/gemm_shape.hpp"

namespace hopper_gemm {

/// The wide and the narrow tile of a kernel's clusters, and how long they take.
struct WideAndNarrow {
  int cluster_m;  ///< rows of D
  int wide_n;     ///< columns of D
  int narrow_n;   ///< columns of D, fewer than wide_n
  /// The time that each tile takes once, in units of one column of D by one K block of products. The default is 7,000
  /// cycles; two SMs multiply 256x384x64 in 1,536. Most of it is the part of the epilogue that nothing hides (H200,
  /// 8192³, from differences between shapes in profiles/h200/).
  double tile_cost = 1750;
  bool mixes = true;           ///< if false, all tiles have one width
  double narrow_slowness = 1;  ///< how much longer a column of narrow tiles takes

  friend constexpr bool operator==(const WideAndNarrow&, const WideAndNarrow&) = default;
};

/// The columns of tiles of D: from the left first wide ones, then narrow ones. The last one may be partial.
struct ColumnSplit {
  int wide_columns;    ///< columns of wide tiles
  int narrow_columns;  ///< columns of narrow tiles
  int workers;  ///< clusters to launch: with this number all wide tiles, and then all narrow ones, take least time

  friend constexpr bool operator==(const ColumnSplit&, const ColumnSplit&) = default;
};

/// The split that finishes first. A wave costs as much as its largest tile, whether it is full or not. At 8192³ a
/// cluster's tiles of 256x384 would fill 10.7 waves and take eleven. Ten waves of them and one of 256x256 are all full.
///
/// Among splits that take equally long it prefers the one with the most wide tiles, which need fewer bytes, and then
/// the one with the fewest workers, which draw less power.
///
/// num_k_blocks: of 64, ≥ 1. max_workers ≥ 1: clusters that the GPU runs at a time. Takes some ten microseconds.
ColumnSplit split_columns(GemmShape shape, const WideAndNarrow& tiles, int num_k_blocks, int max_workers);

}  // namespace hopper_gemm
