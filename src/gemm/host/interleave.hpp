#pragma once

#include <cuda_runtime_api.h>

#include "gemm/kernel_args.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// Enqueues the kernel that makes the B of a gated GEMM of its gate and its up, see interleave_gate_and_up(). args: of the
/// GEMM, whose B is written to `b`. halves: as both lie. Any GPU.
Status launch_interleave(const KernelArgs& args, const OperandArgs& halves, const void* gate, const void* up,
                         void* b, cudaStream_t stream);

}  // namespace hopper_gemm::library
