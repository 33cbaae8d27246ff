#pragma once

#include <cuda_runtime_api.h>

#include "common/gemm_args.hpp"

namespace hopper_gemm {

/// Enqueues the fp64 reference on `stream`: ref[M, N] = alpha · A · B + beta · C + bias of `args`. ref is row-major,
/// packed and in device memory; batches follow each other. This is the value before the activation, which CheckOperands
/// names.
///
/// Products of two inputs are exact in fp64, and their sums carry 53 bits, so results are compared with this. args.d is
/// not used. Takes any extents, types, layouts and leading dimensions.
Status reference_gemm_device(const GemmArgs& args, double* ref, cudaStream_t stream);

/// The same on the host, for tests. Every pointer of `args`, and `ref`, points to host memory.
void reference_gemm_host(const GemmArgs& args, double* ref);

}  // namespace hopper_gemm
