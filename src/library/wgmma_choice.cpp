#include "library/wgmma_choice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "hopper_gemm/ceil_div.hpp"
#include "library/wgmma_configs.hpp"

namespace hopper_gemm::library::wgmma {
namespace {

constexpr int kBlockK = 64;

// Measured on an H200.
constexpr double kLaunchUs = 4.0;             // of a kernel that has nothing to do, and the first loads' latency
constexpr double kSplitUs = 1.5;              // a cluster's two barriers and the exchange of sums
constexpr double kMemoryBytesPerUs = 4.2e6;   // what long reads reach
constexpr double kSmLoadBytesPerUs = 4.6e4;   // of an SM, from L2
constexpr double kSmFlopsPerUs = 6.0e6;       // of an SM that multiplies tiles of 128x256
constexpr double kStoreBytesPerUs = 2.5e4;    // of an SM's epilogue

/// Of the rate that wgmma reaches with the largest tiles.
double relative_rate(const Tile& tile) {
  const int consumer_n = tile.block_n;
  if (tile.consumers == 1) return consumer_n == 64 ? 0.55 : consumer_n == 128 ? 0.75 : 0.85;
  return consumer_n == 64 ? 0.8 : consumer_n == 128 ? (tile.block_m == 256 ? 1.0 : 0.93) : 1.0;
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
  const std::int64_t clusters = std::int64_t{ceil_div(m, tile.block_m * tile.cluster_m)} *
                                ceil_div(n, tile.block_n * tile.cluster_n) * args.batch_count;
  const std::int64_t waves = ceil_div(clusters, std::int64_t{std::max(active_clusters(choice), 1)});
  const std::int64_t k_blocks = ceil_div(ceil_div(k, kBlockK), choice.split);

  // What TMA fills with zeros is not read.
  const double rows = std::min(m, tile.block_m);
  const double columns = std::min(n, tile.block_n);
  const double block_bytes = (rows / tile.cluster_n + columns / tile.cluster_m) * kBlockK * 2;
  const double block_flops = 2.0 * tile.block_m * tile.block_n * kBlockK;
  const double block_us =
      std::max(block_flops / (kSmFlopsPerUs * relative_rate(tile)), block_bytes / kSmLoadBytesPerUs);
  const double store_us =
      rows * columns / choice.split * size_of(args.epilogue.output_type) / kStoreBytesPerUs;
  const double tile_us = static_cast<double>(k_blocks) * block_us + store_us;

  const auto batches_of = [&](const OperandArgs& operand) {
    return operand.batch_stride == 0 ? 1.0 : args.batch_count;
  };
  const double bytes = 2.0 * m * k * batches_of(args.a) + 2.0 * n * k * batches_of(args.b) +
                       1.0 * m * n * args.batch_count * size_of(args.epilogue.output_type);
  const double memory_us = bytes / kMemoryBytesPerUs;
  return {.choice = choice,
          .time_us = kLaunchUs + (choice.split > 1 ? kSplitUs : 0) +
                     std::max(static_cast<double>(waves) * tile_us, memory_us),
          .memory_us = memory_us,
          .waves = static_cast<int>(waves)};
}

std::vector<Estimate> ranked(const KernelArgs& args, const ActiveClusters& active_clusters) {
  std::vector<Estimate> estimates;
  for (const Choice& choice : all_choices()) {
    if (choice.split > ceil_div(args.shape.k, kBlockK)) continue;
    estimates.push_back(estimate(args, choice, active_clusters));
  }
  std::stable_sort(estimates.begin(), estimates.end(),
                   [](const Estimate& x, const Estimate& y) { return x.time_us < y.time_us; });
  return estimates;
}

}  // namespace hopper_gemm::library::wgmma
