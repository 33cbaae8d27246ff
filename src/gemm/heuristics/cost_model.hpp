#pragma once

#include <functional>
#include <vector>

#include "gemm/heuristics/candidates.hpp"
#include "gemm/problem.hpp"

namespace hopper_gemm::library {

/// The time that a general epilogue adds for each element of a tile, in microseconds: the part that no product hides.
struct ExposedEpilogue {
  double any;
  double fp32;     ///< in addition, if D is fp32
  double sigmoid;  ///< in addition, if the activation is GELU or SiLU
  double c;        ///< in addition, if the epilogue adds C
};

/// The coefficients of the estimates: times in microseconds, and rates per microsecond. `fit_cost_model` fitted them to
/// profiles/h200/library_tuning*.csv, except library_tuning_large.csv, which tests them on other shapes. They are
/// rounded.
struct CostModel {
  double launch_us = 1.5;           ///< a kernel that has nothing to do
  double overlap_us = 0.3;          ///< the part of it that is saved if the kernel before it still runs
  double fill_us = 0.08;            ///< until the first loads arrive
  double cluster_us = 0.62;         ///< a cluster's barriers
  double block_us = 0.17;           ///< least time of a K block
  double mn_major_block_us = 0.12;  ///< the same if B is MN-major
  double small_m_block_us = 0.1;    ///< the same in a kernel for small M
  double sm_flops_per_us = 7.0e6;   ///< of an SM that has its operands: 924 TFLOP/s for 132 of them
  double byte_us = 1.0e-6;  ///< products slow down by so much for each byte, because moving it takes power
  double slowness_64_columns = 1.17;           ///< factor on the products' time for tiles of 64 columns
  double slowness_one_consumer = 1.08;         ///< for one consumer: nobody else multiplies while it waits
  double slowness_small_tiles = 1.025;         ///< for tiles up to 128x128: they read more of shared memory
  double slowness_medium_tiles = 1.01;         ///< for cooperative tiles between 128x128 and 128x256
  double sm_bytes_per_us = 1.2e5;              ///< to one SM
  double small_m_sm_bytes_per_us = 8.3e4;      ///< to one SM in a kernel for small M, mostly from memory
  double sm_lines_per_us = 1240;               ///< to one SM, in requests to L2
  double l2_bytes_per_us = 1.48e7;             ///< from L2 to all SMs
  double memory_bytes_per_us = 3.9e6;          ///< with reads that are not balanced over all channels
  double small_m_memory_bytes_per_us = 4.2e6;  ///< in a kernel for small M
  /// In the pingpong kernel with batches. 2048x2048x128, 2048x128x2048 and 512x512x64 took 1.2 to 1.3 times as long
  /// with it as with the fastest other kernel (H100).
  double pingpong_batch_bytes_per_us = 2.5e6;
  double store_elems_per_us = 2.4e4;  ///< from one SM
  ExposedEpilogue cooperative_exposed = {6.2e-5, 3.7e-5, 2.5e-5,
                                         6.6e-5};                       ///< with one tile N and two consumers
  ExposedEpilogue mixed_n_exposed = {4.0e-5, 3.5e-5, 4.4e-5, 0};        ///< the cooperative schedule's
  ExposedEpilogue pingpong_exposed = {0.1e-5, 0.5e-5, 2.3e-5, 3.5e-5};  ///< but for a CTA's last tile
  double reduce_us = 2.6;                 ///< to exchange the partials of a split-K, beside sending them
  double mn_major_peer_us = 0.5;          ///< in addition for each peer, if B is MN-major
  double reduce_elems_per_us = 3700;      ///< partials that an SM sends
  double small_m_reduce_us = 0.48;        ///< the whole reduction in a kernel for small M, for each CTA
  double workspace_us = 7.4;              ///< the kernel that adds up partials from the workspace
  double workspace_bytes_per_us = 3.0e6;  ///< to the workspace and back
};

/// The number of clusters of a configuration that the GPU runs at a time.
using ActiveClusters = std::function<int(const GemmConfig&)>;

/// A configuration with its estimated time.
struct Estimate {
  GemmConfig config;
  double time_us;
  int waves;  ///< of clusters, one after the other
  /// Launches gain if they begin before the kernel before them in the stream ends.
  bool overlaps = false;
};

/// The estimated time of the problem with `config`, whose kernel must be able to compute it.
Estimate estimate(const KernelArgs& args, const GemmConfig& config, const ActiveClusters& active_clusters,
                  const CostModel& model = {});

/// All configurations whose kernel can compute the problem, the fastest first.
std::vector<Estimate> ranked(const Problem& problem, const ActiveClusters& active_clusters);

}  // namespace hopper_gemm::library
