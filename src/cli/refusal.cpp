#include "cli/refusal.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "benchmark/cutlass_baseline.hpp"
#include "benchmark/operation.hpp"
#include "benchmark/shapes.hpp"
#include "common/matrix_lines.hpp"
#include "common/quoted_text.hpp"
#include "registry/registry.hpp"

namespace hopper_gemm {
namespace {

constexpr GemmShape kDefaultShape = {8192, 8192, 8192};
/// The families of configurations that GemmOptions::config takes.
constexpr std::array<std::string_view, 5> kFamilies = {"wgmma", "cooperative", "pingpong", "small_m",
                                                       "mma_sync"};
constexpr GemmShape kDefaultFp32Shape = {4096, 4096, 4096};

bool same_operation(const GemmProblem& x, const GemmProblem& y) {
  return x.output_type == y.output_type && x.beta == y.beta && x.bias == y.bias &&
         x.activation == y.activation && x.gated == y.gated && x.batch_count == y.batch_count;
}

bool takes(const KernelInfo& kernel, GemmProblem problem, const GemmShape& shape) {
  problem.shape = shape;
  return kernel.can_implement(placeholder_args(problem)).ok();
}

/// Says what to type instead of a problem that a kernel refuses.
std::string advice_on(const KernelInfo& kernel, const GemmProblem& problem) {
  const auto [m, n, k] = problem.shape;
  const GemmProblem product = with_operation(problem, {});
  if (!same_operation(product, problem) && takes(kernel, product, problem.shape)) {
    return "leave out --out, --bias, --activation, --gated, --beta and --batch, or the version; best "
           "computes them, for bf16 and fp16";
  }
  const int below = k / kTmaAlignmentElems * kTmaAlignmentElems;
  const int lowest = std::max(below, kTmaAlignmentElems);
  if (below != k && takes(kernel, problem, {m, n, lowest})) {
    if (below == 0 || k > std::numeric_limits<int>::max() - kTmaAlignmentElems) {
      return fmt::format("type K = {}", lowest);
    }
    return fmt::format("type K = {} or {}", below, below + kTmaAlignmentElems);
  }
  if (takes(kernel, problem, {64, 64, 64})) return "type a smaller --shape";
  const GemmProblem own =
      canonical_problem(kernel, problem.shape, problem.input_type, std::nullopt, std::nullopt);
  GemmProblem own_layouts = problem;
  own_layouts.a_layout = own.a_layout;
  own_layouts.b_layout = own.b_layout;
  const bool is_other_a = own.a_layout != problem.a_layout;
  const bool is_other_b = own.b_layout != problem.b_layout;
  if ((is_other_a || is_other_b) && takes(kernel, own_layouts, problem.shape)) {
    if (is_other_a && is_other_b) {
      return fmt::format("leave out --a and --b, or the version; its own layouts are {} and {}",
                         to_string(own.a_layout), to_string(own.b_layout));
    }
    return fmt::format("leave out {}, or the version; {} is its own layout", is_other_a ? "--a" : "--b",
                       to_string(is_other_a ? own.a_layout : own.b_layout));
  }
  return fmt::format("leave out --type, or the version; {} is its own type",
                     to_string(kernel.target.input_type));
}

bool same_operands(const GemmProblem& x, const GemmProblem& y) {
  return x.input_type == y.input_type && x.a_layout == y.a_layout && x.b_layout == y.b_layout &&
         same_operation(x, y);
}

/// "NAME=<value> " if the environment variable is set and `kernel` uses it.
std::string assignment_of(const char* variable, const KernelInfo& kernel) {
  const char* const value = std::getenv(variable);
  const bool has_meaning = value != nullptr && *value != '\0' && kernel.version == kLibraryVersion;
  return has_meaning ? fmt::format("{}={} ", variable, value) : "";
}

std::span<const MeasurementFile> files_of(const KernelInfo& kernel) {
  return kernel.files == nullptr ? std::span<const MeasurementFile>() : kernel.files();
}

/// The problems that the user asked of `kernel`, one group for each operation.
std::vector<KernelGroup> groups_of(const KernelInfo& kernel, const Options& options) {
  std::vector<KernelGroup> groups;
  for (const Operation& operation : options.operations) {
    const GemmProblem problem = with_operation(
        canonical_problem(kernel, {}, options.type, options.a_layout, options.b_layout), operation);
    groups.push_back({problem, {&kernel}, shapes_of(options, operation, problem.input_type)});
  }
  return groups;
}

}  // namespace

GemmArgs placeholder_args(const GemmProblem& problem) {
  alignas(256) static unsigned char aligned[1];
  const LeadingDimensions ld = make_leading_dimensions(problem);
  GemmArgs args = args_of(problem, aligned, ld.a, aligned, ld.b, aligned, ld.d, aligned, ld.d, aligned);
  args.workspace = aligned;
  args.workspace_bytes = kWorkspaceBytes;
  return args;
}

Status kernel_refusal(const KernelInfo& kernel, const GemmProblem& problem) {
  const Status refusal = kernel.can_implement(placeholder_args(problem));
  if (refusal.ok()) return {};
  return {refusal.code(),
          fmt::format("kernel {} ({}) cannot run {}: {}; {}", kernel.version, kernel.name,
                      to_string(problem.shape), refusal.message(), advice_on(kernel, problem))};
}

Status gpu_refusal(const KernelInfo& kernel, const DeviceInfo& device) {
  if (runs_on(kernel.target, device.compute_capability)) return {};
  return unsupported(fmt::format(
      "kernel {} ({}) needs an {} GPU{}, but {} is {}; type `./matmul list` to see what each version needs",
      kernel.version, kernel.name, target_text(kernel.target),
      kernel.target.or_newer ? "" : " (H100, H200, GH200)", device.name, sm_text(device.compute_capability)));
}

std::string environment_of(const KernelInfo& kernel) {
  std::string assignments = assignment_of(kConfigVariable, kernel);
  for (const MeasurementFile& file : files_of(kernel)) assignments += assignment_of(file.variable, kernel);
  return assignments;
}

Status check_environment(std::span<const KernelInfo* const> kernels) {
  for (const KernelInfo* const kernel : kernels) {
    if (assignment_of(kConfigVariable, *kernel).empty()) continue;
    const std::string config = std::getenv(kConfigVariable);
    const bool is_family = std::find(kFamilies.begin(), kFamilies.end(), config) != kFamilies.end();
    if (is_family || kernel->tuning->has_config(config)) continue;
    return invalid_argument(
        fmt::format("the environment variable {} is '{}', which is not a configuration of version {}; type "
                    "`./matmul tune {}` to see what there is, or unset it",
                    kConfigVariable, excerpt(config), kernel->version, kernel->version));
  }
  return {};
}

Status check_files(std::span<const KernelInfo* const> kernels, bool tunes) {
  for (const KernelInfo* const kernel : kernels) {
    for (const MeasurementFile& file : files_of(*kernel)) {
      if (tunes && !file.ranks) continue;
      if (const Status usable = file.check(); !usable.ok()) {
        return {usable.code(),
                fmt::format("the environment variable {} cannot be used: {}; unset it, or let it name "
                            "a file that `./matmul {}` wrote here",
                            file.variable, usable.message(), file.command)};
      }
    }
  }
  return {};
}

std::string out_of_host_memory_text() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    return fmt::format(
        "host memory ran out, because this process may use only {} MiB of address space; raise that "
        "limit (ulimit -v), or ask for fewer or smaller shapes",
        limit.rlim_cur >> 20);
  }
  return "host memory ran out; end other programs, or ask for fewer or smaller shapes";
}

std::string finding_of(const Status& refusal) {
  return refusal.message().substr(0, refusal.message().find("; "));
}

Status cutlass_refusal(const GemmProblem& problem) {
  const Status refusal = check_cutlass_gemm(placeholder_args(problem));
  if (refusal.ok()) return {};
  return {refusal.code(),
          fmt::format("cutlass cannot run {}: {}", to_string(problem.shape), refusal.message())};
}

std::vector<GemmShape> shapes_of(const Options& options, const Operation& operation, DataType type) {
  if (!operation.shapes.empty()) return operation.shapes;
  if (!options.shapes.empty()) return options.shapes;
  return {type == DataType::Float32 ? kDefaultFp32Shape : kDefaultShape};
}

Status check_any_can_run(const Options& options) {
  Status first;
  for (const KernelInfo* kernel : options.kernels) {
    for (const KernelGroup& group : groups_of(*kernel, options)) {
      GemmProblem problem = group.problem;
      for (const GemmShape& shape : group.shapes) {
        problem.shape = shape;
        Status refusal = kernel_refusal(*kernel, problem);
        if (refusal.ok()) return {};
        if (first.ok()) first = std::move(refusal);
      }
    }
  }
  return first;
}

std::vector<KernelGroup> group_kernels(const Options& options) {
  std::vector<KernelGroup> groups;
  for (const KernelInfo* kernel : options.kernels) {
    for (KernelGroup& group : groups_of(*kernel, options)) {
      const auto known = std::find_if(groups.begin(), groups.end(), [&](const KernelGroup& candidate) {
        return same_operands(candidate.problem, group.problem);
      });
      if (known == groups.end()) {
        groups.push_back(std::move(group));
      } else {
        known->kernels.push_back(kernel);
      }
    }
  }
  if (groups.empty()) {
    const DataType type = options.type.value_or(DataType::BFloat16);
    const Layout layout = type == DataType::Float32 ? Layout::RowMajor : Layout::ColumnMajor;
    for (const Operation& operation : options.operations) {
      const GemmProblem product = {.shape = {},
                                   .input_type = type,
                                   .a_layout = options.a_layout.value_or(Layout::RowMajor),
                                   .b_layout = options.b_layout.value_or(layout)};
      groups.push_back({with_operation(product, operation), {}, shapes_of(options, operation, type)});
    }
  }
  return groups;
}

}  // namespace hopper_gemm
