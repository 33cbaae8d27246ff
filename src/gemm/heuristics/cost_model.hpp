#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "gemm/heuristics/candidates.hpp"
#include "gemm/heuristics/probed_rates.hpp"
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
/// the records that profiles/choices.json names (profiles/experiments.md, 40, 48, 50, 51, 56, 58 and 60).
struct CostModel {
  double launch_us = 2.354;            ///< a kernel that has nothing to do
  double overlap_us = 0.9614;          ///< what a cluster saves of it if it waits for the kernel before it
  double cta_overlap_us = 0.9697;      ///< the same for a CTA without a cluster
  double side_by_side_us = 1.326;      ///< what any CTA saves if the GPU has room for both kernels
  double fill_us = 0.6522;             ///< until the first loads arrive
  double next_tile_us = 0.6669;        ///< between two tiles of a persistent CTA
  double next_wave_us = 1.19;          ///< between the tiles of two CTAs, if each CTA has only one
  double cluster_us = 0.3774;          ///< a cluster's barriers
  double large_cluster_us = 0.09174;   ///< in addition for a cluster of eight that shares loads
  double block_us = 0.171;             ///< least time of a K block
  double mn_major_block_us = 0.1528;   ///< the same if B is MN-major
  double one_consumer_block = 0.8226;  ///< factor on both for one consumer
  double small_m_latency_us = 1.555;   ///< until what a kernel for small M asks for is there
  double sm_flops_per_us = 7.208e+06;  ///< of an SM that has its operands
  double byte_us = 1.246e-06;  ///< products slow down by so much for each byte, because moving it takes power
  double long_byte_us = 1.23e-06;  ///< in addition, if all products take a millisecond or more
  /// The share of their time by which products would be faster if all other SMs had no tile. It grows with their share. It was not
  /// fitted: a fit finds 0.27, and then chooses configurations that leave half of the SMs idle.
  double idle_sm_gain = 0.1;
  double slowness_64_columns = 1.182;            ///< factor on the products' time for tiles of 64 columns
  double slowness_one_consumer = 1.043;          ///< for one consumer
  double slowness_one_consumer_swapped = 1.248;  ///< for one consumer with A and B swapped
  double slowness_small_tiles = 1.019;           ///< for tiles up to 128x128: they read more of shared memory
  double slowness_few_stages = 1.06;           ///< in addition, if the stages hide less of the loads' latency
  double sm_bytes_per_us = 1.209e+05;          ///< to one SM
  double small_m_sm_bytes_per_us = 9.392e+04;  ///< to one SM in a kernel for small M, mostly from memory
  /// How many CTAs the busiest SM runs beside its first one in a launch for small M with one CTA for each SM, if SMs have room
  /// for several. They share what the SM loads.
  double small_m_sharing = 0.4718;
  double sm_lines_per_us = 1051;       ///< to one SM, in requests to L2
  double l2_bytes_per_us = 9.925e+06;  ///< that all SMs read from L2
  double l2_sharers = 6.349;  ///< clusters that load the same rows: from so many on, they share reads
  double l2_sharers_of_splits = 13.39;  ///< the same where each CTA of a cluster sums a part of K
  /// The same where the clusters of a GPC lie side by side, for clusters of two, and for CTAs without a cluster. The
  /// fit began with counts of L2's reads (profiles/experiments.md, 45).
  double l2_sharers_pairs_by_gpc = 2.921;
  double l2_sharers_ctas_by_gpc = 2.43;
  double memory_peak = kH200MemoryBytesPerUs;  ///< of the GPU, in bytes per microsecond
  double ragged_row_bytes = 0.02379;     ///< the share that is read beside rows that begin within a sector
  double memory_share = 0.9095;          ///< of the peak, with reads that are not balanced over all channels
  double cluster_memory_share = 0.8695;  ///< with reads by multicast
  double split_memory_share = 0.8197;    ///< with parts of K that are read at a time
  double few_stages_memory_share = 0.865;  ///< with less under way at a time (profiles/experiments.md, 43)
  /// In the pingpong kernel with batches. 2048x2048x128, 2048x128x2048 and 512x512x64 took 1.2 to 1.3 times as long
  /// with it as with the fastest other kernel (H100).
  double pingpong_batch_share = 0.66;
  double store_elems_per_us = 2.435e+04;  ///< from one SM
  double ragged_store = 0.375;            ///< how much longer it takes for each further request for 128 bytes
  double slowness_plain_store = 2.337;    ///< factor on its time where TMA cannot store D
  double mixed_n_exposed_store = 0.7406;  ///< the share of the store that no product hides
  double pingpong_exposed_store = 0.4345;  ///< the same in the pingpong schedule
  /// From one pingpong consumer, which stages 16 rows of 64 columns at a time: 64 batches of 2048x2048x128 took 277 us,
  /// and 4096x32768x512 took 182 us (H100).
  double pingpong_store_elems_per_us = 6154;
  ExposedEpilogue cooperative_exposed = {6.2e-5, 3.7e-5, 2.5e-5,
                                         6.6e-5};                  ///< with one tile N and two consumers
  ExposedEpilogue mixed_n_exposed = {2.3e-5, 1.8e-5, 4.4e-5, 0};   ///< the cooperative schedule's
  ExposedEpilogue pingpong_exposed = {0, 0.5e-5, 2.3e-5, 3.5e-5};  ///< but for a CTA's last tile
  double reduce_us = 0.06586;               ///< to exchange the partials of a split-K, beside sending them
  double mn_major_peer_us = 0.08198;        ///< in addition for each peer, if B is MN-major
  double reduce_elems_per_us = 2453;        ///< partials that an SM sends
  double workspace_us = 2.429;              ///< the kernel that adds up partials from the workspace
  double workspace_part_us = 0.0188;        ///< in addition for each partial of an element
  double workspace_cluster_us = 1.482;      ///< in addition, if clusters add up their partials before
  double workspace_bytes_per_us = 4.8e+06;  ///< to the workspace and back
};

/// The model for a GPU, by its clocks and by the rates that a probe has measured of it. rates: null if there are none.
/// fitted: what is scaled to them.
CostModel cost_model_of(const Device& device, const ProbedRates* rates, const CostModel& fitted = {});

/// How many CTAs of a kernel for small M an SM has shared memory for.
int small_m_ctas_that_fit(const KernelConfig& kernel);

/// The number of clusters of a configuration that the GPU runs at a time.
using ActiveClusters = std::function<int(const GemmConfig&)>;

/// What takes the largest part of an estimated time.
enum class Limit {
  TensorCores,
  Memory,    ///< bytes from memory and to it
  L2,        ///< bytes from L2
  SmBytes,   ///< bytes, or requests, of one SM
  Latency,   ///< the least time of a K block
  Overhead,  ///< the start of the launch, and the exchange of partials
  Stores     ///< of D, with the epilogue
};

/// "the tensor cores", for "limited by the tensor cores".
std::string_view to_string(Limit limit);

/// A configuration with its estimated time.
struct Estimate {
  GemmConfig config;
  double time_us;
  int waves;         ///< of clusters, one after the other
  double last_wave;  ///< the share of the last wave's places that have a tile
  Limit limit;
  /// Launches gain if they begin before the kernel before them in the stream ends.
  bool overlaps = false;
  /// The clusters of a GPC take tiles that lie side by side, so that they share reads of L2. Each cluster has one tile.
  /// (Where clusters take several tiles, the kernels see to it themselves.)
  bool by_gpc = false;
};

/// The estimated time of the problem with `config`, whose kernel must be able to compute it.
Estimate estimate(const KernelArgs& args, const GemmConfig& config, const ActiveClusters& active_clusters,
                  const CostModel& model = {});

/// The same; nothing if the kernel cannot compute the problem, or the GPU not run a cluster of it.
std::optional<Estimate> estimate_if_possible(const Problem& problem, const GemmConfig& config,
                                             const ActiveClusters& active_clusters, const CostModel& model);

/// The configurations whose kernel can compute the problem, the fastest first. most_times_the_fastest: those that take
/// longer than so many times the fastest are left out, which takes less time.
std::vector<Estimate> ranked(const Problem& problem, const ActiveClusters& active_clusters,
                             const CostModel& model,
                             double most_times_the_fastest = std::numeric_limits<double>::infinity());

}  // namespace hopper_gemm::library
