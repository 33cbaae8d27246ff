#include "device/tile_scheduler.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "device/schedule_cost.hpp"

namespace hopper_gemm {
namespace {

using Order = std::function<TileCoord(std::uint32_t, TileGrid)>;

struct NamedOrder {
  std::string name;
  Order order;
};

Order bands_of(int rows) {
  return [rows](std::uint32_t index, TileGrid grid) { return supertile_order(index, grid, rows); };
}

Order hilbert_of(int leaf) {
  return [leaf](std::uint32_t index, TileGrid grid) { return hilbert_order(index, grid, leaf); };
}

std::vector<NamedOrder> all_orders() {
  return {{"linear", linear_order},
          {"column", column_order},
          {"supertile of 1", bands_of(1)},
          {"supertile of 8", bands_of(8)},
          {"supertile of 16", bands_of(16)},
          {"supertile of 2^31 - 1", bands_of(std::numeric_limits<int>::max())},
          {"hilbert", hilbert_of(1)},
          {"hilbert with leaves of 3", hilbert_of(3)},
          {"hilbert with leaves of 8", hilbert_of(8)},
          {"hilbert with one leaf", hilbert_of(std::numeric_limits<int>::max())}};
}

// Number of tiles that are visited more or less than once, or lie outside.
int faults(const Order& order, TileGrid grid, int workers) {
  std::vector<int> visits(grid.num_tiles(), 0);
  int outside = 0;
  for (std::uint32_t worker = 0; worker < static_cast<std::uint32_t>(workers); ++worker) {
    for (std::uint32_t index = worker; index < grid.num_tiles();
         index += static_cast<std::uint32_t>(workers)) {
      const TileCoord tile = order(index, grid);
      if (tile.m < 0 || tile.m >= grid.m || tile.n < 0 || tile.n >= grid.n) {
        ++outside;
      } else {
        ++visits[static_cast<std::size_t>(tile.m) * static_cast<std::size_t>(grid.n) +
                 static_cast<std::size_t>(tile.n)];
      }
    }
  }
  int wrong = outside;
  for (const int count : visits) wrong += count != 1 ? 1 : 0;
  return wrong;
}

TEST(TileOrders, GoAlongColumnsAsABandOfAllRowsDoes) {
  constexpr TileGrid kGrid = {5, 7};
  for (std::uint32_t index = 0; index < kGrid.num_tiles(); ++index) {
    const TileCoord tile = column_order(index, kGrid);
    const TileCoord expected = supertile_order(index, kGrid, kGrid.m);
    EXPECT_EQ(tile.m, expected.m) << index;
    EXPECT_EQ(tile.n, expected.n) << index;
  }
}

TEST(TileOrders, VisitEveryTileOfEverySmallGridOnce) {
  for (const NamedOrder& named : all_orders()) {
    for (int m = 1; m <= 40; ++m) {
      for (int n = 1; n <= 40; ++n) {
        ASSERT_EQ(faults(named.order, {m, n}, 1), 0) << named.name << ", " << m << "x" << n;
      }
    }
  }
}

// CTA counts of an H200, of smaller boards and of MIG slices, alone and in clusters of two and four, whatever
// the shape.
TEST(TileOrders, VisitEveryTileOnceForAnyShapeAndNumberOfWorkers) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> extent(1, 20000);
  for (const NamedOrder& named : all_orders()) {
    for (const int ctas : {132, 128, 120, 114, 78}) {
      for (const int cluster_m : {1, 2, 4}) {
        for (int i = 0; i < 60; ++i) {
          const GemmShape shape = {extent(random), extent(random), 64};
          const TileGrid grid = make_tile_grid(shape, cluster_m * 128, 256);
          ASSERT_EQ(faults(named.order, grid, ctas / cluster_m), 0)
              << named.name << ", " << shape.m << "x" << shape.n << ", " << ctas << " CTAs in clusters of "
              << cluster_m;
        }
      }
    }
  }
}

TEST(TileOrders, ReachTheEndsOfTheLargestGrids) {
  constexpr std::uint32_t kLast = (std::uint32_t{1} << 31) - 2;
  for (const TileGrid grid : {TileGrid{1, 2147483647}, TileGrid{2147483647, 1}}) {
    for (const NamedOrder& named : all_orders()) {
      const TileCoord last = named.order(kLast, grid);
      EXPECT_EQ(last.m, grid.m - 1) << named.name;
      EXPECT_EQ(last.n, grid.n - 1) << named.name;
      EXPECT_EQ(named.order(0, grid), (TileCoord{0, 0})) << named.name;
    }
  }
  // 2^31 - 88048 tiles: products of extents come close to the limit.
  const TileGrid square = {46340, 46340};
  for (const NamedOrder& named : all_orders()) {
    for (const std::uint32_t index : {0U, 1U << 30, square.num_tiles() - 1}) {
      const TileCoord tile = named.order(index, square);
      EXPECT_TRUE(tile.m >= 0 && tile.m < square.m && tile.n >= 0 && tile.n < square.n) << named.name;
    }
  }
}

TEST(SupertileOrder, WalksBandsColumnByColumn) {
  const TileGrid grid = {3, 2};
  const std::vector<TileCoord> expected = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}, {2, 1}};
  for (std::uint32_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(supertile_order(i, grid, 2), expected[i]) << i;
}

TEST(HilbertOrder, IsTheCurveOnAPowerOfTwo) {
  const std::vector<TileCoord> expected = {{0, 0}, {0, 1}, {1, 1}, {1, 0}, {2, 0}, {3, 0}, {3, 1}, {2, 1},
                                           {2, 2}, {3, 2}, {3, 3}, {2, 3}, {1, 3}, {1, 2}, {0, 2}, {0, 3}};
  for (std::uint32_t i = 0; i < expected.size(); ++i) EXPECT_EQ(hilbert_order(i, {4, 4}), expected[i]) << i;
}

TEST(HilbertOrder, WalksLeavesRowByRow) {
  for (std::uint32_t i = 0; i < 64; ++i) {
    const TileCoord tile = hilbert_order(i, {8, 8}, 8);
    EXPECT_EQ(tile.m, static_cast<int>(i / 8));
    EXPECT_EQ(tile.n, static_cast<int>(i % 8));
  }
  // In every leaf of a larger grid, eight consecutive tiles share a row.
  for (std::uint32_t i = 0; i < 32 * 32; i += 8) {
    for (std::uint32_t j = 1; j < 8; ++j) {
      EXPECT_EQ(hilbert_order(i + j, {32, 32}, 8).m, hilbert_order(i, {32, 32}, 8).m) << i + j;
    }
  }
}

TEST(HilbertOrder, StepsToANeighbourSaveForOneDiagonal) {
  for (int m = 1; m <= 48; ++m) {
    for (int n = 1; n <= 48; ++n) {
      int diagonals = 0;
      for (std::uint32_t i = 1; i < static_cast<std::uint32_t>(m * n); ++i) {
        const TileCoord from = hilbert_order(i - 1, {m, n});
        const TileCoord to = hilbert_order(i, {m, n});
        const int dm = std::abs(to.m - from.m);
        const int dn = std::abs(to.n - from.n);
        ASSERT_TRUE(dm <= 1 && dn <= 1) << m << "x" << n << " at " << i;
        diagonals += dm + dn == 2 ? 1 : 0;
      }
      EXPECT_LE(diagonals, 1) << m << "x" << n;
    }
  }
}

TEST(EvenWaves, KeepsTheNumberOfWavesAndWastesNoWorker) {
  EXPECT_EQ(even_waves(1024, 66), 64);  // 8192x8192 in cluster tiles of 256x256
  EXPECT_EQ(even_waves(1, 66), 1);
  EXPECT_EQ(even_waves(66, 66), 66);
  EXPECT_EQ(even_waves(67, 66), 34);
  for (std::uint32_t items = 1; items < 3000; ++items) {
    for (const int workers : {1, 39, 57, 60, 64, 66, 132}) {
      const auto even = static_cast<std::uint32_t>(even_waves(items, workers));
      const auto most = static_cast<std::uint32_t>(workers);
      ASSERT_LE(even, most);
      ASSERT_EQ(ceil_div(items, even), ceil_div(items, most));
      if (even > 1) {
        ASSERT_GT(ceil_div(items, even - 1), ceil_div(items, most));
      }
    }
  }
}

TEST(FetchedStrips, AreCountedOnceAWave) {
  // Two waves of a row each: each wave one row of A tiles, and every column of B tiles.
  EXPECT_EQ(fetched_strips(linear_order, {2, 5}, 5, 0).a, 2);
  EXPECT_EQ(fetched_strips(linear_order, {2, 5}, 5, 0).b, 10);
  // A band of two rows in waves of four: two rows and two columns each, and the last wave one column.
  EXPECT_EQ(fetched_strips(bands_of(2), {2, 5}, 4, 0).a, 6);
  EXPECT_EQ(fetched_strips(bands_of(2), {2, 5}, 4, 0).b, 5);
}

TEST(FetchedStrips, AreNotFetchedAgainWhileTheyAreKept) {
  // The columns of the second wave are those of the first.
  EXPECT_EQ(fetched_strips(linear_order, {2, 5}, 5, 6).b, 5);
  EXPECT_EQ(fetched_strips(linear_order, {2, 5}, 5, 5).b, 6);
  EXPECT_EQ(fetched_strips(bands_of(2), {2, 5}, 4, 2).a, 2);
  // Waves of a tile each: before a column comes again, two other columns and both rows were touched.
  EXPECT_EQ(fetched_strips(linear_order, {2, 3}, 1, 3).b, 6);
  EXPECT_EQ(fetched_strips(linear_order, {2, 3}, 1, 5).b, 3);
}

// Where a wave of 64 clusters is a square of the curve, no order can touch less: 8 rows and 8 columns.
TEST(FetchedStrips, OfTheHilbertOrderAreTheLeastOnPowersOfTwo) {
  for (const int extent : {8, 16, 32, 64, 128}) {
    const TileGrid grid = {extent, extent};
    const int workers = 64;
    const std::int64_t waves = extent * extent / workers;
    EXPECT_EQ(fetched_strips(hilbert_of(8), grid, workers, 0).total(), waves * 16);
    EXPECT_EQ(fetched_strips(hilbert_of(1), grid, workers, 0).total(), waves * 16);
    EXPECT_EQ(fetched_strips(bands_of(8), grid, workers, 0).total(), waves * 16);
    if (extent > 8) {
      EXPECT_GT(fetched_strips(bands_of(4), grid, workers, 0).total(), waves * 16);
      EXPECT_GT(fetched_strips(linear_order, grid, workers, 0).total(), waves * 16);
    }
    // The next square always shares its rows or its columns; what follows the end of a band shares neither.
    for (const int kept_strips : {16, 24, 32}) {
      const std::int64_t fetched = fetched_strips(hilbert_of(8), grid, workers, kept_strips).total();
      EXPECT_LE(fetched, 16 + (waves - 1) * 8) << kept_strips;
      EXPECT_LE(fetched, fetched_strips(bands_of(8), grid, workers, kept_strips).total()) << kept_strips;
    }
  }
}

// Over grids of all proportions. Where L2 keeps nothing from one wave to the next, bands of the height that fits
// the number of workers, here 8 of 66, fetch less than the curve, whose waves often lie around a corner. Once it
// keeps 20 strips, somewhat more than a wave's, the curve fetches less than they do, since every stretch lies
// beside the one before; and from 32 on less than bands of twice the height too.
TEST(FetchedStrips, OfTheHilbertOrderAreFewerThanOfBandsWhereL2KeepsSome) {
  const auto total = [&](const Order& order, int kept_strips) {
    std::int64_t strips = 0;
    for (int m = 4; m <= 68; m += 4) {
      for (int n = 4; n <= 68; n += 4) {
        const TileGrid grid = {m, n};
        strips += fetched_strips(order, grid, even_waves(grid.num_tiles(), 66), kept_strips).total();
      }
    }
    return static_cast<double>(strips);
  };
  for (const int kept_strips : {0, 20, 24, 32, 48, 64}) {
    const double hilbert = total(hilbert_of(8), kept_strips);
    EXPECT_LT(hilbert / total(linear_order, kept_strips), 1.0) << kept_strips;
    for (const int band : {4, 8, 16}) {
      const double ratio = hilbert / total(bands_of(band), kept_strips);
      RecordProperty(fmt::format("hilbert_to_band_of_{}_keeping_{}", band, kept_strips),
                     fmt::format("{:.3f}", ratio));
      const bool no_worse = kept_strips >= 32 || (kept_strips > 0 && band <= 8);
      EXPECT_LT(ratio, no_worse ? 1.0 : 1.30) << "bands of " << band << ", keeping " << kept_strips;
    }
  }
}

}  // namespace
}  // namespace hopper_gemm
