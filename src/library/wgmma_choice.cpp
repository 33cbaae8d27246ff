#include "library/wgmma_choice.hpp"

#include <algorithm>
#include <cstdint>

#include "hopper_gemm/ceil_div.hpp"
#include "library/wgmma_configs.hpp"

namespace hopper_gemm::library::wgmma {
namespace {

constexpr double kInputBytes = 2;

// Fitted as tools/fit_cost_model.py does it, to an earlier run of all configurations over the shapes of
// profiles/h200/library_tuning.csv.
constexpr double kLaunchUs = 1.9;              // of a kernel that has nothing to do
constexpr double kFillUs = 0.5;                // until the first loads arrive
constexpr double kClusterUs = 0.7;             // a cluster's barriers
constexpr double kReduceUs = 1.6;              // to exchange the sums of a split K
constexpr double kMemoryBytesPerUs = 3.3e6;    // what reads that are not balanced over all channels reach
constexpr double kSmMemoryBytesPerUs = 7.6e4;  // of that, one SM
constexpr double kL2BytesPerUs = 9.5e6;        // to all SMs
constexpr double kSmBytesPerUs = 9.7e4;        // to one
constexpr double kSmFlopsPerUs = 7.0e6;        // of an SM with the largest tiles
constexpr double kBlockUs = 0.28;              // least time of a K block
constexpr double kStoreElemsPerUs = 4.3e4;     // of an SM

/// How much longer a product takes than with the largest tiles: small ones read more of shared memory for it.
double slowness(const Tile& tile) {
  if (tile.block_n == 64) return 1.76;
  return tile.block_m * tile.block_n <= 128 * 128 ? 1.18 : 1.0;
}

template <typename Array>
void append_choices(const Array& tiles, std::vector<Choice>* choices) {
  for (const Tile& tile : tiles) {
    const int most = can_split(tile) ? kMaxSplit : 1;
    for (int split = 1; split <= most; ++split) choices->push_back({tile, split});
  }
}

}  // namespace

std::string name_of(const Choice& choice) {
  const Tile& tile = choice.tile;
  std::string name = "wgmma_" + std::to_string(tile.block_m) + "x" + std::to_string(tile.block_n) + "_s" +
                     std::to_string(tile.stages) + "_c" + std::to_string(tile.cluster_m) + "x" +
                     std::to_string(tile.cluster_n);
  if (choice.split > 1) name += "_k" + std::to_string(choice.split);
  return name;
}

std::vector<Choice> all_choices() {
  std::vector<Choice> choices;
  append_choices(kLargeTiles, &choices);
  append_choices(kSmallTiles, &choices);
  return choices;
}

Estimate estimate(const KernelArgs& args, const Choice& choice, const ActiveClusters& active_clusters) {
  const auto [m, n, k] = args.shape;
  const Tile& tile = choice.tile;
  const int size = cluster_size(choice);
  const std::int64_t clusters = std::int64_t{ceil_div(m, tile.block_m * tile.cluster_m)} *
                                ceil_div(n, tile.block_n * tile.cluster_n) * args.batch_count;
  const std::int64_t active = std::max(active_clusters(choice), 1);
  const std::int64_t waves = ceil_div(clusters, active);
  const double ctas = static_cast<double>(std::min(clusters, active)) * size;
  const double k_blocks = ceil_div(ceil_div(k, kBlockK), choice.split);

  // What TMA fills with zeros is not read.
  const double rows = std::min(m, tile.block_m);
  const double columns = std::min(n, tile.block_n);
  const double block_bytes = (rows / tile.cluster_n + columns / tile.cluster_m) * kBlockK * kInputBytes;
  const double block_flops = 2.0 * tile.block_m * tile.block_n * kBlockK;
  const double block_us = std::max({block_flops / kSmFlopsPerUs * slowness(tile), block_bytes / kSmBytesPerUs,
                                    block_bytes * ctas / kL2BytesPerUs, kBlockUs});
  const double tile_us = k_blocks * block_us + rows * columns / choice.split / kStoreElemsPerUs +
                         (choice.split > 1 ? kReduceUs : 0);

  const auto batches_of = [&](const OperandArgs& operand) {
    return operand.batch_stride == 0 ? 1.0 : args.batch_count;
  };
  const double bytes = kInputBytes * k * (m * batches_of(args.a) + n * batches_of(args.b)) +
                       1.0 * m * n * args.batch_count * size_of(args.epilogue.output_type);
  // Least time for the operands to come from memory and D to go there.
  const double memory_us = bytes / std::min(kMemoryBytesPerUs, ctas * kSmMemoryBytesPerUs);
  return {.choice = choice,
          .time_us = kLaunchUs + kFillUs + (size > 1 ? kClusterUs : 0) +
                     std::max(static_cast<double>(waves) * tile_us, memory_us),
          .waves = static_cast<int>(waves)};
}

std::vector<Estimate> ranked(const KernelArgs& args, const ActiveClusters& active_clusters) {
  std::vector<Estimate> estimates;
  for (const Choice& choice : all_choices()) {
    if (choice.split > ceil_div(args.shape.k, kBlockK) || active_clusters(choice) == 0) continue;
    estimates.push_back(estimate(args, choice, active_clusters));
  }
  std::stable_sort(estimates.begin(), estimates.end(),
                   [](const Estimate& x, const Estimate& y) { return x.time_us < y.time_us; });
  return estimates;
}

}  // namespace hopper_gemm::library::wgmma
