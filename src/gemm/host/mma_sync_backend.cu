// The host code of the back end mma_sync: which problems it takes, and which configuration it runs. The kernel is in
// gemm/kernel/mma_sync.cuh.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gemm/heuristics/loaded_tuning.hpp"
#include "gemm/host/backend.hpp"
#include "gemm/instances/mma_sync_configs.hpp"

namespace hopper_gemm::library {
namespace mma_sync {
namespace {

/// A configuration, and its rate of products when all SMs are busy, relative to the best.
struct Candidate {
  MmaConfig config;
  double relative_speed;
};

// The rates are from `matmul tune ampere.6 --size 4096` on an H200, which compiles the same tiles. Narrow copies were
// not measured. Their rates only make sure that they run if nothing else can compute the problem.
constexpr std::array kCandidates = {
    Candidate{kLargeConfigs[0], 1.0},  Candidate{kLargeConfigs[1], 0.94}, Candidate{kSmallConfigs[0], 0.6},
    Candidate{kSmallConfigs[1], 0.15}, Candidate{kSmallConfigs[2], 0.1},
};
static_assert(kCandidates.size() == kLargeConfigs.size() + kSmallConfigs.size());

/// The configuration's name, "mma_sync_128x128x64_s3" for example. "mma_sync_64x64x32_s3_copy4" copies 4 bytes at a
/// time instead of 16.
std::string name_of(const MmaConfig& config) {
  const TileConfig& tile = config.tile;
  std::string name = "mma_sync_" + std::to_string(tile.block_m) + "x" + std::to_string(tile.block_n) + "x" +
                     std::to_string(tile.block_k) + "_s" + std::to_string(tile.stages);
  if (config.copy_elems < 8) name += "_copy" + std::to_string(config.copy_elems * 2);
  return name;
}

int shared_bytes(const MmaConfig& config) {
  const TileConfig& tile = config.tile;
  return tile.stages * (tile.block_m + tile.block_n) * tile.block_k * 2;
}

const KernelInstance& instance_of(const MmaConfig& config, const KernelArgs& args) {
  const bool is_fp16 = args.input_type == DataType::Float16;
  const std::size_t layout = layout_index(args.a.major, args.b.major);
  const auto large = std::find(kLargeConfigs.begin(), kLargeConfigs.end(), config);
  if (large != kLargeConfigs.end()) {
    const auto index = static_cast<std::size_t>(large - kLargeConfigs.begin());
    return (is_fp16 ? kLargeInstancesFp16 : kLargeInstancesBf16)[index][layout];
  }
  const auto small = std::find(kSmallConfigs.begin(), kSmallConfigs.end(), config);
  const auto index = static_cast<std::size_t>(small - kSmallConfigs.begin());
  return (is_fp16 ? kSmallInstancesFp16 : kSmallInstancesBf16)[index][layout];
}

/// The most elements that a copy may have: 8, 2 or 1. All lines of all batches must start at a multiple of them.
int copy_elems_of(const OperandArgs& operand, int alignment_bytes, int batch_count) {
  const auto allows = [&](int elems) {
    return alignment_bytes % (elems * 2) == 0 && operand.leading_dimension % elems == 0 &&
           (batch_count == 1 || operand.batch_stride % elems == 0);
  };
  // With copies of 16 bytes, the kernel counts offsets within a tile in 32 bits.
  constexpr std::int64_t kMostLines = 256;
  const bool countable =
      operand.leading_dimension / 8 <= std::numeric_limits<std::uint32_t>::max() / kMostLines;
  return allows(8) && countable ? 8 : allows(2) ? 2 : 1;
}

int copy_elems_of(const Problem& problem) {
  const KernelArgs& args = problem.args;
  // The kernel reads neither operand if K is 0.
  if (args.shape.k == 0) return 8;
  return std::min(copy_elems_of(args.a, problem.alignments.a, args.batch_count),
                  copy_elems_of(args.b, problem.alignments.b, args.batch_count));
}

std::int64_t tiles_of_batch(const MmaConfig& config, const Problem& problem) {
  return num_tiles(problem.args.shape, config.tile.block_m, config.tile.block_n);
}

/// Ok, or the reason why the configuration cannot compute the problem.
Status check_config(const MmaConfig& config, const Problem& problem, const Device& device) {
  if (config.copy_elems > copy_elems_of(problem)) {
    return unsupported(name_of(config) + " copies " + std::to_string(config.copy_elems * 2) +
                       " bytes at a time, but not all lines of A and B start at multiples of that");
  }
  if (shared_bytes(config) > device.max_shared_bytes) {
    return unsupported(name_of(config) + " needs " + std::to_string(shared_bytes(config)) +
                       " bytes of shared memory for a CTA, but this GPU gives " +
                       std::to_string(device.max_shared_bytes));
  }
  HG_RETURN_IF_ERROR(check_tile_grid(problem.args.shape, config.tile.block_m, config.tile.block_n));
  const std::int64_t tiles = tiles_of_batch(config, problem);
  if (tiles > std::numeric_limits<std::int32_t>::max() / problem.args.batch_count) {
    return unsupported("the batches have " + std::to_string(tiles * problem.args.batch_count) + " tiles of " +
                       std::to_string(config.tile.block_m) + "x" + std::to_string(config.tile.block_n) +
                       ", but a launch takes at most 2^31 - 1");
  }
  return {};
}

/// Sets `*candidate` to the one of that name. InvalidArgument: there is none. Unsupported: it cannot compute the problem.
Status find_suitable(const std::string& name, const Problem& problem, const Device& device,
                     const Candidate** candidate) {
  const auto* const found = std::find_if(kCandidates.begin(), kCandidates.end(),
                                         [&](const Candidate& each) { return name_of(each.config) == name; });
  if (found == kCandidates.end()) return invalid_argument("there is no configuration " + name);
  HG_RETURN_IF_ERROR(check_config(found->config, problem, device));
  *candidate = found;
  return {};
}

/// Tiles of the SM that gets the most.
std::int64_t rounds_of(const MmaConfig& config, const Problem& problem, const Device& device) {
  return ceil_div(tiles_of_batch(config, problem) * problem.args.batch_count, std::int64_t{device.sm_count});
}

/// The time in which the GPU computes D, in an arbitrary unit. The SM that gets the most tiles finishes last.
double estimated_time(const Candidate& candidate, const Problem& problem, const Device& device) {
  const auto& [config, relative_speed] = candidate;
  return static_cast<double>(rounds_of(config, problem, device) * config.tile.block_m * config.tile.block_n) /
         relative_speed;
}

/// The candidate with the shortest estimated time, or null if none can compute the problem.
const Candidate* fastest(const Problem& problem, const Device& device) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : kCandidates) {
    if (!check_config(candidate.config, problem, device).ok()) continue;
    if (best == nullptr ||
        estimated_time(candidate, problem, device) < estimated_time(*best, problem, device)) {
      best = &candidate;
    }
  }
  return best;
}

std::string percent(double part) { return std::to_string(static_cast<int>(part * 100 + 0.5)) + " %"; }

std::string explain(const Candidate& chosen, const Problem& problem, const Device& device) {
  const auto layout = [](OperandMajor major, const char* other) {
    return std::string(major == OperandMajor::K ? "K" : other) + " contiguous";
  };
  const MmaConfig& config = chosen.config;
  std::string text = name_of(config) + ": mma.sync, fed by cp.async, which takes any operands; A has " +
                     layout(problem.args.a.major, "M") + ", B " + layout(problem.args.b.major, "N") + "\n";
  text += "lines of A and B start at multiples of " + std::to_string(copy_elems_of(problem) * 2) +
          " bytes; they are copied " + std::to_string(config.copy_elems * 2) + " bytes at a time\n";
  text += std::to_string(tiles_of_batch(config, problem) * problem.args.batch_count) + " tiles of " +
          std::to_string(config.tile.block_m) + "x" + std::to_string(config.tile.block_n) + " for " +
          std::to_string(device.sm_count) + " SMs: at most " +
          std::to_string(rounds_of(config, problem, device)) + " for each\n";
  for (const Candidate& other : kCandidates) {
    if (other.config == config || !check_config(other.config, problem, device).ok()) continue;
    text += name_of(other.config) + " is estimated to take " +
            percent(estimated_time(other, problem, device) / estimated_time(chosen, problem, device)) +
            " of its time\n";
  }
  return text;
}

class PreparedMma final : public PreparedGemm {
 public:
  PreparedMma(const KernelInstance& instance, unsigned ctas, std::string config, std::string explanation)
      : instance_(instance), ctas_(ctas), config_(std::move(config)), explanation_(std::move(explanation)) {}

  Status launch(const KernelArgs& args, void*, cudaStream_t stream) const override {
    return instance_.launch(args, ctas_, stream);
  }
  std::size_t workspace_bytes() const override { return 0; }
  const std::string& config() const override { return config_; }
  std::string explain() const override { return explanation_; }

 private:
  const KernelInstance& instance_;
  unsigned ctas_;
  std::string config_;
  std::string explanation_;
};

Status can_implement(const Problem& problem, const Device& device) {
  if (device.major < 8) {
    return unsupported("the GPU has compute capability " + std::to_string(device.major) + "." +
                       std::to_string(device.minor) + ", but cp.async needs 8.0 or newer");
  }
  if (problem.args.input_type == DataType::Float32) {
    return unsupported("A and B must be bf16 or fp16, not fp32");
  }
  if (fastest(problem, device) != nullptr) return {};
  // The last candidate needs the least of GPU and operands.
  return check_config(kCandidates.back().config, problem, device);
}

Status prepare(const Problem& problem, const Device& device, const std::string& name,
               std::unique_ptr<const PreparedGemm>* prepared) {
  HG_RETURN_IF_ERROR(can_implement(problem, device));
  const Candidate* candidate = nullptr;
  std::string reason;
  if (!name.empty()) {
    HG_RETURN_IF_ERROR(find_suitable(name, problem, device, &candidate));
  } else {
    for (const LoadedChoice& choice : loaded_choices(problem.args, device)) {
      const Status status = find_suitable(choice.config, problem, device, &candidate);
      if (status.ok()) {
        reason += "chosen by " + origin_of(choice) + "\n";
        break;
      }
      if (choice.is_for_operation) reason += refusal_of(choice, status, "mma_sync") + "\n";
    }
    if (candidate == nullptr) candidate = fastest(problem, device);
  }
  const KernelInstance& instance = instance_of(candidate->config, problem.args);
  HG_RETURN_IF_ERROR(instance.prepare());
  const std::int64_t ctas = tiles_of_batch(candidate->config, problem) * problem.args.batch_count;
  *prepared = std::make_unique<PreparedMma>(instance, static_cast<unsigned>(ctas), name_of(candidate->config),
                                            reason + explain(*candidate, problem, device));
  return {};
}

std::vector<std::string> configs() {
  std::vector<std::string> names;
  std::transform(kCandidates.begin(), kCandidates.end(), std::back_inserter(names),
                 [](const Candidate& candidate) { return name_of(candidate.config); });
  return names;
}

std::vector<std::string> ranked_configs(const Problem& problem, const Device& device) {
  std::vector<const Candidate*> candidates;
  for (const Candidate& candidate : kCandidates) {
    if (check_config(candidate.config, problem, device).ok()) candidates.push_back(&candidate);
  }
  std::stable_sort(candidates.begin(), candidates.end(), [&](const Candidate* x, const Candidate* y) {
    return estimated_time(*x, problem, device) < estimated_time(*y, problem, device);
  });
  std::vector<std::string> names;
  std::transform(candidates.begin(), candidates.end(), std::back_inserter(names),
                 [](const Candidate* candidate) { return name_of(candidate->config); });
  return names;
}

}  // namespace
}  // namespace mma_sync

const Backend& mma_sync_backend() {
  static constexpr std::array<std::string_view, 1> kFamilies = {"mma_sync"};
  static constexpr Backend kBackend = {"mma_sync",        kFamilies,         mma_sync::can_implement,
                                       mma_sync::prepare, mma_sync::configs, mma_sync::ranked_configs};
  return kBackend;
}

}  // namespace hopper_gemm::library
