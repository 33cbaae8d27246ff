#pragma once

#include <cuda_bf16.h>

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/stmatrix.cuh>

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/element_pair.cuh"

namespace hopper_gemm {

/// A store's hint to L2: none, or that L2 should evict the line first, because nobody reads it again.
enum class StoreHint { None, EvictFirst };

/// Rounds one warpgroup's wgmma accumulators, a [64, kN] fragment of fp32, to bf16 and stores them to row-major D.
///
/// For each group of 8 columns, thread t of the warpgroup holds two neighbours of row t/32*16 + t%32/4, and two of the
/// row 8 below (PTX ISA "Register Fragments and Shared Memory Matrix Layouts: wgmma.mma_async D"). Every store is
/// therefore a pair of 4 bytes, and four lanes write 16 contiguous bytes.
///
/// d: 4-byte aligned. ldd: in elements, even. m0, n0: where the fragment starts in D; n0 is even. Elements outside
/// [shape.m, shape.n] are not written. thread: number in the warpgroup. Threads: the whole warpgroup.
template <int kN, StoreHint kHint = StoreHint::None>
__device__ __forceinline__ void store_accumulator(const float (&accum)[kN / 2], __nv_bfloat16* d,
                                                  cuda::std::int64_t ldd, int m0, int n0, GemmShape shape,
                                                  int thread) {
  const int warp = thread / kWarpThreads;
  const int lane = thread % kWarpThreads;
  const int row = m0 + warp * 16 + lane / 4;
  const int col = n0 + lane % 4 * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int d_row = row + half * 8;
    if (d_row >= shape.m) continue;
    __nv_bfloat16* const d_pointer = d + d_row * ldd + col;
#pragma unroll
    for (int group = 0; group < kN / 8; ++group) {
      const int d_col = col + group * 8;
      const __nv_bfloat162 pair =
          __floats2bfloat162_rn(accum[group * 4 + half * 2], accum[group * 4 + half * 2 + 1]);
      if (d_col + 1 < shape.n) {
        auto* const d_pair = reinterpret_cast<__nv_bfloat162*>(d_pointer + group * 8);
        if constexpr (kHint == StoreHint::EvictFirst) {
          __stcs(d_pair, pair);
        } else {
          *d_pair = pair;
        }
      } else if (d_col < shape.n) {
        d_pointer[group * 8] = pair.x;
      }
    }
  }
}

/// Rounds kN columns of a warp's 16 rows of accumulators to bf16 and stores them to shared memory, row-major [16, kN].
/// fragment: the kN / 2 accumulators of these columns. staging: 4-byte aligned. Threads: the whole warp.
template <int kN>
__device__ __forceinline__ void stage_fragment(const float* fragment, __nv_bfloat16* staging, int lane) {
  __nv_bfloat16* const first = staging + lane / 4 * kN + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < kN / 2; i += 4) {  // 8 columns
    *reinterpret_cast<__nv_bfloat162*>(first + i * 2) = __floats2bfloat162_rn(fragment[i], fragment[i + 1]);
    *reinterpret_cast<__nv_bfloat162*>(first + i * 2 + 8 * kN) =
        __floats2bfloat162_rn(fragment[i + 2], fragment[i + 3]);
  }
}

/// Rounds kColumns columns of a warp's 16 rows of accumulators to T and stores them to shared memory, from column
/// first_column on. kColumns is a multiple of 16, and T has 16 bits. The shared memory has 16 rows of kRowBytes, with
/// the swizzle of that width. stmatrix writes it without bank conflicts. fragment: the kColumns / 2 accumulators of
/// these columns. staging: 1024-byte aligned. Threads: the whole warp, converged.
template <typename T, int kColumns, int kRowBytes = 128>
__device__ __forceinline__ void stage_fragment_swizzled(const float* fragment, ptx::SmemAddr staging,
                                                        int first_column, int lane) {
  static_assert(sizeof(T) == 2 && kColumns % 16 == 0 && kColumns * 2 <= kRowBytes);
  static_assert(kRowBytes == 64 || kRowBytes == 128);
  // Lane 8 j + i addresses row i of matrix j. Matrices 0 and 1 are the upper and the lower eight rows of eight columns,
  // and matrices 2 and 3 those of the next eight columns.
  const int row = lane % 16;
  const int first_chunk = first_column / 8 + lane / 16;
  const ptx::SmemAddr first = staging + static_cast<cuda::std::uint32_t>(row * kRowBytes);
  const auto pack = [](float low, float high) {
    const auto pair = round_pair<T>(low, high);
    return *reinterpret_cast<const cuda::std::uint32_t*>(&pair);
  };
#pragma unroll
  for (int i = 0; i < kColumns / 2; i += 8) {  // 16 columns, two chunks of 16 bytes
    const cuda::std::uint32_t matrices[4] = {
        pack(fragment[i], fragment[i + 1]), pack(fragment[i + 2], fragment[i + 3]),
        pack(fragment[i + 4], fragment[i + 5]), pack(fragment[i + 6], fragment[i + 7])};
    const int swizzled_chunk = (i / 4 + first_chunk) ^ (row * kRowBytes / 128 % (kRowBytes / 16));
    ptx::stmatrix(first + static_cast<cuda::std::uint32_t>(swizzled_chunk * 16), matrices);
  }
}

/// Stores 16 rows of 128 bytes that stage_fragment_swizzled() or stage_fp32() has staged to row-major D, element by
/// element. It serves where TMA must not store, because TMA writes whole chunks of 16 bytes. row, column: where the
/// rows begin in D. Elements outside [shape.m, shape.n] are not written. Threads: the whole warp, synchronised after
/// the staging.
template <typename T>
__device__ __forceinline__ void store_staged_fragment(const T* staging, T* d, cuda::std::int64_t ldd, int row,
                                                      int column, GemmShape shape, int lane) {
  constexpr int kColumns = 128 / int{sizeof(T)};
  constexpr int kChunk = 16 / int{sizeof(T)};
  // Two lanes share a row, and each takes every other element.
  const int staged_row = lane / 2;
  if (row + staged_row >= shape.m) return;
  T* const d_row = d + (row + staged_row) * ldd + column;
#pragma unroll 1
  for (int i = lane % 2; i < kColumns && column + i < shape.n; i += 2) {
    const int swizzled_chunk = i / kChunk ^ staged_row % 8;
    d_row[i] = staging[staged_row * kColumns + swizzled_chunk * kChunk + i % kChunk];
  }
}

}  // namespace hopper_gemm
