#include "device/column_split.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/ceil_div.hpp"

namespace hopper_gemm {
namespace {

// How many clusters may stay idle. More would not pay: each cluster less costs more than a fuller last wave gains.
constexpr int kMostIdleWorkers = 8;
// How many waves may have narrow tiles. If they are two thirds as wide, three waves of them take as long as two of wide
// ones, so more would not pay. For wider narrow tiles more would pay at times according to this model; no GPU was
// asked.
constexpr int kMostNarrowWaves = 3;

/// The time until the last of `workers` is done. That is the first worker, because none has more tiles of either width.
double makespan(std::int64_t wide, std::int64_t narrow, double wide_cost, double narrow_cost,
                std::int64_t workers) {
  const std::int64_t wide_turns = ceil_div(wide, workers);
  const std::int64_t turns = ceil_div(wide + narrow, workers);
  return static_cast<double>(wide_turns) * wide_cost + static_cast<double>(turns - wide_turns) * narrow_cost;
}

}  // namespace

ColumnSplit split_columns(GemmShape shape, const WideAndNarrow& tiles, int num_k_blocks, int max_workers) {
  const std::int64_t rows = ceil_div(shape.m, tiles.cluster_m);
  const double wide_cost = 1.0 * num_k_blocks * tiles.wide_n + tiles.tile_cost;
  const double narrow_cost = tiles.narrow_slowness * num_k_blocks * tiles.narrow_n + tiles.tile_cost;
  ColumnSplit best{};
  double best_cost = std::numeric_limits<double>::infinity();
  const int most_wide = ceil_div(shape.n, tiles.wide_n);
  const std::int64_t most_narrow = ceil_div(std::int64_t{kMostNarrowWaves} * max_workers, rows);
  const std::int64_t fewest_wide = tiles.mixes ? std::max<std::int64_t>(0, most_wide - most_narrow) : 0;
  for (int wide = most_wide; wide >= fewest_wide; wide -= tiles.mixes ? 1 : most_wide) {
    const std::int64_t rest = shape.n - std::int64_t{wide} * tiles.wide_n;
    const int narrow = rest > 0 ? static_cast<int>(ceil_div(rest, std::int64_t{tiles.narrow_n})) : 0;
    for (int workers = std::max(1, max_workers - kMostIdleWorkers); workers <= max_workers; ++workers) {
      const double cost = makespan(rows * wide, rows * narrow, wide_cost, narrow_cost, workers);
      if (cost < best_cost) {
        best_cost = cost;
        best = {wide, narrow, workers};
      }
    }
  }
  best.workers = static_cast<int>(
      std::min<std::int64_t>(best.workers, rows * (best.wide_columns + best.narrow_columns)));
  return best;
}

}  // namespace hopper_gemm
