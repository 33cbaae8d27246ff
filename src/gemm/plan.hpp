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

/// What a GemmPlan is a handle to. Threads may share it.
class Plan {
 public:
  /// Completes GemmPlan::create() with the first of `backends` that can compute the problem. The last must compute
  /// everything. It alone gets problems without a product, such as k = 0. gemm: made with the same options.
  static Status create(const CheckedGemm& gemm, const GemmOptions& options, const Device& device,
                       std::span<const Backend* const> backends, std::shared_ptr<const Plan>* plan);

  /// As GemmPlan::run(), under the context that the plan was made for.
  Status run(const GemmOperands& operands, cudaStream_t stream) const;

  /// The same plan for another context of its device, which is made the first time: the same configuration, sized for
  /// that context's SMs. Unsupported: another device, or the configuration does not run there.
  Status for_context(const Device& device, std::span<const Backend* const> backends,
                     std::shared_ptr<const Plan>* plan) const;

  const Device& device() const { return device_; }
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  const std::string& config() const { return config_; }
  const std::string& explain() const { return explanation_; }

 private:
  Status choose(const GemmOptions& options, std::span<const Backend* const> backends);
  /// Sets prepared_ by the first back end that can compute the problem by the configuration, or family of them, of that
  /// name; by any where it is empty. Adds to explanation_ why others cannot.
  Status prepare(const std::string& requested, std::span<const Backend* const> backends);
  /// What follows from prepared_.
  Status complete(std::span<const Backend* const> backends);

  Device device_{};
  CheckedGemm gemm_;
  std::unique_ptr<const PreparedGemm> prepared_;         // null: there is nothing to compute
  std::unique_ptr<const PreparedGemm> without_product_;  // for alpha = 0; null: `prepared_` is that already
  std::size_t workspace_bytes_ = 0;
  std::string config_;
  std::string explanation_;

  mutable std::mutex mutex_;  // of what follows
  mutable std::map<std::uint64_t, std::shared_ptr<const Plan>> for_contexts_;
};

/// The names of at most `most` configurations of the back end that a plan of `descriptor` would be of, by
/// those options but for the configuration, the one that should be fastest first: what is worth measuring.
/// None where D has no elements. Fails as GemmPlan::create() does.
Status promising_configs(const GemmDescriptor& descriptor, const GemmOptions& options, const Device& device,
                         std::span<const Backend* const> backends, std::size_t most,
                         std::vector<std::string>* configs);

}  // namespace hopper_gemm::library
