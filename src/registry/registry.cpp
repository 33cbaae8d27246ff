#include "registry/registry.hpp"

#include <algorithm>
#include <string>

namespace hopper_gemm {
namespace {

/// The kernels whose versions meet the predicate. They must follow each other in the table.
template <typename Predicate>
std::span<const KernelInfo> ladder_of(Predicate is_of_ladder) {
  const std::span<const KernelInfo> kernels = all_kernels();
  const auto first = std::find_if(kernels.begin(), kernels.end(), is_of_ladder);
  return {first, std::find_if_not(first, kernels.end(), is_of_ladder)};
}

std::span<const KernelInfo> ladder_of_prefix(std::string_view prefix) {
  return ladder_of([=](const KernelInfo& kernel) { return kernel.version.starts_with(prefix); });
}

}  // namespace

std::span<const KernelInfo> hopper_ladder() {
  return ladder_of([](const KernelInfo& kernel) {
    return kernel.version.find_first_not_of("0123456789") == std::string_view::npos;
  });
}

std::span<const KernelInfo> ampere_ladder() { return ladder_of_prefix("ampere."); }

std::span<const KernelInfo> simt_ladder() { return ladder_of_prefix("simt."); }

const KernelInfo* find_kernel(std::string_view version) {
  const std::span<const KernelInfo> kernels = all_kernels();
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const KernelInfo& kernel) { return kernel.version == version; });
  return found == kernels.end() ? nullptr : &*found;
}

std::string sm_text(ComputeCapability capability) {
  return "sm_" + std::to_string(capability.major) + std::to_string(capability.minor);
}

std::string target_text(const KernelTarget& target) {
  return sm_text(target.compute_capability) + (target.or_newer ? " or newer" : "");
}

bool runs_on(const KernelTarget& target, ComputeCapability gpu) {
  return gpu == target.compute_capability || (target.or_newer && target.compute_capability < gpu);
}

GemmProblem canonical_problem(const KernelInfo& kernel, GemmShape shape, std::optional<DataType> type,
                              std::optional<Layout> a_layout, std::optional<Layout> b_layout) {
  const DataType data_type = type.value_or(kernel.target.input_type);
  // Kernels for fp32 take a row-major B.
  const Layout own_layout = data_type == DataType::Float32 ? Layout::RowMajor : kernel.target.b_layout;
  return {.shape = shape,
          .input_type = data_type,
          .output_type = data_type,
          .a_layout = a_layout.value_or(Layout::RowMajor),
          .b_layout = b_layout.value_or(own_layout)};
}

}  // namespace hopper_gemm
