#include "hopper_gemm/gemm.hpp"

#include <cuda_runtime_api.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "common/cuda_context.hpp"
#include "gemm/heuristics/loaded_files.hpp"
#include "gemm/heuristics/loaded_tuning.hpp"
#include "gemm/heuristics/probe_file.hpp"
#include "gemm/heuristics/probed_rates.hpp"
#include "gemm/host/backend.hpp"
#include "gemm/host/checked_gemm.hpp"
#include "gemm/host/device.hpp"
#include "gemm/host/interleave.hpp"
#include "gemm/plan.hpp"
#include "gemm/tuning_file.hpp"

namespace hopper_gemm {
namespace {

/// Calls `function`. If the host's memory runs out, returns a status instead. Its message is so short that the string
/// needs no memory from the heap.
template <typename Function>
Status without_bad_alloc(Function function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return out_of_memory("no host memory");
  }
}

/// Reads a file with measurements, and adds it to those that plans use if it was measured on such a GPU.
template <typename File>
Status load_file(const std::string& path, Status (*read)(const std::string&, std::shared_ptr<const File>*),
                 Status (*check_device)(const File&, const library::Device&),
                 library::LoadedFiles<File>* files) {
  return without_bad_alloc([&]() -> Status {
    // Before the GPU is queried: a fault of the file is an error also on a machine without a GPU.
    std::shared_ptr<const File> file;
    HG_RETURN_IF_ERROR(read(path, &file));
    const RelaxedCapture relaxed;
    library::Device device{};
    HG_RETURN_IF_ERROR(library::query_current_device(&device));
    HG_RETURN_IF_ERROR(check_device(*file, device));
    files->add(file);
    return {};
  });
}

}  // namespace

GemmPlan::GemmPlan() = default;
GemmPlan::~GemmPlan() = default;
GemmPlan::GemmPlan(const GemmPlan&) noexcept = default;
GemmPlan::GemmPlan(GemmPlan&&) noexcept = default;
GemmPlan& GemmPlan::operator=(const GemmPlan&) noexcept = default;
GemmPlan& GemmPlan::operator=(GemmPlan&&) noexcept = default;

Status GemmPlan::create(const GemmDescriptor& descriptor, const GemmOptions& options) {
  return without_bad_alloc([&]() -> Status {
    // Before the GPU is queried: a bad descriptor is an error also on a machine without a GPU.
    library::CheckedGemm checked;
    HG_RETURN_IF_ERROR(library::CheckedGemm::create(descriptor, options, &checked));
    const RelaxedCapture relaxed;
    library::Device device{};
    HG_RETURN_IF_ERROR(library::query_current_device(&device));
    return library::Plan::create(checked, options, device, library::all_backends(), &plan_);
  });
}

Status GemmPlan::run(const GemmOperands& operands, cudaStream_t stream) const {
  // A successful run allocates nothing, but an error message does.
  return without_bad_alloc([&]() -> Status {
    if (plan_ == nullptr) return invalid_argument("the plan is empty; call create() first");
    const std::uint64_t context = current_context_id();
    if (context != 0 && context == plan_->device().context) return plan_->run(operands, stream);
    std::shared_ptr<const library::Plan> plan = plan_;
    {
      const RelaxedCapture relaxed;
      library::Device device{};
      HG_RETURN_IF_ERROR(library::query_current_device(&device));
      if (device != plan_->device()) {
        HG_RETURN_IF_ERROR(plan_->for_context(device, library::all_backends(), &plan));
      }
    }
    return plan->run(operands, stream);
  });
}

std::size_t GemmPlan::workspace_bytes() const { return plan_ == nullptr ? 0 : plan_->workspace_bytes(); }

const std::string& GemmPlan::config() const {
  static const std::string none;
  return plan_ == nullptr ? none : plan_->config();
}

std::string GemmPlan::explain() const { return plan_ == nullptr ? "the plan is empty\n" : plan_->explain(); }

Status interleave_gate_and_up(const GemmDescriptor& gemm, const void* gate, const void* up,
                              const MatrixLayout& halves, void* b, cudaStream_t stream) {
  return without_bad_alloc([&]() -> Status {
    if (!gemm.gated) return invalid_argument("gemm.gated is false, so its B has no gate");
    library::CheckedGemm checked;
    HG_RETURN_IF_ERROR(library::CheckedGemm::create(gemm, {}, &checked));
    GemmDescriptor of_half = gemm;
    of_half.gated = false;
    of_half.n = gemm.n / 2;
    of_half.b = halves;
    library::CheckedGemm checked_half;
    const Status status = library::CheckedGemm::create(of_half, {}, &checked_half);
    if (!status.ok()) return {status.code(), "of halves: " + status.message()};
    struct Matrix {
      const char* name;
      const void* address;
    };
    for (const Matrix& matrix : {Matrix{"gate", gate}, Matrix{"up", up}, Matrix{"b", b}}) {
      if (matrix.address == nullptr) return invalid_argument(std::string(matrix.name) + " is null");
      if (std::bit_cast<std::uintptr_t>(matrix.address) % sizeof(std::uint16_t) != 0) {
        return invalid_argument(std::string(matrix.name) + " is not aligned to its elements");
      }
    }
    const library::KernelArgs& args = checked.problem().args;
    if (args.shape.n == 0 || args.shape.k == 0 || args.batch_count == 0) return {};
    return library::launch_interleave(args, checked_half.problem().args.b, gate, up, b, stream);
  });
}

Status load_tuning_file(const std::string& path) {
  return load_file(path, library::read_tuning_file, library::check_tuning_device, &library::loaded_tuning());
}

Status load_probe_file(const std::string& path) {
  return load_file(path, library::read_probe_file, library::check_probe_device, &library::loaded_probes());
}

Status gemm(const GemmDescriptor& descriptor, const GemmOperands& operands, cudaStream_t stream,
            const GemmOptions& options) {
  GemmPlan plan;
  HG_RETURN_IF_ERROR(plan.create(descriptor, options));
  return plan.run(operands, stream);
}

}  // namespace hopper_gemm
