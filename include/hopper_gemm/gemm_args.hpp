#pragma once

#include <cuda_bf16.h>

#include <cuda/std/cstdint>

#include "hopper_gemm/gemm_shape.hpp"
#ifndef __CUDACC_RTC__
#include "hopper_gemm/status.hpp"
#endif

namespace hopper_gemm {

/// One bf16 GEMM in the ladder's canonical "TN" layout: D[M,N] = A[M,K] · B[N,K]^T, accumulated in fp32.
///
/// All pointers are device pointers. Leading dimensions are in elements: the distance between the starts of
/// consecutive rows, at least the row's length. D must not overlap A or B. Elements of D's rows beyond N
/// (when ldd > N) are never written.
struct GemmArgs {
  GemmShape shape;
  const __nv_bfloat16* a;  // [M, K] row-major (K-major)
  cuda::std::int64_t lda;
  const __nv_bfloat16* b;  // [N, K] row-major (K-major)
  cuda::std::int64_t ldb;
  __nv_bfloat16* d;  // [M, N] row-major
  cuda::std::int64_t ldd;
};

/// Elements per 16 bytes of bf16: TMA addresses rows at this granularity.
inline constexpr int kTmaAlignmentElems = 16 / static_cast<int>(sizeof(__nv_bfloat16));

#ifndef __CUDACC_RTC__
/// The checks every TMA kernel of the ladder shares.
///
/// InvalidArgument: an extent below 1, a null pointer, a leading dimension shorter than its row.
/// Unsupported: K or a leading dimension that is not a multiple of 8 elements, a base address that is not
/// 16-byte aligned (PTX ISA "Tensors": TMA's addresses and pitches are multiples of 16 bytes), or a pitch of
/// 2^40 bytes and more.
Status check_tma_gemm(const GemmArgs& args);
#endif

}  // namespace hopper_gemm
