#include "device/column_split.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/ceil_div.hpp"

namespace hopper_gemm {
namespace {

constexpr WideAndNarrow kTiles = {.cluster_m = 256, .wide_n = 384, .narrow_n = 256};
constexpr int kClusters = 66;  // of two CTAs, on an H200

ColumnSplit split(GemmShape shape, int max_workers = kClusters) {
  return split_columns(shape, kTiles, ceil_div(shape.k, 64), max_workers);
}

TEST(ColumnSplit, FillsTheLastWave) {
  // 8192³: ten waves of 64 wide tiles and one of 64 narrow ones.
  EXPECT_EQ(split({8192, 8192, 8192}), (ColumnSplit{20, 2, 64}));
  EXPECT_EQ(split({4096, 4096, 4096}), (ColumnSplit{8, 4, 64}));
  // 24 waves of 64 wide tiles would leave two clusters idle all the time.
  EXPECT_EQ(split({12288, 12288, 12288}), (ColumnSplit{30, 3, 66}));
  // One wave is shorter with narrow tiles.
  EXPECT_EQ(split({2048, 2048, 2048}), (ColumnSplit{0, 8, 64}));
}

TEST(ColumnSplit, OfEquallyLongOnesTakesTheWidest) {
  EXPECT_EQ(split({256, 384, 4096}, 1), (ColumnSplit{1, 0, 1}));
  // A tile of any width for each of plenty of workers: the narrow ones are done first.
  EXPECT_EQ(split({256, 384, 4096}), (ColumnSplit{0, 2, 2}));
}

TEST(ColumnSplit, ShortKAsksForFewerTiles) {
  // Two tiles in any case: as narrow as they may be. And two that reach beyond D rather than three that do not.
  EXPECT_EQ(split({256, 400, 8}, 1), (ColumnSplit{0, 2, 1}));
  EXPECT_EQ(split({256, 700, 8}, 1), (ColumnSplit{2, 0, 1}));
}

/// What all workers do, one tile after the other as the kernels take them, by the same costs as the function's.
double longest(const ColumnSplit& columns, GemmShape shape, int workers) {
  const double k_blocks = ceil_div(shape.k, 64);
  const std::int64_t rows = ceil_div(shape.m, kTiles.cluster_m);
  std::vector<double> busy(static_cast<std::size_t>(workers));
  for (std::int64_t tile = 0; tile < rows * (columns.wide_columns + columns.narrow_columns); ++tile) {
    const int width = tile < rows * columns.wide_columns ? kTiles.wide_n : kTiles.narrow_n;
    busy[static_cast<std::size_t>(tile % workers)] += k_blocks * width + kTiles.tile_cost;
  }
  return *std::max_element(busy.begin(), busy.end());
}

TEST(ColumnSplit, HasOneWidthWhereWidthsDoNotMix) {
  WideAndNarrow tiles = kTiles;
  // Three wide columns of 384 would reach further beyond D than four narrow ones, which end with it.
  const GemmShape shape = {.m = 8192, .n = 1024, .k = 1024};
  EXPECT_NE(split_columns(shape, tiles, 16, kClusters), (ColumnSplit{0, 4, kClusters}));
  tiles.mixes = false;
  tiles.tile_cost = 0;
  const ColumnSplit found = split_columns(shape, tiles, 16, kClusters);
  EXPECT_EQ(found.wide_columns, 0);
  EXPECT_EQ(found.narrow_columns, 4);
  tiles.narrow_slowness = 2;
  EXPECT_EQ(split_columns(shape, tiles, 16, kClusters).wide_columns, 3);
}

class AnyShape : public testing::TestWithParam<GemmShape> {};

TEST_P(AnyShape, IsCoveredInNoMoreTimeThanTilesOfOneWidthTake) {
  const GemmShape shape = GetParam();
  for (const int max_workers : {1, 2, 3, 7, 60, kClusters}) {
    SCOPED_TRACE(std::to_string(max_workers) + " workers");
    const ColumnSplit found = split(shape, max_workers);
    const std::int64_t covered = std::int64_t{found.wide_columns} * kTiles.wide_n +
                                 std::int64_t{found.narrow_columns} * kTiles.narrow_n;
    EXPECT_GE(covered, shape.n);
    // No column of tiles lies beyond D.
    EXPECT_LT(covered - (found.narrow_columns > 0 ? kTiles.narrow_n : kTiles.wide_n), shape.n);
    EXPECT_GE(found.workers, 1);
    EXPECT_LE(found.workers, max_workers);
    const double cost = longest(found, shape, found.workers);
    for (const ColumnSplit& other : {ColumnSplit{ceil_div(shape.n, kTiles.wide_n), 0, max_workers},
                                     ColumnSplit{0, ceil_div(shape.n, kTiles.narrow_n), max_workers}}) {
      EXPECT_LE(cost, longest(other, shape, max_workers));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ColumnSplit, AnyShape,
                         testing::Values(GemmShape{1, 1, 1}, GemmShape{17, 40, 72}, GemmShape{520, 776, 328},
                                         GemmShape{4000, 4104, 4096}, GemmShape{4096, 32768, 512},
                                         GemmShape{16384, 16384, 16384}, GemmShape{1, 2147483000, 8}));

}  // namespace
}  // namespace hopper_gemm
