#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/std/cstdint>

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/element_pair.cuh"
#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm {

/// Elements of a row that a thread stores together: 16 bytes of bf16 or fp16.
inline constexpr int kChunkElems = 8;

/// Whether all chunks of a matrix of `T` start at multiples of 16 bytes. This depends only on the matrix, so that all
/// threads of a launch take the same branch, except at the last columns.
template <typename T>
__device__ __forceinline__ bool has_aligned_chunks(const void* matrix, cuda::std::int64_t leading_dimension) {
  constexpr cuda::std::int64_t kVectorElems = 16 / int{sizeof(T)};
  return reinterpret_cast<cuda::std::uintptr_t>(matrix) % 16 == 0 && leading_dimension % kVectorElems == 0;
}

/// Rounds kChunkElems neighbours to `T` and stores the first `valid` of them, or none if it is negative. aligned: d is
/// 16-byte aligned.
template <typename T>
__device__ __forceinline__ void store_chunk(const float (&values)[kChunkElems], T* d, int valid,
                                            bool aligned) {
  using Pair = typename PairOf<T>::Type;
  constexpr int kPairs = kChunkElems / 2;
  struct alignas(16) Chunk {
    Pair pairs[kPairs];
  } chunk;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) chunk.pairs[i] = round_pair<T>(values[2 * i], values[2 * i + 1]);
  if (aligned && valid >= kChunkElems) {
    constexpr int kVectors = sizeof(Chunk) / sizeof(uint4);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      reinterpret_cast<uint4*>(d)[i] = reinterpret_cast<const uint4*>(&chunk)[i];
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    if (2 * i < valid) d[2 * i] = chunk.pairs[i].x;
    if (2 * i + 1 < valid) d[2 * i + 1] = chunk.pairs[i].y;
  }
}

/// kChunkElems neighbours of a row, of type `T`.
template <typename T>
struct alignas(16) ElementChunk {
  T elements[kChunkElems];
};

/// Loads the first `valid` of kChunkElems neighbours, or none if it is negative. The others are not read and become
/// zero.
/// aligned: source is 16-byte aligned.
template <typename T>
__device__ __forceinline__ void load_chunk(ElementChunk<T>& chunk, const T* source, int valid, bool aligned) {
  if (aligned && valid >= kChunkElems) {
    constexpr int kVectors = sizeof(chunk) / sizeof(uint4);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      reinterpret_cast<uint4*>(&chunk)[i] = reinterpret_cast<const uint4*>(source)[i];
    }
  } else {
#pragma unroll
    for (int i = 0; i < kChunkElems; ++i) chunk.elements[i] = i < valid ? source[i] : T(0.0F);
  }
}

/// Adds beta * chunk to the values.
template <typename T>
__device__ __forceinline__ void add_chunk(float (&values)[kChunkElems], float beta,
                                          const ElementChunk<T>& chunk) {
#pragma unroll
  for (int i = 0; i < kChunkElems; ++i) values[i] += beta * static_cast<float>(chunk.elements[i]);
}

/// Adds beta * c to the first `valid` values, or to none if it is negative. Other elements of c are not read. aligned:
/// c is 16-byte aligned.
template <typename T>
__device__ __forceinline__ void add_chunk(float (&values)[kChunkElems], float beta, const T* c, int valid,
                                          bool aligned) {
  ElementChunk<T> chunk;
  load_chunk(chunk, c, valid, aligned);
  add_chunk(values, beta, chunk);
}

/// Rounds a warp's accumulators of mma.m16n8k16, [kMmaTilesM * 16, kMmaTilesN * 8] of fp32, to `T` and stores
/// them to row-major D.
///
/// In each tile lane t holds two neighbours in row t / 4 and two in the row 8 below (PTX ISA "Matrix Fragments for
/// mma.m16n8k16"). Every store is therefore a pair, and four lanes write 16 contiguous bytes of 16-bit elements.
///
/// d: aligned to a pair. ldd: in elements, even. m0, n0: where the tiles start in D; n0 is even. Elements outside
/// [shape.m, shape.n] are not written. Threads: the whole warp.
template <int kMmaTilesM, int kMmaTilesN, typename T>
__device__ __forceinline__ void store_mma_accumulators(const float (&accum)[kMmaTilesM][kMmaTilesN][4], T* d,
                                                       cuda::std::int64_t ldd, int m0, int n0,
                                                       GemmShape shape, int lane) {
  using Pair = typename PairOf<T>::Type;
#pragma unroll
  for (int tile_m = 0; tile_m < kMmaTilesM; ++tile_m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = m0 + tile_m * 16 + half * 8 + lane / 4;
      if (row >= shape.m) continue;
      T* const d_row = d + row * ldd;
#pragma unroll
      for (int tile_n = 0; tile_n < kMmaTilesN; ++tile_n) {
        const int column = n0 + tile_n * 8 + lane % 4 * 2;
        const float* const values = accum[tile_m][tile_n] + half * 2;
        const Pair pair = round_pair<T>(values[0], values[1]);
        if (column + 1 < shape.n) {
          *reinterpret_cast<Pair*>(d_row + column) = pair;
        } else if (column < shape.n) {
          d_row[column] = pair.x;
        }
      }
    }
  }
}

/// The part of a GEMM that its epilogue needs: D = alpha * product + beta * C, rounded to `type`.
struct GemmOutput {
  void* d;  // [M, N] row-major
  cuda::std::int64_t ldd;
  const void* c;  // [M, N] row-major; not read if beta is 0
  cuda::std::int64_t ldc;
  DataType type;  // of C and D
  float alpha;
  float beta;
};

/// Finishes and stores a chunk of D from `product`, at row, column. column: a multiple of kChunkElems; it may lie past
/// D's edge.
template <typename T>
__device__ __forceinline__ void store_scaled_chunk(const float (&product)[kChunkElems],
                                                   const GemmOutput& output, int row, int column,
                                                   GemmShape shape) {
  const int valid = row < shape.m ? shape.n - column : 0;
  float values[kChunkElems];
#pragma unroll
  for (int i = 0; i < kChunkElems; ++i) values[i] = output.alpha * product[i];
  if (output.beta != 0) {
    add_chunk(values, output.beta, static_cast<const T*>(output.c) + row * output.ldc + column, valid,
              has_aligned_chunks<T>(output.c, output.ldc));
  }
  store_chunk(values, static_cast<T*>(output.d) + row * output.ldd + column, valid,
              has_aligned_chunks<T>(output.d, output.ldd));
}

/// Floats from a row of the staging buffer to the next. The eight extra floats keep the four rows that half a warp
/// writes at a time in different banks.
HG_HOST_DEVICE constexpr int staging_pitch(int columns) { return columns + 8; }

/// Floats of a staging buffer of so many rows. store_scaled_accumulators() takes 16 rows for each warp.
HG_HOST_DEVICE constexpr int staging_elems(int columns, int rows = 16) {
  return rows * staging_pitch(columns);
}

/// Writes sixteen rows of a warp's accumulators, a row of tiles, to `rows` of the staging buffer. Threads: the whole
/// warp, which must synchronise before it reads them.
template <int kMmaTilesN>
__device__ __forceinline__ void stage_accumulators(const float (&accum)[kMmaTilesN][4], float* rows,
                                                   int lane) {
  constexpr int kPitch = staging_pitch(kMmaTilesN * 8);
  float* const pair_of_lane = rows + lane / 4 * kPitch + lane % 4 * 2;
#pragma unroll
  for (int tile_n = 0; tile_n < kMmaTilesN; ++tile_n) {
    const float(&values)[4] = accum[tile_n];
    float* const pair = pair_of_lane + tile_n * 8;
    *reinterpret_cast<float2*>(pair) = float2{values[0], values[1]};
    *reinterpret_cast<float2*>(pair + 8 * kPitch) = float2{values[2], values[3]};
  }
}

/// Loads a chunk from the staging buffer. Neighbouring lanes read neighbouring chunks.
__device__ __forceinline__ void load_staged_chunk(float (&values)[kChunkElems], const float* chunk,
                                                  int lane) {
  // Chunks are 32 bytes, so lanes four apart would conflict in the same banks. They read their halves in opposite
  // order.
  const int first_half = lane / 4 % 2 * 4;
  const float4 one = *reinterpret_cast<const float4*>(chunk + first_half);
  const float4 other = *reinterpret_cast<const float4*>(chunk + (first_half ^ 4));
  const float4 low = first_half == 0 ? one : other;
  const float4 high = first_half == 0 ? other : one;
  values[0] = low.x;
  values[1] = low.y;
  values[2] = low.z;
  values[3] = low.w;
  values[4] = high.x;
  values[5] = high.y;
  values[6] = high.z;
  values[7] = high.w;
}

/// Replaces a chunk in the staging buffer, in the order of load_staged_chunk().
__device__ __forceinline__ void store_staged_chunk(const float (&values)[kChunkElems], float* chunk,
                                                   int lane) {
  const int first_half = lane / 4 % 2 * 4;
  const float4 low = float4{values[0], values[1], values[2], values[3]};
  const float4 high = float4{values[4], values[5], values[6], values[7]};
  *reinterpret_cast<float4*>(chunk + first_half) = first_half == 0 ? low : high;
  *reinterpret_cast<float4*>(chunk + (first_half ^ 4)) = first_half == 0 ? high : low;
}

/// Scales a warp's accumulators of mma.m16n8k16, [kMmaTilesM * 16, kMmaTilesN * 8] of fp32, adds beta * C, rounds, and
/// stores to row-major D. They pass through shared memory, sixteen rows at a time, because lanes hold pairs and should
/// store chunks.
///
/// C and D may have any alignment and leading dimension. If these allow it, a lane moves vectors of 16 bytes. staging:
/// staging_elems(kMmaTilesN * 8) floats of the warp's own, 16-byte aligned. m0, n0: where the tiles start in D; n0
/// is a multiple of 8. Elements outside [shape.m, shape.n] are neither read nor written. Threads: the whole warp.
template <int kMmaTilesM, int kMmaTilesN>
__device__ __forceinline__ void store_scaled_accumulators(const float (&accum)[kMmaTilesM][kMmaTilesN][4],
                                                          float* staging, const GemmOutput& output, int m0,
                                                          int n0, GemmShape shape, int lane) {
  constexpr int kPitch = staging_pitch(kMmaTilesN * 8);
  constexpr int kLanesPerRow = kMmaTilesN;  // a chunk is as wide as a tile
  constexpr int kRowsPerPass = kWarpThreads / kLanesPerRow;
  const int chunk_row = lane / kLanesPerRow;
  const int chunk_column = lane % kLanesPerRow * kChunkElems;
#pragma unroll
  for (int tile_m = 0; tile_m < kMmaTilesM; ++tile_m) {
    __syncwarp();
    stage_accumulators(accum[tile_m], staging, lane);
    __syncwarp();
#pragma unroll 1
    for (int row = chunk_row; row < 16; row += kRowsPerPass) {
      float product[kChunkElems];
      load_staged_chunk(product, staging + row * kPitch + chunk_column, lane);
      const int d_row = m0 + tile_m * 16 + row;
      const int d_column = n0 + chunk_column;
      switch (output.type) {
        case DataType::BFloat16:
          store_scaled_chunk<__nv_bfloat16>(product, output, d_row, d_column, shape);
          break;
        case DataType::Float16: store_scaled_chunk<__half>(product, output, d_row, d_column, shape); break;
        case DataType::Float32: store_scaled_chunk<float>(product, output, d_row, d_column, shape); break;
      }
    }
  }
}

}  // namespace hopper_gemm
