#pragma once

#include <cuda/std/cstdint>

#include "hopper_gemm/activation.cuh"
#include "hopper_gemm/device_common.cuh"
#include "hopper_gemm/gemm_epilogue.hpp"
#include "hopper_gemm/gemm_shape.hpp"
#include "hopper_gemm/mma_epilogue.cuh"

namespace hopper_gemm {

/// The epilogue of one batch: its d, c and bias are that batch's.
__device__ __forceinline__ GemmEpilogue epilogue_of_batch(const GemmEpilogue& epilogue,
                                                          cuda::std::int64_t batch) {
  const auto offset = [batch](cuda::std::int64_t stride, DataType type) {
    return batch * stride * size_of(type);
  };
  GemmEpilogue result = epilogue;
  result.d = static_cast<char*>(epilogue.d) + offset(epilogue.d_batch_stride, epilogue.output_type);
  result.c = static_cast<const char*>(epilogue.c) + offset(epilogue.c_batch_stride, epilogue.output_type);
  result.bias =
      static_cast<const char*>(epilogue.bias) + offset(epilogue.bias_batch_stride, epilogue.bias_type);
  return result;
}

/// Calls `function`, a template of an element type, for the type that is known at run time only.
template <typename Function>
__device__ __forceinline__ void for_element_type(DataType type, Function function) {
  switch (type) {
    case DataType::BFloat16: function.template operator()<__nv_bfloat16>(); break;
    case DataType::Float16: function.template operator()<__half>(); break;
    case DataType::Float32: function.template operator()<float>(); break;
  }
}

/// Adds the row's bias, or those of the columns from `column` on, to the first `valid` of the values, at least one. No
/// other bias is read. column: a multiple of kChunkElems.
__device__ __forceinline__ void add_bias(float (&values)[kChunkElems], const GemmEpilogue& epilogue, int row,
                                         int column, int valid) {
  if (epilogue.bias_kind == Bias::None) return;
  for_element_type(epilogue.bias_type, [&]<typename T>() {
    const T* const bias = static_cast<const T*>(epilogue.bias);
    if (epilogue.bias_kind == Bias::PerColumn) {
      add_chunk(values, 1.0F, bias + column, valid, has_aligned_chunks<T>(bias, 0));
    } else {
      const float of_row = static_cast<float>(bias[row]);
#pragma unroll
      for (int i = 0; i < kChunkElems; ++i) values[i] += of_row;
    }
  });
}

/// Stores a chunk of D, of the sums of products `values`, which it overwrites. C and D may have any alignment and leading
/// dimension; vectors of 16 bytes are used where these allow. epilogue: of the chunk's batch. row, column: where the
/// chunk starts in D, which may be beyond the edge; column is a multiple of kChunkElems. Threads: any.
__device__ __forceinline__ void store_epilogue_chunk(float (&values)[kChunkElems],
                                                     const GemmEpilogue& epilogue, int row, int column,
                                                     GemmShape shape) {
  const int valid = row < shape.m ? shape.n - column : 0;
  if (valid <= 0) return;
#pragma unroll
  for (int i = 0; i < kChunkElems; ++i) values[i] *= epilogue.alpha;
  if (epilogue.beta != 0) {
    for_element_type(epilogue.output_type, [&]<typename T>() {
      add_chunk(values, epilogue.beta, static_cast<const T*>(epilogue.c) + row * epilogue.ldc + column, valid,
                has_aligned_chunks<T>(epilogue.c, epilogue.ldc));
    });
  }
  add_bias(values, epilogue, row, column, valid);
  activate(values, epilogue.activation);
  for_element_type(epilogue.output_type, [&]<typename T>() {
    store_chunk(values, static_cast<T*>(epilogue.d) + row * epilogue.ldd + column, valid,
                has_aligned_chunks<T>(epilogue.d, epilogue.ldd));
  });
}

/// Stores a warp's accumulators of mma.m16n8k16, [kMmaTilesM * 16, kMmaTilesN * 8] of fp32, to D by way of shared memory,
/// which takes all of them at once: what follows is one loop, with all registers to itself.
///
/// staging: staging_elems(kMmaTilesN * 8, kMmaTilesM * 16) floats of the warp's own, 16-byte aligned. epilogue: of the
/// tiles' batch. m0, n0: where the tiles start in D; n0 is a multiple of 8. Elements outside [shape.m, shape.n] are
/// neither read nor written. Threads: the whole warp.
template <int kMmaTilesM, int kMmaTilesN>
__device__ __forceinline__ void store_epilogue_accumulators(const float (&accum)[kMmaTilesM][kMmaTilesN][4],
                                                            float* staging, const GemmEpilogue& epilogue,
                                                            int m0, int n0, GemmShape shape, int lane) {
  constexpr int kPitch = staging_pitch(kMmaTilesN * 8);
  constexpr int kLanesPerRow = kMmaTilesN;  // a chunk is as wide as a tile
  constexpr int kRowsPerPass = kWarpThreads / kLanesPerRow;
#pragma unroll
  for (int tile_m = 0; tile_m < kMmaTilesM; ++tile_m) {
    stage_accumulators(accum[tile_m], staging + tile_m * 16 * kPitch, lane);
  }
  __syncwarp();
  const int chunk_column = lane % kLanesPerRow * kChunkElems;
#pragma unroll 1
  for (int row = lane / kLanesPerRow; row < kMmaTilesM * 16; row += kRowsPerPass) {
    float values[kChunkElems];
    load_staged_chunk(values, staging + row * kPitch + chunk_column, lane);
    store_epilogue_chunk(values, epilogue, m0 + row, n0 + chunk_column, shape);
  }
}

}  // namespace hopper_gemm
