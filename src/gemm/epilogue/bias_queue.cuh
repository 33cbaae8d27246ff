#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/mbarrier.cuh>

#include "device/device_common.cuh"
#include "device/fragment_epilogue.cuh"
#include "device/pipeline_state.hpp"
#include "device/wait_watchdog.cuh"
#include "gemm/epilogue/epilogue_params.hpp"
#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm::library {

/// A queue in shared memory that holds the bias of the next tiles as fp32. A warp of the producer's warpgroup, which
/// has nothing else to do, loads a tile's bias while another tile is multiplied. The bias may have any type and
/// alignment. The epilogue then reads only fp32, and waits for no load from global memory.
///
/// kElems: rows or columns of a tile, whichever are more. kReaders: warps that read each tile's bias.
template <int kElems, int kReaders>
struct BiasQueue {
  static constexpr int kDepth = 2;  // the previous tile's bias is in use until that tile is stored
  using State = PipelineState<kDepth>;

  float values[kDepth][kElems];
  cuda::std::uint64_t full_barrier[kDepth];
  cuda::std::uint64_t empty_barrier[kDepth];

  /// Threads: one. A barrier of the CTA must follow.
  __device__ __forceinline__ void init() {
    for (int slot = 0; slot < kDepth; ++slot) {
      ptx::mbarrier_init(ptx::smem_addr(&full_barrier[slot]), 1);
      ptx::mbarrier_init(ptx::smem_addr(&empty_barrier[slot]), kReaders);
    }
  }

  /// Waits for a free slot and loads the elements from `first` to `first + count`. Elements from `end` on become zero.
  /// bias: of the tile's batch. Threads: a warp, converged.
  __device__ __forceinline__ void send(State state, const void* bias, DataType type, int first, int count,
                                       int end, int lane) {
    watched_wait(ptx::smem_addr(&empty_barrier[state.stage]), state.phase ^ 1, "loader of the bias",
                 state.stage);
    __syncwarp();
    switch (type) {
      case DataType::BFloat16:
        load(static_cast<const __nv_bfloat16*>(bias), state.stage, first, count, end, lane);
        break;
      case DataType::Float16:
        load(static_cast<const __half*>(bias), state.stage, first, count, end, lane);
        break;
      case DataType::Float32:
        load(static_cast<const float*>(bias), state.stage, first, count, end, lane);
        break;
    }
    __syncwarp();
    if (lane == 0) ptx::mbarrier_arrive(ptx::smem_addr(&full_barrier[state.stage]));
  }

  /// Waits for a tile's bias, and returns it. Threads: a reading warp.
  __device__ __forceinline__ const float* receive(State state) {
    watched_wait(ptx::smem_addr(&full_barrier[state.stage]), state.phase, "reader of the bias", state.stage);
    return values[state.stage];
  }

  /// Gives back a tile's slot, once the warp has read it. Threads: a reading warp, converged.
  __device__ __forceinline__ void release(State state, int lane) {
    __syncwarp();
    if (lane == 0) ptx::mbarrier_arrive(ptx::smem_addr(&empty_barrier[state.stage]));
  }

 private:
  template <typename T>
  __device__ __forceinline__ void load(const T* bias, int slot, int first, int count, int end, int lane) {
    constexpr int kAtATime = 4;
#pragma unroll 1
    for (int i = lane; i < count; i += kAtATime * kWarpThreads) {
      float loaded[kAtATime] = {};
#pragma unroll
      for (int j = 0; j < kAtATime; ++j) {
        const int elem = first + i + j * kWarpThreads;
        if (elem < end) loaded[j] = static_cast<float>(bias[elem]);
      }
#pragma unroll
      for (int j = 0; j < kAtATime; ++j) {
        if (i + j * kWarpThreads < count) values[slot][i + j * kWarpThreads] = loaded[j];
      }
    }
  }
};

/// Loads the bias of a tile's rows or columns, see BiasQueue::send(). corner: of the tile in D. Threads: a warp,
/// converged.
template <typename BiasQueue>
__device__ __forceinline__ void send_bias(BiasQueue& queue, typename BiasQueue::State state,
                                          const EpilogueParams& params, FragmentCorner corner, int rows,
                                          int columns, int lane) {
  const GemmEpilogue& operations = params.operations;
  const bool is_per_row = operations.bias_kind == Bias::PerRow;
  const auto* const bias = static_cast<const char*>(operations.bias) +
                           corner.batch * operations.bias_batch_stride * size_of(operations.bias_type);
  queue.send(state, bias, operations.bias_type, is_per_row ? corner.row : corner.column,
             is_per_row ? rows : columns, is_per_row ? params.shape.m : params.shape.n, lane);
}

}  // namespace hopper_gemm::library
