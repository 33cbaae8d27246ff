#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <span>

#include "device/cluster_placement.hpp"

namespace hopper_gemm {

ClusterPositions positions_by_gpc(std::span<const int> placement, int num_clusters) {
  const auto count = static_cast<std::size_t>(num_clusters);
  const auto placed = placement.first(std::min(count, placement.size()));
  std::array<int, ClusterPositions::kMaxClusters> clusters_of_gpc{};
  for (const int gpc : placed) ++clusters_of_gpc[static_cast<std::size_t>(gpc)];
  std::array<std::size_t, ClusterPositions::kMaxClusters> gpcs;
  std::iota(gpcs.begin(), gpcs.end(), std::size_t{0});
  std::stable_sort(gpcs.begin(), gpcs.end(),
                   [&](std::size_t x, std::size_t y) { return clusters_of_gpc[x] > clusters_of_gpc[y]; });
  std::array<int, ClusterPositions::kMaxClusters> next_position{};
  int first_position = 0;
  for (const std::size_t gpc : gpcs) {
    next_position[gpc] = first_position;
    first_position += clusters_of_gpc[gpc];
  }
  ClusterPositions positions{};
  for (std::size_t i = 0; i < placed.size(); ++i) {
    positions.position[i] = static_cast<std::uint8_t>(next_position[static_cast<std::size_t>(placed[i])]++);
  }
  for (std::size_t i = placed.size(); i < count; ++i) positions.position[i] = static_cast<std::uint8_t>(i);
  return positions;
}

LastingClusterPositions::LastingClusterPositions(int num_clusters)
    : num_clusters_(num_clusters), positions_(positions_by_gpc({}, num_clusters)) {
  place(Patience::Some);
}

void LastingClusterPositions::place(Patience patience) const {
  const std::span<const int> placement = known_cluster_placement(patience);
  if (placement.empty()) return;
  positions_ = positions_by_gpc(placement, num_clusters_);
  is_placed_.store(true, std::memory_order_release);
}

ClusterPositions LastingClusterPositions::get() const {
  if (is_placed_.load(std::memory_order_acquire)) return positions_;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!is_placed_.load(std::memory_order_relaxed)) place(Patience::None);
  return positions_;
}

}  // namespace hopper_gemm
