#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/stmatrix.cuh>

#include "hopper_gemm/activation.cuh"
#include "hopper_gemm/gemm_epilogue.hpp"
#include "hopper_gemm/gemm_shape.hpp"
#include "hopper_gemm/mma_epilogue.cuh"

namespace hopper_gemm {

// A warp's fragment of fp32 accumulators as wgmma and mma.sync hold it: 16 rows, kGroups groups of 8 columns. Lane l has
// in values[group * 4 + half * 2 + j] the element in row l / 4 + half * 8, column group * 8 + l % 4 * 2 + j (PTX ISA
// "Register Fragments and Shared Memory Matrix Layouts: wgmma.mma_async D").

/// Where a fragment lies in D: its first row and column.
struct FragmentCorner {
  int batch;
  int row;
  int column;
};

/// Where a lane's first element of a fragment lies in D.
struct FragmentPosition {
  int batch;
  int row;
  int column;  ///< even
};

__device__ __forceinline__ FragmentPosition position_of_lane(FragmentCorner corner, int lane) {
  return {corner.batch, corner.row + lane / 4, corner.column + lane % 4 * 2};
}

/// Whether pairs that begin at even columns of a matrix are aligned to their size.
template <typename T>
__device__ __forceinline__ bool has_aligned_pairs(const void* matrix, cuda::std::int64_t leading_dimension,
                                                  cuda::std::int64_t batch_stride) {
  return reinterpret_cast<cuda::std::uintptr_t>(matrix) % (2 * sizeof(T)) == 0 &&
         leading_dimension % 2 == 0 && batch_stride % 2 == 0;
}

/// Calls visit(element 0 of the pair in values, first column, the matrix's pair) for every pair of the lane's that is
/// not wholly outside of the matrix. T: const or not.
template <int kGroups, typename T, typename Visit>
__device__ __forceinline__ void for_each_pair(T* matrix, cuda::std::int64_t leading_dimension,
                                              cuda::std::int64_t batch_stride, FragmentPosition position,
                                              GemmShape shape, Visit visit) {
  T* const first = matrix + position.batch * batch_stride + position.column;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = position.row + half * 8;
    if (row >= shape.m) continue;
    T* const line = first + row * leading_dimension;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const int column = position.column + group * 8;
      if (column < shape.n) visit(group * 4 + half * 2, column, line + group * 8);
    }
  }
}

template <typename T, int kGroups>
__device__ __forceinline__ void add_scaled_c(float (&values)[kGroups * 4], const GemmEpilogue& epilogue,
                                             FragmentPosition position, GemmShape shape) {
  using Pair = typename PairOf<T>::Type;
  const bool pairs = has_aligned_pairs<T>(epilogue.c, epilogue.ldc, epilogue.c_batch_stride);
  for_each_pair<kGroups>(static_cast<const T*>(epilogue.c), epilogue.ldc, epilogue.c_batch_stride, position,
                         shape, [&](int i, int column, const T* c) {
                           const bool both = column + 1 < shape.n;
                           Pair pair;
                           if (pairs && both) {
                             pair = *reinterpret_cast<const Pair*>(c);
                           } else {
                             pair.x = c[0];
                             pair.y = both ? c[1] : T(0.0F);
                           }
                           values[i] += epilogue.beta * static_cast<float>(pair.x);
                           values[i + 1] += epilogue.beta * static_cast<float>(pair.y);
                         });
}

template <typename T, int kGroups>
__device__ __forceinline__ void add_bias(float (&values)[kGroups * 4], const GemmEpilogue& epilogue,
                                         FragmentPosition position, GemmShape shape) {
  const T* const bias = static_cast<const T*>(epilogue.bias) + position.batch * epilogue.bias_batch_stride;
  const auto load = [&](int index, int end) { return index < end ? static_cast<float>(bias[index]) : 0.0F; };
  if (epilogue.bias_kind == Bias::PerRow) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float value = load(position.row + half * 8, shape.m);
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        values[group * 4 + half * 2] += value;
        values[group * 4 + half * 2 + 1] += value;
      }
    }
  } else {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const float value = load(position.column + group * 8 + j, shape.n);
        values[group * 4 + j] += value;
        values[group * 4 + 2 + j] += value;
      }
    }
  }
}

/// Sums of products to what D is to hold, still in fp32: activation(alpha · sum + beta · C + bias). Elements outside of
/// [shape.m, shape.n] become anything; nothing of them is read. Threads: any, each its own elements.
template <int kGroups>
__device__ __forceinline__ void apply_epilogue(float (&values)[kGroups * 4], const GemmEpilogue& epilogue,
                                               FragmentPosition position, GemmShape shape) {
#pragma unroll
  for (float& value : values) value *= epilogue.alpha;
  if (epilogue.beta != 0) {
    switch (epilogue.output_type) {
      case DataType::BFloat16: add_scaled_c<__nv_bfloat16, kGroups>(values, epilogue, position, shape); break;
      case DataType::Float16: add_scaled_c<__half, kGroups>(values, epilogue, position, shape); break;
      case DataType::Float32: add_scaled_c<float, kGroups>(values, epilogue, position, shape); break;
    }
  }
  if (epilogue.bias_kind != Bias::None) {
    switch (epilogue.bias_type) {
      case DataType::BFloat16: add_bias<__nv_bfloat16, kGroups>(values, epilogue, position, shape); break;
      case DataType::Float16: add_bias<__half, kGroups>(values, epilogue, position, shape); break;
      case DataType::Float32: add_bias<float, kGroups>(values, epilogue, position, shape); break;
    }
  }
  activate(values, epilogue.activation);
}

template <typename T, int kGroups>
__device__ __forceinline__ void store_fragment_as(const float (&values)[kGroups * 4],
                                                  const GemmEpilogue& epilogue, FragmentPosition position,
                                                  GemmShape shape) {
  using Pair = typename PairOf<T>::Type;
  const bool pairs = has_aligned_pairs<T>(epilogue.d, epilogue.ldd, epilogue.d_batch_stride);
  for_each_pair<kGroups>(static_cast<T*>(epilogue.d), epilogue.ldd, epilogue.d_batch_stride, position, shape,
                         [&](int i, int column, T* d) {
                           const Pair pair = round_pair<T>(values[i], values[i + 1]);
                           const bool both = column + 1 < shape.n;
                           if (pairs && both) {
                             *reinterpret_cast<Pair*>(d) = pair;
                           } else {
                             d[0] = pair.x;
                             if (both) d[1] = pair.y;
                           }
                         });
}

/// Rounds a fragment to D's type and stores it, two elements at a time where D's alignment allows it. Elements outside
/// of [shape.m, shape.n] are not written. Threads: any, each its own elements.
template <int kGroups>
__device__ __forceinline__ void store_fragment(const float (&values)[kGroups * 4],
                                               const GemmEpilogue& epilogue, FragmentPosition position,
                                               GemmShape shape) {
  switch (epilogue.output_type) {
    case DataType::BFloat16:
      store_fragment_as<__nv_bfloat16, kGroups>(values, epilogue, position, shape);
      break;
    case DataType::Float16: store_fragment_as<__half, kGroups>(values, epilogue, position, shape); break;
    case DataType::Float32: store_fragment_as<float, kGroups>(values, epilogue, position, shape); break;
  }
}

/// Bytes of a row of the staging tiles below, which TMA takes with the 128-byte swizzle.
inline constexpr int kStagingRowBytes = 128;

/// Rounds a warp's fragment of kColumns columns, 32 or 64, to a 16-bit type and stores it to `staging`, [16, 64] with the
/// 128-byte swizzle, from column first_column on, by stmatrix: no bank conflicts. staging: 1024-byte aligned. Threads:
/// the whole warp, converged.
template <typename T, int kColumns>
__device__ __forceinline__ void stage_rounded(const float (&values)[kColumns / 2], ptx::SmemAddr staging,
                                              int first_column, int lane) {
  // Lane 8 j + i addresses row i of matrix j: j = 0 and 1 are the upper and the lower eight rows of eight
  // columns, 2 and 3 those of the next eight.
  const int row = lane % 16;
  const int first_chunk = first_column / 8 + lane / 16;
  const ptx::SmemAddr first = staging + static_cast<cuda::std::uint32_t>(row * kStagingRowBytes);
  const auto pack = [](float low, float high) {
    const auto pair = round_pair<T>(low, high);
    return *reinterpret_cast<const cuda::std::uint32_t*>(&pair);
  };
#pragma unroll
  for (int i = 0; i < kColumns / 2; i += 8) {  // 16 columns, two chunks of 16 bytes
    const cuda::std::uint32_t matrices[4] = {
        pack(values[i], values[i + 1]), pack(values[i + 2], values[i + 3]),
        pack(values[i + 4], values[i + 5]), pack(values[i + 6], values[i + 7])};
    const int swizzled_chunk = (i / 4 + first_chunk) ^ (row % 8);
    ptx::stmatrix(first + static_cast<cuda::std::uint32_t>(swizzled_chunk * 16), matrices);
  }
}

/// Stores a warp's fragment of 32 columns as fp32 to `staging`, [16, 32] with the 128-byte swizzle. staging: 1024-byte
/// aligned. Threads: the whole warp.
__device__ __forceinline__ void stage_fp32(const float (&values)[16], unsigned char* staging, int lane) {
#pragma unroll
  for (int group = 0; group < 4; ++group) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane / 4 + half * 8;
      const int chunk = group * 2 + lane % 4 / 2;
      const int byte = row * kStagingRowBytes + (chunk ^ row % 8) * 16 + lane % 2 * 8;
      const int i = group * 4 + half * 2;
      *reinterpret_cast<float2*>(staging + byte) = float2{values[i], values[i + 1]};
    }
  }
}

}  // namespace hopper_gemm
