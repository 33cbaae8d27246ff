#include "gemm/plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "common/quoted_text.hpp"
#include "gemm/heuristics/probe_file.hpp"
#include "gemm/host/device.hpp"
#include "gemm/host/workspace_pool.hpp"
#include "gemm/tuning_file.hpp"

namespace hopper_gemm::library {
namespace {

constexpr const char* kConfigVariable = "HGEMM_CONFIG";

// A request for a configuration.
struct Request {
  std::string name;  // empty: there is no request
  std::string who;   // where the request comes from: the subject of a sentence in a message
  bool must_be_met = true;
};

Request requested_config(const GemmOptions& options) {
  if (!options.config.empty()) return {options.config, "options.config"};
  const char* value = std::getenv(kConfigVariable);
  if (value == nullptr) return {};
  // The variable holds for all GEMMs of a process, and its configuration need not suit each of them.
  return {value, std::string("the environment variable ") + kConfigVariable, false};
}

// A request may also be the name of a back end or of a family. It then asks for the best configuration of that.
bool is_of(std::string_view config, const Backend& backend) {
  const auto begins = [&](std::string_view family) {
    return config.starts_with(family) && (config.size() == family.size() || config[family.size()] == '_');
  };
  return config == backend.name || std::any_of(backend.families.begin(), backend.families.end(), begins);
}

std::string problem_text(const CheckedGemm& gemm, const Device& device) {
  const auto& [shape, batch_count, input_type, a, b, epilogue] = gemm.problem().args;
  const std::string_view major_of_a = a.major == OperandMajor::K ? "K" : "M";
  const std::string_view major_of_b = b.major == OperandMajor::K ? "K" : "N";
  std::string text = std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
  if (gemm.computes_transpose())
    text += " (D is column-major, so the kernel computes its transpose from B and A)";
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
    return unsupported("k is 0, and only " + std::string(last.name) + " computes a GEMM without a product");
  }
  return backend.can_implement(problem, device);
}

std::string lines_of(const PreparedGemm& prepared) {
  std::string text = prepared.explain();
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

}  // namespace

Status Plan::create(const CheckedGemm& gemm, const GemmOptions& options, const Device& device,
                    std::span<const Backend* const> backends, std::shared_ptr<const Plan>* plan) {
  HG_RETURN_IF_ERROR(check_device(device));
  const auto made = std::make_shared<Plan>();
  made->device_ = device;
  made->gemm_ = gemm;
  if (made->gemm_.empty()) {
    made->explanation_ = "D has no elements: there is nothing to compute\n";
  } else {
    HG_RETURN_IF_ERROR(made->choose(options, backends));
  }
  *plan = made;
  return {};
}

Status Plan::prepare(const std::string& requested, std::span<const Backend* const> backends) {
  std::string refusals;
  std::string families;
  Status status;
  for (const Backend* backend : backends) {
    const std::string name(backend->name);
    for (const std::string_view family : backend->families) {
      families.append(families.empty() ? "" : ", ").append(family);
    }
    if (!requested.empty() && !is_of(requested, *backend)) continue;
    status = check_backend(*backend, *backends.back(), gemm_.problem(), device_);
    if (status.ok()) {
      const std::string config = requested == name ? "" : requested;
      status = backend->prepare(gemm_.problem(), device_, config, &prepared_);
    }
    // If a back end does not support the problem, the next one may. Any other error ends the search.
    if (status.code() != StatusCode::Unsupported) return status;
    refusals += (refusals.empty() ? "" : "; ") + name + ": " + status.message();
    explanation_ += "not " + name + ": " + status.message() + "\n";
  }
  if (requested.empty()) return unsupported("no kernel computes this: " + refusals);
  return refusals.empty() ? invalid_argument("the name of a configuration begins with one of " + families)
                          : status;
}

Status Plan::complete(std::span<const Backend* const> backends) {
  config_ = prepared_->config();
  workspace_bytes_ = prepared_->workspace_bytes();
  Problem without_product = gemm_.problem();
  if (without_product.args.shape.k == 0) return {};
  without_product.args.shape.k = 0;
  HG_RETURN_IF_ERROR(backends.back()->prepare(without_product, device_, "", &without_product_));
  workspace_bytes_ = std::max(workspace_bytes_, without_product_->workspace_bytes());
  return {};
}

Status Plan::prepare_own_choice(std::span<const Backend* const> backends) {
  if (const Status status = use_environment_tuning(device_); !status.ok()) {
    explanation_ += "HGEMM_TUNING_FILE is not used: " + status.message() + "\n";
  }
  return prepare("", backends);
}

Status Plan::choose(const GemmOptions& options, std::span<const Backend* const> backends) {
  Request request = requested_config(options);
  std::string introduction = problem_text(gemm_, device_);
  // Estimates also choose among the kernels of a family that is asked for.
  if (const Status status = use_environment_probe(device_); !status.ok()) {
    introduction += "HGEMM_PROBE_FILE is not used: " + status.message() + "\n";
  }
  explanation_ = introduction;
  Status status = request.name.empty() ? prepare_own_choice(backends) : prepare(request.name, backends);
  if (!status.ok() && !request.name.empty()) {
    status = {status.code(),
              request.who + " asks for " + one_line(request.name) + ": " + one_line(status.message())};
    const bool is_refusal =
        status.code() == StatusCode::Unsupported || status.code() == StatusCode::InvalidArgument;
    if (request.must_be_met || !is_refusal) return status;
    explanation_ = introduction + status.message() + "; so the library chooses\n";
    request = {};
    status = prepare_own_choice(backends);
  }
  HG_RETURN_IF_ERROR(status);

  explanation_ += prepared_->config() + (request.name.empty() ? "" : ", as " + request.who + " asks") + "\n" +
                  lines_of(*prepared_);
  return complete(backends);
}

Status Plan::for_context(const Device& device, std::span<const Backend* const> backends,
                         std::shared_ptr<const Plan>* plan) const {
  if (device.id != device_.id) {
    return unsupported("the current device is " + std::to_string(device.id) +
                       ", but the plan was made for device " + std::to_string(device_.id));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<const Plan>& known = for_contexts_[device.context];
  if (known == nullptr) {
    const auto made = std::make_shared<Plan>();
    made->device_ = device;
    made->gemm_ = gemm_;
    if (prepared_ != nullptr) {
      const Status status = made->prepare(config_, backends);
      if (!status.ok()) {
        return {status.code(), "the current CUDA context is not the plan's, and it cannot run the plan: " +
                                   status.message()};
      }
      HG_RETURN_IF_ERROR(made->complete(backends));
    }
    known = made;
  }
  *plan = known;
  return {};
}

Status Plan::run(const GemmOperands& operands, cudaStream_t stream) const {
  if (prepared_ == nullptr) return {};
  HG_RETURN_IF_ERROR(gemm_.check(operands, workspace_bytes_));
  KernelArgs args = gemm_.with_addresses(operands);
  const PreparedGemm* prepared = prepared_.get();
  if (operands.alpha == 0 && without_product_ != nullptr) {
    prepared = without_product_.get();
    args.shape.k = 0;
  }
  if (operands.workspace != nullptr || prepared->workspace_bytes() == 0)
    return prepared->launch(args, operands.workspace, stream);
  StreamWorkspace workspace(stream);
  HG_RETURN_IF_ERROR(workspace.allocate(device_, prepared->workspace_bytes()));
  HG_RETURN_IF_ERROR(prepared->launch(args, workspace.data(), stream));
  return workspace.release();
}

Status promising_configs(const GemmDescriptor& descriptor, const GemmOptions& options, const Device& device,
                         std::span<const Backend* const> backends, std::size_t most,
                         std::vector<std::string>* configs) {
  CheckedGemm gemm;
  HG_RETURN_IF_ERROR(CheckedGemm::create(descriptor, options, &gemm));
  HG_RETURN_IF_ERROR(check_device(device));
  configs->clear();
  if (gemm.empty()) return {};
  // The configurations are ranked without the file if it cannot be used, as they are in plans.
  static_cast<void>(use_environment_probe(device));
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
