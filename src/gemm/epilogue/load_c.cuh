#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/ldmatrix.cuh>
#include <ptx/mbarrier.cuh>
#include <ptx/tma.cuh>

#include "device/device_common.cuh"
#include "device/element_pair.cuh"
#include "device/fragment_epilogue.cuh"
#include "device/wait_watchdog.cuh"
#include "gemm/config.hpp"
#include "gemm/epilogue/epilogue_params.hpp"
#include "gemm/epilogue/store.cuh"

namespace hopper_gemm::library {

// C of 16-bit elements, as TMA loads it. For fp32, of which a subtile would come in two parts, the largest tiles leave no
// registers.

__device__ __forceinline__ int batch_of_c(const MatrixParams& matrices, FragmentCorner corner) {
  return matrices.c_is_batched ? corner.batch : 0;
}

/// The barriers that C completes on, one for each consumer warp. A warp uses its own an even number of times a tile, so
/// that the phase follows from the subtile alone and takes no register.
template <int kWarps>
struct CBarriers {
  cuda::std::uint64_t barriers[kWarps];

  /// Threads: one; then a barrier of the CTA.
  __device__ __forceinline__ void init() {
    for (cuda::std::uint64_t& barrier : barriers) ptx::mbarrier_init(ptx::smem_addr(&barrier), 1);
  }
};

/// Brings a box of C to a staging buffer, which nothing reads or writes any more, and waits for it. Threads: the whole
/// warp, converged.
__device__ __forceinline__ void load_c_box(ptx::SmemAddr staging, const MatrixParams& matrices,
                                           FragmentCorner corner, ptx::SmemAddr bar,
                                           cuda::std::uint32_t phase, int lane) {
  if (lane == 0) {
    ptx::mbarrier_arrive_expect_tx(bar, kStoreBufferBytes);
    ptx::cp_async_bulk_tensor_g2s(staging, &matrices.tensor_map_c,
                                  {corner.column, corner.row, batch_of_c(matrices, corner)}, bar);
  }
  watched_wait(bar, phase, "reader of C", 0);
  __syncwarp();
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

/// Makes alpha · sum + beta · C of kStagingN columns of a warp's 16 rows. C comes through the buffer by which D will leave,
/// and takes neither registers nor shared memory of its own. Where C is D, nobody else writes what is read here.
///
/// subtile: the warp's count of subtiles of the tile. staging: 1024-byte aligned, and free. corner: where the columns begin
/// in C. Threads: the whole warp, converged.
__device__ __forceinline__ void scale_and_add_c(float (&sums)[kStagingN / 2], const GemmEpilogue& operations,
                                                const MatrixParams& matrices, FragmentCorner corner,
                                                unsigned char* staging, ptx::SmemAddr bar, int subtile,
                                                int lane) {
  load_c_box(ptx::smem_addr(staging), matrices, corner, bar, static_cast<cuda::std::uint32_t>(subtile % 2),
             lane);
  if (operations.output_type == DataType::Float16) {
    scale_and_add_staged<__half>(sums, ptx::smem_addr(staging), operations.alpha, operations.beta, lane);
  } else {
    scale_and_add_staged<__nv_bfloat16>(sums, ptx::smem_addr(staging), operations.alpha, operations.beta,
                                        lane);
  }
}

/// Brings C under a CTA's tile to L2, from where it comes soon enough when the epilogue asks for it. corner: of the tile.
/// Threads: a warp, converged.
__device__ __forceinline__ void prefetch_c(const MatrixParams& matrices, FragmentCorner corner, int rows,
                                           int columns, int lane) {
  constexpr int kBoxRows = 16;
  const int across = columns / kStagingN;
  for (int box = lane; box < rows / kBoxRows * across; box += kWarpThreads) {
    ptx::cp_async_bulk_prefetch_tensor(&matrices.tensor_map_c,
                                       {corner.column + box % across * kStagingN,
                                        corner.row + box / across * kBoxRows, batch_of_c(matrices, corner)});
  }
}

}  // namespace hopper_gemm::library
