// The epilogue of large tiles: what becomes of accumulators in registers, one subtile after the other. A subtile is a
// warp's 16 rows by kStagingN columns. It is finished in place and stored through a staging buffer.
//
// The subtiles are a loop, not unrolled code, which would not fit into the instruction cache: 4096x4096x4096 with a bias and
// GELU by tiles of 256x192 took 200.3 us unrolled, 178.9 us by a loop (H100). Registers have no index, so that each subtile
// is first copied to the same ones, bring_to_front(). The cooperative kernel of one tile N copies it to others, take_subtile().

#pragma once

#include <cuda/std/type_traits>

#include "common/ceil_div.hpp"
#include "device/fragment_epilogue.cuh"
#include "device/tensor_map_type.hpp"
#include "gemm/epilogue/epilogue_params.hpp"
#include "gemm/epilogue/operations.cuh"
#include "gemm/epilogue/store.cuh"
#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm::library {

/// Subtiles of kN columns. The last one ends with the tile. Where kN is no multiple of kStagingN, it stores some columns of
/// the one before once more, by the same values.
template <int kN>
inline constexpr int kSubtiles = ceil_div(kN, kStagingN);

/// The first column of a subtile.
template <int kN>
HG_HOST_DEVICE constexpr int first_column_of(int subtile) {
  static_assert(kN >= kStagingN);
  return subtile * kStagingN < kN - kStagingN ? subtile * kStagingN : kN - kStagingN;
}

/// Copies the accumulators of a subtile to where those of the first one are, which are lost. Its number, which counts on
/// through the blocks, is known at run time only: there is a branch for each. blocks: of kN columns.
template <int kN, int kBlocks, int kCount>
__device__ __forceinline__ void bring_to_front(float (&blocks)[kBlocks][kCount], int subtile) {
#pragma unroll
  for (int i = 1; i < kBlocks * kSubtiles<kN>; ++i) {
    if (subtile != i) continue;
    const float* const source = blocks[i / kSubtiles<kN>] + first_column_of<kN>(i % kSubtiles<kN>) / 2;
#pragma unroll
    for (int e = 0; e < kStagingN / 2; ++e) blocks[0][e] = source[e];
  }
}

/// The same within a block of kN columns.
template <int kN>
__device__ __forceinline__ void bring_to_front(float* block, int subtile) {
#pragma unroll
  for (int i = 1; i < kSubtiles<kN>; ++i) {
    if (subtile != i) continue;
#pragma unroll
    for (int e = 0; e < kStagingN / 2; ++e) block[e] = block[first_column_of<kN>(i) / 2 + e];
  }
}

/// How many parts of the auxiliary output go through a staging buffer ahead of those of a subtile of D.
template <typename Matrices>
__device__ __forceinline__ int parts_of_aux(const GemmEpilogue& operations) {
  if (!cuda::std::is_same_v<Matrices, MatrixParams> || !operations.has_aux) return 0;
  return operations.output_type == DataType::Float32 ? kStagingN / kStagingN32 : 1;
}

/// How many parts of a subtile there are in all.
template <typename Matrices>
__device__ __forceinline__ int parts_of_subtile(const GemmEpilogue& operations) {
  const bool is_one = operations.is_gated || operations.output_type != DataType::Float32;
  return (is_one ? 1 : kStagingN / kStagingN32) + parts_of_aux<Matrices>(operations);
}

/// Finishes and stores a subtile. sums: its accumulators, which are overwritten. bias: of the tile, see
/// BiasQueue. row, column: where it begins in the tile; corner: in the product. acquire: see store_columns(); it is called
/// parts_of_subtile() times. Threads: the whole warp, converged.
template <typename Matrices, typename Acquire>
__device__ __forceinline__ void finish_and_store(float* sums, const EpilogueParams& params, float alpha,
                                                 const float* bias, int row, int column,
                                                 FragmentCorner corner, const TensorMap* tensor_map_d,
                                                 const Matrices& matrices, int lane, const Acquire& acquire) {
  auto& values = *reinterpret_cast<float(*)[kStagingN / 2]>(sums);
  const GemmEpilogue& operations = params.operations;
  scale_and_add_bias(values, operations, alpha, bias, row, column, lane);
  const int first_part = parts_of_aux<Matrices>(operations);
  if constexpr (cuda::std::is_same_v<Matrices, MatrixParams>) {
    if (operations.has_aux) {
      store_columns(values,
                    {aux_of(operations), &matrices.tensor_map_aux, params.shape, matrices.aux_tma_columns},
                    corner, lane, 0, acquire);
    }
  }
  activate_and_gate(values, operations);
  if (operations.is_gated) {
    store_columns(reinterpret_cast<float(&)[kStagingN / 4]>(values),
                  {d_of(operations),
                   tensor_map_d,
                   {params.shape.m, params.shape.n / 2, params.shape.k},
                   params.d_tma_columns},
                  {corner.batch, corner.row, gated_column(corner.column)}, lane, first_part, acquire);
  } else {
    store_columns(values, {d_of(operations), tensor_map_d, params.shape, params.d_tma_columns}, corner, lane,
                  first_part, acquire);
  }
}

}  // namespace hopper_gemm::library
