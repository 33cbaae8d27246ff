#include "registry/best.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "gemm/host/backend.hpp"
#include "gemm/host/checked_gemm.hpp"
#include "gemm/host/device.hpp"
#include "gemm/plan.hpp"
#include "hopper_gemm/gemm.hpp"

namespace hopper_gemm::best {
namespace {

/// The estimates are good enough to put the fastest among the first few.
constexpr std::size_t kConfigsToMeasure = 24;

bool is_single(const GemmArgs& args) { return args.input_type == DataType::Float32; }

const KernelInfo& single_kernel() { return simt_ladder().back(); }

/// As much as the library makes use of.
int alignment_bytes(const void* data) {
  constexpr int kMostBits = 4;
  return 1 << std::min(std::countr_zero(std::bit_cast<std::uintptr_t>(data)), kMostBits);
}

/// Without gaps where the matrix is not read: what is said of it then means nothing.
MatrixLayout layout_of(const void* data, std::int64_t leading_dimension, std::int64_t batch_stride,
                       Layout order, bool is_read) {
  MatrixLayout layout;
  layout.order = order;
  if (!is_read) return layout;
  layout.leading_dimension = leading_dimension;
  layout.batch_stride = batch_stride;
  layout.alignment_bytes = alignment_bytes(data);
  return layout;
}

GemmDescriptor descriptor_of(const GemmArgs& args) {
  const auto [m, n, k] = args.shape;
  const bool has_product = m > 0 && n > 0 && k > 0 && args.alpha != 0;
  const bool has_output = m > 0 && n > 0;
  GemmDescriptor gemm;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.input_type = args.input_type;
  gemm.output_type = args.output_type;
  const BatchStrides strides = batch_strides_of(args);
  gemm.batch_count = args.batch_count;
  gemm.a = layout_of(args.a, args.lda, strides.a, Layout::RowMajor, has_product);
  gemm.b = layout_of(args.b, args.ldb, strides.b, args.b_layout, has_product);
  gemm.d = layout_of(args.d, args.ldd, strides.d, Layout::RowMajor, has_output);
  gemm.bias = args.bias_kind;
  gemm.bias_type = args.output_type;
  gemm.activation = args.activation;
  gemm.c = args.beta == 0 ? gemm.d : layout_of(args.c, args.ldc, strides.c, Layout::RowMajor, has_output);
  return gemm;
}

/// What descriptor_of() sets.
auto fields_of(const GemmDescriptor& gemm) {
  const auto fields_of_layout = [](const MatrixLayout& layout) {
    return std::tuple(layout.order, layout.leading_dimension, layout.batch_stride, layout.alignment_bytes);
  };
  return std::tuple(gemm.m, gemm.n, gemm.k, gemm.batch_count, gemm.input_type, gemm.output_type,
                    fields_of_layout(gemm.a), fields_of_layout(gemm.b), fields_of_layout(gemm.c),
                    fields_of_layout(gemm.d), gemm.bias, gemm.bias_type, gemm.activation);
}

GemmOptions options_of(const GemmArgs& args, const std::string& config) {
  GemmOptions options;
  options.config = config;
  options.workspace_limit_bytes = args.workspace_bytes;
  return options;
}

/// A plan with what it was made of.
struct KeptPlan {
  library::Device device;
  std::string config;
  std::size_t workspace_limit_bytes;
  GemmDescriptor descriptor;
  GemmPlan plan;
};

/// The plan of `args` by `config`, or if that is empty by the library's choice. `*plan` may be gone at the next call of
/// the same thread.
Status find_plan(const GemmArgs& args, const std::string& config, const GemmPlan** plan) {
  thread_local std::optional<KeptPlan> kept;
  library::Device device{};
  HG_RETURN_IF_ERROR(library::query_current_device(&device));
  const GemmDescriptor descriptor = descriptor_of(args);
  const bool is_it = kept && kept->device == device && kept->config == config &&
                     kept->workspace_limit_bytes == args.workspace_bytes &&
                     fields_of(kept->descriptor) == fields_of(descriptor);
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
  // A GEMM, as check_gemm has found, but none for the library.
  return refusal.ok() ? Status() : unsupported(refusal.message());
}

Status launch(const GemmArgs& args, cudaStream_t stream) {
  return is_single(args) ? single_kernel().launch(args, stream) : run_plan("", args, stream);
}

Status choose(const GemmArgs& args, KernelChoice* choice) {
  HG_RETURN_IF_ERROR(can_implement(args));
  if (is_single(args)) {
    const std::string version(single_kernel().version);
    *choice = {version, "the library multiplies bf16 and fp16; fp32 is for " + version + ": " +
                            std::string(single_kernel().idea) + "\n"};
    return {};
  }
  const GemmPlan* plan = nullptr;
  HG_RETURN_IF_ERROR(find_plan(args, "", &plan));
  *choice = {plan->config(), plan->explain()};
  return {};
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
