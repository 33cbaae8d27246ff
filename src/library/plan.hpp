#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hopper_gemm/gemm.hpp"
#include "hopper_gemm/status.hpp"
#include "library/backend.hpp"
#include "library/checked_gemm.hpp"

namespace hopper_gemm::library {

/// What a GemmPlan is a handle to. Immutable.
class Plan {
 public:
  /// As GemmPlan::create(), for `device` and of the back ends given: the first that can compute the problem.
  /// The last must compute everything; it alone gets what has no product, as with k = 0.
  static Status create(const GemmDescriptor& descriptor, const GemmOptions& options, const Device& device,
                       std::span<const Backend* const> backends, std::shared_ptr<const Plan>* plan);

  /// As GemmPlan::run(), on the plan's device.
  Status run(const GemmOperands& operands, cudaStream_t stream) const;

  int device_id() const { return device_id_; }
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  const std::string& config() const { return config_; }
  const std::string& explain() const { return explanation_; }

 private:
  Status choose(const GemmOptions& options, const Device& device, std::span<const Backend* const> backends);
  /// Sets prepared_ by the first back end that can compute the problem by the configuration, or family of them, of that
  /// name; by any where it is empty. Adds to explanation_ why others cannot.
  Status prepare(const std::string& requested, const Device& device,
                 std::span<const Backend* const> backends);

  int device_id_ = 0;
  CheckedGemm gemm_;
  std::unique_ptr<const PreparedGemm> prepared_;         // null: there is nothing to compute
  std::unique_ptr<const PreparedGemm> without_product_;  // for alpha = 0; null: `prepared_` is that already
  std::size_t workspace_bytes_ = 0;
  std::string config_;
  std::string explanation_;
};

/// The names of at most `most` configurations of the back end that a plan of `descriptor` would be of, by
/// those options but for the configuration, the one that should be fastest first: what is worth measuring.
/// None where D has no elements. Fails as Plan::create() does.
Status promising_configs(const GemmDescriptor& descriptor, const GemmOptions& options, const Device& device,
                         std::span<const Backend* const> backends, std::size_t most,
                         std::vector<std::string>* configs);

}  // namespace hopper_gemm::library
