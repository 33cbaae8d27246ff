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

// C comes through the staging buffers by which D leaves later. It takes no registers and no shared memory of its own.
// If C is D, only the warp that reads an element writes it.

__device__ __forceinline__ int batch_of_c(const MatrixParams& matrices, FragmentCorner corner) {
  return matrices.c_is_batched ? corner.batch : 0;
}

/// The mbarriers that boxes of C complete on: one for each staging buffer of each consumer warp.
template <int kWarps, int kBuffers>
struct CBarriers {
  cuda::std::uint64_t barriers[kWarps][kBuffers];

  /// Threads: one. A barrier of the CTA must follow.
  __device__ __forceinline__ void init() {
    for (auto& of_warp : barriers) {
      for (cuda::std::uint64_t& barrier : of_warp) ptx::mbarrier_init(ptx::smem_addr(&barrier), 1);
    }
  }
};

/// Starts the load of a box of C, 16 rows by 128 bytes. staging: 1024-byte aligned; earlier reads and writes of it must
/// be complete. corner: where the box begins in C. Threads: one.
__device__ __forceinline__ void begin_load_c(const unsigned char* staging, const MatrixParams& matrices,
                                             FragmentCorner corner, ptx::SmemAddr bar) {
  ptx::mbarrier_arrive_expect_tx(bar, kStoreBufferBytes);
  ptx::cp_async_bulk_tensor_g2s(ptx::smem_addr(staging), &matrices.tensor_map_c,
                                {corner.column, corner.row, batch_of_c(matrices, corner)}, bar);
}

/// Replaces sums by alpha · sum + beta · C, for a staged box of C of 16-bit elements. Threads: the whole warp,
/// converged.
template <typename T, int kCount>
__device__ __forceinline__ void scale_and_add_staged(float (&sums)[kCount], ptx::SmemAddr staging,
                                                     float alpha, float beta, int lane) {
  // The layout is that of stage_fragment_swizzled().
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

/// The same for a box of fp32.
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

/// The same for a box of the output's type, which must have 16 bits.
__device__ __forceinline__ void scale_and_add_staged_16_bits(float (&sums)[kStagingN / 2],
                                                             const GemmEpilogue& operations,
                                                             ptx::SmemAddr staging, int lane) {
  if (operations.output_type == DataType::Float16) {
    scale_and_add_staged<__half>(sums, staging, operations.alpha, operations.beta, lane);
  } else {
    scale_and_add_staged<__nv_bfloat16>(sums, staging, operations.alpha, operations.beta, lane);
  }
}

/// Replaces the sums of kStagingN columns of a warp's 16 rows by alpha · sum + beta · C. C has 16-bit elements, and TMA
/// can load it. A warp uses its mbarrier an even number of times for each tile. The phase therefore follows from the
/// subtile's number and takes no register.
///
/// subtile: its number in the warp's part of the tile. has_begun: begin_load_c() has been called. staging: 1024-byte
/// aligned, and free. corner: where the columns begin in C. Threads: the whole warp, converged.
__device__ __forceinline__ void scale_and_add_c(float (&sums)[kStagingN / 2], const GemmEpilogue& operations,
                                                const MatrixParams& matrices, FragmentCorner corner,
                                                unsigned char* staging, ptx::SmemAddr bar, int subtile,
                                                bool has_begun, int lane) {
  if (lane == 0 && !has_begun) begin_load_c(staging, matrices, corner, bar);
  watched_wait(bar, static_cast<cuda::std::uint32_t>(subtile % 2), "reader of C", 0);
  __syncwarp();
  scale_and_add_staged_16_bits(sums, operations, ptx::smem_addr(staging), lane);
}

/// Stages a box of a C that TMA cannot load. The warp loads it element by element, 32 neighbours at a time. kColumns:
/// elements of a row of the box. c: of the box's batch. Elements outside of shape are undefined. Threads: the whole
/// warp.
template <int kColumns, typename Bits>
__device__ __forceinline__ void stage_c_by_elements(Bits* staging, const Bits* c,
                                                    cuda::std::int64_t leading_dimension, GemmShape shape,
                                                    int row, int column, int lane) {
  constexpr int kRowsAtATime = 4;
  constexpr int kColumnsOfLane = kColumns / kWarpThreads;
  const Bits* line = c + row * leading_dimension + column + lane;
#pragma unroll 1
  for (int first = 0; first < 16; first += kRowsAtATime) {
    Bits loaded[kRowsAtATime][kColumnsOfLane] = {};
#pragma unroll
    for (int i = 0; i < kRowsAtATime; ++i, line += leading_dimension) {
#pragma unroll
      for (int j = 0; j < kColumnsOfLane; ++j) {
        if (row + first + i < shape.m && column + lane + j * kWarpThreads < shape.n) {
          loaded[i][j] = line[j * kWarpThreads];
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kRowsAtATime; ++i) {
#pragma unroll
      for (int j = 0; j < kColumnsOfLane; ++j) {
        staging[swizzled_elem<kColumns, Bits>(first + i, lane + j * kWarpThreads)] = loaded[i][j];
      }
    }
  }
}

/// Reads C for a consumer warp, one subtile after the other. C may have any type and alignment. If TMA can load C, the
/// load of a subtile starts before the warp needs it, and runs while the warp does something else. Queue: the warp's
/// staging buffers. A subtile's C takes the buffers by which its D leaves later.
template <typename Queue>
class CReader {
 public:
  /// barriers: the warp's first mbarrier, see CBarriers.
  __device__ __forceinline__ CReader(const EpilogueParams& params, const MatrixParams& matrices,
                                     ptx::SmemAddr barriers)
      : params_(params), matrices_(matrices), barriers_(barriers) {}

  /// How many buffers the C of a subtile takes.
  __device__ __forceinline__ int boxes() const {
    return params_.operations.output_type == DataType::Float32 ? kStagingN / kStagingN32 : 1;
  }

  /// Starts the load of a subtile's C if TMA can load it. Its buffers come after `others` more. Nothing may touch them
  /// until add(). Threads: the whole warp, converged.
  __device__ __forceinline__ void begin(const Queue& queue, int others, FragmentCorner corner,
                                        int lane) const {
    if (!matrices_.loads_c_by_tma || lane != 0) return;
#pragma unroll 1
    for (int box = 0; box < boxes(); ++box) {
      const int buffer = queue.next(others + box);
      begin_load_c(queue.buffers[buffer], matrices_,
                   {corner.batch, corner.row, corner.column + box * kStagingN32}, bar(buffer));
    }
  }

  /// Stages the C of the next buffers' subtile if TMA cannot load it. This is not part of add(), because more registers
  /// are free before the warp copies the subtile's sums. Threads: the whole warp, converged.
  __device__ __forceinline__ void stage(const Queue& queue, FragmentCorner corner, int lane) const {
    if (matrices_.loads_c_by_tma) return;
    if (params_.operations.output_type != DataType::Float32) {
      stage_by_elements<kStagingN, cuda::std::uint16_t>(queue.buffers[queue.next(0)], corner, lane);
      return;
    }
#pragma unroll 1
    for (int box = 0; box < kStagingN / kStagingN32; ++box) {
      stage_by_elements<kStagingN32, cuda::std::uint32_t>(
          queue.buffers[queue.next(box)], {corner.batch, corner.row, corner.column + box * kStagingN32},
          lane);
    }
  }

  /// Replaces the sums of that subtile by alpha · sum + beta · C. begin() and stage() must have been called for it.
  /// Threads: the whole warp, converged.
  __device__ __forceinline__ void add(float (&sums)[kStagingN / 2], const Queue& queue, int lane) {
    const GemmEpilogue& operations = params_.operations;
    if (matrices_.loads_c_by_tma) {
#pragma unroll 1
      for (int box = 0; box < boxes(); ++box) {
        const int buffer = queue.next(box);
        watched_wait(bar(buffer), phases_ >> buffer & 1, "reader of C", buffer);
        phases_ ^= 1U << buffer;
      }
    }
    __syncwarp();
    if (operations.output_type != DataType::Float32) {
      scale_and_add_staged_16_bits(sums, operations, ptx::smem_addr(queue.buffers[queue.next(0)]), lane);
      return;
    }
#pragma unroll
    for (int box = 0; box < kStagingN / kStagingN32; ++box) {
      scale_and_add_staged_fp32(reinterpret_cast<float(&)[kStagingN32 / 2]>(sums[box * kStagingN32 / 2]),
                                queue.buffers[queue.next(box)], operations.alpha, operations.beta, lane);
    }
  }

 private:
  template <int kColumns, typename Bits>
  __device__ __forceinline__ void stage_by_elements(unsigned char* staging, FragmentCorner corner,
                                                    int lane) const {
    const GemmEpilogue& operations = params_.operations;
    stage_c_by_elements<kColumns>(
        reinterpret_cast<Bits*>(staging),
        static_cast<const Bits*>(operations.c) + batch_of_c(matrices_, corner) * operations.c_batch_stride,
        operations.ldc, params_.shape, corner.row, corner.column, lane);
  }

  __device__ __forceinline__ ptx::SmemAddr bar(int buffer) const {
    return barriers_ + static_cast<cuda::std::uint32_t>(buffer * int{sizeof(cuda::std::uint64_t)});
  }

  const EpilogueParams& params_;
  const MatrixParams& matrices_;
  ptx::SmemAddr barriers_;
  cuda::std::uint32_t phases_ = 0;  // a bit for each buffer
};

}  // namespace hopper_gemm::library
