#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/ldmatrix.cuh>
#include <ptx/mbarrier.cuh>
#include <ptx/tma.cuh>

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/element_pair.cuh"
#include "device/fragment_epilogue.cuh"
#include "device/wait_watchdog.cuh"
#include "gemm/config.hpp"
#include "gemm/epilogue/epilogue_params.hpp"
#include "gemm/epilogue/store.cuh"
#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm::library {

// C comes through the staging buffers by which D will leave, and takes neither registers nor shared memory of its own. Where
// C is D, nobody else writes what is read here.

__device__ __forceinline__ int batch_of_c(const MatrixParams& matrices, FragmentCorner corner) {
  return matrices.c_is_batched ? corner.batch : 0;
}

/// The barriers that C completes on, one for each consumer warp.
template <int kWarps>
struct CBarriers {
  cuda::std::uint64_t barriers[kWarps];

  /// Threads: one; then a barrier of the CTA.
  __device__ __forceinline__ void init() {
    for (cuda::std::uint64_t& barrier : barriers) ptx::mbarrier_init(ptx::smem_addr(&barrier), 1);
  }
};

/// How many staging buffers C of a subtile takes.
__device__ __forceinline__ int boxes_of_c(const GemmEpilogue& operations) {
  return operations.output_type == DataType::Float32 ? kStagingN / kStagingN32 : 1;
}

/// Asks TMA for C of a subtile of 16 rows by kStagingN columns. staging(box): a buffer, 1024-byte aligned, that nothing reads
/// or writes any more. corner: where the subtile begins in C. Threads: one.
template <typename Staging>
__device__ __forceinline__ void begin_load_c(const Staging& staging, int boxes, const MatrixParams& matrices,
                                             FragmentCorner corner, ptx::SmemAddr bar) {
  ptx::mbarrier_arrive_expect_tx(bar, boxes * kStoreBufferBytes);
  for (int box = 0; box < boxes; ++box) {
    ptx::cp_async_bulk_tensor_g2s(
        ptx::smem_addr(staging(box)), &matrices.tensor_map_c,
        {corner.column + box * kStagingN32, corner.row, batch_of_c(matrices, corner)}, bar);
  }
}

/// Makes alpha · sum + beta · C, of a staged box of C of 16-bit elements. Threads: the whole warp, converged.
template <typename T, int kCount>
__device__ __forceinline__ void scale_and_add_staged(float (&sums)[kCount], ptx::SmemAddr staging,
                                                     float alpha, float beta, int lane) {
  // As stage_fragment_swizzled() stores them.
  const int row = lane % 16;
  const ptx::SmemAddr first = staging + static_cast<cuda::std::uint32_t>(row * 128);
#pragma unroll
  for (int i = 0; i < kCount; i += 8) {  // 16 columns, two chunks of 16 bytes
    const int swizzled_chunk = (i / 4 + lane / 16) ^ (row % 8);
    cuda::std::uint32_t words[4];
    ptx::ldmatrix(words, first + static_cast<cuda::std::uint32_t>(swizzled_chunk * 16));
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      const float2 pair = pair_of<T>(words, word);
      float* const of_lane = sums + i + word * 2;
      of_lane[0] = alpha * of_lane[0] + beta * pair.x;
      of_lane[1] = alpha * of_lane[1] + beta * pair.y;
    }
  }
}

/// The same of a box of fp32.
template <int kCount>
__device__ __forceinline__ void scale_and_add_staged_fp32(float (&sums)[kCount], unsigned char* staging,
                                                          float alpha, float beta, int lane) {
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    const float2 pair = *reinterpret_cast<const float2*>(
        staged_fp32(staging, lane / 4 + i / 2 % 2 * 8, i / 4 * 8 + lane % 4 * 2));
    sums[i] = alpha * sums[i] + beta * pair.x;
    sums[i + 1] = alpha * sums[i + 1] + beta * pair.y;
  }
}

/// The same of the 16-bit type that there is.
__device__ __forceinline__ void scale_and_add_staged_16_bits(float (&sums)[kStagingN / 2],
                                                             const GemmEpilogue& operations,
                                                             ptx::SmemAddr staging, int lane) {
  if (operations.output_type == DataType::Float16) {
    scale_and_add_staged<__half>(sums, staging, operations.alpha, operations.beta, lane);
  } else {
    scale_and_add_staged<__nv_bfloat16>(sums, staging, operations.alpha, operations.beta, lane);
  }
}

/// Makes alpha · sum + beta · C of kStagingN columns of a warp's 16 rows, of a C of 16-bit elements that TMA can load. A warp
/// uses its barrier an even number of times a tile, so that the phase follows from the subtile and takes no register.
///
/// subtile: the warp's count of subtiles of the tile. staging: 1024-byte aligned, and free. corner: where the columns begin
/// in C. Threads: the whole warp, converged.
__device__ __forceinline__ void scale_and_add_c(float (&sums)[kStagingN / 2], const GemmEpilogue& operations,
                                                const MatrixParams& matrices, FragmentCorner corner,
                                                unsigned char* staging, ptx::SmemAddr bar, int subtile,
                                                int lane) {
  if (lane == 0) begin_load_c([&](int) { return staging; }, 1, matrices, corner, bar);
  watched_wait(bar, static_cast<cuda::std::uint32_t>(subtile % 2), "reader of C", 0);
  __syncwarp();
  scale_and_add_staged_16_bits(sums, operations, ptx::smem_addr(staging), lane);
}

/// Stages a box of C, of kColumns elements of a row, element by element, 32 neighbours at a time: what TMA cannot load.
/// c: of the box's batch. Elements outside of shape become anything. Threads: the whole warp.
template <int kColumns, typename Bits>
__device__ __forceinline__ void stage_c_by_elements(Bits* staging, const Bits* c,
                                                    cuda::std::int64_t leading_dimension, GemmShape shape,
                                                    int row, int column, int lane) {
  constexpr int kAtATime = 8;
#pragma unroll 1
  for (int first = lane; first < 16 * kColumns; first += kAtATime * kWarpThreads) {
    Bits loaded[kAtATime] = {};
#pragma unroll
    for (int j = 0; j < kAtATime; ++j) {
      const int i = first + j * kWarpThreads;
      const int c_row = row + i / kColumns;
      const int c_column = column + i % kColumns;
      if (c_row < shape.m && c_column < shape.n) loaded[j] = c[c_row * leading_dimension + c_column];
    }
#pragma unroll
    for (int j = 0; j < kAtATime; ++j) {
      const int i = first + j * kWarpThreads;
      staging[swizzled_elem<kColumns, Bits>(i / kColumns, i % kColumns)] = loaded[j];
    }
  }
}

/// A consumer warp's C, whatever its type and alignment, subtile after subtile. What TMA can load is asked for before it is
/// needed, and is under way while the warp does something else.
class CReader {
 public:
  __device__ __forceinline__ CReader(const EpilogueParams& params, const MatrixParams& matrices,
                                     ptx::SmemAddr bar, int lane)
      : params_(params), matrices_(matrices), bar_(bar), lane_(lane) {}

  /// Asks for a subtile's C. staging(box): see begin_load_c(); nothing may touch the buffers until add(). Threads: the whole
  /// warp, converged.
  template <typename Staging>
  __device__ __forceinline__ void begin(const Staging& staging, FragmentCorner corner) const {
    if (matrices_.loads_c_by_tma && lane_ == 0) {
      begin_load_c(staging, boxes_of_c(params_.operations), matrices_, corner, bar_);
    }
  }

  /// Makes alpha · sum + beta · C of the subtile that was asked for last, in the same buffers. Threads: the whole warp,
  /// converged.
  template <typename Staging>
  __device__ __forceinline__ void add(float (&sums)[kStagingN / 2], const Staging& staging,
                                      FragmentCorner corner) {
    const GemmEpilogue& operations = params_.operations;
    if (matrices_.loads_c_by_tma) {
      watched_wait(bar_, phase_, "reader of C", 0);
      phase_ ^= 1;
    } else if (operations.output_type == DataType::Float32) {
      for (int box = 0; box < kStagingN / kStagingN32; ++box) {
        stage_by_elements<kStagingN32, cuda::std::uint32_t>(staging(box), corner, box * kStagingN32);
      }
    } else {
      stage_by_elements<kStagingN, cuda::std::uint16_t>(staging(0), corner, 0);
    }
    __syncwarp();
    if (operations.output_type != DataType::Float32) {
      scale_and_add_staged_16_bits(sums, operations, ptx::smem_addr(staging(0)), lane_);
      return;
    }
#pragma unroll
    for (int box = 0; box < kStagingN / kStagingN32; ++box) {
      scale_and_add_staged_fp32(reinterpret_cast<float(&)[kStagingN32 / 2]>(sums[box * kStagingN32 / 2]),
                                staging(box), operations.alpha, operations.beta, lane_);
    }
  }

 private:
  template <int kColumns, typename Bits>
  __device__ __forceinline__ void stage_by_elements(unsigned char* staging, FragmentCorner corner,
                                                    int first_column) const {
    const GemmEpilogue& operations = params_.operations;
    stage_c_by_elements<kColumns>(
        reinterpret_cast<Bits*>(staging),
        static_cast<const Bits*>(operations.c) + batch_of_c(matrices_, corner) * operations.c_batch_stride,
        operations.ldc, params_.shape, corner.row, corner.column + first_column, lane_);
  }

  const EpilogueParams& params_;
  const MatrixParams& matrices_;
  ptx::SmemAddr bar_;
  cuda::std::uint32_t phase_ = 0;
  int lane_;
};

/// Brings C under a part of D to L2, from where it comes soon enough when the epilogue asks for it. corner: of the part, of
/// so many rows and columns. Threads: a warp, converged.
__device__ __forceinline__ void prefetch_c(const MatrixParams& matrices, DataType type, FragmentCorner corner,
                                           int rows, int columns, int lane) {
  constexpr int kBoxRows = 16;
  const int box_columns = 128 / size_of(type);
  const int across = columns / box_columns;
  for (int box = lane; box < rows / kBoxRows * across; box += kWarpThreads) {
    ptx::cp_async_bulk_prefetch_tensor(&matrices.tensor_map_c,
                                       {corner.column + box % across * box_columns,
                                        corner.row + box / across * kBoxRows, batch_of_c(matrices, corner)});
  }
}

}  // namespace hopper_gemm::library
