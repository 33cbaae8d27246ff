// The epilogue of large tiles. It takes one epilogue subtile after the other: a warp's 16 rows by kStagingN columns. It
// finishes the subtile in the accumulators' registers and stores it through a staging buffer.
//
// The subtiles are a loop, because unrolled code does not fit into the instruction cache. 4096x4096x4096 with a bias
// and GELU by tiles of 256x192 took 200.3 us unrolled, and 178.9 us with the loop (H100). Registers cannot be indexed,
// so bring_to_front() first copies each subtile to the same registers. The cooperative kernel of one tile N copies it
// to other registers, with take_subtile().

#pragma once

#include "common/ceil_div.hpp"
#include "common/type_traits.hpp"
#include "device/fragment_epilogue.cuh"
#include "device/tensor_map_type.hpp"
#include "gemm/epilogue/epilogue_params.hpp"
#include "gemm/epilogue/operations.cuh"
#include "gemm/epilogue/store.cuh"
#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm::library {

/// The number of subtiles of kN columns. The last one ends with the tile. If kN is no multiple of kStagingN, it
/// overlaps the one before it, and stores the overlap a second time with equal values.
template <int kN>
inline constexpr int kSubtiles = ceil_div(kN, kStagingN);

/// The first column of a subtile.
template <int kN>
HG_HOST_DEVICE constexpr int first_column_of(int subtile) {
  static_assert(kN >= kStagingN);
  return subtile * kStagingN < kN - kStagingN ? subtile * kStagingN : kN - kStagingN;
}

/// Copies the accumulators of a subtile over those of the first one. The subtile's number is known only at run time, so
/// there is a branch for each. It counts on from one block to the next. blocks: of kN columns each.
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

/// The same within one block of kN columns.
template <int kN>
__device__ __forceinline__ void bring_to_front(float* block, int subtile) {
#pragma unroll
  for (int i = 1; i < kSubtiles<kN>; ++i) {
    if (subtile != i) continue;
#pragma unroll
    for (int e = 0; e < kStagingN / 2; ++e) block[e] = block[first_column_of<kN>(i) / 2 + e];
  }
}

/// How many staging buffers the auxiliary output of a subtile takes. They come before those of D.
template <typename Matrices>
__device__ __forceinline__ int parts_of_aux(const GemmEpilogue& operations) {
  if (!is_same_v<Matrices, MatrixParams> || !operations.has_aux) return 0;
  return operations.output_type == DataType::Float32 ? kStagingN / kStagingN32 : 1;
}

/// How many staging buffers a subtile takes in all.
template <typename Matrices>
__device__ __forceinline__ int parts_of_subtile(const GemmEpilogue& operations) {
  const bool is_one = operations.is_gated || operations.output_type != DataType::Float32;
  return (is_one ? 1 : kStagingN / kStagingN32) + parts_of_aux<Matrices>(operations);
}

/// Finishes and stores a subtile. sums: its accumulators, which it overwrites. bias: of the tile, see BiasQueue. row,
/// column: where the subtile begins in the tile; corner: where it begins in the product. acquire: see store_columns();
/// it is called parts_of_subtile() times. Threads: the whole warp, converged.
template <typename Matrices, typename Acquire>
__device__ __forceinline__ void finish_and_store(float* sums, const EpilogueParams& params, float alpha,
                                                 const float* bias, int row, int column,
                                                 FragmentCorner corner, const TensorMap* tensor_map_d,
                                                 const Matrices& matrices, int lane, const Acquire& acquire) {
  auto& values = *reinterpret_cast<float(*)[kStagingN / 2]>(sums);
  const GemmEpilogue& operations = params.operations;
  scale_and_add_bias(values, operations, alpha, bias, row, column, lane);
  const int first_part = parts_of_aux<Matrices>(operations);
  if constexpr (is_same_v<Matrices, MatrixParams>) {
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
