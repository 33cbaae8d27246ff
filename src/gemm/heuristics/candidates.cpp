#include "gemm/heuristics/candidates.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "common/ceil_div.hpp"
#include "gemm/host/mixed_n.hpp"
#include "gemm/host/swap_ab.hpp"
#include "gemm/instances/cooperative_configs.hpp"

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

constexpr int kTmaAlignmentBytes = 16;
constexpr std::int64_t kMaxPitchBytes = std::int64_t{1} << 40;

bool is_tma_pitch(std::int64_t elems, int elem_bytes) {
  return elems > 0 && elems < kMaxPitchBytes / elem_bytes && elems * elem_bytes % kTmaAlignmentBytes == 0;
}

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
  const bool can_read_b = args.b.major == OperandMajor::K || takes_mn_major_b(tile);
  const bool has_epilogue = has_general_epilogue(tile)
                                ? can_store_by_tma(problem)
                                : is_plain(problem) && args.epilogue.output_type == args.input_type;
  return has_room(tiles->wide_n) && can_read_b && has_epilogue && args.batch_count == 1;
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

}  // namespace hopper_gemm::library::wgmma
