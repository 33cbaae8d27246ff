// The back end wgmma: which problems it takes, which configuration it chooses, and the prepared kernel that a plan
// keeps.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/quoted_text.hpp"
#include "device/launch.hpp"
#include "device/tensor_map.hpp"
#include "gemm/config_name.hpp"
#include "gemm/epilogue/reduce_partials.hpp"
#include "gemm/heuristics/candidates.hpp"
#include "gemm/heuristics/cost_model.hpp"
#include "gemm/heuristics/loaded_tuning.hpp"
#include "gemm/heuristics/probed_rates.hpp"
#include "gemm/heuristics/tuned.hpp"
#include "gemm/host/backend.hpp"
#include "gemm/host/kernel_launcher.hpp"
#include "gemm/instances/small_m_configs.hpp"

namespace hopper_gemm::library {
namespace wgmma {
namespace {

std::string fault_of_input(const char* name, const OperandArgs& operand, int alignment_bytes,
                           int batch_count) {
  return fault_of_operand(name, operand.leading_dimension, operand.batch_stride, batch_count, alignment_bytes,
                          kInputBytes);
}

Status can_implement(const Problem& problem, const Device& device) {
  const KernelArgs& args = problem.args;
  if (device.major != 9 || device.minor != 0) {
    return unsupported("wgmma: the GPU is sm_" + std::to_string(device.major) + std::to_string(device.minor) +
                       ", not sm_90");
  }
  if (args.shape.k == 0) return unsupported("wgmma: K is 0, and TMA has no empty tensors");
  for (const std::string& fault : {fault_of_input("A", args.a, problem.alignments.a, args.batch_count),
                                   fault_of_input("B", args.b, problem.alignments.b, args.batch_count)}) {
    if (!fault.empty()) return unsupported("wgmma: " + fault + ", which TMA needs");
  }
  // Kernels count tiles in 32 bits. 64x64 is the smallest tile of all kernels except those for small M, for which
  // can_compute() checks this.
  if (static_cast<double>(num_tiles(args.shape, 64, 64)) * args.batch_count * kMaxSplitK >
      std::numeric_limits<std::int32_t>::max()) {
    return unsupported("wgmma: D has more tiles than a launch can have CTAs");
  }
  return check_tensor_map_support();
}

/// The family whose source file holds the kernel.
const KernelFamily& family_of(const KernelConfig& kernel) {
  switch (kernel.schedule) {
    case Schedule::Cooperative:
      return kernel.narrow_n == 0 ? cooperative::kFamily : cooperative_mixed_n::kFamily;
    case Schedule::Pingpong: return pingpong::kFamily;
    case Schedule::SmallM: return small_m::kFamily;
  }
  return cooperative::kFamily;
}

/// What decides how many clusters of a configuration a GPU runs at a time. sm_count is a part of it, because an emulated
/// GPU may get another number of SMs. workspace_split_k is not, because it does not change the size of a cluster. All
/// kernels whose CTAs take an SM each are alike.
struct ClusterKind {
  int device;
  std::uint64_t context;
  int sm_count;
  int cluster_size;
  std::optional<KernelConfig> sharing_an_sm;

  friend bool operator==(const ClusterKind&, const ClusterKind&) = default;
};

struct HashOfClusterKind {
  std::size_t operator()(const ClusterKind& kind) const {
    const KernelConfig kernel = kind.sharing_an_sm.value_or(KernelConfig{});
    std::uint64_t hash = kind.context;
    for (const int value : {kind.device, kind.sm_count, kind.cluster_size, kernel.consumers, kernel.block_m,
                            kernel.block_n, kernel.stages, kernel.block_k}) {
      constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 / the golden ratio
      hash = (hash ^ static_cast<std::uint64_t>(value)) * kOdd;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

/// The result of cudaOccupancyMaxActiveClusters, or 0 if not even one cluster fits. Results are kept, because this call
/// takes longer than everything else that a plan needs. Thread-safe.
int active_clusters(const Device& device, const GemmConfig& config) {
  static std::mutex mutex;
  static std::unordered_map<ClusterKind, int, HashOfClusterKind> known;
  const std::lock_guard<std::mutex> lock(mutex);
  const bool is_small_m = config.kernel.schedule == Schedule::SmallM;
  const KernelConfig kernel = is_small_m ? compiled(config.kernel) : config.kernel;
  ClusterKind kind = {.device = device.id,
                      .context = device.context,
                      .sm_count = device.sm_count,
                      .cluster_size = cluster_size(config),
                      .sharing_an_sm = {}};
  if (shares_an_sm(kernel)) kind.sharing_an_sm = kernel;
  if (const auto entry = known.find(kind); entry != known.end()) return entry->second;
  int clusters = 0;
  const Status status =
      family_of(kernel).active_clusters({.kernel = kernel, .split_k = config.split_k}, &clusters);
  // Other errors are not kept, because the next call may succeed.
  if (status.ok() || status.code() == StatusCode::Unsupported) known.emplace(kind, clusters);
  return clusters;
}

/// active_clusters(), which asks once for all kernels whose CTAs take an SM each. Among kernels that share an SM it
/// remembers the last one, because a kernel's configurations follow each other.
ActiveClusters active_clusters_of(const Device& device) {
  using ClustersOfSize = std::array<int, kMaxSplitK + 1>;
  return [device, of_all = ClustersOfSize{}, last = KernelConfig{},
          of_last = ClustersOfSize{}](const GemmConfig& config) mutable {
    const bool shares = shares_an_sm(config.kernel);
    if (shares && compiled(config.kernel) != last) {
      last = compiled(config.kernel);
      of_last = {};
    }
    int& clusters = (shares ? of_last : of_all)[static_cast<std::size_t>(cluster_size(config))];
    if (clusters == 0) clusters = active_clusters(device, config);
    return clusters;
  };
}

/// What all estimates of a plan are made with. Other threads may load another probe file meanwhile.
class Estimator {
 public:
  explicit Estimator(const Device& device)
      : active_clusters_(active_clusters_of(device)),
        rates_(probed_rates_of(device)),
        model_(cost_model_of(device, rates_.get())) {}

  /// See library::ranked().
  std::vector<Estimate> ranked(
      const Problem& problem, double most_times_the_fastest = std::numeric_limits<double>::infinity()) const {
    return library::ranked(problem, active_clusters_, model_, most_times_the_fastest);
  }
  std::optional<Estimate> estimate(const Problem& problem, const GemmConfig& config) const {
    return estimate_if_possible(problem, config, active_clusters_, model_);
  }
  /// What to say behind "estimated".
  std::string by_rates() const {
    return rates_ == nullptr ? "" : ", by the rates of the probe file '" + one_line(rates_->path) + "'";
  }

 private:
  ActiveClusters active_clusters_;
  std::shared_ptr<const ProbedRates> rates_;
  CostModel model_;
};

/// Sets `*config` to the configuration of that name. InvalidArgument: there is none. Unsupported: it does not suit the
/// problem or the GPU. Its kernel may still lack an operation of the problem.
Status find_suitable(const std::string& name, const Problem& problem, const Device& device,
                     GemmConfig* config) {
  const std::optional<GemmConfig> found = find_config(name);
  if (!found.has_value()) return invalid_argument("there is no configuration " + name);
  const std::string fault = fault_of(problem, *found);
  if (!fault.empty()) return unsupported(name + ": " + fault);
  if (active_clusters(device, *found) == 0) {
    return unsupported(name + ": the GPU cannot run a cluster of so many CTAs");
  }
  *config = *found;
  return {};
}

/// Whether the choice of a table holds for the problem's epilogue, if the table was measured with alpha only. Which
/// configuration with a mixed tile N is the fastest depends on how much of its epilogue the products do not hide.
bool was_measured_with(const Estimate& tuned, const Problem& problem) {
  const KernelConfig& kernel = tuned.config.kernel;
  return kernel.narrow_n == 0 || needs_alpha_only(kernel, problem);
}

/// A kernel of the library that computes the problem. With split-K through the workspace it also launches the
/// reduction.
class PreparedWgmma final : public PreparedGemm {
 public:
  /// name: of the requested configuration, whose kernel may be unable to compute the problem. rest: the same problem
  /// for launches whose beta is not 0; nullptr if the kernel can_add_c().
  PreparedWgmma(const Problem& problem, const GemmConfig& config,
                std::unique_ptr<const KernelLauncher> launcher, std::unique_ptr<const PreparedGemm> rest,
                std::string name, std::string reason)
      : launcher_(std::move(launcher)),
        rest_(std::move(rest)),
        name_(std::move(name)),
        reason_(std::move(reason)),
        workspace_bytes_(library::workspace_bytes(problem.args, config)),
        workspace_split_k_(config.workspace_split_k),
        triggers_dependents_(problem.programmatic_dependent_launch),
        needs_alpha_only_(needs_alpha_only(config.kernel, problem)) {}

  Status launch(const KernelArgs& args, void* workspace, cudaStream_t stream) const override {
    const GemmEpilogue& epilogue = args.epilogue;
    if (rest_ != nullptr && epilogue.beta != 0) return rest_->launch(args, workspace, stream);
    if (workspace_split_k_ == 1) {
      const bool is_alpha_only = needs_alpha_only_ && epilogue.beta == 0;
      return launcher_->launch(args, epilogue,
                               is_alpha_only ? EpilogueKind::AlphaOnly : EpilogueKind::General, stream);
    }
    const GemmShape shape = args.shape;
    GemmEpilogue partials = partials_epilogue(shape);
    partials.d = workspace;
    HG_RETURN_IF_ERROR(launcher_->launch(args, partials, EpilogueKind::AlphaOnly, stream));
    return launch_reduce_partials({.data = static_cast<const float*>(workspace),
                                   .leading_dimension = partials.ldd,
                                   .stride = partials.d_batch_stride,
                                   .count = workspace_split_k_},
                                  epilogue, shape, args.batch_count, triggers_dependents_, stream);
  }

  std::size_t workspace_bytes() const override { return workspace_bytes_; }
  const std::string& config() const override { return name_; }
  std::string explain() const override { return reason_; }

 private:
  std::unique_ptr<const KernelLauncher> launcher_;
  std::unique_ptr<const PreparedGemm> rest_;
  std::string name_;
  std::string reason_;
  std::size_t workspace_bytes_;
  int workspace_split_k_;
  bool triggers_dependents_;
  bool needs_alpha_only_;  // if beta is 0
};

std::string text_of(const Estimate& estimate) {
  char numbers[96];
  std::snprintf(numbers, sizeof numbers, "%.1f us, %d %s %.0f %% full", estimate.time_us, estimate.waves,
                estimate.waves == 1 ? "wave," : "waves, the last one", 100 * estimate.last_wave);
  return name_of(estimate.config) + ": " + numbers + ", limited by " +
         std::string(to_string(estimate.limit)) +
         (estimate.by_gpc ? ", with neighbouring tiles in each GPC" : "");
}

std::vector<std::string> configs() {
  std::vector<std::string> names;
  for (const GemmConfig& config : all_configs()) names.push_back(name_of(config));
  return names;
}

/// The text of PreparedGemm::explain(). general: the estimate of what runs if beta is not 0, or null if that is the
/// same. by_rates: see Estimator.
std::string explain(const Estimate& chosen, std::span<const Estimate> estimates, const Estimate* general,
                    std::string reason, const std::string& by_rates) {
  constexpr std::size_t kOthers = 3;
  reason += "; estimates:\n  " + text_of(chosen);
  for (const Estimate& other : estimates.first(std::min(kOthers, estimates.size()))) {
    if (other.config != chosen.config) reason += "\n  " + text_of(other);
  }
  if (general != nullptr) {
    reason += "\nwhere beta is not 0" + by_rates + ":\n  " + text_of(*general);
  }
  return reason;
}

/// A configuration that was measured to be fast, and why it is chosen.
struct MeasuredChoice {
  std::optional<Estimate> estimate;  // none if no measurement decides
  std::string reason;                // also why entries of tuning files cannot be used
};

/// Looks into the tuning files first, and then into the built-in tables.
MeasuredChoice measured_choice(const Problem& problem, const Device& device, const Estimator& estimator) {
  const auto find_estimate = [&](std::string_view name) -> std::optional<Estimate> {
    const std::optional<GemmConfig> config = find_config(name);
    return config.has_value() ? estimator.estimate(problem, *config) : std::nullopt;
  };
  std::string unusable;
  for (const LoadedChoice& choice : loaded_choices(problem.args, device)) {
    const std::optional<Estimate> found = find_estimate(choice.config);
    const bool is_candidate = found.has_value();
    if (is_candidate && (choice.is_for_operation || was_measured_with(*found, problem))) {
      return {found, unusable + "chosen by " + origin_of(choice)};
    }
    if (is_candidate || !choice.is_for_operation) continue;
    GemmConfig config{};
    const Status status = find_suitable(choice.config, problem, device, &config);
    unusable += refusal_of(choice, status, "wgmma") + "\n";
  }
  if (const TunedChoice choice = tuned_choice(problem.args, device); !choice.config.empty()) {
    const std::optional<Estimate> found = find_estimate(choice.config);
    if (found.has_value() && was_measured_with(*found, problem)) {
      return {found, unusable + "measured to be fast for this shape on " + std::string(choice.gpu)};
    }
  }
  return {std::nullopt, unusable};
}

bool is_schedule(std::string_view name) {
  return std::any_of(kSchedules.begin(), kSchedules.end(),
                     [&](Schedule schedule) { return name_of(schedule) == name; });
}

Status prepare(const Problem& problem, const Device& device, const std::string& requested,
               std::unique_ptr<const PreparedGemm>* prepared) {
  const bool has_name = !requested.empty() && !is_schedule(requested);
  const Status no_room = unsupported("wgmma: the GPU has no room for a CTA");
  // Only these are worth a look, unless the driver refuses them all.
  constexpr double kMostTimesTheFastest = 1.1;
  const Estimator estimator(device);
  const std::string by_rates = estimator.by_rates();
  std::vector<Estimate> estimates = estimator.ranked(problem, kMostTimesTheFastest);
  if (estimates.empty()) return no_room;
  Estimate chosen = estimates.front();
  std::string reason = "estimated to be the fastest" + by_rates;
  if (is_schedule(requested)) {
    const std::vector<Estimate> all = estimator.ranked(problem);
    const auto found = std::find_if(all.begin(), all.end(), [&](const Estimate& estimate) {
      return name_of(estimate.config.kernel.schedule) == requested;
    });
    if (found == all.end())
      return unsupported("no kernel of the schedule " + requested + " can compute this problem");
    chosen = *found;
    reason = "estimated to be the fastest of the schedule that you asked for" + by_rates;
  } else if (!requested.empty()) {
    GemmConfig asked{};
    HG_RETURN_IF_ERROR(find_suitable(requested, problem, device, &asked));
    const bool serves = can_compute(asked, problem);
    if (serves) chosen = estimator.estimate(problem, asked).value_or(chosen);
    reason = serves
                 ? "asked for"
                 : "asked for, but its kernel cannot compute this problem, so another kernel runs" + by_rates;
  } else {
    MeasuredChoice measured = measured_choice(problem, device, estimator);
    const bool is_measured = measured.estimate.has_value();
    chosen = measured.estimate.value_or(chosen);
    reason = std::move(measured.reason) + (is_measured ? "" : reason);
  }
  const auto prepare_by = [&](const Estimate& estimate, const std::string& name,
                              std::unique_ptr<const PreparedGemm> rest, const Estimate* general,
                              std::unique_ptr<const PreparedGemm>* made) -> Status {
    const GemmConfig& config = estimate.config;
    std::unique_ptr<const KernelLauncher> launcher;
    HG_RETURN_IF_ERROR(
        family_of(config.kernel)
            .make_launcher({.problem = problem,
                            .config = config,
                            .active_clusters = active_clusters(device, config),
                            .overlaps = problem.programmatic_dependent_launch && estimate.overlaps,
                            .by_gpc = estimate.by_gpc},
                           &launcher));
    if (config.workspace_split_k > 1) HG_RETURN_IF_ERROR(load_reduce_partials());
    std::string text = explain(estimate, estimates, general, reason, by_rates);
    *made = std::make_unique<PreparedWgmma>(problem, config, std::move(launcher), std::move(rest), name,
                                            std::move(text));
    return {};
  };
  // Candidates for launches with a C, if the chosen kernel cannot add one. They are ranked when the first such kernel
  // is chosen. They may not use a workspace, because the plan does not ask the caller for a second one.
  std::vector<Estimate> estimates_with_c;
  auto general = estimates_with_c.cend();
  const auto prepare_with_rest = [&](const Estimate& estimate) -> Status {
    const std::string name = has_name ? requested : name_of(estimate.config);
    if (problem.args.epilogue.is_gated || can_add_c(estimate.config, problem)) {
      return prepare_by(estimate, name, nullptr, nullptr, prepared);
    }
    if (estimates_with_c.empty()) {
      Problem with_c = problem;
      with_c.args.epilogue.beta = 1;
      with_c.workspace_limit_bytes = 0;
      estimates_with_c = estimator.ranked(with_c, kMostTimesTheFastest);
      general = estimates_with_c.cbegin();
      if (estimates_with_c.empty()) return no_room;
    }
    // The driver may refuse the tensor maps of one configuration and accept those of the next.
    std::unique_ptr<const PreparedGemm> rest;
    while (rest == nullptr) {
      const Status status = prepare_by(*general, name, nullptr, nullptr, &rest);
      if (status.ok()) continue;
      if (status.code() != StatusCode::Unsupported || general + 1 == estimates_with_c.cend()) return status;
      ++general;
    }
    return prepare_by(estimate, name, std::move(rest), &*general, prepared);
  };
  Status status = prepare_with_rest(chosen);
  if (status.code() != StatusCode::Unsupported || !requested.empty()) return status;
  reason = "chosen after " + name_of(chosen.config) + " failed (" + status.message() + ")" + by_rates;
  estimates = estimator.ranked(problem);
  for (const Estimate& candidate : estimates) {
    if (candidate.config == chosen.config) continue;
    status = prepare_with_rest(candidate);
    if (status.code() != StatusCode::Unsupported) return status;
  }
  return status;
}

std::vector<std::string> ranked_configs(const Problem& problem, const Device& device) {
  std::vector<std::string> names;
  for (const Estimate& estimate : Estimator(device).ranked(problem)) {
    names.push_back(name_of(estimate.config));
  }
  return names;
}

}  // namespace
}  // namespace wgmma

const Backend& wgmma_backend() {
  static constexpr auto kFamilies = [] {
    std::array<std::string_view, kSchedules.size()> names{};
    std::transform(kSchedules.begin(), kSchedules.end(), names.begin(),
                   [](Schedule schedule) { return name_of(schedule); });
    return names;
  }();
  static constexpr Backend kBackend = {"wgmma",        kFamilies,      wgmma::can_implement,
                                       wgmma::prepare, wgmma::configs, wgmma::ranked_configs};
  return kBackend;
}

}  // namespace hopper_gemm::library
