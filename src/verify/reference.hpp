#pragma once

#include <cuda_runtime_api.h>

#include "common/gemm_args.hpp"

namespace hopper_gemm {

/// The reference in fp64: ref[M, N] (row-major, packed, device memory) = alpha · A · B + beta · C + bias of `args`, whose
/// D is not used: what the activation, which CheckOperands names, is applied to. Products of two inputs are exact in fp64, and their sums carry 53 bits: this is the truth that
/// results are held against. Batches lie one behind the other. Any extents, types, layouts and leading
/// dimensions. Enqueued on `stream`.
Status reference_gemm_device(const GemmArgs& args, double* ref, cudaStream_t stream);

/// The same on the host, for tests: every pointer of `args`, and `ref`, is host memory.
void reference_gemm_host(const GemmArgs& args, double* ref);

}  // namespace hopper_gemm
