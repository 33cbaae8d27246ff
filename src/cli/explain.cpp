#include "cli/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/shapes.hpp"
#include "benchmark/statistics.hpp"
#include "cli/refusal.hpp"
#include "emulator/emulator.hpp"

namespace hopper_gemm {
namespace {

constexpr int kSmsOfAnH200 = 132;

Status find_best(std::span<const KernelInfo> kernels, std::string_view device, const KernelInfo** best) {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [](const KernelInfo& kernel) {
    return kernel.version == kLibraryVersion && kernel.choose != nullptr;
  });
  if (found == kernels.end()) {
    return unsupported(
        fmt::format("explain is about version best, which this program has no kernels of for the {}; type "
                    "`./matmul list` to see the versions that it has",
                    device));
  }
  *best = &*found;
  return {};
}

Status write_choices(const Options& options, const KernelInfo& best, std::string_view device,
                     std::ostream& out) {
  out << fmt::format("device  {}\n", device);
  std::vector<double> plans_us;
  for (const Operation& operation : options.operations) {
    GemmProblem problem = with_operation(
        canonical_problem(best, {}, options.type, options.a_layout, options.b_layout), operation);
    for (const GemmShape& shape : shapes_of(options, operation, problem.input_type)) {
      problem.shape = shape;
      HG_RETURN_IF_ERROR(kernel_refusal(best, problem));
      KernelChoice choice;
      if (const Status status = best.choose(placeholder_args(problem), &choice); !status.ok()) {
        const bool is_refusal = status.code() == StatusCode::Unsupported;
        return {status.code(), fmt::format("{}: {}{}", to_string(shape), status.message(),
                                           is_refusal ? "; type a smaller --shape" : "")};
      }
      out << fmt::format("\n{} {}, A {}, B {}: {}\n", to_string(shape), to_string(problem.input_type),
                         to_string(problem.a_layout), to_string(problem.b_layout), choice.config);
      if (choice.plan_us.has_value()) plans_us.push_back(*choice.plan_us);
      if (!is_plain(operation)) out << "    " << operation_text(problem) << '\n';
      std::istringstream lines(choice.explanation);
      for (std::string line; std::getline(lines, line);) out << "    " << line << '\n';
    }
  }
  if (plans_us.size() > 1) {
    out << fmt::format("\nGemmPlan::create() took {:.0f} us in the median of {} plans, kernels loaded\n",
                       *median(plans_us), plans_us.size());
  }
  return {};
}

/// Ok if the choice can be made for this machine's GPU; otherwise the reason.
Status find_gpu(Platform& platform, const KernelInfo& best, DeviceInfo* device) {
  HG_RETURN_IF_ERROR(platform.query_device(device));
  return gpu_refusal(best, *device);
}

}  // namespace

Status explain(const Options& options, Platform& platform, std::ostream& out) {
  const KernelInfo* best = nullptr;
  std::string reason = "as you asked";
  if (options.device != Options::Device::Emulator) {
    HG_RETURN_IF_ERROR(find_best(platform.kernels(), "GPU", &best));
    DeviceInfo device;
    const Status found = find_gpu(platform, *best, &device);
    if (found.ok()) {
      return write_choices(options, *best, fmt::format("{}, {} SMs", device.name, device.sm_count), out);
    }
    if (options.device == Options::Device::Gpu) return found;
    reason = "since " + finding_of(found);
  }
  HG_RETURN_IF_ERROR(find_best(platform.emulated_kernels(), "emulator", &best));
  emulator::configure({.sms = kSmsOfAnH200});
  return write_choices(options, *best,
                       fmt::format("an emulated sm_90 GPU with the {} SMs of an H200, {}; a real one may run "
                                   "fewer clusters at a time, so that the choice differs",
                                   kSmsOfAnH200, reason),
                       out);
}

}  // namespace hopper_gemm
