#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ptx/address.cuh>
#include <ptx/fence.cuh>
#include <ptx/tma.cuh>

#include "device/epilogue.cuh"
#include "device/fragment_epilogue.cuh"
#include "device/tensor_map_type.hpp"
#include "hopper_gemm/data_type.hpp"

namespace hopper_gemm::library {

/// Columns of a 16-bit D that are 128 bytes, a row of a staging buffer.
inline constexpr int kStagingN = 64;
/// Columns of an fp32 D that are.
inline constexpr int kStagingN32 = 32;

/// Rounds kStagingN columns of a warp's 16 rows to `type` and stores them by TMA: at once, or where it is fp32 in two
/// parts. Elements outside of D are not written, save those that share 16 bytes with its last column.
///
/// tensor_map: of D with boxes of 16 rows by 128 bytes, 128B swizzle. acquire(type, part): a free staging buffer, 1024-byte
/// aligned; the whole warp calls it. Threads: the whole warp, converged.
template <typename Acquire>
__device__ __forceinline__ void store_by_tma(const float (&values)[kStagingN / 2], DataType type,
                                             const TensorMap* tensor_map, FragmentCorner corner, int lane,
                                             const Acquire& acquire) {
  const auto store = [&](const unsigned char* staging, int column) {
    ptx::fence_proxy_async_shared_cta();
    __syncwarp();
    if (lane == 0) {
      ptx::cp_async_bulk_tensor_s2g(tensor_map, {column, corner.row, corner.batch}, ptx::smem_addr(staging));
      ptx::cp_async_bulk_commit_group();
    }
  };
  if (type == DataType::Float32) {
#pragma unroll
    for (int part = 0; part < kStagingN / kStagingN32; ++part) {
      unsigned char* const staging = acquire(type, part);
      stage_fp32(reinterpret_cast<const float(&)[kStagingN32 / 2]>(values[part * kStagingN32 / 2]), staging,
                 0, lane);
      store(staging, corner.column + part * kStagingN32);
    }
    return;
  }
  unsigned char* const staging = acquire(type, 0);
  if (type == DataType::Float16) {
    stage_fragment_swizzled<__half, kStagingN>(values, ptx::smem_addr(staging), 0, lane);
  } else {
    stage_fragment_swizzled<__nv_bfloat16, kStagingN>(values, ptx::smem_addr(staging), 0, lane);
  }
  store(staging, corner.column);
}

}  // namespace hopper_gemm::library
