#include "library/plan.hpp"

#include <algorithm>
#include <cctype>
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
  bool must_be_met = true;
};

Request requested_config(const GemmOptions& options) {
  if (!options.config.empty()) return {options.config, "options.config"};
  const char* value = std::getenv(kConfigVariable);
  if (value == nullptr) return {};
  // A variable is for all GEMMs of a process, and what it names need not be for each of them.
  return {value, std::string("the environment variable ") + kConfigVariable, false};
}

// What users typed must neither break a line nor command a terminal.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
  return text;
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

Status Plan::prepare(const std::string& requested, const Device& device,
                     std::span<const Backend* const> backends) {
  std::string refusals;
  std::string families;
  Status status;
  for (const Backend* backend : backends) {
    const std::string name(backend->name);
    families += (families.empty() ? "" : " or ") + name;
    if (!requested.empty() && !is_of(requested, *backend)) continue;
    status = check_backend(*backend, *backends.back(), gemm_.problem(), device);
    if (status.ok()) {
      const std::string config = requested == name ? "" : requested;
      status = backend->prepare(gemm_.problem(), device, config, &prepared_);
    }
    // That a kernel is not for this problem says nothing of the others; an error does.
    if (status.code() != StatusCode::Unsupported) return status;
    refusals += (refusals.empty() ? "" : "; ") + name + ": " + status.message();
    explanation_ += "not " + name + ": " + status.message() + "\n";
  }
  if (requested.empty()) return unsupported("no kernel computes this: " + refusals);
  return refusals.empty() ? invalid_argument("the names of configurations begin with " + families) : status;
}

Status Plan::choose(const GemmOptions& options, const Device& device,
                    std::span<const Backend* const> backends) {
  Request request = requested_config(options);
  explanation_ = problem_text(gemm_, device);
  Status status = prepare(request.name, device, backends);
  if (!status.ok() && !request.name.empty()) {
    status = {status.code(),
              request.who + " asks for " + one_line(request.name) + ": " + one_line(status.message())};
    const bool is_refusal =
        status.code() == StatusCode::Unsupported || status.code() == StatusCode::InvalidArgument;
    if (request.must_be_met || !is_refusal) return status;
    explanation_ = problem_text(gemm_, device) + status.message() + "; so the library chooses\n";
    request = {};
    status = prepare("", device, backends);
  }
  HG_RETURN_IF_ERROR(status);

  config_ = prepared_->config();
  workspace_bytes_ = prepared_->workspace_bytes();
  explanation_ +=
      config_ + (request.name.empty() ? "" : ", as " + request.who + " asks") + "\n" + lines_of(*prepared_);
  const Problem& problem = gemm_.problem();
  if (problem.args.shape.k == 0) return {};
  Problem without_product = problem;
  without_product.args.shape.k = 0;
  HG_RETURN_IF_ERROR(backends.back()->prepare(without_product, device, "", &without_product_));
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
