#pragma once

#include <functional>
#include <vector>

#include "gemm/heuristics/candidates.hpp"
#include "gemm/problem.hpp"

namespace hopper_gemm::library {

/// What a general epilogue takes for an element of a tile that no product hides, in microseconds.
struct ExposedEpilogue {
  double any;
  double fp32;     ///< and more where D is
  double sigmoid;  ///< and where the activation is one
  double c;        ///< and where a C is added
};

/// What the estimates are made of: times in microseconds, and what is done in one. As `fit_cost_model` finds them for
/// profiles/h200/library_tuning*.csv, rounded, but library_tuning_large.csv, which holds them against other shapes.
struct CostModel {
  double launch_us = 1.5;               ///< of a kernel that has nothing to do
  double overlap_us = 0.3;              ///< of that, where the kernel before it still runs
  double fill_us = 0.08;                ///< until the first loads arrive
  double cluster_us = 0.62;             ///< a cluster's barriers
  double block_us = 0.17;               ///< least time of a K block
  double mn_major_block_us = 0.12;      ///< where B is MN-major
  double small_m_block_us = 0.1;        ///< of one of few rows
  double sm_flops_per_us = 7.0e6;       ///< of an SM that has its operands: 924 TFLOP/s for 132 of them
  double byte_us = 1.0e-6;              ///< of that time, what the power takes that brings a byte to the SM
  double slowness_64_columns = 1.17;    ///< how many times as long a product of such tiles takes
  double slowness_one_consumer = 1.08;  ///< the same: nobody else multiplies while it waits
  double slowness_small_tiles = 1.025;  ///< the same: they read more of shared memory
  double slowness_medium_tiles = 1.01;  ///< the same of cooperative tiles between those and the largest
  double sm_bytes_per_us = 1.2e5;       ///< to an SM
  double small_m_sm_bytes_per_us = 8.3e4;      ///< to one, most of it from memory
  double sm_lines_per_us = 1240;               ///< to one, in requests of L2
  double l2_bytes_per_us = 1.48e7;             ///< to all SMs
  double memory_bytes_per_us = 3.9e6;          ///< what reads that are not balanced over all channels reach
  double small_m_memory_bytes_per_us = 4.2e6;  ///< what the kernel for few rows reaches
  /// What the pingpong kernel reaches of batches. 2048x2048x128, 2048x128x2048 and 512x512x64 took 1.2 to 1.3 times as long
  /// by it as by the fastest other (H100).
  double pingpong_batch_bytes_per_us = 2.5e6;
  double store_elems_per_us = 2.4e4;                                       ///< of an SM
  ExposedEpilogue cooperative_exposed = {6.2e-5, 3.7e-5, 2.5e-5, 6.6e-5};  ///< with one tile N
  ExposedEpilogue mixed_n_exposed = {4.0e-5, 3.5e-5, 4.4e-5, 0};           ///< the cooperative schedule's
  ExposedEpilogue pingpong_exposed = {0.5e-5, 1.9e-5, 3.2e-5, 8.5e-5};
  double reduce_us = 2.6;                 ///< to exchange the partials of a split K, beside
  double mn_major_peer_us = 0.5;          ///< and where B is MN-major, for each peer
  double reduce_elems_per_us = 3700;      ///< what an SM sends of them
  double small_m_reduce_us = 0.48;        ///< the same of few rows, for each CTA
  double workspace_us = 7.4;              ///< of the kernel that adds up partials from the workspace
  double workspace_bytes_per_us = 3.0e6;  ///< what goes to the workspace and comes back
};

/// How many clusters of a configuration the GPU runs at a time.
using ActiveClusters = std::function<int(const GemmConfig&)>;

/// A configuration with the time that it should take.
struct Estimate {
  GemmConfig config;
  double time_us;
  int waves;  ///< of clusters, one after the other
  /// Launches gain from beginning before what is ahead of them in the stream ends.
  bool overlaps = false;
};

/// How long the problem should take by `config`, whose kernel can compute it.
Estimate estimate(const KernelArgs& args, const GemmConfig& config, const ActiveClusters& active_clusters,
                  const CostModel& model = {});

/// All configurations whose kernel computes the problem, the fastest first.
std::vector<Estimate> ranked(const Problem& problem, const ActiveClusters& active_clusters);

}  // namespace hopper_gemm::library
