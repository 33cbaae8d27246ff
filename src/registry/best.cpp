#include "registry/best.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "gemm/heuristics/probe_file.hpp"
#include "gemm/host/backend.hpp"
#include "gemm/host/checked_gemm.hpp"
#include "gemm/host/device.hpp"
#include "gemm/plan.hpp"
#include "gemm/tuning_file.hpp"
#include "hopper_gemm/gemm.hpp"
#include "registry/gemm_descriptor.hpp"

namespace hopper_gemm::best {
namespace {

/// How many configurations are measured: those with the shortest estimated times. The fastest is among the first few.
constexpr std::size_t kConfigsToMeasure = 24;

bool is_single(const GemmArgs& args) { return args.input_type == DataType::Float32; }

const KernelInfo& single_kernel() { return simt_ladder().back(); }

template <auto kUse>
Status check_on_current_gpu() {
  library::Device device{};
  HG_RETURN_IF_ERROR(library::query_current_device(&device));
  return kUse(device);
}

GemmOptions options_of(const GemmArgs& args, const std::string& config) {
  GemmOptions options;
  options.config = config;
  options.workspace_limit_bytes = args.workspace_bytes;
  return options;
}

/// A plan, with the arguments from which it was made.
struct KeptPlan {
  library::Device device;
  std::string config;
  std::size_t workspace_limit_bytes;
  GemmDescriptor descriptor;
  GemmPlan plan;
};

/// The plan of `args` in the configuration `config`, or in the library's choice if that is empty. The next call of the
/// same thread may destroy `*plan`.
Status find_plan(const GemmArgs& args, const std::string& config, const GemmPlan** plan) {
  thread_local std::optional<KeptPlan> kept;
  library::Device device{};
  HG_RETURN_IF_ERROR(library::query_current_device(&device));
  const GemmDescriptor descriptor = descriptor_of(args);
  const bool is_it = kept && kept->device == device && kept->config == config &&
                     kept->workspace_limit_bytes == args.workspace_bytes &&
                     is_same_problem(kept->descriptor, descriptor);
  if (!is_it) {
    GemmPlan made;
    HG_RETURN_IF_ERROR(made.create(descriptor, options_of(args, config)));
    kept = KeptPlan{device, config, args.workspace_bytes, descriptor, std::move(made)};
  }
  *plan = &kept->plan;
  return {};
}

Status run_plan(const std::string& config, const GemmArgs& args, cudaStream_t stream) {
  HG_RETURN_IF_ERROR(can_implement(args));
  const GemmPlan* plan = nullptr;
  HG_RETURN_IF_ERROR(find_plan(args, config, &plan));
  GemmOperands operands;
  operands.a = args.a;
  operands.b = args.b;
  operands.c = args.c;
  operands.d = args.d;
  operands.bias = args.bias;
  operands.alpha = args.alpha;
  operands.beta = args.beta;
  operands.workspace = args.workspace;
  operands.workspace_bytes = args.workspace_bytes;
  return plan->run(operands, stream);
}

}  // namespace

Status can_implement(const GemmArgs& args) {
  if (is_single(args)) return single_kernel().can_implement(args);
  HG_RETURN_IF_ERROR(check_gemm(args));
  library::CheckedGemm checked;
  const Status refusal = library::CheckedGemm::create(descriptor_of(args), options_of(args, ""), &checked);
  // check_gemm() has accepted the GEMM, so the library only does not support it.
  return refusal.ok() ? Status() : unsupported(refusal.message());
}

Status launch(const GemmArgs& args, cudaStream_t stream) {
  return is_single(args) ? single_kernel().launch(args, stream) : run_plan("", args, stream);
}

Status choose(const GemmArgs& args, KernelChoice* choice) {
  HG_RETURN_IF_ERROR(can_implement(args));
  if (is_single(args)) {
    const std::string version(single_kernel().version);
    *choice = {version, "the library multiplies bf16 and fp16; fp32 runs version " + version + ": " +
                            std::string(single_kernel().idea) + "\n"};
    return {};
  }
  // The first plan of a kernel also loads it, which takes longer than planning.
  const GemmPlan* plan = nullptr;
  HG_RETURN_IF_ERROR(find_plan(args, "", &plan));
  GemmPlan timed;
  const auto start = std::chrono::steady_clock::now();
  HG_RETURN_IF_ERROR(timed.create(descriptor_of(args), options_of(args, "")));
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
  *choice = {plan->config(), plan->explain(), taken.count()};
  return {};
}

std::span<const MeasurementFile> files() {
  static constexpr std::array kFiles = {
      MeasurementFile{"HGEMM_TUNING_FILE", "tune best --json", false,
                      check_on_current_gpu<library::use_environment_tuning>},
      MeasurementFile{"HGEMM_PROBE_FILE", "probe --json", true,
                      check_on_current_gpu<library::use_environment_probe>}};
  return kFiles;
}

std::vector<std::string> configs(const GemmArgs& args) {
  if (is_single(args)) return single_kernel().tuning->configs(args);
  library::Device device{};
  std::vector<std::string> configs;
  if (!library::query_current_device(&device).ok() ||
      !library::promising_configs(descriptor_of(args), options_of(args, ""), device, library::all_backends(),
                                  kConfigsToMeasure, &configs)
           .ok()) {
    return {};
  }
  return configs;
}

bool has_config(const std::string& config) {
  for (const library::Backend* backend : library::all_backends()) {
    const std::vector<std::string> configs = backend->configs();
    if (std::find(configs.begin(), configs.end(), config) != configs.end()) return true;
  }
  return single_kernel().tuning->has_config(config);
}

Status launch_config(const std::string& config, const GemmArgs& args, cudaStream_t stream) {
  if (!has_config(config)) return invalid_argument("there is no configuration '" + config + "'");
  return is_single(args) ? single_kernel().tuning->launch(config, args, stream)
                         : run_plan(config, args, stream);
}

}  // namespace hopper_gemm::best
