#include "library/plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "library/device.hpp"

namespace hopper_gemm::library {
namespace {

constexpr const char* kConfigVariable = "HGEMM_CONFIG";

// A configuration that was asked for.
struct Request {
  std::string name;  // empty: none was
  std::string who;   // asks, in a sentence
};

Request requested_config(const GemmOptions& options) {
  if (!options.config.empty()) return {options.config, "options.config"};
  const char* value = std::getenv(kConfigVariable);
  return value == nullptr ? Request{}
                          : Request{value, std::string("the environment variable ") + kConfigVariable};
}

// The family's own name stands for whichever of its configurations is best.
bool is_of(std::string_view config, const Backend& backend) {
  return config.starts_with(backend.name) &&
         (config.size() == backend.name.size() || config[backend.name.size()] == '_');
}

std::string problem_text(const CheckedGemm& gemm, const Device& device) {
  const auto& [shape, batch_count, input_type, a, b, epilogue] = gemm.problem().args;
  const std::string_view major_of_a = a.major == OperandMajor::K ? "K" : "M";
  const std::string_view major_of_b = b.major == OperandMajor::K ? "K" : "N";
  std::string text = std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
  if (gemm.computes_transpose()) text += " (D is column-major: its transpose, of B and A)";
  if (batch_count > 1) text += ", " + std::to_string(batch_count) + " batches";
  text += std::string(", ") + to_string(input_type) + " to " + to_string(epilogue.output_type);
  text.append(", A ").append(major_of_a).append("-major, B ").append(major_of_b).append("-major, on ");
  return text + std::to_string(device.sm_count) + " SMs of compute capability " +
         std::to_string(device.major) + "." + std::to_string(device.minor) + "\n";
}

/// Ok, or why the back end cannot compute the problem, whatever the configuration.
Status check_backend(const Backend& backend, const Backend& last, const Problem& problem,
                     const Device& device) {
  if (problem.args.shape.k == 0 && &backend != &last) {
    return unsupported("k is 0, and what has no product is for " + std::string(last.name) + " alone");
  }
  return backend.can_implement(problem, device);
}

std::string lines_of(const PreparedGemm& prepared) {
  std::string text = prepared.explain();
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

}  // namespace

Status Plan::create(const GemmDescriptor& descriptor, const GemmOptions& options, const Device& device,
                    std::span<const Backend* const> backends, std::shared_ptr<const Plan>* plan) {
  const auto made = std::make_shared<Plan>();
  made->device_id_ = device.id;
  HG_RETURN_IF_ERROR(CheckedGemm::create(descriptor, options, &made->gemm_));
  HG_RETURN_IF_ERROR(check_device(device));
  if (made->gemm_.empty()) {
    made->explanation_ = "D has no elements: there is nothing to compute\n";
  } else {
    HG_RETURN_IF_ERROR(made->choose(options, device, backends));
  }
  *plan = made;
  return {};
}

Status Plan::choose(const GemmOptions& options, const Device& device,
                    std::span<const Backend* const> backends) {
  const Problem& problem = gemm_.problem();
  const Backend& last = *backends.back();
  const bool multiplies = problem.args.shape.k != 0;
  const Request request = requested_config(options);
  explanation_ = problem_text(gemm_, device);
  std::string refusals;
  Status status;
  const Backend* chosen = nullptr;
  for (const Backend* backend : backends) {
    const std::string name(backend->name);
    if (!request.name.empty() && !is_of(request.name, *backend)) continue;
    status = check_backend(*backend, last, problem, device);
    if (status.ok()) {
      const std::string config = request.name == name ? "" : request.name;
      status = backend->prepare(problem, device, config, &prepared_);
    }
    if (status.ok()) {
      chosen = backend;
      break;
    }
    // That a kernel is not for this problem says nothing of the others; an error does.
    if (status.code() != StatusCode::Unsupported) break;
    refusals += (refusals.empty() ? "" : "; ") + name + ": " + status.message();
    explanation_ += "not " + name + ": " + status.message() + "\n";
  }
  if (chosen == nullptr) {
    if (!request.name.empty()) {
      const std::string asked = request.who + " asks for " + request.name;
      if (!status.ok()) return {status.code(), asked + ": " + status.message()};
      std::string families;
      for (const Backend* backend : backends)
        families += (families.empty() ? "" : " or ") + std::string(backend->name);
      return invalid_argument(asked + ", but the names of configurations begin with " + families);
    }
    return status.code() == StatusCode::Unsupported ? unsupported("no kernel computes this: " + refusals)
                                                    : status;
  }

  config_ = prepared_->config();
  workspace_bytes_ = prepared_->workspace_bytes();
  explanation_ +=
      config_ + (request.name.empty() ? "" : ", as " + request.who + " asks") + "\n" + lines_of(*prepared_);
  if (!multiplies) return {};
  Problem without_product = problem;
  without_product.args.shape.k = 0;
  HG_RETURN_IF_ERROR(last.prepare(without_product, device, "", &without_product_));
  workspace_bytes_ = std::max(workspace_bytes_, without_product_->workspace_bytes());
  return {};
}

Status Plan::run(const GemmOperands& operands, cudaStream_t stream) const {
  if (prepared_ == nullptr) return {};
  HG_RETURN_IF_ERROR(gemm_.check(operands, workspace_bytes_));
  KernelArgs args = gemm_.with_addresses(operands);
  if (operands.alpha != 0 || without_product_ == nullptr)
    return prepared_->launch(args, operands.workspace, stream);
  args.shape.k = 0;
  return without_product_->launch(args, operands.workspace, stream);
}

Status promising_configs(const GemmDescriptor& descriptor, const GemmOptions& options, const Device& device,
                         std::span<const Backend* const> backends, std::size_t most,
                         std::vector<std::string>* configs) {
  CheckedGemm gemm;
  HG_RETURN_IF_ERROR(CheckedGemm::create(descriptor, options, &gemm));
  HG_RETURN_IF_ERROR(check_device(device));
  configs->clear();
  if (gemm.empty()) return {};
  Status status;
  for (const Backend* backend : backends) {
    status = check_backend(*backend, *backends.back(), gemm.problem(), device);
    if (status.code() == StatusCode::Unsupported) continue;
    HG_RETURN_IF_ERROR(status);
    *configs = backend->ranked_configs(gemm.problem(), device);
    if (configs->size() > most) configs->resize(most);
    return {};
  }
  return status;
}

}  // namespace hopper_gemm::library
