#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <utility>

#include "gemm/config.hpp"
#include "gemm/kernel_args.hpp"
#include "gemm/problem.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// A kernel with everything for its launches that does not depend on addresses. It is immutable, so several threads may
/// launch it at the same time.
class KernelLauncher {
 public:
  virtual ~KernelLauncher() = default;

  /// Enqueues the kernel and returns. epilogue: that of `args`, or the one that stores partials to the workspace. kind:
  /// AlphaOnly if needs_alpha_only() and beta is 0.
  virtual Status launch(const KernelArgs& args, const GemmEpilogue& epilogue, EpilogueKind kind,
                        cudaStream_t stream) const = 0;
};

/// The arguments from which a launcher is made.
struct LauncherRequest {
  const Problem& problem;
  const GemmConfig& config;  ///< whose kernel can_compute() the problem
  int active_clusters;       ///< clusters that the GPU runs at a time, at least 1
  bool overlaps;             ///< the kernel may start before the one before it in the stream ends
  bool by_gpc;               ///< see Estimate
};

/// KernelFamily::make_launcher for a Launcher that is constructed from the request. Everything that can fail is in its
/// prepare(), because a constructor cannot return a Status.
template <typename Launcher>
Status make_prepared(const LauncherRequest& request, std::unique_ptr<const KernelLauncher>* launcher) {
  auto made = std::make_unique<Launcher>(request);
  HG_RETURN_IF_ERROR(made->prepare(request.problem.args));
  *launcher = std::move(made);
  return {};
}

/// The kernels of one source file.
struct KernelFamily {
  /// How many clusters of the configuration the current GPU runs at a time. Unsupported: not even one fits.
  Status (*active_clusters)(const GemmConfig& config, int* clusters);

  /// Loads the code onto the current GPU and encodes the tensor maps. Unsupported: the driver refuses one.
  Status (*make_launcher)(const LauncherRequest& request, std::unique_ptr<const KernelLauncher>* launcher);
};

namespace cooperative {
extern const KernelFamily kFamily;
}
namespace cooperative_mixed_n {
extern const KernelFamily kFamily;
}
namespace pingpong {
extern const KernelFamily kFamily;
}
namespace small_m {
extern const KernelFamily kFamily;
}

}  // namespace hopper_gemm::library
