#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/fence.cuh>
#include <ptx/tma.cuh>

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/epilogue.cuh"
#include "device/fragment_epilogue.cuh"
#include "device/tensor_map_type.hpp"
#include "gemm/config.hpp"
#include "gemm/epilogue/epilogue_params.hpp"
#include "hopper_gemm/data_type.hpp"

namespace hopper_gemm::library {

/// Columns of a staging buffer of a 16-bit D: a row has 128 bytes.
inline constexpr int kStagingN = 64;
/// The same for fp32.
inline constexpr int kStagingN32 = 32;

/// The index of an element in a staging buffer whose rows have kColumns elements. The swizzle is as wide as a row: 64B
/// or 128B.
template <int kColumns, typename T>
__device__ __forceinline__ int swizzled_elem(int row, int column) {
  constexpr int kRowBytes = kColumns * int{sizeof(T)};
  constexpr int kChunk = 16 / int{sizeof(T)};
  static_assert(kRowBytes == 64 || kRowBytes == 128);
  const int chunk = column / kChunk ^ row * kRowBytes / 128 % (kRowBytes / 16);
  return row * kColumns + chunk * kChunk + column % kChunk;
}

/// An output, with what TMA needs to store it.
struct StagedOutput {
  EpilogueOutput matrix;
  const TensorMap* tensor_map;
  GemmShape shape;
  int tma_columns;  ///< see EpilogueParams::d_tma_columns
};

/// Stores a staging buffer of 16 rows by kColumns element by element, 32 neighbours at a time. matrix: of the tile's
/// batch.
/// row, column: where the buffer begins in the output; elements outside of shape are not written. Threads: the whole
/// warp.
template <int kColumns, typename Bits>
__device__ __forceinline__ void store_by_elements(const Bits* staging, Bits* matrix,
                                                  cuda::std::int64_t leading_dimension, GemmShape shape,
                                                  int row, int column, int lane) {
  constexpr int kRowsAtATime = 2;
  constexpr int kColumnsOfLane = kColumns / kWarpThreads;
  Bits* line = matrix + row * leading_dimension + column + lane;
#pragma unroll 1
  for (int first = 0; first < 16; first += kRowsAtATime) {
    Bits loaded[kRowsAtATime][kColumnsOfLane];
#pragma unroll
    for (int i = 0; i < kRowsAtATime; ++i) {
#pragma unroll
      for (int j = 0; j < kColumnsOfLane; ++j) {
        loaded[i][j] = staging[swizzled_elem<kColumns, Bits>(first + i, lane + j * kWarpThreads)];
      }
    }
#pragma unroll
    for (int i = 0; i < kRowsAtATime; ++i, line += leading_dimension) {
#pragma unroll
      for (int j = 0; j < kColumnsOfLane; ++j) {
        if (row + first + i < shape.m && column + lane + j * kWarpThreads < shape.n) {
          line[j * kWarpThreads] = loaded[i][j];
        }
      }
    }
  }
}

/// Stores a staging buffer of kColumns columns, of elements as large as Bits. It stores by TMA, or element by element
/// if TMA cannot address the output or would write past the last column. corner: where the buffer begins in the output.
/// Threads: the whole warp, converged.
template <int kColumns, typename Bits>
__device__ __forceinline__ void store_staging(const unsigned char* staging, const StagedOutput& output,
                                              FragmentCorner corner, int lane) {
  const bool by_elements = corner.column > output.tma_columns - kColumns;
  // TMA reads the buffer now, or may write to it next.
  ptx::fence_proxy_async_shared_cta();
  __syncwarp();
  if (by_elements) {
    store_by_elements<kColumns>(
        reinterpret_cast<const Bits*>(staging),
        static_cast<Bits*>(output.matrix.data) + corner.batch * output.matrix.batch_stride,
        output.matrix.leading_dimension, output.shape, corner.row, corner.column, lane);
    __syncwarp();
  }
  if (lane == 0) {
    if (!by_elements) {
      ptx::cp_async_bulk_tensor_s2g(output.tensor_map, {corner.column, corner.row, corner.batch},
                                    ptx::smem_addr(staging));
    }
    // Each buffer is a bulk group, also an empty one, because acquire() counts groups.
    ptx::cp_async_bulk_commit_group();
  }
}

/// Rounds kCount * 2 columns of a warp's 16 rows to the output's type, and stores them. There are 64 columns or 32.
/// fp32 is stored in parts of 32 columns.
///
/// output: its tensor map has boxes of 16 rows by 128 bytes, or of 16 rows by 64 bytes for 32 columns of 16 bits. The
/// swizzle is as wide as a box. first_part: how many parts of the subtile were stored before. acquire(part): returns a
/// free staging buffer of kStoreBufferBytes, 1024-byte aligned; the whole warp calls it. corner: where the columns
/// begin in the output. Threads: the whole warp, converged.
template <int kCount, typename Acquire>
__device__ __forceinline__ void store_columns(const float (&values)[kCount], const StagedOutput& output,
                                              FragmentCorner corner, int lane, int first_part,
                                              const Acquire& acquire) {
  constexpr int kColumns = kCount * 2;
  if (output.matrix.type == DataType::Float32) {
#pragma unroll
    for (int part = 0; part < kColumns / kStagingN32; ++part) {
      unsigned char* const staging = acquire(first_part + part);
      stage_fp32(reinterpret_cast<const float(&)[kStagingN32 / 2]>(values[part * kStagingN32 / 2]), staging,
                 0, lane);
      store_staging<kStagingN32, cuda::std::uint32_t>(
          staging, output, {corner.batch, corner.row, corner.column + part * kStagingN32}, lane);
    }
    return;
  }
  constexpr int kRowBytes = kColumns * 2;
  unsigned char* const staging = acquire(first_part);
  if (output.matrix.type == DataType::Float16) {
    stage_fragment_swizzled<__half, kColumns, kRowBytes>(values, ptx::smem_addr(staging), 0, lane);
  } else {
    stage_fragment_swizzled<__nv_bfloat16, kColumns, kRowBytes>(values, ptx::smem_addr(staging), 0, lane);
  }
  store_staging<kColumns, cuda::std::uint16_t>(staging, output, corner, lane);
}

}  // namespace hopper_gemm::library
