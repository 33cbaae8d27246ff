#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/fence.cuh>
#include <ptx/tma.cuh>

#include "device/epilogue.cuh"
#include "device/fragment_epilogue.cuh"
#include "device/tensor_map_type.hpp"
#include "gemm/config.hpp"
#include "gemm/epilogue/epilogue_params.hpp"
#include "hopper_gemm/data_type.hpp"

namespace hopper_gemm::library {

/// Columns of a 16-bit D that are 128 bytes, a row of a staging buffer.
inline constexpr int kStagingN = 64;
/// The same of fp32.
inline constexpr int kStagingN32 = 32;

/// Stores a staging buffer, of elements as large as Bits, by TMA. TMA writes whole 16-byte chunks, so that a buffer which
/// reaches beyond the last column of an output without whole chunks goes element by element. corner: where it begins in
/// the output. Threads: the whole warp, converged.
template <typename Bits>
__device__ __forceinline__ void store_staging(const unsigned char* staging, const EpilogueOutput& output,
                                              const TensorMap* tensor_map, const EpilogueParams& params,
                                              FragmentCorner corner, int lane) {
  constexpr int kColumns = 128 / int{sizeof(Bits)};
  const bool by_elements = !params.has_whole_chunks && corner.column > params.shape.n - kColumns;
  // TMA reads the buffer, or may write to it next.
  ptx::fence_proxy_async_shared_cta();
  __syncwarp();
  if (by_elements) {
    store_staged_fragment(reinterpret_cast<const Bits*>(staging),
                          static_cast<Bits*>(output.data) + corner.batch * output.batch_stride,
                          output.leading_dimension, corner.row, corner.column, params.shape, lane);
    __syncwarp();
  }
  if (lane == 0) {
    if (!by_elements) {
      ptx::cp_async_bulk_tensor_s2g(tensor_map, {corner.column, corner.row, corner.batch},
                                    ptx::smem_addr(staging));
    }
    // Each buffer is a group, be it empty: who waits for one counts them.
    ptx::cp_async_bulk_commit_group();
  }
}

/// Rounds kCount * 2 columns of a warp's 16 rows, 64 or 32, to the output's type and stores them: fp32 in parts of 32.
///
/// tensor_map: of the output, with boxes of 16 rows by 128 bytes, or of 32 columns of 16 bits by 64 bytes, and the swizzle of
/// that span. first_part: how many parts of the subtile have been stored before. acquire(part): a free staging buffer of
/// kStoreBufferBytes, 1024-byte aligned; the whole warp calls it. corner: where the columns begin in the output. Threads: the
/// whole warp, converged.
template <int kCount, typename Acquire>
__device__ __forceinline__ void store_columns(const float (&values)[kCount], const EpilogueOutput& output,
                                              const TensorMap* tensor_map, const EpilogueParams& params,
                                              FragmentCorner corner, int lane, int first_part,
                                              const Acquire& acquire) {
  constexpr int kColumns = kCount * 2;
  if (output.type == DataType::Float32) {
#pragma unroll
    for (int part = 0; part < kColumns / kStagingN32; ++part) {
      unsigned char* const staging = acquire(first_part + part);
      stage_fp32(reinterpret_cast<const float(&)[kStagingN32 / 2]>(values[part * kStagingN32 / 2]), staging,
                 0, lane);
      store_staging<cuda::std::uint32_t>(staging, output, tensor_map, params,
                                         {corner.batch, corner.row, corner.column + part * kStagingN32},
                                         lane);
    }
    return;
  }
  constexpr int kRowBytes = kColumns * 2;
  unsigned char* const staging = acquire(first_part);
  if (output.type == DataType::Float16) {
    stage_fragment_swizzled<__half, kColumns, kRowBytes>(values, ptx::smem_addr(staging), 0, lane);
  } else {
    stage_fragment_swizzled<__nv_bfloat16, kColumns, kRowBytes>(values, ptx::smem_addr(staging), 0, lane);
  }
  store_staging<cuda::std::uint16_t>(staging, output, tensor_map, params, corner, lane);
}

}  // namespace hopper_gemm::library
