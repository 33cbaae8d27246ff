#pragma once

#include <cuda_bf16.h>

#include <cuda/std/cstdint>

#include "hopper_gemm/device_common.cuh"
#include "hopper_gemm/gemm_shape.hpp"

namespace hopper_gemm {

/// Rounds one warpgroup's wgmma accumulator, a [64, kN] fragment of fp32, to bf16 and stores it to row-major
/// D.
///
/// Thread t of the warpgroup holds, for each group of 8 columns, two neighbours of row t/32*16 + t%32/4 and
/// two of the row 8 below (PTX ISA "Register Fragments and Shared Memory Matrix Layouts: wgmma.mma_async D"),
/// so every store is a 4-byte pair and four lanes write 16 contiguous bytes.
///
/// d: 4-byte aligned, ldd even, in elements. m0, n0: where the fragment starts in D; n0 is even. Elements
/// outside [shape.m, shape.n] are not written. Threads: the whole warpgroup, `thread` counting from its first
/// thread.
template <int kN>
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
        *reinterpret_cast<__nv_bfloat162*>(d_pointer + group * 8) = pair;
      } else if (d_col < shape.n) {
        d_pointer[group * 8] = pair.x;
      }
    }
  }
}

}  // namespace hopper_gemm
