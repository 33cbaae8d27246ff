#include "gemm/heuristics/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "common/ceil_div.hpp"
#include "device/tile_scheduler.hpp"
#include "gemm/host/mixed_n.hpp"

namespace hopper_gemm::library::wgmma {
namespace {

constexpr double kInputBytes = 2;

/// How many times as long a product takes as with the largest tiles.
double slowness(const CostModel& model, const Tile& tile) {
  if (tile.block_n == 64) return model.slowness_64_columns;
  if (tile.consumers == 1 && !is_skinny(tile)) return model.slowness_one_consumer;
  return tile.block_m * tile.block_n <= 128 * 128 ? model.slowness_small_tiles : 1.0;
}

/// How many times as many requests L2 gets for the 128 bytes of a row in shared memory as where they are one line of
/// it: lts__t_requests of 768x2056x8200 (2.76) and x8208 (1.72) beside x8192, H200.
double lines_per_row(const OperandArgs& operand) {
  constexpr int kLineElems = 64;
  constexpr int kSectorElems = 16;
  if (operand.leading_dimension % kLineElems == 0) return 1;
  return operand.leading_dimension % kSectorElems == 0 ? 1.72 : 2.76;
}

/// The least time of a K block.
double least_block_us(const CostModel& model, const KernelArgs& args, const Tile& tile) {
  if (is_skinny(tile)) return model.skinny_block_us;
  return args.b.major == OperandMajor::MN ? model.mn_major_block_us : model.block_us;
}

/// The time of a K block, of which each of so many CTAs gets these rows of A and of B.
double block_us(const CostModel& model, const KernelArgs& args, const Tile& tile, double flops, double rows_a,
                double rows_b, double ctas) {
  const bool skinny = is_skinny(tile);
  const double bytes = (rows_a + rows_b) * kBlockK * kInputBytes;
  // What power goes into moving bytes the tensor cores' clock has not: they count even where their way is not the
  // narrowest.
  const double products_us = flops / model.sm_flops_per_us * slowness(model, tile) + bytes * model.byte_us;
  // Where there is room for two CTAs, some SMs have two, even if others have none.
  const double sm_bytes_per_us =
      skinny ? model.skinny_sm_bytes_per_us / (shares_an_sm(tile) ? 2 : 1) : model.sm_bytes_per_us;
  const double requests_us =
      (rows_a * lines_per_row(args.a) + rows_b * lines_per_row(args.b)) / model.sm_lines_per_us;
  return std::max({products_us, bytes / sm_bytes_per_us, bytes * ctas / model.l2_bytes_per_us, requests_us,
                   least_block_us(model, args, tile)});
}

/// Of a split K, where a tile has so many elements: each CTA sends what it does not store itself.
double reduce_us(const CostModel& model, const KernelArgs& args, const Choice& choice, double elems) {
  if (choice.split == 1) return 0;
  if (is_skinny(choice.tile)) return model.skinny_reduce_us * choice.split;
  const double peers = choice.split - 1;
  return model.reduce_us + (args.b.major == OperandMajor::MN ? model.mn_major_peer_us * peers : 0) +
         elems * peers / choice.split / model.reduce_elems_per_us;
}

/// Whether launches gain from beginning while what is ahead of them in the stream ends. What waits for it
/// takes the SMs that are free first, and so
/// - fewer CTAs than SMs come to lie unevenly, which costs where they take long: 16x28672x4096 by 112 CTAs of
///   64x256 took 61.2 us after 57.2, when launches began before the loads of those ahead;
/// - single CTAs that share an SM gain where they are short, or all run at a time;
/// - clusters find no room where single CTAs have ended: they lose where the next launch has room for a part
///   of them (64x2112x7168 by 17 of at most 30 clusters of four 15.3 us after 12.9, 1x7168x16384 by pairs
///   that share SMs 62.1 after 55.9), and gain where it has room for nearly none (64x3584x18944 by 28 of at
///   most 30 clusters of four 38.0 after 39.3) or, as far as was measured, for all: of pairs that share SMs
///   (1x4608x3584 10.4 after 11.3) and of larger clusters. Pairs that do not share SMs gain whenever they are
///   short. Clusters must not take several tiles in an order that knows which share a GPC.
/// clusters: of the grid, one a tile; active: how many run at a time.
bool can_overlap(const Choice& choice, std::int64_t clusters, std::int64_t active, double busy_us) {
  constexpr double kFewUs = 15;
  const int size = cluster_size(choice);
  if (size == 1) {
    if (busy_us < kFewUs) return true;
    if (is_skinny(choice.tile)) return clusters <= active || !shares_an_sm(choice.tile);
    constexpr double kMostOfThem = 0.95;
    const int ctas = even_waves(static_cast<std::uint32_t>(clusters), static_cast<int>(active));
    return ctas >= kMostOfThem * static_cast<double>(active);
  }
  if (clusters > active) return false;
  // Of those that take longer only pairs that leave no room were measured: 128x8192x29568 took 119.8 us after 122.9.
  constexpr double kManyUs = 100;
  const bool takes_long = busy_us > kManyUs;
  constexpr double kManyOfThem = 0.8;
  const bool is_short = busy_us < kFewUs;
  const bool has_room = 2 * clusters <= active;
  const bool leaves_none = static_cast<double>(clusters) >= kManyOfThem * static_cast<double>(active);
  if (takes_long) return size == 2 && leaves_none && !shares_an_sm(choice.tile);
  if (shares_an_sm(choice.tile)) return has_room || (leaves_none && (size == 2 || is_short));
  return leaves_none || (size == 2 ? is_short : has_room);
}

/// A little more than the longer of two times that overlap: of tiles that memory makes equally slow, those
/// with less to do are faster all the same.
double both(double x, double y) { return std::sqrt(std::hypot(x * x, y * y)); }

/// How long the wgmma or the skinny kernel should take.
Estimate estimate_of_one_width(const KernelArgs& args, const Choice& choice,
                               const ActiveClusters& active_clusters, const CostModel& model) {
  const auto [m, n, k] = args.shape;
  const Tile& tile = choice.tile;
  const int size = cluster_size(choice);
  const std::int64_t clusters = std::int64_t{ceil_div(m, tile.block_m * tile.cluster_m)} *
                                ceil_div(n, tile.block_n * tile.cluster_n) * args.batch_count * choice.slices;
  const std::int64_t active = std::max(active_clusters(choice), 1);
  const std::int64_t waves = ceil_div(clusters, active);
  const double ctas = static_cast<double>(std::min(clusters, active)) * size;
  const double k_blocks = ceil_div(slice_k_blocks(args, choice), choice.split);

  // What TMA fills with zeros is not read.
  const double rows = std::min(m, tile.block_m);
  const double columns = std::min(n, tile.block_n);
  const double rows_a = rows / tile.cluster_n;
  const double rows_b = columns / tile.cluster_m;
  const double flops = 2.0 * tile.block_m * tile.block_n * kBlockK;
  const double block = block_us(model, args, tile, flops, rows_a, rows_b, ctas);
  const double elems = rows * columns;
  const double tile_us = k_blocks * block + elems / choice.split / model.store_elems_per_us +
                         reduce_us(model, args, choice, elems);

  const auto batches_of = [&](const OperandArgs& operand) {
    return operand.batch_stride == 0 ? 1.0 : args.batch_count;
  };
  const double bytes = kInputBytes * k * (m * batches_of(args.a) + n * batches_of(args.b)) +
                       1.0 * m * n * args.batch_count * size_of(args.epilogue.output_type);
  // Least time for the operands to come from memory and D to go there.
  const double memory_us =
      bytes / (is_skinny(tile) ? model.skinny_memory_bytes_per_us : model.memory_bytes_per_us);
  // The last wave's tiles have the memory to themselves.
  const auto wave_us = [&](std::int64_t of_wave) {
    return both(tile_us, memory_us * static_cast<double>(of_wave) / static_cast<double>(clusters));
  };
  const std::int64_t full_waves = clusters / active;
  const std::int64_t rest = clusters % active;
  const double busy_us = static_cast<double>(full_waves) * wave_us(active) + (rest == 0 ? 0 : wave_us(rest));
  const double slices_us = choice.slices == 1
                               ? 0
                               : model.slices_us + 2.0 * static_cast<double>(workspace_bytes(args, choice)) /
                                                       model.slices_bytes_per_us;
  const bool overlaps = can_overlap(choice, clusters, active, busy_us);
  return {.choice = choice,
          .time_us = model.launch_us - (overlaps ? model.overlap_us : 0) + model.fill_us +
                     (size > 1 ? model.cluster_us : 0) + slices_us + busy_us,
          .waves = static_cast<int>(waves),
          .overlaps = overlaps};
}

/// How long a kernel with tiles of two widths should take.
Estimate estimate_of_two_widths(const KernelArgs& args, const Choice& choice, const WideAndNarrow& tiles,
                                const ActiveClusters& active_clusters, const CostModel& model) {
  const Tile& tile = choice.tile;
  const auto [m, n, k] = args.shape;
  const int k_blocks = k_blocks_of_two_widths(tile, k);
  const ColumnSplit columns = split_columns(args.shape, tiles, k_blocks, active_clusters(choice));
  const std::int64_t rows = ceil_div(m, tiles.cluster_m);
  const std::int64_t workers = columns.workers;
  const std::int64_t wide_waves = ceil_div(rows * columns.wide_columns, workers);
  const std::int64_t waves = ceil_div(rows * (columns.wide_columns + columns.narrow_columns), workers);
  const double ctas = static_cast<double>(workers) * cluster_size(tile);
  const auto tile_us = [&](int cluster_n) {
    const double block_m = tile.block_m;
    const double block_n = static_cast<double>(cluster_n) / tile.cluster_n;
    const double block = block_us(model, args, tile, 2.0 * block_m * block_n * kBlockK,
                                  block_m / tile.cluster_n, block_n, ctas);
    // Half of it is hidden.
    return k_blocks * block + block_m * block_n / model.store_elems_per_us / 2;
  };
  const double bytes = kInputBytes * (1.0 * k * m + 1.0 * k * n + 1.0 * m * n);
  const double memory_us = bytes / model.memory_bytes_per_us;
  return {.choice = choice,
          .time_us = model.launch_us + model.fill_us + model.cluster_us +
                     both(static_cast<double>(wide_waves) * tile_us(tiles.wide_n) +
                              static_cast<double>(waves - wide_waves) * tile_us(tiles.narrow_n),
                          memory_us),
          .waves = static_cast<int>(waves)};
}

}  // namespace

Estimate estimate(const KernelArgs& args, const Choice& choice, const ActiveClusters& active_clusters,
                  const CostModel& model) {
  const std::optional<WideAndNarrow> tiles = two_widths_of(choice.tile);
  return tiles.has_value() ? estimate_of_two_widths(args, choice, *tiles, active_clusters, model)
                           : estimate_of_one_width(args, choice, active_clusters, model);
}

std::vector<Estimate> ranked(const Problem& problem, const ActiveClusters& active_clusters) {
  std::vector<Estimate> estimates;
  for (const Choice& choice : all_choices()) {
    if (!is_for_kernel_of(choice.tile, problem) || !fault_of(problem, choice).empty() ||
        active_clusters(choice) == 0) {
      continue;
    }
    estimates.push_back(estimate(problem.args, choice, active_clusters));
  }
  std::stable_sort(estimates.begin(), estimates.end(),
                   [](const Estimate& x, const Estimate& y) { return x.time_us < y.time_us; });
  return estimates;
}

}  // namespace hopper_gemm::library::wgmma
