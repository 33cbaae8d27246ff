#include "gemm/heuristics/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "common/ceil_div.hpp"
#include "device/tile_scheduler.hpp"
#include "gemm/scheduler/mixed_n.hpp"

namespace hopper_gemm::library {
namespace {

/// Whether a CTA loads less at a time than kernels that have as many stages as fit.
bool has_few_stages(const KernelConfig& kernel) {
  constexpr int kMostBytes = 128 * 1024;
  return kernel.schedule == Schedule::Cooperative && kernel.stages * stage_bytes(kernel) <= kMostBytes;
}

/// Which CTAs run side by side.
enum class Neighbours {
  Anywhere,      ///< clusters with neighbouring tiles may be in different GPCs
  InGpc,         ///< Estimate::by_gpc
  InGpcByParts,  ///< the same, and tiles have several CTAs, which sum parts of K through the workspace
  PartsOfATile   ///< a cluster's CTAs each sum a part of K, so that none of them load the same
};

/// How many times as long the products take as with the largest tiles.
double tile_slowness(const CostModel& model, const KernelConfig& kernel) {
  constexpr int kFewColumns = 64;
  const bool is_swapped = kernel.swap_ab && kernel.schedule == Schedule::Cooperative;
  const int columns =
      kernel.schedule == Schedule::SmallM ? kernel.block_n : std::max(wgmma_n(kernel), kFewColumns);
  if (columns == kFewColumns) return model.slowness_64_columns;
  if (kernel.consumers == 1 && kernel.schedule != Schedule::SmallM) {
    return is_swapped ? model.slowness_one_consumer_swapped : model.slowness_one_consumer;
  }
  return kernel.block_m * kernel.block_n <= 128 * 128 ? model.slowness_small_tiles : 1;
}

double slowness(const CostModel& model, const KernelConfig& kernel) {
  return tile_slowness(model, kernel) * (has_few_stages(kernel) ? model.slowness_few_stages : 1);
}

/// The share of the memory's peak that a kernel of one tile N gets.
double memory_share(const CostModel& model, const KernelArgs& args, const GemmConfig& config) {
  // The CTAs that share K read as many pieces of each row at a time.
  if (config.split_k * config.workspace_split_k > 1) return model.split_memory_share;
  if (cluster_size(config) > 1) return model.cluster_memory_share;
  // For single products with few stages it was not measured to be more.
  const bool is_more = has_few_stages(config.kernel) && args.batch_count > 1;
  return is_more ? model.few_stages_memory_share : model.memory_share;
}

constexpr int kSectorElems = 16;

/// L2 requests for 128 bytes of a matrix row. There is one request if they are a whole cache line. Rows that begin
/// beside a line need more: lts__t_requests of 768x2056x8200 is 2.76 times, and of 768x2056x8208 is 1.72 times that of
/// 768x2056x8192 (H200).
double lines_per_row(std::int64_t leading_dimension) {
  constexpr int kLineElems = 64;
  if (leading_dimension % kLineElems == 0) return 1;
  return leading_dimension % kSectorElems == 0 ? 1.72 : 2.76;
}

/// How many times as long the store of a tile takes as in a D whose rows begin at cache lines.
double store_slowness(const CostModel& model, const KernelArgs& args) {
  constexpr int kTmaElems = 8;
  if (args.epilogue.ldd % kTmaElems != 0) return model.slowness_plain_store;
  return 1 + model.ragged_store * (lines_per_row(args.epilogue.ldd) - 1);
}

/// What a byte costs in addition if all products take long: nothing up to 100 us of a whole H200, and all of it from a millisecond
/// on.
double long_byte_us(const CostModel& model, const KernelArgs& args) {
  if (model.long_byte_us == 0) return 0;
  constexpr double kLeastSmUs = 132 * 100.0;
  const auto [m, n, k] = args.shape;
  const double sm_us = 2.0 * m * n * k * args.batch_count / model.sm_flops_per_us;
  return model.long_byte_us * std::clamp(std::log10(sm_us / kLeastSmUs), 0.0, 1.0);
}

/// The least time of a K block.
double least_block_us(const CostModel& model, const KernelArgs& args, const KernelConfig& kernel) {
  // A kernel for small M waits for loads alone, and its stages hold what it has asked for (Little's law).
  if (kernel.schedule == Schedule::SmallM) {
    return model.small_m_latency_us * kBlockK / (kernel.stages * kernel.block_k);
  }
  return (args.b.major == OperandMajor::MN ? model.mn_major_block_us : model.block_us) *
         (kernel.consumers == 1 ? model.one_consumer_block : 1);
}

/// The CTAs that run at a time, and how many of them load the same rows of A and of B.
struct Wave {
  double ctas = 1;
  double sharers_a = 1;
  double sharers_b = 1;
  double ctas_of_an_sm = 1;  ///< of the SM that has most to do
  double busy_sms = 1;       ///< the share of the SMs that have a tile, on average over all waves
};

/// See Wave. If an SM has room for two CTAs, some SMs run two, even while others run none. clusters, active: see
/// can_overlap().
double ctas_of_an_sm(const CostModel& model, const KernelConfig& kernel, std::int64_t clusters,
                     std::int64_t active) {
  if (kernel.schedule != Schedule::SmallM || !shares_an_sm(kernel)) return 1;
  const double of_all_sms =
      static_cast<double>(clusters) / static_cast<double>(active) * small_m_ctas_that_fit(kernel);
  return std::min(2.0, 1 + model.small_m_sharing * of_all_sms);
}

/// clusters: that run at a time; rows, columns: of clusters in D. The order of tiles keeps waves about square. Nothing shares what a
/// cluster loads by multicast: each multicast is a read of L2 of its own.
Wave wave_of(const KernelConfig& kernel, double clusters, int cluster_size, double rows, double columns) {
  const double high = std::min(rows, std::max(std::sqrt(clusters), clusters / columns));
  return {.ctas = clusters * cluster_size,
          .sharers_a = kernel.cluster_n > 1 ? 1 : std::min(columns, clusters / high),
          .sharers_b = kernel.cluster_m > 1 ? 1 : high};
}

/// A part of an estimated time, and what it is spent on.
struct Part {
  double us;
  Limit limit;
};

Part longest(std::initializer_list<Part> parts) {
  return *std::max_element(parts.begin(), parts.end(),
                           [](const Part& x, const Part& y) { return x.us < y.us; });
}

/// The bytes of a K block that L2 reads for all CTAs of the wave. Each of them loads these rows of A and of B.
double l2_bytes_of(const CostModel& model, const KernelConfig& kernel, double rows_a, double rows_b,
                   const Wave& wave, Neighbours neighbours) {
  // SMs of a GPC that ask for the same rows at about the same time get them by one read from L2.
  const auto reads = [&](double rows, double sharers) {
    double without_gain =
        neighbours == Neighbours::PartsOfATile ? model.l2_sharers_of_splits : model.l2_sharers;
    if (neighbours == Neighbours::InGpc || neighbours == Neighbours::InGpcByParts) {
      constexpr double kPairsOfGpc = 8;
      const double ctas_along_a_side = neighbours == Neighbours::InGpc ? 4 : 3;
      const bool is_alone = cluster_size(kernel) == 1;
      without_gain = is_alone ? model.l2_sharers_ctas_by_gpc : model.l2_sharers_pairs_by_gpc;
      sharers = std::min(sharers, is_alone ? ctas_along_a_side : kPairsOfGpc);
    }
    return rows * wave.ctas / std::max(1.0, sharers / without_gain);
  };
  return (reads(rows_a, wave.sharers_a) + reads(rows_b, wave.sharers_b)) * kBlockK * kInputBytes;
}

/// The share of their time that products take where some SMs have no tile.
double idle_factor(const CostModel& model, double busy_sms) {
  return 1 - model.idle_sm_gain * (1 - busy_sms);
}

/// The time of a K block of a CTA that loads these rows of A and of B, if L2 is no limit.
Part block_time_without_l2(const CostModel& model, const KernelArgs& args, const KernelConfig& kernel,
                           double flops, double rows_a, double rows_b, const Wave& wave) {
  const bool is_small_m = kernel.schedule == Schedule::SmallM;
  const double bytes = (rows_a + rows_b) * kBlockK * kInputBytes;
  // Moving bytes takes power from the tensor cores, which lowers their clock. Bytes therefore cost time even if no
  // bandwidth is the limit.
  const double products_us = (flops / model.sm_flops_per_us * slowness(model, kernel) +
                              bytes * (model.byte_us + long_byte_us(model, args))) *
                             idle_factor(model, wave.busy_sms);
  const double sm_bytes_per_us =
      (is_small_m ? model.small_m_sm_bytes_per_us : model.sm_bytes_per_us) / wave.ctas_of_an_sm;
  const double requests =
      rows_a * lines_per_row(args.a.leading_dimension) + rows_b * lines_per_row(args.b.leading_dimension);
  return longest({{products_us, Limit::TensorCores},
                  {bytes / sm_bytes_per_us, Limit::SmBytes},
                  {requests * wave.ctas_of_an_sm / model.sm_lines_per_us, Limit::SmBytes},
                  {least_block_us(model, args, kernel), Limit::Latency}});
}

/// The time of a K block, if each CTA of the wave loads these rows of A and of B.
Part block_time(const CostModel& model, const KernelArgs& args, const KernelConfig& kernel, double flops,
                double rows_a, double rows_b, const Wave& wave,
                Neighbours neighbours = Neighbours::Anywhere) {
  const double l2_bytes = l2_bytes_of(model, kernel, rows_a, rows_b, wave, neighbours);
  return longest({block_time_without_l2(model, args, kernel, flops, rows_a, rows_b, wave),
                  {l2_bytes / model.l2_bytes_per_us, Limit::L2}});
}

/// The time to exchange and add up the partials of a split-K. elems: of a tile. Each CTA sends the partials of what it
/// does not store itself.
double reduce_us(const CostModel& model, const KernelArgs& args, const GemmConfig& config, double elems) {
  // The fit finds nothing to add for kernels for small M, whose partials are few.
  if (config.split_k == 1 || config.kernel.schedule == Schedule::SmallM) return 0;
  const double peers = config.split_k - 1;
  return model.reduce_us + (args.b.major == OperandMajor::MN ? model.mn_major_peer_us * peers : 0) +
         elems * peers / config.split_k / model.reduce_elems_per_us;
}

/// Whether clusters with one tile each gain if they take their tiles by GPC. This is what was measured on an H100
/// (profiles/experiments.md, 45):
/// - Pairs must not overlap the launch before them, because only an empty GPU places them as expected. They gain if L2 is
///   about the limit: 945x1664x24576 went from 130 to 100 us, and 512x2048x4096 from 19.5 to 15.8. Elsewhere short launches
///   lose: 359x3840x3584 went from 18.0 to 19.0 us.
/// - CTAs without a cluster gain even if their launches overlap: 1643x1152x5632 went from 35.2 to 31.0 us, and 256x8192x4096
///   from 30.0 to 28.7.
/// - Launches of about ten microseconds gain more if they overlap: 1024x2048x1024 went from 8.2 to 9.1 us.
///
/// clusters, active: see can_overlap(); wave: in any other order; block_us: of a K block in that order; products_us: of
/// all K blocks.
bool pays_by_gpc(const CostModel& model, const GemmConfig& config, std::int64_t clusters, std::int64_t active,
                 double rows_a, double rows_b, const Wave& wave, double block_us, double products_us) {
  const KernelConfig& kernel = config.kernel;
  if (kernel.schedule == Schedule::SmallM || config.split_k > 1 || shares_an_sm(kernel)) return false;
  constexpr double kManyUs = 11;
  if (clusters > active || products_us < kManyUs) return false;
  if (cluster_size(config) == 1) return std::min(wave.sharers_a, wave.sharers_b) >= 2;
  if (cluster_size(config) != 2) return false;
  if (std::max(wave.sharers_a, wave.sharers_b) < model.l2_sharers_pairs_by_gpc) return false;
  const double l2_us =
      l2_bytes_of(model, kernel, rows_a, rows_b, wave, Neighbours::Anywhere) / model.l2_bytes_per_us;
  constexpr double kAboutTheLimit = 0.7;
  return l2_us > kAboutTheLimit * block_us;
}

/// Whether launches gain if they begin while the kernel before them in the stream ends. Waiting CTAs take the SMs that
/// become free first, so that CTAs that are fewer than SMs are spread unevenly. This is what was measured
/// (profiles/experiments.md, 53):
/// - Single CTAs save up to 1.3 us of the launch. They lose more than that if memory nearly limits them and they take long:
///   72x4608x4096 with 72 CTAs of 80x64 went from 14.1 to 16.7 us. Pairs lose as well, 3 % in the mean of seven shapes.
/// - Where memory limits them, short ones still gain if there is room for nearly none of the next launch (60x8960x1792 with
///   112 CTAs of 128x80 went from 11.6 to 10.8 us). Up to about 10 us they gain if there is room for all of it (5x8192x1024
///   with a row-major B and 64 CTAs of 48x128 went from 7.0 to 6.2 us), and then they lose: 8x6144x4096 with 48 such CTAs
///   went from 15.4 to 21.4 us.
/// - Single CTAs for small M gain if they take less than a third of the room and memory does not limit them, or nearly all of
///   it. In between, those that have an SM each gain only if there is room for all of the next launch, and up to about
///   13 us: 8x4608x4352 with 72 CTAs went from 12.6 to 16.0 us (profiles/experiments.md, 54). With more CTAs than run at a
///   time, those that share an SM gain if they are short.
/// - A cluster needs several free SMs of one GPC, and does not fit where single CTAs have ended. Clusters lose time if
///   there is room for only a part of the next launch: 64x2112x7168 with 17 of at most 30 clusters of four went from
///   12.9 to 15.3 us, and 1x7168x16384 with pairs that share SMs from 55.9 to 62.1 us. Short pairs that share K lose up to
///   9 % (profiles/experiments.md, 55).
/// - Clusters gain if there is room for nearly none of the next launch: 64x3584x18944 with 28 of at most 30 clusters of
///   four went from 39.3 to 38.0 us.
/// - Clusters also gain if there is room for all of the next launch. This was measured for pairs that share SMs
///   (1x4608x3584 went from 11.3 to 10.4 us) and for larger clusters.
/// - Clusters must not take tiles in an order that knows which clusters share a GPC.
///
/// clusters: of the grid, one for each tile; active: how many run at a time; memory_us: the part of busy_us in which memory
/// delivers.
bool can_overlap(const GemmConfig& config, std::int64_t clusters, std::int64_t active, double busy_us,
                 double memory_us) {
  constexpr double kFewUs = 15;
  constexpr double kManyOfThem = 0.8;
  constexpr double kSavedUs = 1.2;
  constexpr double kUnlimitedShare = 0.6;
  const int size = cluster_size(config);
  const bool is_short = busy_us < kFewUs;
  const bool has_room = 2 * clusters <= active;
  const bool leaves_none = static_cast<double>(clusters) >= kManyOfThem * static_cast<double>(active);
  const bool saves_more = 2 * (memory_us - kUnlimitedShare * busy_us) < kSavedUs;
  if (size == 1) {
    if (config.kernel.schedule == Schedule::SmallM) {
      constexpr double kFewOfThem = 0.31;
      constexpr double kNearlyAll = 0.85;
      constexpr double kLimitedShare = 0.8;
      constexpr double kVeryFewUs = 11;
      const bool shares = shares_an_sm(config.kernel);
      if (clusters > active) return is_short || !shares;
      const double taken = static_cast<double>(clusters) / static_cast<double>(active);
      if (taken <= kFewOfThem) return is_short || memory_us < kLimitedShare * busy_us;
      return taken >= kNearlyAll || saves_more || (has_room && busy_us < kVeryFewUs && !shares);
    }
    if (saves_more) return true;
    constexpr double kVeryFewUs = 8.5;
    if (is_short) return leaves_none || (has_room && busy_us < kVeryFewUs);
    constexpr double kMostOfThem = 0.95;
    const int ctas = even_waves(static_cast<std::uint32_t>(clusters), static_cast<int>(active));
    return ctas >= kMostOfThem * static_cast<double>(active);
  }
  if (clusters > active) return false;
  // Among launches that take longer, only pairs that leave no room were measured: 128x8192x29568 went from 122.9 to
  // 119.8 us.
  constexpr double kManyUs = 100;
  const bool takes_long = busy_us > kManyUs;
  if (takes_long) return size == 2 && leaves_none && !shares_an_sm(config.kernel);
  if (shares_an_sm(config.kernel)) return has_room || (leaves_none && (size == 2 || is_short));
  if (size > 2) return leaves_none || has_room;
  constexpr double kVeryFewUs = 10;
  return leaves_none || (has_room && busy_us < kVeryFewUs) || (is_short && saves_more);
}

/// The time of two things that overlap: a little more than the longer one. If memory limits two configurations alike,
/// the one with less to compute is still faster.
double both(double x, double y) { return std::sqrt(std::sqrt(x * x * x * x + y * y * y * y)); }

/// A lower bound of both(), which is sooner computed: a chord of the concave (1 + x)^(1/4) from 0 to 1.
double least_of_both(double x, double y) {
  constexpr double kRise = 0.189;  // 2^(1/4) - 1, rounded down
  const auto [shorter, longer] = std::minmax(x, y);
  const double ratio = shorter / longer;
  return longer + kRise * shorter * ratio * ratio * ratio;
}

/// The time that a general epilogue adds to the products' for each element of a tile, with the coefficients of one kind of
/// kernel.
double exposed_us(const ExposedEpilogue& exposed, const KernelArgs& args) {
  const GemmEpilogue& epilogue = args.epilogue;
  const bool is_alpha_only = epilogue.bias_kind == Bias::None && epilogue.activation == Activation::None &&
                             epilogue.output_type == args.input_type && epilogue.beta == 0 &&
                             !epilogue.is_gated && !epilogue.has_aux;
  if (is_alpha_only) return 0;
  const bool is_sigmoid = epilogue.activation != Activation::None && epilogue.activation != Activation::Relu;
  return exposed.any + (epilogue.output_type == DataType::Float32 ? exposed.fp32 : 0) +
         (is_sigmoid ? exposed.sigmoid : 0) + (epilogue.beta != 0 ? exposed.c : 0);
}

/// The same for a tile that its consumers finish while nothing is multiplied. One consumer takes twice as long as two.
double lone_epilogue_us(const CostModel& model, const KernelArgs& args, int consumers) {
  return exposed_us(model.cooperative_exposed, args) * 2 / consumers;
}

/// Bytes that are read from memory, each operand once, and bytes that are written. More is read of rows that begin within a sector.
double bytes_of(const CostModel& model, const KernelArgs& args) {
  const auto [m, n, k] = args.shape;
  const auto batches_of = [&](std::int64_t batch_stride) {
    return batch_stride == 0 ? 1.0 : args.batch_count;
  };
  const GemmEpilogue& epilogue = args.epilogue;
  const double outputs = (epilogue.is_gated ? 0.5 : 1.0) + (epilogue.has_aux ? 1 : 0);
  const double matrices =
      outputs * args.batch_count + (epilogue.beta != 0 ? batches_of(epilogue.c_batch_stride) : 0);
  const auto lines_of = [&](const OperandArgs& operand) {
    const bool is_ragged = operand.leading_dimension % kSectorElems != 0;
    return batches_of(operand.batch_stride) * (is_ragged ? 1 + model.ragged_row_bytes : 1);
  };
  return 1.0 * kInputBytes * k * (m * lines_of(args.a) + n * lines_of(args.b)) +
         1.0 * m * n * matrices * size_of(epilogue.output_type);
}

/// The time until the first loads arrive, if the launch does not overlap the one before it, and of a cluster's barriers.
double lone_launch_us(const CostModel& model, const GemmConfig& config) {
  return model.launch_us + model.fill_us + (cluster_size(config) > 1 ? model.cluster_us : 0) +
         (cluster_size(config.kernel) > 4 ? model.large_cluster_us : 0);
}

/// The part of it that a launch saves if it overlaps. clusters, active: see can_overlap().
double saved_by_overlap_us(const CostModel& model, const GemmConfig& config, std::int64_t clusters,
                           std::int64_t active) {
  if (2 * clusters <= active) return model.side_by_side_us;
  return cluster_size(config) > 1 ? model.overlap_us : model.cta_overlap_us;
}

/// What the waves behind the first one add to the time of their tiles.
double next_waves_us(const CostModel& model, const GemmConfig& config, std::int64_t waves) {
  const bool is_persistent = config.kernel.schedule != Schedule::SmallM && config.split_k == 1;
  return static_cast<double>(waves - 1) * (is_persistent ? model.next_tile_us : model.next_wave_us);
}

/// The time that partials in the workspace take beside the kernel's.
double workspace_us(const CostModel& model, const KernelArgs& args, const GemmConfig& config) {
  if (config.workspace_split_k == 1) return 0;
  return model.workspace_us + model.workspace_part_us * config.workspace_split_k +
         (config.split_k > 1 ? model.workspace_cluster_us : 0) +
         2.0 * static_cast<double>(workspace_bytes(args, config)) / model.workspace_bytes_per_us;
}

/// The estimated time of a kernel of one tile N.
Estimate estimate_of_one_n(const KernelArgs& args, const GemmConfig& config,
                           const ActiveClusters& active_clusters, const CostModel& model) {
  const auto [m, n, k] = args.shape;
  const KernelConfig& kernel = config.kernel;
  const int size = cluster_size(config);
  const std::int64_t clusters = std::int64_t{ceil_div(m, kernel.block_m * kernel.cluster_m)} *
                                ceil_div(n, kernel.block_n * kernel.cluster_n) * args.batch_count *
                                config.workspace_split_k;
  const std::int64_t active = std::max(active_clusters(config), 1);
  const std::int64_t waves = ceil_div(clusters, active);
  Wave wave =
      wave_of(kernel, static_cast<double>(std::min(clusters, active)), size,
              ceil_div(m, kernel.block_m * kernel.cluster_m), ceil_div(n, kernel.block_n * kernel.cluster_n));
  wave.ctas_of_an_sm = ctas_of_an_sm(model, kernel, clusters, active);
  wave.busy_sms = static_cast<double>(clusters) / static_cast<double>(waves * active);
  const double k_blocks = ceil_div(k_blocks_of_cluster(args, config), config.split_k);

  // TMA does not read the rows that it fills with zeros.
  const double rows = std::min(m, kernel.block_m);
  const double columns = std::min(n, kernel.block_n);
  const double rows_a = rows / kernel.cluster_n;
  const double rows_b = columns / kernel.cluster_m;
  const double flops = 2.0 * kernel.block_m * kernel.block_n * kBlockK;
  // The kernel for small M is mostly limited by memory.
  const bool is_split = config.split_k > 1 && kernel.schedule != Schedule::SmallM;
  const Part block_anywhere = block_time(model, args, kernel, flops, rows_a, rows_b, wave,
                                         is_split ? Neighbours::PartsOfATile : Neighbours::Anywhere);
  const bool by_gpc = pays_by_gpc(model, config, clusters, active, rows_a, rows_b, wave, block_anywhere.us,
                                  k_blocks * block_anywhere.us);
  const Neighbours of_gpc = config.workspace_split_k > 1 ? Neighbours::InGpcByParts : Neighbours::InGpc;
  const Part block =
      by_gpc ? block_time(model, args, kernel, flops, rows_a, rows_b, wave, of_gpc) : block_anywhere;
  const double elems = rows * columns;
  // The kernel for small M was not measured. The reduction has the epilogue of partials in the workspace.
  const bool has_epilogue = kernel.schedule != Schedule::SmallM && config.workspace_split_k == 1;
  const double epilogue_us = has_epilogue ? lone_epilogue_us(model, args, kernel.consumers) : 0;
  const double store_us =
      elems / config.split_k * (store_slowness(model, args) / model.store_elems_per_us + epilogue_us);
  // The CTAs also exchange the sums of columns that D does not have.
  const double exchange_us = reduce_us(model, args, config, rows * kernel.block_n);
  const double tile_us = k_blocks * block.us + store_us;

  // The least time in which memory delivers the operands and takes D. The last wave's tiles have the memory to themselves.
  const double memory_us = bytes_of(model, args) / (model.memory_peak * memory_share(model, args, config));
  const auto wave_us = [&](std::int64_t of_wave) {
    return both(tile_us, memory_us * static_cast<double>(of_wave) / static_cast<double>(clusters)) +
           exchange_us;
  };
  const std::int64_t full_waves = clusters / active;
  const std::int64_t rest = clusters % active;
  const auto times_full = static_cast<double>(full_waves);
  const double busy_us = times_full * wave_us(active) + (rest == 0 ? 0 : wave_us(rest));
  const bool overlaps = (!by_gpc || size == 1) && can_overlap(config, clusters, active, busy_us, memory_us);
  const double saved_us = overlaps ? saved_by_overlap_us(model, config, clusters, active) : 0;
  const double overhead_us = lone_launch_us(model, config) - saved_us + next_waves_us(model, config, waves) +
                             workspace_us(model, args, config);
  const auto all_waves = static_cast<double>(waves);
  return {.config = config,
          .time_us = overhead_us + busy_us,
          .waves = static_cast<int>(waves),
          .last_wave = static_cast<double>(rest == 0 ? active : rest) / static_cast<double>(active),
          .limit = longest({{all_waves * k_blocks * block.us, block.limit},
                            {memory_us, Limit::Memory},
                            {overhead_us + all_waves * exchange_us, Limit::Overhead},
                            {all_waves * store_us, Limit::Stores}})
                       .limit,
          .overlaps = overlaps,
          .by_gpc = by_gpc};
}

/// A lower bound of the estimates of a kernel of one tile N, which is sooner computed. It leaves out L2 and the exchange
/// of partials in a cluster.
class LeastTime {
 public:
  /// bytes: bytes_of(args).
  LeastTime(const KernelArgs& args, const KernelConfig& kernel, const CostModel& model, double bytes)
      : args_(args), kernel_(kernel), model_(model), peak_us_(bytes / model.memory_peak) {
    clusters_of_part_ = std::int64_t{ceil_div(args.shape.m, kernel.block_m * kernel.cluster_m)} *
                        ceil_div(args.shape.n, kernel.block_n * kernel.cluster_n) * args.batch_count;
    const double rows = std::min(args.shape.m, kernel.block_m);
    const double columns = std::min(args.shape.n, kernel.block_n);
    const auto block_us = [&](double ctas_of_sm) {
      return block_time_without_l2(model, args, kernel, 2.0 * kernel.block_m * kernel.block_n * kBlockK,
                                   rows / kernel.cluster_n, columns / kernel.cluster_m,
                                   {.ctas_of_an_sm = ctas_of_sm})
          .us;
    };
    block_us_ = block_us(1);
    block_us_of_two_ = shares_an_sm(kernel) ? block_us(2) : block_us_;
    num_k_blocks_ = ceil_div(args.shape.k, kBlockK);
    store_us_ = rows * columns * store_slowness(model, args) / model.store_elems_per_us;
  }

  /// active: how many of the configuration's clusters run at a time.
  double us(const GemmConfig& config, int active) const {
    const std::int64_t clusters = clusters_of_part_ * config.workspace_split_k;
    // Most launches of a split-K are a single wave, and a division takes as long as the rest.
    const std::int64_t waves = clusters <= active ? 1 : ceil_div(clusters, std::int64_t{active});
    const double k_blocks = ceil_div(num_k_blocks_, config.split_k * config.workspace_split_k);
    // Idle SMs make a part of a block's time shorter, and CTAs that share an SM make a part of it longer. The rest stays.
    const double busy_sms = static_cast<double>(clusters) / static_cast<double>(waves * active);
    const double block_us =
        idle_factor(model_, busy_sms) *
        std::max(block_us_, ctas_of_an_sm(model_, kernel_, clusters, active) / 2 * block_us_of_two_);
    const double tiles_us = static_cast<double>(waves) * (k_blocks * block_us + store_us_ / config.split_k);
    return lone_launch_us(model_, config) - saved_by_overlap_us(model_, config, clusters, active) +
           next_waves_us(model_, config, waves) + workspace_us(model_, args_, config) +
           least_of_both(tiles_us, peak_us_ / memory_share(model_, args_, config));
  }

 private:
  const KernelArgs& args_;
  const KernelConfig& kernel_;
  const CostModel& model_;
  double peak_us_;
  std::int64_t clusters_of_part_;
  int num_k_blocks_;
  double block_us_;
  double block_us_of_two_;  // CTAs that share an SM
  double store_us_;
};

/// The estimated time of a kernel with a mixed tile N.
Estimate estimate_of_mixed_n(const KernelArgs& args, const GemmConfig& config,
                             const ActiveClusters& active_clusters, const CostModel& model) {
  const KernelConfig& kernel = config.kernel;
  const WideAndNarrow tiles = wide_and_narrow(kernel, args.batch_count);
  const auto [m, n, k] = args.shape;
  const int k_blocks = k_blocks_of(kernel, k);
  const ColumnSplit columns = split_columns(shape_of_batches(kernel, args.shape, args.batch_count), tiles,
                                            k_blocks, active_clusters(config));
  const std::int64_t rows = std::int64_t{ceil_div(m, tiles.cluster_m)} * args.batch_count;
  const std::int64_t workers = columns.workers;
  const std::int64_t wide_waves = ceil_div(rows * columns.wide_columns, workers);
  const std::int64_t num_tiles = rows * (columns.wide_columns + columns.narrow_columns);
  const std::int64_t waves = ceil_div(num_tiles, workers);
  const Wave wave = wave_of(kernel, static_cast<double>(workers), cluster_size(kernel),
                            ceil_div(m, tiles.cluster_m), columns.wide_columns + columns.narrow_columns);
  const bool is_pingpong = kernel.schedule == Schedule::Pingpong;
  const ExposedEpilogue& exposed = is_pingpong ? model.pingpong_exposed : model.mixed_n_exposed;
  const double block_m = kernel.block_m;
  const auto block_of = [&](int cluster_n) {
    const double block_n = static_cast<double>(cluster_n) / kernel.cluster_n;
    return block_time(model, args, kernel, 2.0 * block_m * block_n * kBlockK, block_m / kernel.cluster_n,
                      block_n, wave);
  };
  const double exposed_store = is_pingpong ? model.pingpong_exposed_store : model.mixed_n_exposed_store;
  const double slow_store = store_slowness(model, args);
  const double elem_us = exposed_store * slow_store / model.store_elems_per_us + exposed_us(exposed, args);
  const auto elems_of = [&](int cluster_n) { return block_m * cluster_n / kernel.cluster_n; };
  // A pingpong consumer multiplies a tile and stores it while the other one does the same.
  const auto tile_us = [&](int cluster_n, double products_us) {
    const double alternating_us =
        is_pingpong ? (products_us + elems_of(cluster_n) * slow_store / model.pingpong_store_elems_per_us) / 2
                    : 0;
    return std::max(products_us + elems_of(cluster_n) * elem_us, alternating_us);
  };
  const auto times_wide = static_cast<double>(wide_waves);
  const double times_narrow = tiles.narrow_slowness * static_cast<double>(waves - wide_waves);
  const Part wide_block = block_of(tiles.wide_n);
  const double wide_us = k_blocks * wide_block.us;
  const double narrow_us = k_blocks * block_of(tiles.narrow_n).us;
  const double products_us = times_wide * wide_us + times_narrow * narrow_us;
  const double tiles_us =
      times_wide * tile_us(tiles.wide_n, wide_us) + times_narrow * tile_us(tiles.narrow_n, narrow_us);
  const double stores_us = tiles_us - products_us;
  // Products of the other consumer hide most of a pingpong epilogue, but nothing hides a CTA's last one.
  const int last_n = waves > wide_waves ? tiles.narrow_n : tiles.wide_n;
  const double last_us = is_pingpong ? elems_of(last_n) * lone_epilogue_us(model, args, 1) : 0;
  const double peak_us = bytes_of(model, args) / model.memory_peak;
  const double memory_us = peak_us / model.cluster_memory_share;
  const double least_us = args.batch_count == 1 ? 0 : peak_us / model.pingpong_batch_share;
  const double overhead_us = lone_launch_us(model, config);
  const std::int64_t in_last_wave = num_tiles - (waves - 1) * workers;
  return {.config = config,
          .time_us = overhead_us + std::max(both(tiles_us, memory_us), least_us) + last_us,
          .waves = static_cast<int>(waves),
          .last_wave = static_cast<double>(in_last_wave) / static_cast<double>(workers),
          .limit = longest({{products_us, wide_block.limit},
                            {std::max(memory_us, least_us), Limit::Memory},
                            {overhead_us, Limit::Overhead},
                            {stores_us + last_us, Limit::Stores}})
                       .limit};
}

}  // namespace

int small_m_ctas_that_fit(const KernelConfig& kernel) {
  constexpr int kSmBytes = 228 * 1024;
  constexpr int kMostBesideStages = 2 * 1024;
  return kSmBytes / (kernel.stages * stage_bytes(kernel) + kMostBesideStages);
}

std::string_view to_string(Limit limit) {
  switch (limit) {
    case Limit::TensorCores: return "the tensor cores";
    case Limit::Memory: return "bytes from memory and to it";
    case Limit::L2: return "bytes from L2";
    case Limit::SmBytes: return "bytes to each SM";
    case Limit::Latency: return "the latency of a K block";
    case Limit::Overhead: return "the start of the launch and the exchange of partials";
    case Limit::Stores: return "the epilogue";
  }
  return "";
}

Estimate estimate(const KernelArgs& args, const GemmConfig& config, const ActiveClusters& active_clusters,
                  const CostModel& model) {
  return config.kernel.narrow_n != 0 ? estimate_of_mixed_n(args, config, active_clusters, model)
                                     : estimate_of_one_n(args, config, active_clusters, model);
}

std::optional<Estimate> estimate_if_possible(const Problem& problem, const GemmConfig& config,
                                             const ActiveClusters& active_clusters, const CostModel& model) {
  if (!can_compute(config, problem) || !suits(problem, config) || active_clusters(config) == 0) return {};
  return estimate(problem.args, config, active_clusters, model);
}

// The coefficients were fitted to times of the cards of profiles/h100/probe.json and profiles/h200/probe.json. The rates are
// the means of the two. What a GEMM gets of the memory's peak does not follow the probe (profiles/experiments.md, 47). What
// an SM does by itself follows its clock; the rate of loads for small M does not, because it is mostly memory's.
CostModel cost_model_of(const Device& device, const ProbedRates* rates, const CostModel& fitted) {
  constexpr double kSmFlopsPerUs = 7.175e6;
  constexpr double kL2BytesPerUs = 1.075e7;
  CostModel model = fitted;
  model.memory_peak = device.memory_bytes_per_us;
  const double clock_mhz =
      rates != nullptr ? rates->sm_clock_mhz.value_or(device.sm_clock_mhz) : device.sm_clock_mhz;
  const double clock = clock_mhz / kSxmSmClockMhz;
  for (double CostModel::*const rate :
       {&CostModel::sm_bytes_per_us, &CostModel::sm_lines_per_us, &CostModel::store_elems_per_us,
        &CostModel::pingpong_store_elems_per_us, &CostModel::reduce_elems_per_us}) {
    model.*rate *= clock;
  }
  for (double CostModel::*const time :
       {&CostModel::next_tile_us, &CostModel::next_wave_us, &CostModel::cluster_us,
        &CostModel::large_cluster_us, &CostModel::block_us, &CostModel::mn_major_block_us,
        &CostModel::small_m_latency_us, &CostModel::reduce_us, &CostModel::mn_major_peer_us}) {
    model.*time /= clock;
  }
  for (ExposedEpilogue* const exposed :
       {&model.cooperative_exposed, &model.mixed_n_exposed, &model.pingpong_exposed}) {
    for (double* const time : {&exposed->any, &exposed->fp32, &exposed->sigmoid, &exposed->c}) *time /= clock;
  }
  // With a short K the pingpong kernel writes D as fast as memory takes it: at 58 % of the peak on an H100, and at 54 % on an
  // H200 (7408x8960x192).
  model.pingpong_store_elems_per_us *= device.memory_bytes_per_us / kH100MemoryBytesPerUs;
  model.sm_flops_per_us *= rates != nullptr ? rates->sm_flops_per_us / kSmFlopsPerUs : clock;
  if (rates != nullptr) model.l2_bytes_per_us *= rates->l2_bytes_per_us / kL2BytesPerUs;
  return model;
}

std::vector<Estimate> ranked(const Problem& problem, const ActiveClusters& active_clusters,
                             const CostModel& model_of_gpu, double most_times_the_fastest) {
  // The logarithm would take a seventh of the time if each candidate computed it.
  CostModel model = model_of_gpu;
  model.byte_us += long_byte_us(model, problem.args);
  model.long_byte_us = 0;
  struct Candidate {
    double least_us;
    const KernelConfig* kernel;
    SplitK split;
  };
  std::vector<Candidate> candidates;
  static const std::size_t num_configs = all_configs().size();
  candidates.reserve(num_configs);
  const auto estimate_of = [&](const KernelConfig& kernel, const SplitK& split) {
    return estimate(problem.args, config_of(kernel, split), active_clusters, model);
  };
  const bool has_workspace = may_use_workspace(problem);
  const double bytes = bytes_of(model, problem.args);
  for (const CandidateKernel& candidate : candidate_kernels()) {
    const KernelConfig& compiled = candidate.front().kernel;
    const bool computes_alone = can_compute(compiled, problem);
    if (!computes_alone && !(has_workspace && takes_layouts(compiled, problem.args))) continue;
    for (const auto& [kernel, splits] : candidate) {
      const LeastTime least(problem.args, kernel, model, bytes);
      for (const SplitK& split : splits) {
        if (!(split.through_workspace == 1 ? computes_alone : has_workspace)) continue;
        const GemmConfig config = config_of(kernel, split);
        if (!suits(problem, config)) continue;
        const int active = active_clusters(config);
        if (active == 0) continue;
        // There are few kernels with a mixed tile N.
        const bool has_one_n = kernel.narrow_n == 0;
        candidates.push_back(
            {has_one_n ? least.us(config, active) : estimate_of(kernel, split).time_us, &kernel, split});
      }
    }
  }

  std::vector<Estimate> estimates;
  if (candidates.empty()) return estimates;
  const auto likely =
      std::min_element(candidates.begin(), candidates.end(),
                       [](const Candidate& x, const Candidate& y) { return x.least_us < y.least_us; });
  double most_us = estimate_of(*likely->kernel, likely->split).time_us * most_times_the_fastest;
  for (const auto& [least_us, kernel, split] : candidates) {
    if (least_us > most_us) continue;
    estimates.push_back(estimate_of(*kernel, split));
    most_us = std::min(most_us, estimates.back().time_us * most_times_the_fastest);
  }
  std::erase_if(estimates, [&](const Estimate& x) { return x.time_us > most_us; });
  std::stable_sort(estimates.begin(), estimates.end(),
                   [](const Estimate& x, const Estimate& y) { return x.time_us < y.time_us; });
  return estimates;
}

}  // namespace hopper_gemm::library
