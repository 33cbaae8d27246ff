#include "gemm/heuristics/candidates.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "common/ceil_div.hpp"
#include "gemm/config_name.hpp"
#include "gemm/instances/cooperative_configs.hpp"
#include "gemm/instances/mixed_n_configs.hpp"
#include "gemm/instances/small_m_configs.hpp"
#include "gemm/scheduler/mixed_n.hpp"

namespace hopper_gemm::library {
namespace {

// An H200 runs about 120 CTAs at a time in clusters of 4 or 8. These are the numbers of clusters that fill it, one for
// each number of tiles that D may have. static_assert: the number of K's last element still fits 32 bits, for any K,
// when the clusters' K blocks extend past the end of K.
constexpr std::array kWorkspaceSplits = {2, 3, 5, 7, 10, 15, 30};
constexpr std::array kSplitsThroughWorkspace = {4, 8};
constexpr int kMostCtasThroughWorkspace = 120;
// The parts of K of CTAs that share loads, or that are alone.
constexpr std::array kWorkspaceSplitsOfSharers = {2, 3, 4, 5, 6, 8};
static_assert(std::all_of(kWorkspaceSplits.begin(), kWorkspaceSplits.end(), [](int clusters) {
  constexpr std::int64_t kMostBlocks = ((std::int64_t{1} << 31) - 257 + kBlockK - 1) / kBlockK;
  return ceil_div(kMostBlocks, std::int64_t{clusters}) * clusters * kBlockK <=
         std::numeric_limits<int>::max();
}));

constexpr int kTmaAlignmentBytes = 16;
constexpr std::int64_t kMaxPitchBytes = std::int64_t{1} << 40;

bool is_tma_pitch(std::int64_t elems, int elem_bytes) {
  return elems > 0 && elems < kMaxPitchBytes / elem_bytes && elems * elem_bytes % kTmaAlignmentBytes == 0;
}

/// What TMA cannot address of an operand.
enum class OperandFault { None, Address, LeadingDimension, BatchStride };

OperandFault kind_of_operand_fault(std::int64_t leading_dimension, std::int64_t batch_stride, int batch_count,
                                   int alignment_bytes, int elem_bytes) {
  if (alignment_bytes % kTmaAlignmentBytes != 0) return OperandFault::Address;
  if (!is_tma_pitch(leading_dimension, elem_bytes)) return OperandFault::LeadingDimension;
  const bool has_stride = batch_count > 1 && batch_stride != 0;
  return has_stride && !is_tma_pitch(batch_stride, elem_bytes) ? OperandFault::BatchStride
                                                               : OperandFault::None;
}

/// Whether TMA can address C, D or aux.
bool is_tma_output(const Problem& problem, std::int64_t leading_dimension, std::int64_t batch_stride,
                   int alignment_bytes) {
  return kind_of_operand_fault(leading_dimension, batch_stride, problem.args.batch_count, alignment_bytes,
                               size_of(problem.args.epilogue.output_type)) == OperandFault::None;
}

/// Whether rows of D and aux are whole chunks of 16 bytes. TMA stores whole chunks, and must not write past a row's
/// end.
bool has_whole_chunks(const KernelArgs& args) {
  return args.shape.n % (kTmaAlignmentBytes / size_of(args.epilogue.output_type)) == 0;
}

/// EpilogueParams::d_tma_columns of an output that TMA can address.
int tma_columns(const KernelArgs& args) {
  return has_whole_chunks(args) ? std::numeric_limits<int>::max() : args.shape.n;
}

/// A kernel with each split-K within a cluster.
KernelInCluster with_splits(const KernelConfig& kernel) {
  KernelInCluster in_cluster = {.kernel = kernel, .splits = {}};
  for (int split = 1; split <= max_split_k(kernel); ++split) in_cluster.splits.push_back({split, 1});
  return in_cluster;
}

/// Whether CTAs that are alone, or that share loads, take parts of K that go through the workspace. Pairs gain much only with
/// small tiles (profiles/experiments.md, 50).
bool takes_parts_of_k(const KernelConfig& kernel) {
  const bool is_small = kernel.block_m * kernel.block_n <= 64 * 128;
  return can_use_workspace(kernel) && cluster_size(kernel) <= (is_small ? 2 : 1);
}

/// Appends each kernel with each cluster that shares loads, and with each split-K within a cluster and through the
/// workspace.
template <typename Kernels>
void append_cooperative_kernels(const Kernels& kernels, std::vector<CandidateKernel>* candidates) {
  for (KernelConfig kernel : kernels) {
    CandidateKernel& candidate = candidates->emplace_back();
    for (const cooperative::ClusterShape& cluster : cooperative::kClusterShapes) {
      kernel.cluster_m = cluster.m;
      kernel.cluster_n = cluster.n;
      if (fault_of(kernel) != nullptr) continue;
      std::vector<SplitK>& splits = candidate.emplace_back(with_splits(kernel)).splits;
      if (takes_parts_of_k(kernel)) {
        for (const int parts : kWorkspaceSplitsOfSharers) splits.push_back({1, parts});
      }
      // Kernels with swap-AB share K by themselves. To let their clusters do so, too, would make the list long.
      if (!can_split_k(kernel) || !can_use_workspace(kernel) || kernel.swap_ab) continue;
      for (const int split : kSplitsThroughWorkspace) {
        for (const int clusters : kWorkspaceSplits) {
          if (split * clusters <= kMostCtasThroughWorkspace) splits.push_back({split, clusters});
        }
      }
    }
  }
}

}  // namespace

const std::vector<CandidateKernel>& candidate_kernels() {
  static const auto kernels = [] {
    std::vector<CandidateKernel> candidates;
    append_cooperative_kernels(cooperative::kLargeKernels, &candidates);
    append_cooperative_kernels(cooperative::kSmallKernels, &candidates);
    append_cooperative_kernels(cooperative::kAlphaOnlyKernels, &candidates);
    append_cooperative_kernels(cooperative::kSwappedKernels, &candidates);
    append_cooperative_kernels(cooperative::kSmallSwappedKernels, &candidates);
    for (const KernelConfig& kernel : kSmallMConfigs) candidates.push_back({with_splits(kernel)});
    candidates.push_back({with_splits(kWideConfig)});
    for (const KernelConfig& kernel : kPingpongConfigs) candidates.push_back({with_splits(kernel)});
    return candidates;
  }();
  return kernels;
}

std::vector<GemmConfig> all_configs() {
  std::vector<GemmConfig> configs;
  for (const CandidateKernel& candidate : candidate_kernels()) {
    for (const auto& [kernel, splits] : candidate) {
      for (const SplitK& split : splits) configs.push_back(config_of(kernel, split));
    }
  }
  return configs;
}

std::optional<GemmConfig> find_config(std::string_view name) {
  static const auto by_name = [] {
    std::map<std::string, GemmConfig, std::less<>> configs;
    for (const GemmConfig& config : all_configs()) configs.emplace(name_of(config), config);
    return configs;
  }();
  const auto found = by_name.find(name);
  if (found == by_name.end()) return std::nullopt;
  return found->second;
}

int loaded_lines(const OperandArgs& operand, int lines, int block_lines, int sharers) {
  constexpr int kSwizzledLines = 8;
  if (operand.major != OperandMajor::K) return block_lines;
  return std::min(block_lines / sharers, ceil_div(lines, kSwizzledLines) * kSwizzledLines) * sharers;
}

int prefetched_stages(const KernelArgs& args, const GemmConfig& config) {
  if (args.batch_count > 1 || config.workspace_split_k > 1 || args.a.major != OperandMajor::K ||
      args.b.major != OperandMajor::K) {
    return 0;
  }
  const double most_bytes = config.kernel.schedule == Schedule::SmallM ? 3e6 : 6e6;
  const double bytes_of_all =
      kInputBytes * config.kernel.block_k * config.split_k * (1.0 * args.shape.m + args.shape.n);
  // At most the stages: a prefetch of later K blocks would delay the first loads.
  return static_cast<int>(std::clamp(most_bytes / bytes_of_all, 1.0, 1.0 * config.kernel.stages));
}

int k_blocks_of_cluster(const KernelArgs& args, const GemmConfig& config) {
  return ceil_div(ceil_div(args.shape.k, kBlockK), config.workspace_split_k);
}

std::int64_t partials_ld(GemmShape shape) {
  constexpr std::int64_t kElems = 4;  // 16 bytes
  return ceil_div(std::int64_t{shape.n}, kElems) * kElems;
}

std::size_t workspace_bytes(const KernelArgs& args, const GemmConfig& config) {
  if (config.workspace_split_k == 1) return 0;
  return static_cast<std::size_t>(args.batch_count) * static_cast<std::size_t>(config.workspace_split_k) *
         static_cast<std::size_t>(args.shape.m) * static_cast<std::size_t>(partials_ld(args.shape)) *
         sizeof(float);
}

GemmEpilogue partials_epilogue(GemmShape shape) {
  GemmEpilogue epilogue;
  epilogue.ldd = partials_ld(shape);
  epilogue.d_batch_stride = shape.m * epilogue.ldd;
  epilogue.output_type = DataType::Float32;
  return epilogue;
}

std::string fault_of_operand(const char* name, std::int64_t leading_dimension, std::int64_t batch_stride,
                             int batch_count, int alignment_bytes, int elem_bytes) {
  const std::string of = std::string(" of ") + name;
  switch (kind_of_operand_fault(leading_dimension, batch_stride, batch_count, alignment_bytes, elem_bytes)) {
    case OperandFault::None: return "";
    case OperandFault::Address: return "the address" + of + " is not a multiple of 16 bytes";
    case OperandFault::LeadingDimension:
      return "the leading dimension" + of + " is not a multiple of 16 bytes below 2^40";
    case OperandFault::BatchStride:
      return "the batch stride" + of + " is not a multiple of 16 bytes below 2^40";
  }
  return "";
}

bool is_tma_d(const Problem& problem) {
  const GemmEpilogue& epilogue = problem.args.epilogue;
  return is_tma_output(problem, epilogue.ldd, epilogue.d_batch_stride, problem.alignments.d);
}

bool is_tma_aux(const Problem& problem) {
  const GemmEpilogue& epilogue = problem.args.epilogue;
  return is_tma_output(problem, epilogue.ldaux, epilogue.aux_batch_stride, problem.alignments.aux);
}

bool is_tma_c(const Problem& problem) {
  const GemmEpilogue& epilogue = problem.args.epilogue;
  return is_tma_output(problem, epilogue.ldc, epilogue.c_batch_stride, problem.alignments.c);
}

int d_tma_columns(const Problem& problem) { return is_tma_d(problem) ? tma_columns(problem.args) : 0; }

int aux_tma_columns(const Problem& problem) { return is_tma_aux(problem) ? tma_columns(problem.args) : 0; }

bool takes_layouts(const KernelConfig& kernel, const KernelArgs& args) {
  return (args.a.major == OperandMajor::K || takes_mn_major_a(kernel.majors)) &&
         (args.b.major == OperandMajor::K || takes_mn_major_b(kernel.majors));
}

bool can_add_c(const KernelConfig& kernel, const Problem& problem) {
  if (kernel.epilogues != Epilogues::All) return false;
  if (kernel.narrow_n == 0) return true;
  return problem.args.epilogue.output_type != DataType::Float32 && is_tma_c(problem);
}

bool can_add_c(const GemmConfig& config, const Problem& problem) {
  return config.workspace_split_k > 1 || can_add_c(config.kernel, problem);
}

bool needs_alpha_only(const KernelConfig& kernel, const Problem& problem) {
  const GemmEpilogue& epilogue = problem.args.epilogue;
  // The cooperative kernel of one tile N rounds to either 16-bit type, others only to the inputs' type.
  const bool has_type = kernel.schedule == Schedule::Cooperative && kernel.narrow_n == 0
                            ? epilogue.output_type != DataType::Float32
                            : epilogue.output_type == problem.args.input_type;
  return has_type && is_tma_d(problem) && has_whole_chunks(problem.args) &&
         epilogue.bias_kind == Bias::None && epilogue.activation == Activation::None && epilogue.beta == 0 &&
         !epilogue.is_gated && !epilogue.has_aux;
}

bool can_compute(const KernelConfig& kernel, const Problem& problem) {
  const KernelArgs& args = problem.args;
  if (args.epilogue.beta != 0 && !can_add_c(kernel, problem)) return false;
  if (!takes_layouts(kernel, args)) return false;
  // Kernels count columns in 32 bits, also those of a tile that extends past D's edge.
  const auto has_room = [&](int columns) {
    return args.shape.n <= std::numeric_limits<int>::max() - columns;
  };
  if (kernel.schedule == Schedule::SmallM) {
    if (args.shape.m > kMostSmallMTiles * kernel.block_m) return false;
    // A tile needs whole pairs of gate and up.
    if (args.epilogue.is_gated && kernel.block_n % (2 * kGateColumns) != 0) return false;
    // The launch has a CTA for each tile and each of its parts of K.
    const std::int64_t most_ctas = std::int64_t{ceil_div(args.shape.m, kernel.block_m)} *
                                   ceil_div(args.shape.n, kernel.block_n) * args.batch_count *
                                   max_split_k(kernel);
    return has_room(stage_lines_n(kernel)) && most_ctas <= std::numeric_limits<int>::max();
  }
  if (kernel.narrow_n == 0) return kernel.epilogues == Epilogues::All || needs_alpha_only(kernel, problem);
  if (!has_room(kernel.cluster_n * kernel.block_n)) return false;
  if (args.batch_count > 1 && !takes_batches(kernel)) return false;
  // Kernels count the rows of all batches' tiles together.
  const std::int64_t rows = std::int64_t{args.batch_count} * ceil_div(args.shape.m, kernel.block_m);
  if (rows > std::numeric_limits<int>::max() / kernel.block_m) return false;
  if (kernel.epilogues == Epilogues::AlphaOnly) return needs_alpha_only(kernel, problem);
  return kernel.epilogues == Epilogues::All || !args.epilogue.has_aux;
}

bool can_compute(const GemmConfig& config, const Problem& problem) {
  return config.workspace_split_k > 1 ? takes_layouts(config.kernel, problem.args)
                                      : can_compute(config.kernel, problem);
}

namespace {

enum class Fault { None, FewBlocks, LargeD, LargeWorkspace };

/// Whether D has enough tiles to keep the GPU busy without a split-K through the workspace.
bool is_large_d(const KernelArgs& args) {
  constexpr std::int64_t kMostElems = std::int64_t{1} << 24;
  return std::int64_t{args.shape.m} * args.shape.n > kMostElems / args.batch_count;
}

Fault kind_of_fault(const Problem& problem, const GemmConfig& config) {
  const KernelArgs& args = problem.args;
  const std::int64_t parts = std::int64_t{config.split_k} * config.workspace_split_k;
  if ((parts - 1) * config.kernel.block_k >= args.shape.k) return Fault::FewBlocks;
  if (config.workspace_split_k == 1) return Fault::None;
  if (is_large_d(args)) return Fault::LargeD;
  return workspace_bytes(args, config) > problem.workspace_limit_bytes ? Fault::LargeWorkspace : Fault::None;
}

}  // namespace

bool may_use_workspace(const Problem& problem) {
  constexpr GemmConfig kFewestParts = {.kernel = {}, .workspace_split_k = 2};
  return !is_large_d(problem.args) &&
         workspace_bytes(problem.args, kFewestParts) <= problem.workspace_limit_bytes;
}

bool suits(const Problem& problem, const GemmConfig& config) {
  return kind_of_fault(problem, config) == Fault::None;
}

std::string fault_of(const Problem& problem, const GemmConfig& config) {
  const int block_k = config.kernel.block_k;
  switch (kind_of_fault(problem, config)) {
    case Fault::None: return "";
    case Fault::FewBlocks:
      return "K has " + std::to_string(ceil_div(problem.args.shape.k, block_k)) + " blocks of " +
             std::to_string(block_k) + ", fewer than the CTAs that would share it";
    case Fault::LargeD:
      return "D has more than 2^24 elements, which is too many for a split-K through the workspace";
    case Fault::LargeWorkspace:
      return "its partials take a workspace of " + std::to_string(workspace_bytes(problem.args, config)) +
             " bytes, but the limit is " + std::to_string(problem.workspace_limit_bytes);
  }
  return "";
}

}  // namespace hopper_gemm::library
