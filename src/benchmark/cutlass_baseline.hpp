#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>

#include "common/gemm_args.hpp"
#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// A GEMM of CUTLASS 2.x for sm_80: cp.async, ldmatrix, mma.sync.m16n8k16, bands of up to 8 tiles for L2.
///
/// It uses the same instructions as the ampere ladder. The ladder is compared with the best of a handful of these,
/// because on Hopper cuBLAS uses wgmma.
struct CutlassConfig {
  const char* name;          ///< "128x256x32, warps 64x64, 3 stages": CTA tile and K block, warp tile
  std::size_t shared_bytes;  ///< of a CTA; GPUs differ in the most that a CTA can have
  /// Enqueues D = A·B on `stream` and returns without waiting; can be captured into a CUDA graph. Errors: as
  /// check_cutlass_gemm(), and Unsupported for an input type that is not the list's.
  Status (*launch)(const GemmArgs& args, cudaStream_t stream);
};

/// The configurations that multiply `type` to `type`. There are none if the program was built without CUTLASS
/// (HG_CUTLASS_ROOT), and none for fp32.
std::span<const CutlassConfig> cutlass_configs(DataType type);

/// Whether the configurations are for such a GEMM: bf16 to bf16 or fp16 to fp16, B column-major, and only A·B.
bool is_cutlass_problem(const GemmProblem& problem);

/// Ok if a configuration takes `args` on some GPU; otherwise the reason.
///
/// InvalidArgument: as check_gemm(), or an extent is 0.
/// Unsupported: is_cutlass_problem() is false; N, K or a leading dimension that is not a multiple of 8 elements, a base
/// address that is not 16-byte aligned, or an extent for which the grid has too many CTAs.
Status check_cutlass_gemm(const GemmArgs& args);

}  // namespace hopper_gemm
