#pragma once

#include <cuda_runtime_api.h>

#include "hopper_gemm/gemm_args.hpp"
#include "registry.hpp"

namespace hopper_gemm {

/// The kernel for `args` on a GPU of this compute capability, or nullptr: the last of the Hopper ladder on sm_90
/// where TMA can address the operands, the last of the ampere ladder for other 16-bit operands from sm_80 on, the
/// last of the simt ladder for fp32.
const KernelInfo* best_kernel(const GemmArgs& args, ComputeCapability gpu);

// What the registry calls `best`.
namespace best {

/// Ok if there is a GPU on which best_kernel() has an answer.
Status can_implement(const GemmArgs& args);

/// Runs best_kernel() of the current device, or the next best where that refuses: a driver without tensor maps.
Status launch(const GemmArgs& args, cudaStream_t stream);

}  // namespace best

}  // namespace hopper_gemm
