#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "hopper_gemm/gemm_args.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// A GPU's compute capability, e.g. {9, 0}.
struct ComputeCapability {
  int major;
  int minor;

  friend constexpr bool operator==(const ComputeCapability& x, const ComputeCapability& y) {
    return x.major == y.major && x.minor == y.minor;
  }
};

/// One rung of a ladder. `matmul`, the tests and the README all read the same table.
struct KernelInfo {
  std::string_view version;              ///< what the user types: "1"
  std::string_view name;                 ///< "tma_wgmma"
  std::string_view idea;                 ///< the one change against the version before, a short clause
  ComputeCapability compute_capability;  ///< sm_90a code runs on exactly this capability
  /// Ok, or why this kernel refuses `args`. Looks at values only: touches no device memory, needs no GPU.
  Status (*can_implement)(const GemmArgs& args);
  /// Enqueues D = A·B^T on `stream` and returns without waiting. Checks can_implement first. Allocates
  /// nothing, so it can be captured into a CUDA graph. One exception: the first launch of version 10 or later
  /// on a device finds out where clusters run, for which it runs small kernels and waits for them, also while a
  /// stream captures (known_cluster_placement).
  Status (*launch)(const GemmArgs& args, cudaStream_t stream);
};

/// The Hopper ladder in ascending version order.
std::span<const KernelInfo> hopper_ladder();

/// The kernel with that version, or nullptr.
const KernelInfo* find_kernel(std::string_view version);

/// The wgmma ceiling: executes the multiply instructions of a GEMM of `shape`, in whole 128x256x64 blocks
/// dealt evenly to one CTA per SM, from shared memory that is filled once. It loads nothing afterwards and
/// what it computes is no product: it measures the tensor cores' own rate, which power limits, so that
/// `operands` should hold the data that the GEMM is measured on. Needs sm_90. `sm_count`: the GPU's number of
/// SMs. `operands`: wgmma_ceiling_operand_elems() values, 16-byte aligned device memory. `sink`: device
/// memory of wgmma_ceiling_sink_elems(sm_count) floats.
Status launch_wgmma_ceiling(GemmShape shape, int sm_count, const __nv_bfloat16* operands, float* sink,
                            cudaStream_t stream);

/// Elements of launch_wgmma_ceiling's `operands` and `sink`.
std::int64_t wgmma_ceiling_operand_elems();
std::int64_t wgmma_ceiling_sink_elems(int sm_count);

/// Floating-point operations that launch_wgmma_ceiling executes for `shape`: at least 2 M N K.
double wgmma_ceiling_flops(GemmShape shape);

}  // namespace hopper_gemm
