#pragma once

#include "device/activation.cuh"
#include "device/fragment_epilogue.cuh"
#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm::library {

// Operations work in place, because large tiles leave no registers for copies. All lanes of a warp take the same
// branches.

/// Replaces a lane's accumulators by alpha · sum + bias.
///
/// sums: of kCount * 2 columns of a warp's 16 rows, see fragment_epilogue.cuh. bias: of the tile, fp32 in shared
/// memory, see BiasQueue; not read if the epilogue has no bias. row, column: where the fragment begins in the tile;
/// column is even.
/// Threads: the whole warp.
template <int kCount>
__device__ __forceinline__ void scale_and_add_bias(float (&sums)[kCount], const GemmEpilogue& operations,
                                                   float alpha, const float* bias, int row, int column,
                                                   int lane) {
  if (operations.bias_kind == Bias::PerColumn) {
    const float* const of_lane = bias + column + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const float2 pair = *reinterpret_cast<const float2*>(of_lane + i * 2);
      sums[i] = alpha * sums[i] + pair.x;
      sums[i + 1] = alpha * sums[i + 1] + pair.y;
      sums[i + 2] = alpha * sums[i + 2] + pair.x;
      sums[i + 3] = alpha * sums[i + 3] + pair.y;
    }
  } else {
    float of_rows[2] = {};
    if (operations.bias_kind == Bias::PerRow) {
      of_rows[0] = bias[row + lane / 4];
      of_rows[1] = bias[row + lane / 4 + 8];
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) sums[i] = alpha * sums[i] + of_rows[i / 2 % 2];
  }
}

/// Applies the activation. The columns of a gated product alternate between gate and up in groups of 8. They become
/// activation(gate) · up, which takes the first half of the values.
template <int kCount>
__device__ __forceinline__ void activate_and_gate(float (&values)[kCount], const GemmEpilogue& operations) {
  const bool is_gated = operations.is_gated;
  auto& gates = reinterpret_cast<float(&)[kCount / 2]>(values);
  if (is_gated) {
    float ups[kCount / 2];
    take_groups(ups, values, 1);
    take_groups(gates, values, 0);
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) values[kCount / 2 + i] = ups[i];
  }
  // The gates are in the first half now, so gated and other outputs share this code, of which a kernel has several
  // copies.
  if (operations.output_type == DataType::Float32) {
    activate(values, operations.activation, is_gated);
  } else {
    activate_for_16_bits(values, operations.activation, is_gated);
  }
  if (is_gated) {
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) gates[i] *= values[kCount / 2 + i];
  }
}

}  // namespace hopper_gemm::library
