#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/kernel_args.hpp"
#include "gemm/problem.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// A kernel with everything that does not depend on addresses. Immutable: several threads may launch it at a time.
class PreparedGemm {
 public:
  virtual ~PreparedGemm() = default;

  /// Enqueues the GEMM and returns. args: those of the problem, with alpha, beta and addresses that are as
  /// aligned as it said. alpha is 0 only where K is; the addresses of A and B are null then, that of C where
  /// beta is 0. Allocates nothing.
  virtual Status launch(const KernelArgs& args, void* workspace, cudaStream_t stream) const = 0;

  virtual std::size_t workspace_bytes() const = 0;

  /// The configuration's name.
  virtual const std::string& config() const = 0;

  /// Lines of text: why this configuration, and what was expected of it.
  virtual std::string explain() const = 0;
};

/// A family of kernels. What tells them apart is what they need of GPU and operands.
struct Backend {
  std::string_view name;  ///< "wgmma", "mma_sync"
  /// Its configurations' names begin with one of these and an underscore: "cooperative", "pingpong".
  std::span<const std::string_view> families;

  /// Ok, or why this family cannot compute the problem: Unsupported.
  Status (*can_implement)(const Problem& problem, const Device& device);

  /// Prepares the problem, which can_implement() accepts, by the configuration of that name, or of a
  /// family the one that should be fastest, or if the name is empty that of all. InvalidArgument: there is no such configuration. Unsupported:
  /// it is not for this problem.
  Status (*prepare)(const Problem& problem, const Device& device, const std::string& config,
                    std::unique_ptr<const PreparedGemm>* prepared);

  /// The names of all configurations.
  std::vector<std::string> (*configs)();

  /// The names of those that can compute the problem, which can_implement() accepts: the one that should be
  /// fastest first.
  std::vector<std::string> (*ranked_configs)(const Problem& problem, const Device& device);
};

/// TMA and wgmma, on sm_90: rows and addresses of A and B that are multiples of 16 bytes.
const Backend& wgmma_backend();

/// cp.async and mma.sync, from sm_80 on: anything.
const Backend& mma_sync_backend();

/// All of them, the best first. The last computes everything.
std::span<const Backend* const> all_backends();

}  // namespace hopper_gemm::library
