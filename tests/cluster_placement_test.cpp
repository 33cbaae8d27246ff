#include "device/cluster_placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace hopper_gemm {
namespace {

std::vector<int> positions(const std::vector<int>& placement, int num_clusters) {
  const ClusterPositions found = positions_by_gpc(placement, num_clusters);
  const std::span<const std::uint8_t> used(found.position, static_cast<std::size_t>(num_clusters));
  return {used.begin(), used.end()};
}

TEST(ClusterPositions, ClustersOfAGpcAreNeighboursLargerGpcsFirst) {
  // GPC 5 has two of the clusters, GPC 3 three, and GPC 9 one.
  EXPECT_THAT(positions({5, 3, 9, 3, 5, 3}, 6), testing::ElementsAre(3, 0, 5, 1, 4, 2));
}

TEST(ClusterPositions, OfASmallerGridCountItsOwnClustersOnly) {
  EXPECT_THAT(positions({5, 3, 9, 3, 5, 3}, 3), testing::ElementsAre(1, 0, 2));
}

TEST(ClusterPositions, WithoutAPlacementKeepTheOrder) {
  EXPECT_THAT(positions({}, 4), testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(positions({7, 6}, 4), testing::ElementsAre(1, 0, 2, 3));
}

TEST(ClusterPositions, AreAPermutationForAnyNumberOfClusters) {
  std::vector<int> placement(66);
  for (int i = 0; i < 66; ++i) placement[static_cast<std::size_t>(i)] = i * 5 % 8;
  for (int count = 1; count <= ClusterPositions::kMaxClusters; ++count) {
    const std::vector<int> found = positions(placement, count);
    const std::set<int> distinct(found.begin(), found.end());
    EXPECT_EQ(static_cast<int>(distinct.size()), count);
    EXPECT_EQ(*distinct.begin(), 0);
    EXPECT_EQ(*distinct.rbegin(), count - 1);
  }
}

}  // namespace
}  // namespace hopper_gemm
