#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/gemm_shape.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

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
