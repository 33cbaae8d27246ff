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

/// The GPUs that run a kernel, and the operation for which it is measured.
struct KernelTarget {
  ComputeCapability compute_capability;
  bool or_newer;        ///< false: sm_90a code runs on exactly this capability
  DataType input_type;  ///< by default; the output has the same type
  Layout b_layout;
};

/// A kernel that is compiled for several configurations, each of which has a name.
struct TuningSpace {
  /// The configurations that are worth measuring for `args` on the current GPU, or none if that is unknown. Touches no
  /// operand.
  std::vector<std::string> (*configs)(const GemmArgs& args);
  /// Whether there is a configuration of that name. Needs no GPU.
  bool (*has_config)(const std::string& config);
  /// Like KernelInfo::launch, with the configuration of that name. InvalidArgument: there is none. Unsupported: the GPU
  /// has too little shared memory for it, or the operands do not have the alignment that it needs.
  Status (*launch)(const std::string& config, const GemmArgs& args, cudaStream_t stream);
};

/// The workspace that kernels get for measurements and verification: as much as cuBLAS gets.
inline constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

/// The version that is the library.
inline constexpr std::string_view kLibraryVersion = "best";

/// The choice of a kernel that chooses by operands and GPU.
struct KernelChoice {
  std::string config;       ///< the configuration's name
  std::string explanation;  ///< lines of text that give the reason
  std::optional<double> plan_us =
      {};  ///< how long planning takes the host once kernels are loaded, if the kernel plans
};

/// A file of measurements that a kernel reads if an environment variable names it.
struct MeasurementFile {
  const char* variable;
  std::string_view command;  ///< what writes such a file: "probe --json"
  bool ranks;                ///< it also decides which configurations are worth measuring
  Status (*check)();  ///< Ok, or why the file that the variable names cannot be used on the current GPU
};

/// One version of a ladder. `matmul`, the tests and the README all read the same table.
struct KernelInfo {
  std::string_view version;  ///< what the user types: "1", "ampere.3"
  std::string_view name;     ///< "tma_wgmma"
  std::string_view idea;     ///< the one change from the version before, as a short clause
  KernelTarget target;
  /// Ok, or the reason why this kernel refuses `args`. Reads only values of `args`: it touches no device memory and
  /// needs no GPU.
  Status (*can_implement)(const GemmArgs& args);
  /// Enqueues the GEMM on `stream` and returns without waiting. It checks can_implement first. It allocates nothing, so
  /// a CUDA graph can capture it. There is one exception: the first launch of version 10 or later on a device finds out
  /// where clusters run. It runs small kernels and waits for them, also while a stream captures
  /// (known_cluster_placement()).
  Status (*launch)(const GemmArgs& args, cudaStream_t stream);
  const TuningSpace* tuning = nullptr;  ///< null: there is one configuration
  /// Finds what launch() would choose for `args` on the current GPU, without touching an operand. Null if the kernel
  /// does not tell.
  Status (*choose)(const GemmArgs& args, KernelChoice* choice) = nullptr;
  std::span<const MeasurementFile> (*files)() = nullptr;  ///< null: it reads none
};

/// The Hopper ladder in ascending version order: bf16, wgmma.
std::span<const KernelInfo> hopper_ladder();

/// The Ampere ladder: bf16 and fp16, mma.sync.
std::span<const KernelInfo> ampere_ladder();

/// The SIMT ladder: fp32 on CUDA cores.
std::span<const KernelInfo> simt_ladder();

/// All kernels that have a version, in the order in which tables list them.
std::span<const KernelInfo> all_kernels();

/// Whether all_kernels() has kernels that are compiled for GPUs. If CMake's HG_GPU_KERNELS is off it has the emulator's
/// instead, which run only on the emulator.
bool has_gpu_kernels();

/// The kernel with that version, or nullptr.
const KernelInfo* find_kernel(std::string_view version);

/// "sm_90", or "sm_80 or newer".
std::string target_text(const KernelTarget& target);

/// Whether a GPU of this compute capability runs code that is compiled for the target.
bool runs_on(const KernelTarget& target, ComputeCapability gpu);

/// The operation for which the kernel is verified and measured. It is the kernel's own, with `type` for inputs and
/// outputs, `a_layout` and `b_layout` if they are given. Every kernel's own A is row-major.
GemmProblem canonical_problem(const KernelInfo& kernel, GemmShape shape, std::optional<DataType> type,
                              std::optional<Layout> a_layout, std::optional<Layout> b_layout);

}  // namespace hopper_gemm
