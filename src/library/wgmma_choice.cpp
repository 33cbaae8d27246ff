#include "library/wgmma_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "hopper_gemm/ceil_div.hpp"
#include "hopper_gemm/tile_scheduler.hpp"
#include "library/skinny_gemm.hpp"
#include "library/two_width_gemm.hpp"
#include "library/wgmma_configs.hpp"

namespace hopper_gemm::library::wgmma {
namespace {

constexpr double kInputBytes = 2;
// With clusters of 4 or 8, for as many tiles as D may have: together they make about 120 CTAs, all that an
// H200 runs of such clusters at a time. Rounded up to whole slices, K's last block still has a number of 32
// bits, whatever K.
constexpr std::array kSlices = {2, 3, 5, 7, 10, 15, 30};
constexpr std::array kSlicedSplits = {4, 8};
constexpr int kMostSlicedCtas = 120;
static_assert(std::all_of(kSlices.begin(), kSlices.end(), [](int slices) {
  constexpr std::int64_t kMostBlocks = ((std::int64_t{1} << 31) - 257 + kBlockK - 1) / kBlockK;
  return ceil_div(kMostBlocks, std::int64_t{slices}) * slices * kBlockK <= std::numeric_limits<int>::max();
}));

// Fitted as `tools/fit_cost_model.py --whole` does it, to profiles/h200/library_tuning*.csv.
constexpr double kLaunchUs = 1.3;                 // of a kernel that has nothing to do
constexpr double kOverlapUs = 0.28;               // of that, where the kernel before it still runs
constexpr double kFillUs = 0.08;                  // until the first loads arrive
constexpr double kClusterUs = 0.65;               // a cluster's barriers
constexpr double kReduceUs = 2.0;                 // to exchange the sums of a split K, beside
constexpr double kReduceElemsPerUs = 5100;        // what an SM sends of them
constexpr double kSkinnyReduceUs = 0.53;          // the same of few rows, for each CTA
constexpr double kSlicesUs = 7.7;                 // of the kernel that adds up the sums of slices
constexpr double kMemoryBytesPerUs = 3.78e6;      // what reads that are not balanced over all channels reach
constexpr double kSkinnyBytesPerUs = 4.25e6;      // what the kernel for few rows reaches
constexpr double kL2BytesPerUs = 9.1e6;           // to all SMs
constexpr double kSmBytesPerUs = 1.2e5;           // to one
constexpr double kSkinnySmBytesPerUs = 8.0e4;     // to one, most of it from memory
constexpr double kSmLinesPerUs = 1260;            // to one, of lines_per_row()
constexpr double kSmFlopsPerUs = 6.65e6;          // of an SM with the largest tiles
constexpr double kSmWideFlopsPerUs = 6.77e6;      // with those of the wide kernel
constexpr double kSmPingpongFlopsPerUs = 6.45e6;  // with those of the pingpong kernel
constexpr double kBlockUs = 0.202;                // least time of a K block
constexpr double kSkinnyBlockUs = 0.106;          // of one of few rows
constexpr double kStoreElemsPerUs = 3.5e4;        // of an SM

constexpr int kTmaAlignmentBytes = 16;
constexpr std::int64_t kMaxPitchBytes = std::int64_t{1} << 40;

bool is_tma_pitch(std::int64_t elems, int elem_bytes) {
  return elems > 0 && elems < kMaxPitchBytes / elem_bytes && elems * elem_bytes % kTmaAlignmentBytes == 0;
}

/// How much longer a product takes than with the largest tiles: small ones read more of shared memory for it, and of one
/// consumer nobody else multiplies while it waits.
double slowness(const Tile& tile) {
  if (tile.block_n == 64) return 1.2;
  if (tile.consumers == 1 && !is_skinny(tile)) return 1.08;
  return tile.block_m * tile.block_n <= 128 * 128 ? 1.04 : 1.0;
}

/// How many times as many requests L2 gets for the 128 bytes of a row in shared memory as where they are one line of
/// it: lts__t_requests of 768x2056x8200 (2.76) and x8208 (1.72) beside x8192, H200.
double lines_per_row(const OperandArgs& operand) {
  constexpr int kLineElems = 64;
  constexpr int kSectorElems = 16;
  if (operand.leading_dimension % kLineElems == 0) return 1;
  return operand.leading_dimension % kSectorElems == 0 ? 1.72 : 2.76;
}

/// What of a K block's time L2's requests take, of so many rows of A and of B.
double requests_us(const KernelArgs& args, double rows_a, double rows_b) {
  return (rows_a * lines_per_row(args.a) + rows_b * lines_per_row(args.b)) / kSmLinesPerUs;
}

/// Of a split K, where a tile has so many elements: each CTA sends what it does not store itself.
double reduce_us(const Choice& choice, double elems) {
  if (choice.split == 1) return 0;
  if (is_skinny(choice.tile)) return kSkinnyReduceUs * choice.split;
  return kReduceUs + elems * (choice.split - 1) / choice.split / kReduceElemsPerUs;
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

template <typename Array>
void append_choices(const Array& tiles, std::vector<Choice>* choices) {
  for (const Tile& tile : tiles) {
    for (int split = 1; split <= max_split(tile); ++split) choices->push_back({tile, split});
    if (!can_split(tile)) continue;
    for (const int split : kSlicedSplits) {
      for (const int slices : kSlices) {
        if (split * slices <= kMostSlicedCtas) choices->push_back({tile, split, slices});
      }
    }
  }
}

}  // namespace

std::string name_of(const Choice& choice) {
  const Tile& tile = choice.tile;
  std::string name = "wgmma_" + std::to_string(tile.block_m) + "x" + std::to_string(tile.block_n);
  if (tile.block_k != kBlockK) name += "x" + std::to_string(tile.block_k);
  name += "_s" + std::to_string(tile.stages) + "_c" + std::to_string(tile.cluster_m) + "x" +
          std::to_string(tile.cluster_n);
  if (choice.split > 1) name += "_k" + std::to_string(choice.split);
  if (choice.slices > 1) name += "x" + std::to_string(choice.slices);
  return name;
}

std::vector<Choice> all_choices() {
  std::vector<Choice> choices;
  append_choices(kLargeTiles, &choices);
  append_choices(kSmallTiles, &choices);
  append_choices(kPlainTiles, &choices);
  for (const Tile& tile : kSkinnyTiles) {
    for (int split = 1; split <= max_split(tile); ++split) choices.push_back({tile, split});
  }
  choices.push_back({kWideTile, 1});
  for (const Tile& tile : kPingpongTiles) choices.push_back({tile, 1});
  return choices;
}

int loaded_lines(const OperandArgs& operand, int lines, int block_lines, int sharers) {
  constexpr int kSwizzledLines = 8;
  if (operand.major != OperandMajor::K) return block_lines;
  return std::min(block_lines / sharers, ceil_div(lines, kSwizzledLines) * kSwizzledLines) * sharers;
}

int prefetched_stages(const KernelArgs& args, const Choice& choice) {
  if (args.batch_count > 1 || choice.slices > 1 || args.a.major != OperandMajor::K ||
      args.b.major != OperandMajor::K) {
    return 0;
  }
  const double most_bytes = is_skinny(choice.tile) ? 3e6 : 6e6;
  const double bytes_of_all =
      kInputBytes * choice.tile.block_k * choice.split * (1.0 * args.shape.m + args.shape.n);
  // What is behind the stages would come between the loads and their bytes.
  return static_cast<int>(std::clamp(most_bytes / bytes_of_all, 1.0, 1.0 * choice.tile.stages));
}

int slice_k_blocks(const KernelArgs& args, const Choice& choice) {
  return ceil_div(ceil_div(args.shape.k, kBlockK), choice.slices);
}

std::int64_t sums_ld(GemmShape shape) {
  constexpr std::int64_t kElems = 4;  // 16 bytes
  return ceil_div(std::int64_t{shape.n}, kElems) * kElems;
}

std::size_t workspace_bytes(const KernelArgs& args, const Choice& choice) {
  if (choice.slices == 1) return 0;
  return static_cast<std::size_t>(args.batch_count) * static_cast<std::size_t>(choice.slices) *
         static_cast<std::size_t>(args.shape.m) * static_cast<std::size_t>(sums_ld(args.shape)) *
         sizeof(float);
}

std::string fault_of_operand(const char* name, std::int64_t leading_dimension, std::int64_t batch_stride,
                             int batch_count, int alignment_bytes, int elem_bytes) {
  const std::string of = std::string(" of ") + name;
  if (alignment_bytes % kTmaAlignmentBytes != 0) return "the address" + of + " is no multiple of 16 bytes";
  if (!is_tma_pitch(leading_dimension, elem_bytes)) {
    return "the leading dimension" + of + " is no multiple of 16 bytes below 2^40";
  }
  if (batch_count > 1 && batch_stride != 0 && !is_tma_pitch(batch_stride, elem_bytes)) {
    return "the batch stride" + of + " is no multiple of 16 bytes below 2^40";
  }
  return "";
}

bool can_store_by_tma(const Problem& problem) {
  const GemmEpilogue& epilogue = problem.args.epilogue;
  return fault_of_operand("D", epilogue.ldd, epilogue.d_batch_stride, problem.args.batch_count,
                          problem.alignments.d, size_of(epilogue.output_type))
      .empty();
}

bool is_plain(const Problem& problem) {
  const GemmEpilogue& epilogue = problem.args.epilogue;
  return can_store_by_tma(problem) && epilogue.output_type != DataType::Float32 &&
         problem.args.shape.n % (kTmaAlignmentBytes / size_of(epilogue.output_type)) == 0 &&
         epilogue.bias_kind == Bias::None && epilogue.activation == Activation::None;
}

bool is_for_kernel_of(const Tile& tile, const Problem& problem) {
  const KernelArgs& args = problem.args;
  const bool is_k_major = args.a.major == OperandMajor::K && args.b.major == OperandMajor::K;
  // Columns of tiles that begin in D may end beyond 2^31.
  const auto has_room = [&](int columns) {
    return args.shape.n <= std::numeric_limits<int>::max() - columns;
  };
  if (is_skinny(tile)) {
    // A CTA for each tile and each of its parts.
    const std::int64_t most_ctas = std::int64_t{ceil_div(args.shape.m, tile.block_m)} *
                                   ceil_div(args.shape.n, tile.block_n) * args.batch_count * max_split(tile);
    return has_room(stage_lines_n(tile)) && is_k_major && args.shape.m <= kMostSkinnyTiles * tile.block_m &&
           most_ctas <= std::numeric_limits<int>::max();
  }
  const std::optional<WideAndNarrow> tiles = two_widths_of(tile);
  if (!tiles.has_value()) return !is_plain_only(tile) || (is_k_major && is_plain(problem));
  return has_room(tiles->wide_n) && is_k_major && is_plain(problem) && args.batch_count == 1 &&
         args.epilogue.output_type == args.input_type;
}

bool is_for_any_beta(const Tile& tile) { return !is_plain_only(tile) && !two_widths_of(tile).has_value(); }

std::string fault_of(const Problem& problem, const Choice& choice) {
  const KernelArgs& args = problem.args;
  const int block_k = choice.tile.block_k;
  const int k_blocks = ceil_div(args.shape.k, block_k);
  if (choice.split * choice.slices > k_blocks) {
    return "K has " + std::to_string(k_blocks) + " blocks of " + std::to_string(block_k) +
           ", fewer than CTAs that would share it";
  }
  if (choice.slices == 1) return "";
  // Of a D with so many elements, tiles alone keep the GPU busy.
  constexpr std::int64_t kMostElems = std::int64_t{1} << 24;
  if (std::int64_t{args.shape.m} * args.shape.n > kMostElems / args.batch_count) {
    return "D has more than 2^24 elements, too many for slices of K";
  }
  if (const std::size_t bytes = workspace_bytes(args, choice); bytes > problem.workspace_limit_bytes) {
    return "the sums of its slices take a workspace of " + std::to_string(bytes) +
           " bytes, and the limit is " + std::to_string(problem.workspace_limit_bytes);
  }
  return "";
}

Estimate estimate(const KernelArgs& args, const Choice& choice, const ActiveClusters& active_clusters) {
  const auto [m, n, k] = args.shape;
  const Tile& tile = choice.tile;
  const bool skinny = is_skinny(tile);
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
  const double block_bytes = (rows_a + rows_b) * kBlockK * kInputBytes;
  const double block_flops = 2.0 * tile.block_m * tile.block_n * kBlockK;
  // Where there is room for two CTAs, some SMs have two, even if others have none.
  const double sm_bytes_per_us = skinny ? kSkinnySmBytesPerUs / (shares_an_sm(tile) ? 2 : 1) : kSmBytesPerUs;
  const double block_us = std::max({block_flops / kSmFlopsPerUs * slowness(tile),
                                    block_bytes / sm_bytes_per_us, block_bytes * ctas / kL2BytesPerUs,
                                    requests_us(args, rows_a, rows_b), skinny ? kSkinnyBlockUs : kBlockUs});
  const double elems = rows * columns;
  const double tile_us =
      k_blocks * block_us + elems / choice.split / kStoreElemsPerUs + reduce_us(choice, elems);

  const auto batches_of = [&](const OperandArgs& operand) {
    return operand.batch_stride == 0 ? 1.0 : args.batch_count;
  };
  const double bytes = kInputBytes * k * (m * batches_of(args.a) + n * batches_of(args.b)) +
                       1.0 * m * n * args.batch_count * size_of(args.epilogue.output_type);
  // Least time for the operands to come from memory and D to go there.
  const double memory_us = bytes / (skinny ? kSkinnyBytesPerUs : kMemoryBytesPerUs);
  // The last wave's tiles have the memory to themselves.
  const auto wave_us = [&](std::int64_t of_wave) {
    return both(tile_us, memory_us * static_cast<double>(of_wave) / static_cast<double>(clusters));
  };
  const std::int64_t full_waves = clusters / active;
  const std::int64_t rest = clusters % active;
  const double busy_us = static_cast<double>(full_waves) * wave_us(active) + (rest == 0 ? 0 : wave_us(rest));
  const double slices_us =
      choice.slices == 1
          ? 0
          : kSlicesUs + 2.0 * static_cast<double>(workspace_bytes(args, choice)) / kL2BytesPerUs;
  const bool overlaps = can_overlap(choice, clusters, active, busy_us);
  return {.choice = choice,
          .time_us = kLaunchUs - (overlaps ? kOverlapUs : 0) + kFillUs + (size > 1 ? kClusterUs : 0) +
                     slices_us + busy_us,
          .waves = static_cast<int>(waves),
          .overlaps = overlaps};
}

namespace {

/// How long a kernel with tiles of two widths should take for what it can compute.
Estimate estimate_of_two_widths(const KernelArgs& args, const Choice& choice, const WideAndNarrow& tiles,
                                const ActiveClusters& active_clusters) {
  const Tile& tile = choice.tile;
  const double sm_flops_per_us = tile == kWideTile ? kSmWideFlopsPerUs : kSmPingpongFlopsPerUs;
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
    const double rows_a = block_m / tile.cluster_n;
    const double block_bytes = (rows_a + block_n) * kBlockK * kInputBytes;
    const double block_us =
        std::max({2.0 * block_m * block_n * kBlockK / sm_flops_per_us, block_bytes / kSmBytesPerUs,
                  block_bytes * ctas / kL2BytesPerUs, requests_us(args, rows_a, block_n), kBlockUs});
    // Half of it is hidden.
    return k_blocks * block_us + block_m * block_n / kStoreElemsPerUs / 2;
  };
  const double bytes = kInputBytes * (1.0 * k * m + 1.0 * k * n + 1.0 * m * n);
  const double memory_us = bytes / kMemoryBytesPerUs;
  return {.choice = choice,
          .time_us = kLaunchUs + kFillUs + kClusterUs +
                     both(static_cast<double>(wide_waves) * tile_us(tiles.wide_n) +
                              static_cast<double>(waves - wide_waves) * tile_us(tiles.narrow_n),
                          memory_us),
          .waves = static_cast<int>(waves)};
}

}  // namespace

std::vector<Estimate> ranked(const Problem& problem, const ActiveClusters& active_clusters) {
  std::vector<Estimate> estimates;
  for (const Choice& choice : all_choices()) {
    if (!is_for_kernel_of(choice.tile, problem) || !fault_of(problem, choice).empty() ||
        active_clusters(choice) == 0) {
      continue;
    }
    const std::optional<WideAndNarrow> tiles = two_widths_of(choice.tile);
    estimates.push_back(tiles.has_value()
                            ? estimate_of_two_widths(problem.args, choice, *tiles, active_clusters)
                            : estimate(problem.args, choice, active_clusters));
  }
  std::stable_sort(estimates.begin(), estimates.end(),
                   [](const Estimate& x, const Estimate& y) { return x.time_us < y.time_us; });
  return estimates;
}

}  // namespace hopper_gemm::library::wgmma
