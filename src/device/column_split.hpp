#pragma once

#include "common/gemm_shape.hpp"

namespace hopper_gemm {

/// A kernel's two tiles, of one height: what its clusters compute at a time, and how long that takes.
struct WideAndNarrow {
  int cluster_m;  ///< rows of D
  int wide_n;     ///< columns of D
  int narrow_n;   ///< fewer
  /// What happens once for each tile, in columns of D by K blocks, for each of which the tensor cores take
  /// equally long. The default is of 7,000 cycles, of which 256x384x64 by two SMs take 1,536: the part of the
  /// epilogue that nothing hides above all (H200, 8192³: differences between shapes in profiles/h200/).
  double tile_cost = 1750;
  bool mixes = true;           ///< or all tiles are of one width
  double narrow_slowness = 1;  ///< how much longer a column of narrow tiles takes

  friend constexpr bool operator==(const WideAndNarrow&, const WideAndNarrow&) = default;
};

/// D's columns from the left: first those of wide tiles, then those of narrow ones, partial ones included.
struct ColumnSplit {
  int wide_columns;    ///< of tiles
  int narrow_columns;  ///< of tiles
  int workers;  ///< clusters that finish first when they take all wide tiles in turn, then all narrow ones

  friend constexpr bool operator==(const ColumnSplit&, const ColumnSplit&) = default;
};

/// The split whose last worker is done first. A wave of tiles costs as much as its largest, whether it is
/// full or not: at 8192³ tiles of 256x384, a cluster's, are eleven waves, of 10.7 to fill, where ten and one
/// of 256x256 fill all. Of splits that take equally long the one with the most wide tiles, which need fewer
/// bytes; of equal workers the fewest, which draw less power.
///
/// num_k_blocks: of 64, ≥ 1. max_workers ≥ 1: clusters that the GPU runs at a time. Takes some ten microseconds.
ColumnSplit split_columns(GemmShape shape, const WideAndNarrow& tiles, int num_k_blocks, int max_workers);

}  // namespace hopper_gemm
