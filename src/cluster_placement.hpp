#pragma once

#include <span>
#include <vector>

#include "hopper_gemm/cluster_positions.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Where the clusters of two CTAs of a grid run: the GPC of each, by cluster number. GPCs are numbered from 0,
/// in no order that means anything.
using GpcOfCluster = std::vector<int>;

/// Finds out where the current GPU places the clusters of a grid that fills it, CTAs one to an SM. CUDA does
/// not tell, so small kernels look: SMs that ever ran the same cluster belong to one GPC. SMs that no larger
/// cluster takes count as GPCs of their own. About a millisecond on an idle GPU. May be called while a stream
/// captures, but by one thread at a time.
Status measure_cluster_placement(GpcOfCluster* placement);

/// What measure_cluster_placement() found for the current GPU when this was first called; nothing if it
/// failed, which costs a kernel speed but nothing else. Thread-safe, and may be called while a stream captures.
/// Valid for as long as the process lives.
std::span<const int> known_cluster_placement();

/// Positions that give the clusters of a GPC, of the first `num_clusters` ones, consecutive places, larger
/// GPCs first. placement: GPCs of 0 … ClusterPositions::kMaxClusters - 1. num_clusters: 1 to kMaxClusters.
/// Clusters beyond those of `placement` stay in their order, at the end.
ClusterPositions positions_by_gpc(std::span<const int> placement, int num_clusters);

}  // namespace hopper_gemm
