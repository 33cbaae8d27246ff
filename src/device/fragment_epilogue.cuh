#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/std/cstdint>

#include "common/gemm_shape.hpp"
#include "device/activation.cuh"
#include "device/element_pair.cuh"
#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm {

// Epilogues of a warp's fragment: fp32 accumulators of 16 rows and kGroups groups of 8 columns, as wgmma and mma.sync
// hold them. values[group * 4 + half * 2 + j] of lane l is the element in row l / 4 + half * 8 and column
// group * 8 + l % 4 * 2 + j (PTX ISA "Register Fragments and Shared Memory Matrix Layouts: wgmma.mma_async D").

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

/// Calls visit_pair(i, pair) for each of the lane's pairs. i: the index of the pair's first element in values. All
/// pairs must be inside the matrix and aligned. T: const or not.
template <int kGroups, typename T, typename VisitPair>
__device__ __forceinline__ void for_each_whole_pair(T* matrix, cuda::std::int64_t leading_dimension,
                                                    cuda::std::int64_t batch_stride,
                                                    FragmentPosition position, VisitPair visit_pair) {
  T* const first = matrix + position.batch * batch_stride + position.column;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    T* const line = first + (position.row + half * 8) * leading_dimension;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) visit_pair(group * 4 + half * 2, line + group * 8);
  }
}

/// The same for any alignment and position. If a pair is not aligned or not inside the matrix, it calls
/// visit_element(i, element) for every element inside instead.
///
/// There is one branch for all pairs. A branch for each pair would keep the pairs from being loaded together, which
/// costs more than it saves.
template <int kGroups, typename T, typename VisitPair, typename VisitElement>
__device__ __forceinline__ void for_each_pair(T* matrix, cuda::std::int64_t leading_dimension,
                                              cuda::std::int64_t batch_stride, FragmentPosition position,
                                              GemmShape shape, VisitPair visit_pair,
                                              VisitElement visit_element) {
  const bool aligned = has_aligned_pairs<T>(matrix, leading_dimension, batch_stride);
  if (aligned && position.row + 8 < shape.m && position.column + (kGroups - 1) * 8 + 1 < shape.n) {
    for_each_whole_pair<kGroups>(matrix, leading_dimension, batch_stride, position, visit_pair);
    return;
  }
  T* const first = matrix + position.batch * batch_stride + position.column;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = position.row + half * 8;
    T* const line = first + row * leading_dimension;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int column = position.column + group * 8 + j;
        if (row < shape.m && column < shape.n) visit_element(group * 4 + half * 2 + j, line + group * 8 + j);
      }
    }
  }
}

/// C and the bias of a lane's elements, in their types in memory, so that they can be loaded well before they are used.
/// Elements outside of the matrix are 0.
template <int kGroups>
struct EpilogueInputs {
  // With a 16-bit type each word of the first half is a pair.
  cuda::std::uint32_t c[kGroups * 4] = {};
  cuda::std::uint32_t bias[kGroups * 2] = {};  // PerRow: the two rows', then nothing
};

/// Loads pair number `pair`. Bits: an unsigned type as large as an element. source: aligned to the pair.
template <typename Bits, int kWords>
__device__ __forceinline__ void load_pair(cuda::std::uint32_t (&words)[kWords], int pair,
                                          const Bits* source) {
  if constexpr (sizeof(Bits) == 4) {
    const uint2 loaded = *reinterpret_cast<const uint2*>(source);
    words[pair * 2] = loaded.x;
    words[pair * 2 + 1] = loaded.y;
  } else {
    words[pair] = *reinterpret_cast<const cuda::std::uint32_t*>(source);
  }
}

/// Loads element number `elem`. words: must be 0 where the element goes.
template <typename Bits, int kWords>
__device__ __forceinline__ void load_element(cuda::std::uint32_t (&words)[kWords], int elem,
                                             const Bits* source) {
  if constexpr (sizeof(Bits) == 4) {
    words[elem] = *source;
  } else {
    words[elem / 2] |= cuda::std::uint32_t{*source} << (elem % 2 * 16);
  }
}

/// A pair of elements of type T that the functions above have loaded.
template <typename T, int kWords>
__device__ __forceinline__ float2 pair_of(const cuda::std::uint32_t (&words)[kWords], int pair) {
  using Pair = typename PairOf<T>::Type;
  constexpr int kPairWords = sizeof(Pair) / sizeof(cuda::std::uint32_t);
  alignas(Pair) cuda::std::uint32_t of_pair[kPairWords];
#pragma unroll
  for (int i = 0; i < kPairWords; ++i) of_pair[i] = words[pair * kPairWords + i];
  const Pair value = *reinterpret_cast<const Pair*>(of_pair);
  return {static_cast<float>(value.x), static_cast<float>(value.y)};
}

template <typename Bits, int kGroups>
__device__ __forceinline__ void load_c(EpilogueInputs<kGroups>& inputs, const GemmEpilogue& epilogue,
                                       FragmentPosition position, GemmShape shape) {
  for_each_pair<kGroups>(
      static_cast<const Bits*>(epilogue.c), epilogue.ldc, epilogue.c_batch_stride, position, shape,
      [&](int i, const Bits* pair) { load_pair(inputs.c, i / 2, pair); },
      [&](int i, const Bits* element) { load_element(inputs.c, i, element); });
}

template <typename Bits, int kGroups>
__device__ __forceinline__ void load_bias(EpilogueInputs<kGroups>& inputs, const GemmEpilogue& epilogue,
                                          FragmentPosition position, GemmShape shape) {
  const Bits* const bias =
      static_cast<const Bits*>(epilogue.bias) + position.batch * epilogue.bias_batch_stride;
  if (epilogue.bias_kind == Bias::PerRow) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = position.row + half * 8;
      if (row < shape.m) inputs.bias[half] = bias[row];
    }
    return;
  }
  const bool aligned = has_aligned_pairs<Bits>(epilogue.bias, 0, epilogue.bias_batch_stride);
  if (aligned && position.column + (kGroups - 1) * 8 + 1 < shape.n) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      load_pair(inputs.bias, group, bias + position.column + group * 8);
    }
    return;
  }
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int column = position.column + group * 8 + j;
      if (column < shape.n) load_element(inputs.bias, group * 2 + j, bias + column);
    }
  }
}

/// Loads the inputs of a lane's elements at `position`. Nothing outside of [shape.m, shape.n] is read. Threads: any.
template <int kGroups>
__device__ __forceinline__ EpilogueInputs<kGroups> load_epilogue_inputs(const GemmEpilogue& epilogue,
                                                                        FragmentPosition position,
                                                                        GemmShape shape) {
  EpilogueInputs<kGroups> inputs;
  if (epilogue.beta != 0) {
    if (size_of(epilogue.output_type) == 4) {
      load_c<cuda::std::uint32_t>(inputs, epilogue, position, shape);
    } else {
      load_c<cuda::std::uint16_t>(inputs, epilogue, position, shape);
    }
  }
  if (epilogue.bias_kind != Bias::None) {
    if (size_of(epilogue.bias_type) == 4) {
      load_bias<cuda::std::uint32_t>(inputs, epilogue, position, shape);
    } else {
      load_bias<cuda::std::uint16_t>(inputs, epilogue, position, shape);
    }
  }
  return inputs;
}

template <typename T, int kGroups>
__device__ __forceinline__ void add_scaled_c(float (&values)[kGroups * 4],
                                             const EpilogueInputs<kGroups>& inputs, float beta) {
#pragma unroll
  for (int pair = 0; pair < kGroups * 2; ++pair) {
    const float2 c = pair_of<T>(inputs.c, pair);
    values[pair * 2] += beta * c.x;
    values[pair * 2 + 1] += beta * c.y;
  }
}

template <typename T, int kGroups>
__device__ __forceinline__ void add_bias(float (&values)[kGroups * 4], const EpilogueInputs<kGroups>& inputs,
                                         Bias kind) {
  if (kind == Bias::PerRow) {
    // A row's bias has a word of its own in every type: the first element of a pair whose second element is not used.
    constexpr int kWords = sizeof(T) == 4 ? 2 : 1;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      cuda::std::uint32_t words[kWords] = {inputs.bias[half]};
      const float bias = pair_of<T>(words, 0).x;
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        values[group * 4 + half * 2] += bias;
        values[group * 4 + half * 2 + 1] += bias;
      }
    }
    return;
  }
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
    const float2 bias = pair_of<T>(inputs.bias, group);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      values[group * 4 + half * 2] += bias.x;
      values[group * 4 + half * 2 + 1] += bias.y;
    }
  }
}

/// Replaces sums by alpha · sum + beta · C + bias: the epilogue up to the activation. Elements outside of D are
/// undefined.
/// inputs: of these elements. Threads: any, each its own elements.
template <int kGroups>
__device__ __forceinline__ void scale_and_add(float (&values)[kGroups * 4], const GemmEpilogue& epilogue,
                                              const EpilogueInputs<kGroups>& inputs) {
#pragma unroll
  for (float& value : values) value *= epilogue.alpha;
  if (epilogue.beta != 0) {
    switch (epilogue.output_type) {
      case DataType::BFloat16: add_scaled_c<__nv_bfloat16>(values, inputs, epilogue.beta); break;
      case DataType::Float16: add_scaled_c<__half>(values, inputs, epilogue.beta); break;
      case DataType::Float32: add_scaled_c<float>(values, inputs, epilogue.beta); break;
    }
  }
  if (epilogue.bias_kind != Bias::None) {
    switch (epilogue.bias_type) {
      case DataType::BFloat16: add_bias<__nv_bfloat16>(values, inputs, epilogue.bias_kind); break;
      case DataType::Float16: add_bias<__half>(values, inputs, epilogue.bias_kind); break;
      case DataType::Float32: add_bias<float>(values, inputs, epilogue.bias_kind); break;
    }
  }
}

/// A matrix that an epilogue writes.
struct EpilogueOutput {
  void* data;
  cuda::std::int64_t leading_dimension;
  cuda::std::int64_t batch_stride;
  DataType type;
};

__device__ __forceinline__ EpilogueOutput d_of(const GemmEpilogue& epilogue) {
  return {epilogue.d, epilogue.ldd, epilogue.d_batch_stride, epilogue.output_type};
}

__device__ __forceinline__ EpilogueOutput aux_of(const GemmEpilogue& epilogue) {
  return {epilogue.aux, epilogue.ldaux, epilogue.aux_batch_stride, epilogue.output_type};
}

template <typename T, int kGroups>
__device__ __forceinline__ void store_fragment_as(const float (&values)[kGroups * 4],
                                                  const EpilogueOutput& output, FragmentPosition position,
                                                  GemmShape shape) {
  using Pair = typename PairOf<T>::Type;
  for_each_pair<kGroups>(
      static_cast<T*>(output.data), output.leading_dimension, output.batch_stride, position, shape,
      [&](int i, T* pair) { *reinterpret_cast<Pair*>(pair) = round_pair<T>(values[i], values[i + 1]); },
      [&](int i, T* element) { *element = round_pair<T>(values[i], 0).x; });
}

/// Rounds a fragment to the output's type and stores it, in pairs if the output's alignment allows it.
/// Elements outside of [shape.m, shape.n] are not written. Threads: any, each its own elements.
template <int kGroups>
__device__ __forceinline__ void store_fragment(const float (&values)[kGroups * 4],
                                               const EpilogueOutput& output, FragmentPosition position,
                                               GemmShape shape) {
  switch (output.type) {
    case DataType::BFloat16:
      store_fragment_as<__nv_bfloat16, kGroups>(values, output, position, shape);
      break;
    case DataType::Float16: store_fragment_as<__half, kGroups>(values, output, position, shape); break;
    case DataType::Float32: store_fragment_as<float, kGroups>(values, output, position, shape); break;
  }
}

/// The column of a gated D for a gate's column of the product.
__device__ __forceinline__ int gated_column(int column) {
  return column / (2 * kGateColumns) * kGateColumns + column % kGateColumns;
}

/// Copies the gates or the ups of a fragment. Its groups of 8 columns alternate, and the gate's comes first.
template <int kCount>
__device__ __forceinline__ void take_groups(float (&taken)[kCount / 2], const float (&values)[kCount],
                                            int first_group) {
#pragma unroll
  for (int i = 0; i < kCount / 2; ++i) taken[i] = values[i / 4 * 8 + first_group * 4 + i % 4];
}

/// The rest of an epilogue, after scale_and_add(): stores the auxiliary output, applies the activation and the gate,
/// and stores D. position: of the lane in the product. The fragment of a gated product must have whole pairs of groups,
/// gate and up. shape: of the product. Threads: any, each its own elements.
template <int kGroups>
__device__ __forceinline__ void activate_and_store(float (&values)[kGroups * 4], const GemmEpilogue& epilogue,
                                                   FragmentPosition position, GemmShape shape) {
  if (epilogue.has_aux) store_fragment<kGroups>(values, aux_of(epilogue), position, shape);
  if (!epilogue.is_gated) {
    activate(values, epilogue.activation);
    store_fragment<kGroups>(values, d_of(epilogue), position, shape);
    return;
  }
  // A fragment of a gated product has an even number of groups.
  if constexpr (kGroups % 2 == 0) {
    float gated[kGroups * 2];
    float up[kGroups * 2];
    take_groups(gated, values, 0);
    take_groups(up, values, 1);
    activate(gated, epilogue.activation);
#pragma unroll
    for (int i = 0; i < kGroups * 2; ++i) gated[i] *= up[i];
    store_fragment<kGroups / 2>(gated, d_of(epilogue),
                                {position.batch, position.row, gated_column(position.column)},
                                {shape.m, shape.n / 2, shape.k});
  }
}

/// Where stage_fp32() puts an element.
__device__ __forceinline__ float* staged_fp32(unsigned char* staging, int row, int column) {
  constexpr int kRowBytes = 128;
  constexpr int kChunkElems = 4;
  const int chunk = column / kChunkElems ^ row % 8;
  return reinterpret_cast<float*>(staging + row * kRowBytes) + chunk * kChunkElems + column % kChunkElems;
}

/// Stores a warp's fragment as fp32 to `staging`, [16, 32] with 128B swizzle, from column first_column on. staging:
/// 1024-byte aligned. Threads: the whole warp.
template <int kCount>
__device__ __forceinline__ void stage_fp32(const float (&values)[kCount], unsigned char* staging,
                                           int first_column, int lane) {
#pragma unroll
  for (int group = 0; group < kCount / 4; ++group) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float* const pair = staged_fp32(staging, lane / 4 + half * 8, first_column + group * 8 + lane % 4 * 2);
      const int i = group * 4 + half * 2;
      *reinterpret_cast<float2*>(pair) = float2{values[i], values[i + 1]};
    }
  }
}

}  // namespace hopper_gemm
