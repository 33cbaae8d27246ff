#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "gemm/host/backend.hpp"
#include "gemm/host/checked_gemm.hpp"
#include "hopper_gemm/gemm.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// The object behind a GemmPlan. Threads may share it.
class Plan {
 public:
  /// Completes GemmPlan::create() with the first of `backends` that can compute the problem. The last back end must be
  /// able to compute everything. Problems without a product, such as k = 0, go to the last one alone. gemm: made with
  /// the same options.
  static Status create(const CheckedGemm& gemm, const GemmOptions& options, const Device& device,
                       std::span<const Backend* const> backends, std::shared_ptr<const Plan>* plan);

  /// Like GemmPlan::run(). The context that the plan was made for must be current.
  Status run(const GemmOperands& operands, cudaStream_t stream) const;

  /// The same plan for another context of its device: the same configuration, sized for that context's SMs. The first
  /// call makes it. Unsupported: another device, or the configuration does not run there.
  Status for_context(const Device& device, std::span<const Backend* const> backends,
                     std::shared_ptr<const Plan>* plan) const;

  const Device& device() const { return device_; }
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  const std::string& config() const { return config_; }
  const std::string& explain() const { return explanation_; }

 private:
  Status choose(const GemmOptions& options, std::span<const Backend* const> backends);
  /// Prepares the library's own choice, for which it looks into tuning files and built-in tables.
  Status prepare_own_choice(std::span<const Backend* const> backends);
  /// Sets prepared_ with the first back end that can compute the problem. requested: the name of a configuration or of
  /// a family that it must use; empty for any. Adds to explanation_ why other back ends cannot.
  Status prepare(const std::string& requested, std::span<const Backend* const> backends);
  /// Sets the members that follow from prepared_.
  Status complete(std::span<const Backend* const> backends);

  Device device_{};
  CheckedGemm gemm_;
  std::unique_ptr<const PreparedGemm> prepared_;         // null: there is nothing to compute
  std::unique_ptr<const PreparedGemm> without_product_;  // for alpha = 0; null: `prepared_` has no product
  std::size_t workspace_bytes_ = 0;
  std::string config_;
  std::string explanation_;

  mutable std::mutex mutex_;  // guards for_contexts_
  mutable std::map<std::uint64_t, std::shared_ptr<const Plan>> for_contexts_;
};

/// The names of the configurations that are worth measuring, at most `most`. The one with the shortest estimated time
/// comes first. All belong to the back end that a plan of `descriptor` with these options would use; options.config is
/// ignored. There are none if D has no elements. Fails like GemmPlan::create().
Status promising_configs(const GemmDescriptor& descriptor, const GemmOptions& options, const Device& device,
                         std::span<const Backend* const> backends, std::size_t most,
                         std::vector<std::string>* configs);

}  // namespace hopper_gemm::library
