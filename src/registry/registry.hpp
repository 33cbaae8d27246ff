#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/gemm_args.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// A GPU's compute capability, e.g. {9, 0}.
struct ComputeCapability {
  int major;
  int minor;

  friend constexpr bool operator==(const ComputeCapability& x, const ComputeCapability& y) {
    return x.major == y.major && x.minor == y.minor;
  }
  friend constexpr bool operator<(const ComputeCapability& x, const ComputeCapability& y) {
    return x.major != y.major ? x.major < y.major : x.minor < y.minor;
  }
};

/// "sm_90".
std::string sm_text(ComputeCapability capability);

/// What a kernel runs on, and the operation that it is measured at.
struct KernelTarget {
  ComputeCapability compute_capability;
  bool or_newer;        ///< false: sm_90a code runs on exactly this capability
  DataType input_type;  ///< unless another is asked for; the output's is the same
  Layout b_layout;
};

/// A kernel that is compiled for several configurations, each of which has a name.
struct TuningSpace {
  /// Those that are worth measuring for `args` on the current GPU; none where that cannot be said. Touches no operand.
  std::vector<std::string> (*configs)(const GemmArgs& args);
  /// Whether there is a configuration of that name. Needs no GPU.
  bool (*has_config)(const std::string& config);
  /// As KernelInfo::launch, by the configuration of that name. InvalidArgument: there is none. Unsupported: the GPU has
  /// too little shared memory for it, or the operands are not aligned as the configuration needs it.
  Status (*launch)(const std::string& config, const GemmArgs& args, cudaStream_t stream);
};

/// The workspace that kernels get where they are measured and verified: as much as cuBLAS.
inline constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

/// The version that is the library.
inline constexpr std::string_view kLibraryVersion = "best";

/// What a kernel that chooses by operands and GPU would run.
struct KernelChoice {
  std::string config;       ///< its name
  std::string explanation;  ///< lines of text: why
};

/// One rung of a ladder. `matmul`, the tests and the README all read the same table.
struct KernelInfo {
  std::string_view version;  ///< what the user types: "1", "ampere.3"
  std::string_view name;     ///< "tma_wgmma"
  std::string_view idea;     ///< the one change against the version before, a short clause
  KernelTarget target;
  /// Ok, or why this kernel refuses `args`. Looks at values only: touches no device memory, needs no GPU.
  Status (*can_implement)(const GemmArgs& args);
  /// Enqueues the GEMM on `stream` and returns without waiting. Checks can_implement first. Allocates nothing,
  /// so it can be captured into a CUDA graph. One exception: the first launch of version 10 or later on a device
  /// finds out where clusters run, for which it runs small kernels and waits for them, also while a stream
  /// captures (known_cluster_placement).
  Status (*launch)(const GemmArgs& args, cudaStream_t stream);
  const TuningSpace* tuning = nullptr;  ///< null: there is one configuration
  /// What launch() would choose for `args` on the current GPU, without touching an operand. Null: the kernel
  /// says nothing of its choice.
  Status (*choose)(const GemmArgs& args, KernelChoice* choice) = nullptr;
};

/// The Hopper ladder in ascending version order: bf16, wgmma.
std::span<const KernelInfo> hopper_ladder();

/// The ampere ladder: bf16 and fp16, mma.sync.
std::span<const KernelInfo> ampere_ladder();

/// The simt ladder: fp32 on CUDA cores.
std::span<const KernelInfo> simt_ladder();

/// Everything that has a version, in the order in which tables list it.
std::span<const KernelInfo> all_kernels();

/// Whether all_kernels() holds kernels that are compiled for GPUs. A program that is built without those (CMake's
/// HG_GPU_KERNELS is off) finds the emulator's there, which run on the emulator alone.
bool has_gpu_kernels();

/// The kernel with that version, or nullptr.
const KernelInfo* find_kernel(std::string_view version);

/// "sm_90", or "sm_80 or newer".
std::string target_text(const KernelTarget& target);

/// Whether a GPU of this compute capability runs code that was compiled for the target.
bool runs_on(const KernelTarget& target, ComputeCapability gpu);

/// The operation that the kernel is verified and measured at: its own, with inputs and outputs of `type`, with
/// `a_layout` and with `b_layout` if given. Every kernel's own A is row-major.
GemmProblem canonical_problem(const KernelInfo& kernel, GemmShape shape, std::optional<DataType> type,
                              std::optional<Layout> a_layout, std::optional<Layout> b_layout);

}  // namespace hopper_gemm
