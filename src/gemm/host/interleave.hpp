#pragma once

#include <cuda_runtime_api.h>

#include "gemm/kernel_args.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// Enqueues the kernel that interleaves gate and up to the B of a gated GEMM, see interleave_gate_and_up(). args: of
/// the GEMM; its B is written to `b`. halves: how both halves lie in memory. Runs on any GPU.
Status launch_interleave(const KernelArgs& args, const OperandArgs& halves, const void* gate, const void* up,
                         void* b, cudaStream_t stream);

}  // namespace hopper_gemm::library
