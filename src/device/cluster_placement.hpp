#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "device/cluster_positions.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// The GPC on which each cluster of two CTAs of a grid runs, by cluster number. The numbers of GPCs begin at 0. Their
/// order has no meaning.
using GpcOfCluster = std::vector<int>;

/// Finds out where the current context places the clusters of a grid that fills its SMs, one CTA to an SM. CUDA does
/// not tell, so this runs five small kernels. SMs that ever ran the same cluster belong to one GPC. SMs that no larger
/// cluster takes count as GPCs of their own.
///
/// The kernels run in a stream of their own. An idle GPU takes 0.3 ms. The call waits at most 2 ms, so that it also
/// returns if a kernel before them never ends. Thread-safe. May be called while a stream captures.
///
/// Unsupported: the kernels have not ended yet; the next call then reads their result without waiting. Or other kernels
/// occupied SMs meanwhile, so that the result would be wrong. Or the GPU has too many SMs.
Status measure_cluster_placement(GpcOfCluster* placement);

/// Whether a call waits for the measurement that it starts, for 2 ms at most.
enum class Patience { Some, None };

/// The result of measure_cluster_placement() for the current context. It is empty as long as no measurement has
/// succeeded, which costs a kernel only speed. Each call measures until one has succeeded, or until eight have failed of
/// those with the same patience: launches in a busy stream leave the attempts of later plans alone. Thread-safe. May be
/// called while a stream captures. The result is valid as long as the process lives.
std::span<const int> known_cluster_placement(Patience patience = Patience::Some);

/// Positions for the first `num_clusters` clusters. The clusters of a GPC get consecutive places, and larger GPCs come
/// first. placement: GPCs from 0 to ClusterPositions::kMaxClusters - 1. num_clusters: 1 to kMaxClusters. Clusters that
/// `placement` does not have keep their order, at the end.
ClusterPositions positions_by_gpc(std::span<const int> placement, int num_clusters);

/// Positions by GPC for all launches of a plan. If the GPU is busy while the plan is made, the placement is not known yet.
/// The launches then ask again until it is, and never wait for it.
class LastingClusterPositions {
 public:
  /// num_clusters: see positions_by_gpc(). Waits as known_cluster_placement() does.
  explicit LastingClusterPositions(int num_clusters);

  /// Thread-safe. May be called while a stream captures. The graph then keeps these positions.
  ClusterPositions get() const;

 private:
  void place(Patience patience) const;

  int num_clusters_;
  mutable std::mutex mutex_;
  mutable std::atomic<bool> is_placed_ = false;
  mutable ClusterPositions positions_;  // guarded by mutex_ until is_placed_, constant from then on
};

}  // namespace hopper_gemm
