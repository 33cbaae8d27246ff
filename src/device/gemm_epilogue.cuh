#pragma once

#include <cuda/std/cstdint>

#include "common/gemm_shape.hpp"
#include "device/activation.cuh"
#include "device/device_common.cuh"
#include "device/fragment_epilogue.cuh"
#include "device/mma_epilogue.cuh"
#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm {

/// The epilogue of one batch, with the batch's addresses of D, aux, C and bias.
__device__ __forceinline__ GemmEpilogue epilogue_of_batch(const GemmEpilogue& epilogue,
                                                          cuda::std::int64_t batch) {
  const auto offset = [batch](cuda::std::int64_t stride, DataType type) {
    return batch * stride * size_of(type);
  };
  GemmEpilogue result = epilogue;
  result.d = static_cast<char*>(epilogue.d) + offset(epilogue.d_batch_stride, epilogue.output_type);
  result.aux = static_cast<char*>(epilogue.aux) + offset(epilogue.aux_batch_stride, epilogue.output_type);
  result.c = static_cast<const char*>(epilogue.c) + offset(epilogue.c_batch_stride, epilogue.output_type);
  result.bias =
      static_cast<const char*>(epilogue.bias) + offset(epilogue.bias_batch_stride, epilogue.bias_type);
  return result;
}

/// Adds the bias of the row, or of the columns from `column` on, to the first `valid` elements of a chunk. It reads no
/// other elements. column: a multiple of kChunkElems. valid ≥ 1.
template <typename T>
__device__ __forceinline__ void add_bias(float (&values)[kChunkElems], const GemmEpilogue& epilogue, int row,
                                         int column, int valid) {
  const T* const bias = static_cast<const T*>(epilogue.bias);
  if (epilogue.bias_kind == Bias::PerColumn) {
    add_chunk(values, 1.0F, bias + column, valid, has_aligned_chunks<T>(bias, 0));
    return;
  }
  const float of_row = static_cast<float>(bias[row]);
#pragma unroll
  for (int i = 0; i < kChunkElems; ++i) values[i] += of_row;
}

/// The same for a bias of any type, or none.
__device__ __forceinline__ void add_bias(float (&values)[kChunkElems], const GemmEpilogue& epilogue, int row,
                                         int column, int valid) {
  if (epilogue.bias_kind == Bias::None) return;
  switch (epilogue.bias_type) {
    case DataType::BFloat16: add_bias<__nv_bfloat16>(values, epilogue, row, column, valid); break;
    case DataType::Float16: add_bias<__half>(values, epilogue, row, column, valid); break;
    case DataType::Float32: add_bias<float>(values, epilogue, row, column, valid); break;
  }
}

/// Rounds the first `valid` elements of a chunk and stores them at row, column. The output may have any alignment and
/// leading dimension. If these allow it, the thread stores vectors of 16 bytes.
template <typename T>
__device__ __forceinline__ void store_chunk_as(const float (&values)[kChunkElems],
                                               const EpilogueOutput& output, int row, int column, int valid) {
  store_chunk(values, static_cast<T*>(output.data) + row * output.leading_dimension + column, valid,
              has_aligned_chunks<T>(output.data, output.leading_dimension));
}

/// The same for the output's type.
__device__ __forceinline__ void store_chunk(const float (&values)[kChunkElems], const EpilogueOutput& output,
                                            int row, int column, int valid) {
  switch (output.type) {
    case DataType::BFloat16: store_chunk_as<__nv_bfloat16>(values, output, row, column, valid); break;
    case DataType::Float16: store_chunk_as<__half>(values, output, row, column, valid); break;
    case DataType::Float32: store_chunk_as<float>(values, output, row, column, valid); break;
  }
}

/// A lane's view of its warp's staging buffer: one chunk of every kRowsPerPass-th row.
template <int kMmaTilesM, int kMmaTilesN>
class StagedChunks {
 public:
  static constexpr int kRows = kMmaTilesM * 16;
  static constexpr int kPitch = staging_pitch(kMmaTilesN * 8);
  static constexpr int kLanesPerRow = kMmaTilesN;  // a chunk is as wide as a tile
  static constexpr int kRowsPerPass = kWarpThreads / kLanesPerRow;

  __device__ __forceinline__ StagedChunks(float* staging, int lane) : staging_(staging), lane_(lane) {}

  __device__ __forceinline__ int first_row() const { return lane_ / kLanesPerRow; }
  /// Where the lane's chunks start in their rows.
  __device__ __forceinline__ int column() const { return lane_ % kLanesPerRow * kChunkElems; }

  /// next: 1 for the chunk beside the lane's own.
  __device__ __forceinline__ void load(float (&values)[kChunkElems], int row, int next = 0) const {
    load_staged_chunk(values, chunk(row) + next * kChunkElems, lane_);
  }
  __device__ __forceinline__ void store(const float (&values)[kChunkElems], int row) const {
    store_staged_chunk(values, chunk(row), lane_);
  }

 private:
  __device__ __forceinline__ float* chunk(int row) const { return staging_ + row * kPitch + column(); }

  float* staging_;
  int lane_;
};

/// Replaces staged sums by alpha * sum + beta * C. It loads several rows of C, of type `T`, at a time, because nothing
/// else hides their latency. The other parameters are those of store_epilogue_accumulators().
template <typename T, int kMmaTilesM, int kMmaTilesN>
__device__ __forceinline__ void add_c_to_staged(const StagedChunks<kMmaTilesM, kMmaTilesN>& staged,
                                                const GemmEpilogue& epilogue, int m0, int n0,
                                                GemmShape shape) {
  using Staged = StagedChunks<kMmaTilesM, kMmaTilesN>;
  constexpr int kRowsAtOnce = 4;
  static_assert(Staged::kRows % (kRowsAtOnce * Staged::kRowsPerPass) == 0);
  const bool aligned = has_aligned_chunks<T>(epilogue.c, epilogue.ldc);
  const int valid = shape.n - n0 - staged.column();
  const T* const c = static_cast<const T*>(epilogue.c) + m0 * epilogue.ldc + n0 + staged.column();
#pragma unroll 1
  for (int row = staged.first_row(); row < Staged::kRows; row += kRowsAtOnce * Staged::kRowsPerPass) {
    ElementChunk<T> chunks[kRowsAtOnce];
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      const int c_row = row + i * Staged::kRowsPerPass;
      load_chunk(chunks[i], c + c_row * epilogue.ldc, m0 + c_row < shape.m ? valid : 0, aligned);
    }
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      float values[kChunkElems];
      staged.load(values, row + i * Staged::kRowsPerPass);
#pragma unroll
      for (int e = 0; e < kChunkElems; ++e) values[e] *= epilogue.alpha;
      add_chunk(values, epilogue.beta, chunks[i]);
      staged.store(values, row + i * Staged::kRowsPerPass);
    }
  }
}

/// Finishes a warp's accumulators of mma.m16n8k16, [kMmaTilesM * 16, kMmaTilesN * 8] of fp32, and stores them to D. It
/// first moves all of them to shared memory. The loops that follow then have all registers, and there is one copy of
/// their code.
///
/// C and D may have any alignment and leading dimension. staging: staging_elems(kMmaTilesN * 8, kMmaTilesM * 16) floats
/// of the warp's own, 16-byte aligned. epilogue: of the tiles' batch. m0, n0: where the tiles start in D; n0 is a
/// multiple of 8. Elements outside [shape.m, shape.n] are neither read nor written. Threads: the whole warp.
template <int kMmaTilesM, int kMmaTilesN>
__device__ __forceinline__ void store_epilogue_accumulators(const float (&accum)[kMmaTilesM][kMmaTilesN][4],
                                                            float* staging, const GemmEpilogue& epilogue,
                                                            int m0, int n0, GemmShape shape, int lane) {
  using Staged = StagedChunks<kMmaTilesM, kMmaTilesN>;
#pragma unroll
  for (int tile_m = 0; tile_m < kMmaTilesM; ++tile_m) {
    stage_accumulators(accum[tile_m], staging + tile_m * 16 * Staged::kPitch, lane);
  }
  __syncwarp();
  const Staged staged(staging, lane);
  float scale = epilogue.alpha;
  if (epilogue.beta != 0) {
    scale = 1;
    switch (epilogue.output_type) {
      case DataType::BFloat16: add_c_to_staged<__nv_bfloat16>(staged, epilogue, m0, n0, shape); break;
      case DataType::Float16: add_c_to_staged<__half>(staged, epilogue, m0, n0, shape); break;
      case DataType::Float32: add_c_to_staged<float>(staged, epilogue, m0, n0, shape); break;
    }
  }
  const int column = n0 + staged.column();
  if (column >= shape.n) return;
#pragma unroll 1
  for (int row = staged.first_row(); row < Staged::kRows && m0 + row < shape.m; row += Staged::kRowsPerPass) {
    const auto load_chunk_of = [&](float(&values)[kChunkElems], int chunk) {
      const int chunk_column = column + chunk * kChunkElems;
      staged.load(values, row, chunk);
#pragma unroll
      for (float& value : values) value *= scale;
      add_bias(values, epilogue, m0 + row, chunk_column, shape.n - chunk_column);
    };
    float values[kChunkElems];
    load_chunk_of(values, 0);
    if (epilogue.has_aux) store_chunk(values, aux_of(epilogue), m0 + row, column, shape.n - column);
    if (!epilogue.is_gated) {
      activate(values, epilogue.activation);
      store_chunk(values, d_of(epilogue), m0 + row, column, shape.n - column);
      continue;
    }
    static_assert(kGateColumns == kChunkElems);
    if (column / kGateColumns % 2 != 0) continue;
    float up[kChunkElems];
    load_chunk_of(up, 1);
    activate(values, epilogue.activation);
#pragma unroll
    for (int i = 0; i < kChunkElems; ++i) values[i] *= up[i];
    store_chunk(values, d_of(epilogue), m0 + row, gated_column(column), kChunkElems);
  }
}

}  // namespace hopper_gemm
