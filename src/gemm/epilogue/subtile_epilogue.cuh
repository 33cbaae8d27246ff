// An epilogue for kernels with TMA stores: what becomes of a warp's accumulators, one epilogue subtile after the other.
// It computes all that a GemmEpilogue asks for where beta is 0.
//
// A subtile is 16 rows, those of an m64 block that a warp holds, by kSubtileN columns. Most subtiles are vectorized: a
// lane loads pairs of the bias, stmatrix brings the results to the warp's staging buffer, and TMA stores it when the 128
// bytes of its rows are full. Subtiles that TMA may not store, or whose pairs are not aligned, go through
// the buffer as fp32 sums and are finished element by element.
//
// The subtiles are a loop, not unrolled code: so many copies of all operations would not fit into the instruction cache.
// A subtile's registers are selected by a branch that the warp takes alike.

#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/fence.cuh>
#include <ptx/prefetch.cuh>
#include <ptx/tma.cuh>

#include "common/ceil_div.hpp"
#include "common/gemm_shape.hpp"
#include "device/activation.cuh"
#include "device/device_common.cuh"
#include "device/element_pair.cuh"
#include "device/epilogue.cuh"
#include "device/fragment_epilogue.cuh"
#include "device/tensor_map_type.hpp"
#include "gemm/epilogue/epilogue_params.hpp"
#include "gemm/epilogue/tma_store.cuh"
#include "hopper_gemm/gemm_epilogue.hpp"
#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm::library {

inline constexpr int kSubtileM = 16;
inline constexpr int kSubtileN = 16;
inline constexpr int kSubtileValues = kSubtileN / 2;  ///< of a lane
inline constexpr int kStagingBytes = kSubtileM * 128;
inline constexpr int kBlockM = 64;  ///< rows of a wgmma

/// Stores a warp's part of D through shared memory and TMA. The warp alternates between kBuffers staging buffers.
template <int kBuffers>
class StoreQueue {
 public:
  /// first, stride_bytes: where the buffers of kStagingBytes are, each 1024-byte aligned.
  __device__ __forceinline__ StoreQueue(unsigned char* first, int stride_bytes, const TensorMap* tensor_map,
                                        int lane)
      : first_(first), stride_bytes_(stride_bytes), tensor_map_(tensor_map), lane_(lane) {}

  /// The next buffer, once TMA has read what was there. Threads: the whole warp.
  __device__ __forceinline__ unsigned char* acquire() {
    if (lane_ == 0) ptx::cp_async_bulk_wait_group_read<kBuffers - 1>();
    __syncwarp();
    return first_ + next_ * stride_bytes_;
  }

  /// Stores what the warp has written there. Threads: the whole warp.
  __device__ __forceinline__ void store(int column, int row, int batch) {
    ptx::fence_proxy_async_shared_cta();
    __syncwarp();
    if (lane_ == 0) {
      ptx::cp_async_bulk_tensor_s2g(tensor_map_, {column, row, batch},
                                    ptx::smem_addr(first_ + next_ * stride_bytes_));
      ptx::cp_async_bulk_commit_group();
    }
    static_assert(kBuffers == 1 || kBuffers == 2);
    if constexpr (kBuffers == 2) next_ ^= 1;
  }

 private:
  unsigned char* first_;
  int stride_bytes_;
  const TensorMap* tensor_map_;
  int lane_;
  int next_ = 0;
};

/// How a tile of kN columns is cut: staging buffers of 64 columns, of which the last one ends with the tile. Where kN is
/// no multiple of 64 it has columns of the one before, too.
template <int kN>
struct Subtiles {
  static_assert(kN >= kStagingN && kN % 16 == 0);
  static constexpr int kOfBuffer = kStagingN / kSubtileN;
  static constexpr int kBuffers = ceil_div(kN, kStagingN);
  static constexpr int kCount = kOfBuffer * kBuffers;

  HG_HOST_DEVICE static constexpr int column_of(int subtile) {
    const int column = subtile / kOfBuffer * kStagingN;
    return (column < kN - kStagingN ? column : kN - kStagingN) + subtile % kOfBuffer * kSubtileN;
  }
};

/// Copies the accumulators of subtile number `index`, counted through all blocks. The number is known at run time only,
/// and registers have no index: there is a branch for each.
template <int kN, int kBlocks, int kRegisters>
__device__ __forceinline__ void take_subtile(float (&values)[kSubtileValues],
                                             const float (&accum)[kBlocks][kRegisters], int index) {
  static_assert(kN / 2 <= kRegisters);
#pragma unroll
  for (int i = 0; i < kBlocks * Subtiles<kN>::kCount; ++i) {
    if (index != i) continue;
#pragma unroll
    for (int e = 0; e < kSubtileValues; ++e) {
      values[e] = accum[i / Subtiles<kN>::kCount][Subtiles<kN>::column_of(i % Subtiles<kN>::kCount) / 2 + e];
    }
  }
}

/// Where a lane's elements of a subtile take the bias from. Those outside of D take what is nearest to them: nobody
/// stores them.
struct SubtileInputs {
  static constexpr int kGroups = kSubtileN / 8;
  int batch;
  int rows[2];
  int columns[kGroups];  ///< of pairs, even

  __device__ __forceinline__ SubtileInputs(FragmentCorner corner, GemmShape shape, int lane)
      : batch(corner.batch) {
    const FragmentPosition position = position_of_lane(corner, lane);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = position.row + half * 8;
      rows[half] = row < shape.m ? row : shape.m - 1;
    }
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const int column = position.column + group * 8;
      columns[group] = column < shape.n - 1 ? column : shape.n - 2;
    }
  }
};

/// Adds the bias, of type T.
template <typename T>
__device__ __forceinline__ void add_bias(float (&values)[kSubtileValues], const GemmEpilogue& operations,
                                         const SubtileInputs& inputs) {
  using Pair = typename PairOf<T>::Type;
  constexpr int kGroups = SubtileInputs::kGroups;
  const T* const bias = static_cast<const T*>(operations.bias) + inputs.batch * operations.bias_batch_stride;
  if (operations.bias_kind == Bias::PerRow) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto of_row = static_cast<float>(bias[inputs.rows[half]]);
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        values[group * 4 + half * 2] += of_row;
        values[group * 4 + half * 2 + 1] += of_row;
      }
    }
    return;
  }
  Pair pairs[kGroups];
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
    pairs[group] = *reinterpret_cast<const Pair*>(bias + inputs.columns[group]);
  }
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      values[group * 4 + half * 2] += static_cast<float>(pairs[group].x);
      values[group * 4 + half * 2 + 1] += static_cast<float>(pairs[group].y);
    }
  }
}

/// Sums of products to D before it is rounded, where a subtile is vectorized.
__device__ __forceinline__ void apply_operations(float (&values)[kSubtileValues],
                                                 const GemmEpilogue& operations,
                                                 const SubtileInputs& inputs) {
#pragma unroll
  for (float& value : values) value *= operations.alpha;
  if (operations.bias_kind != Bias::None) {
    switch (operations.bias_type) {
      case DataType::BFloat16: add_bias<__nv_bfloat16>(values, operations, inputs); break;
      case DataType::Float16: add_bias<__half>(values, operations, inputs); break;
      case DataType::Float32: add_bias<float>(values, operations, inputs); break;
    }
  }
  activate(values, operations.activation);
}

__device__ __forceinline__ float element_at(const void* elements, DataType type, cuda::std::int64_t index) {
  switch (type) {
    case DataType::BFloat16: return static_cast<float>(static_cast<const __nv_bfloat16*>(elements)[index]);
    case DataType::Float16: return static_cast<float>(static_cast<const __half*>(elements)[index]);
    case DataType::Float32: return static_cast<const float*>(elements)[index];
  }
  return 0;
}

__device__ __forceinline__ void store_element(void* elements, DataType type, cuda::std::int64_t index,
                                              float value) {
  switch (type) {
    case DataType::BFloat16:
      static_cast<__nv_bfloat16*>(elements)[index] = round_pair<__nv_bfloat16>(value, 0).x;
      break;
    case DataType::Float16: static_cast<__half*>(elements)[index] = round_pair<__half>(value, 0).x; break;
    case DataType::Float32: static_cast<float*>(elements)[index] = value; break;
  }
}

/// Finishes and stores a subtile of any alignment; elements outside of D are left alone. sums: those of products, as the
/// accumulators hold them. staging: the warp's, of kStagingBytes, free. Threads: the whole warp.
__device__ __forceinline__ void store_by_elements(const float (&sums)[kSubtileValues], unsigned char* staging,
                                                  const EpilogueParams& params, FragmentCorner corner,
                                                  int lane) {
  constexpr int kRowStep = kWarpThreads / kSubtileN;  // a lane has every so many rows of a column
  constexpr int kRows = kSubtileM / kRowStep;
  constexpr int kRowsAtATime = 2;
  const GemmEpilogue& operations = params.operations;
  stage_fp32(sums, staging, 0, lane);
  __syncwarp();
  const int column = corner.column + lane % kSubtileN;
  if (column < params.shape.n) {
    const cuda::std::int64_t bias_of_batch = corner.batch * operations.bias_batch_stride;
    const float bias_of_column =
        operations.bias_kind == Bias::PerColumn
            ? element_at(operations.bias, operations.bias_type, bias_of_batch + column)
            : 0;
#pragma unroll 1
    for (int first = 0; first < kRows; first += kRowsAtATime) {
      const auto row_of_subtile = [&](int i) { return (first + i) * kRowStep + lane / kSubtileN; };
      float values[kRowsAtATime];
#pragma unroll
      for (int i = 0; i < kRowsAtATime; ++i) {
        const int row = corner.row + row_of_subtile(i);
        values[i] =
            operations.alpha * *staged_fp32(staging, row_of_subtile(i), lane % kSubtileN) + bias_of_column;
        if (row >= params.shape.m) continue;
        if (operations.bias_kind == Bias::PerRow) {
          values[i] += element_at(operations.bias, operations.bias_type, bias_of_batch + row);
        }
      }
      activate(values, operations.activation);
#pragma unroll
      for (int i = 0; i < kRowsAtATime; ++i) {
        const int row = corner.row + row_of_subtile(i);
        if (row >= params.shape.m) continue;
        store_element(operations.d, operations.output_type,
                      corner.batch * operations.d_batch_stride + row * operations.ldd + column, values[i]);
      }
    }
  }
  // Other lanes' sums are read before the buffer is written again.
  __syncwarp();
}

/// Finishes and stores a warp's rows of one or more m64 blocks, one above the other. kN: columns of the tile. accum:
/// [block][register], the sums of products. corner: the warp's first row of the first block, and the tile's first
/// column. Threads: the whole warp, converged.
template <int kN, int kBlocks, int kRegisters, int kBuffers>
__device__ __forceinline__ void store_subtiles(const float (&accum)[kBlocks][kRegisters],
                                               StoreQueue<kBuffers>& stores, const EpilogueParams& params,
                                               FragmentCorner corner, int lane) {
  using Tile = Subtiles<kN>;
  const GemmEpilogue& operations = params.operations;
  const DataType type = operations.output_type;
  const int staging_n = type == DataType::Float32 ? kStagingN32 : kStagingN;
  // TMA writes whole chunks of 16 bytes, and would write over what lies behind the last column of D.
  const bool has_whole_chunks = params.shape.n % (16 / size_of(type)) == 0;
  unsigned char* buffer = nullptr;
#pragma unroll 1
  for (int index = 0; index < kBlocks * Tile::kCount; ++index) {
    const int subtile = index % Tile::kCount;
    const FragmentCorner of_subtile = {corner.batch, corner.row + index / Tile::kCount * kBlockM,
                                       corner.column + Tile::column_of(subtile)};
    const int in_buffer = subtile * kSubtileN % staging_n;
    const FragmentCorner of_buffer = {of_subtile.batch, of_subtile.row, of_subtile.column - in_buffer};
    const bool is_vectorized =
        params.is_vectorized && (has_whole_chunks || of_buffer.column + staging_n <= params.shape.n);
    if (in_buffer == 0 || !is_vectorized) buffer = stores.acquire();
    float values[kSubtileValues] = {};
    take_subtile<kN>(values, accum, index);
    if (!is_vectorized) {
      store_by_elements(values, buffer, params, of_subtile, lane);
      continue;
    }
    apply_operations(values, operations, SubtileInputs(of_subtile, params.shape, lane));
    switch (type) {
      case DataType::BFloat16:
        stage_fragment_swizzled<__nv_bfloat16, kSubtileN>(values, ptx::smem_addr(buffer), in_buffer, lane);
        break;
      case DataType::Float16:
        stage_fragment_swizzled<__half, kSubtileN>(values, ptx::smem_addr(buffer), in_buffer, lane);
        break;
      case DataType::Float32: stage_fp32(values, buffer, in_buffer, lane); break;
    }
    if (in_buffer + kSubtileN == staging_n) stores.store(of_buffer.column, of_buffer.row, of_buffer.batch);
  }
}

/// Brings what a tile takes of a bias for columns to L1 while the warp multiplies. corner: as store_subtiles() takes it.
/// Threads: the whole warp.
__device__ __forceinline__ void prefetch_bias(const EpilogueParams& params, FragmentCorner corner,
                                              int columns, int lane) {
  constexpr int kLineBytes = 128;
  const GemmEpilogue& operations = params.operations;
  const int elem_bytes = size_of(operations.bias_type);
  const int column = corner.column + lane * (kLineBytes / elem_bytes);
  if (lane * kLineBytes < columns * elem_bytes && column < params.shape.n) {
    ptx::prefetch_l1(static_cast<const char*>(operations.bias) +
                     (corner.batch * operations.bias_batch_stride + column) * elem_bytes);
  }
}

}  // namespace hopper_gemm::library
