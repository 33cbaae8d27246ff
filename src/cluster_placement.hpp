#pragma once

#include <span>
#include <vector>

#include "hopper_gemm/cluster_positions.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Where the clusters of a grid run: the GPC of each, by cluster number. Numbers of GPCs are arbitrary.
using GpcOfCluster = std::vector<int>;

/// Finds out where the current GPU places the clusters of two CTAs of a grid that fills it, CTAs one to an
/// SM. CUDA does not tell, so small kernels look: SMs that ever ran the same cluster belong to one GPC. SMs
/// that no larger cluster takes count as GPCs of their own. About a millisecond on an idle GPU, once per process and
/// device; later calls return the same. Thread-safe, and may be called while a stream captures.
Status find_cluster_placement(GpcOfCluster* placement);

/// Positions that give the clusters of a GPC, of the first `num_clusters` ones, consecutive places, larger
/// GPCs first. num_clusters: 1 to ClusterPositions::kMaxClusters. Clusters beyond those of `placement` stay
/// in their order, at the end.
ClusterPositions positions_by_gpc(std::span<const int> placement, int num_clusters);

}  // namespace hopper_gemm
