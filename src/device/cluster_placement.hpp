#pragma once

#include <span>
#include <vector>

#include "device/cluster_positions.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Where the clusters of two CTAs of a grid run: the GPC of each, by cluster number. GPCs are numbered from 0,
/// in no order that means anything.
using GpcOfCluster = std::vector<int>;

/// Finds out where the current context places the clusters of a grid that fills its SMs, one CTA to an SM. CUDA does
/// not tell, so five small kernels look: SMs that ever ran the same cluster belong to one GPC. SMs that no larger
/// cluster takes count as GPCs of their own.
///
/// The kernels run in a stream of their own. The call waits at most 2 ms for them, so that it returns behind a kernel
/// that never ends, too; an idle GPU takes 0.3 ms. Thread-safe. May be called while a stream captures.
///
/// Unsupported: the kernels have not ended yet, and the next call takes them up without waiting; or other kernels
/// occupied SMs meanwhile, so that the result would be wrong; or the GPU has too many SMs.
Status measure_cluster_placement(GpcOfCluster* placement);

/// What measure_cluster_placement() found for the current context; nothing as long as it has found nothing, which costs
/// a kernel speed but nothing else. A call measures if none has succeeded yet. After eight failures none does any more.
/// Thread-safe. May be called while a stream captures. The result is valid for as long as the process lives.
std::span<const int> known_cluster_placement();

/// Positions that give the clusters of a GPC, of the first `num_clusters` ones, consecutive places, larger
/// GPCs first. placement: GPCs of 0 … ClusterPositions::kMaxClusters - 1. num_clusters: 1 to kMaxClusters.
/// Clusters beyond those of `placement` stay in their order, at the end.
ClusterPositions positions_by_gpc(std::span<const int> placement, int num_clusters);

}  // namespace hopper_gemm
