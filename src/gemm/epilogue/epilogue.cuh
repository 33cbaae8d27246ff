// The epilogue of large tiles: what becomes of accumulators in registers, kStagingN columns of a warp's 16 rows after the
// other. Each turn finishes them in place and stores them through a staging buffer.
//
// The turns are a loop, not unrolled code, which would not fit into the instruction cache: 4096x4096x4096 with a bias and
// GELU by tiles of 256x192 took 200.3 us unrolled, 178.9 us by a loop (H100). Registers have no index, so that a turn
// begins with copies to the same ones, bring_to_front().

#pragma once

#include "device/fragment_epilogue.cuh"
#include "device/tensor_map_type.hpp"
#include "gemm/epilogue/epilogue_params.hpp"
#include "gemm/epilogue/operations.cuh"
#include "gemm/epilogue/store.cuh"

namespace hopper_gemm::library {

/// How many turns kN columns take. The last ones end with the tile, and are stored with some of the turn before where kN is
/// no multiple of kStagingN.
template <int kN>
inline constexpr int kTurns = ceil_div(kN, kStagingN);

/// The first column of a turn.
template <int kN>
HG_HOST_DEVICE constexpr int first_column_of(int turn) {
  static_assert(kN >= kStagingN);
  return turn * kStagingN < kN - kStagingN ? turn * kStagingN : kN - kStagingN;
}

/// Copies the accumulators of a turn to where those of the first one are, which are lost. The turn is known at run time
/// only: there is a branch for each. block: of kN columns.
template <int kN>
__device__ __forceinline__ void bring_to_front(float* block, int turn) {
#pragma unroll
  for (int i = 1; i < kTurns<kN>; ++i) {
    if (turn != i) continue;
#pragma unroll
    for (int e = 0; e < kStagingN / 2; ++e) block[e] = block[first_column_of<kN>(i) / 2 + e];
  }
}

/// Finishes and stores the columns of a turn. sums: their accumulators; they are overwritten. bias: of the tile, see
/// BiasQueue. row, column: where the fragment begins in the tile; corner: in D. acquire: see store_columns(). Threads: the
/// whole warp, converged.
template <typename Acquire>
__device__ __forceinline__ void finish_and_store(float* sums, const EpilogueParams& params, float alpha,
                                                 const float* bias, int row, int column,
                                                 FragmentCorner corner, const TensorMap* tensor_map, int lane,
                                                 const Acquire& acquire) {
  auto& values = *reinterpret_cast<float(*)[kStagingN / 2]>(sums);
  apply_operations(values, params.operations, alpha, bias, row, column, lane);
  store_columns(values, tensor_map, params, corner, lane, acquire);
}

}  // namespace hopper_gemm::library
