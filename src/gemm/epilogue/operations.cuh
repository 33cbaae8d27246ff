#pragma once

#include "device/activation.cuh"
#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm::library {

/// Columns that are finished between two branches: enough to hide latencies, and few enough that the large tiles' registers
/// hold what is on the way.
inline constexpr int kOperationColumns = 16;

/// Makes activation(alpha · sum + bias) of a lane's accumulators, in place: the large tiles leave no registers for copies.
/// A warp takes all branches alike.
///
/// sums: of kCount * 2 columns of a warp's 16 rows, see fragment_epilogue.cuh. bias: of the tile, fp32 in shared memory,
/// see BiasQueue; unused if there is none. row, column: where the fragment begins in the tile; column is even. Threads: the
/// whole warp.
template <int kCount>
__device__ __forceinline__ void apply_operations(float (&sums)[kCount], const GemmEpilogue& operations,
                                                 float alpha, const float* bias, int row, int column,
                                                 int lane) {
  constexpr int kStep = kOperationColumns / 2;
  static_assert(kCount % kStep == 0);
#pragma unroll
  for (int begin = 0; begin < kCount; begin += kStep) {
    auto& values = reinterpret_cast<float(&)[kStep]>(sums[begin]);
    if (operations.bias_kind == Bias::PerColumn) {
      const float* const of_lane = bias + column + begin * 2 + lane % 4 * 2;
#pragma unroll
      for (int i = 0; i < kStep; i += 4) {
        const float2 pair = *reinterpret_cast<const float2*>(of_lane + i * 2);
        values[i] = alpha * values[i] + pair.x;
        values[i + 1] = alpha * values[i + 1] + pair.y;
        values[i + 2] = alpha * values[i + 2] + pair.x;
        values[i + 3] = alpha * values[i + 3] + pair.y;
      }
    } else {
      float of_rows[2] = {};
      if (operations.bias_kind == Bias::PerRow) {
        of_rows[0] = bias[row + lane / 4];
        of_rows[1] = bias[row + lane / 4 + 8];
      }
#pragma unroll
      for (int i = 0; i < kStep; ++i) values[i] = alpha * values[i] + of_rows[i / 2 % 2];
    }
    activate(values, operations.activation);
  }
}

}  // namespace hopper_gemm::library
