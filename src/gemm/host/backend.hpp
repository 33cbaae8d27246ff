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

/// A kernel with everything for its launches that does not depend on addresses. It is immutable, so several threads may
/// launch it at the same time.
class PreparedGemm {
 public:
  virtual ~PreparedGemm() = default;

  /// Enqueues the GEMM and returns. It allocates nothing. args: the problem's, with alpha, beta and addresses. The
  /// addresses have the alignments that the problem states. alpha is 0 only if K is 0; A and B are null then. C is null
  /// if beta is 0.
  virtual Status launch(const KernelArgs& args, void* workspace, cudaStream_t stream) const = 0;

  virtual std::size_t workspace_bytes() const = 0;

  /// The configuration's name.
  virtual const std::string& config() const = 0;

  /// Lines of text that say why this configuration was chosen, and what time was expected.
  virtual std::string explain() const = 0;
};

/// A back end: kernels with the same needs of GPU and operands.
struct Backend {
  std::string_view name;  ///< "wgmma", "mma_sync"
  /// The families: the name of each configuration begins with one of these and an underscore. "cooperative", for
  /// example.
  std::span<const std::string_view> families;

  /// Ok, or Unsupported with the reason why this back end cannot compute the problem.
  Status (*can_implement)(const Problem& problem, const Device& device);

  /// Prepares a problem that can_implement() accepts. config: the name of a configuration, or of a family, or empty.
  /// With a family's name it takes the configuration of that family with the shortest estimated time, with an empty
  /// name the one of all configurations.
  /// InvalidArgument: there is no such configuration. Unsupported: it is not for this problem.
  Status (*prepare)(const Problem& problem, const Device& device, const std::string& config,
                    std::unique_ptr<const PreparedGemm>* prepared);

  /// The names of all configurations.
  std::vector<std::string> (*configs)();

  /// The names of the configurations that can compute a problem that can_implement() accepts, by estimated time.
  std::vector<std::string> (*ranked_configs)(const Problem& problem, const Device& device);
};

/// TMA and wgmma, on sm_90. The pitches and addresses of A and B must be multiples of 16 bytes.
const Backend& wgmma_backend();

/// cp.async and mma.sync, from sm_80 on. It can compute every problem.
const Backend& mma_sync_backend();

/// All back ends, the best first. The last one can compute everything.
std::span<const Backend* const> all_backends();

}  // namespace hopper_gemm::library
