// The second kernel of a split-K through the workspace: the reduction. See cooperative.cuh.

#include "gemm/epilogue/reduce_partials.hpp"

#include <array>
#include <ptx/griddepcontrol.cuh>

#include "common/ceil_div.hpp"
#include "device/device_common.cuh"
#include "device/fragment_epilogue.cuh"
#include "device/launch.hpp"

namespace hopper_gemm::library {
namespace {

// A warp's part of the product is small: 16x8, or 16x16 if the output is gated or large. There are then enough warps to hide
// the latency of memory.
constexpr int kWarps = 4;
constexpr int kRows = 16;

__device__ __forceinline__ int least(int x, int y) { return x < y ? x : y; }

/// Adds a lane's elements of the partials to `sums`, in the order of K. kTogether partials are loaded at a time, because each
/// trip to L2 takes long (profiles/experiments.md, 49). No load has a condition, or ptxas would keep only four in flight:
/// a load for an element outside of the matrix, or past the last partial, takes another element, which nobody uses.
template <int kGroups, int kTogether>
__device__ __forceinline__ void add_partials(float (&sums)[kGroups * 4], const Partials& partials,
                                             FragmentPosition position, GemmShape shape) {
  constexpr int kPairs = kGroups * 2;
  const float* sources[kPairs];
#pragma unroll
  for (int pair = 0; pair < kPairs; ++pair) {
    const int row = least(position.row + pair % 2 * 8, shape.m - 1);
    // A pair may end in the padding of a row.
    const int column = least(position.column + pair / 2 * 8, (shape.n - 1) / 2 * 2);
    sources[pair] = partials.data + std::int64_t{position.batch} * partials.count * partials.stride +
                    row * partials.leading_dimension + column;
  }
#pragma unroll 1
  for (int number = 0; number < partials.count; number += kTogether) {
    float2 loaded[kTogether][kPairs];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      const std::int64_t start = least(number + i, partials.count - 1) * partials.stride;
#pragma unroll
      for (int pair = 0; pair < kPairs; ++pair) {
        loaded[i][pair] = *reinterpret_cast<const float2*>(sources[pair] + start);
      }
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (number + i >= partials.count) continue;
#pragma unroll
      for (int pair = 0; pair < kPairs; ++pair) {
        sums[pair * 2] += loaded[i][pair].x;
        sums[pair * 2 + 1] += loaded[i][pair].y;
      }
    }
  }
}

template <int kGroups>
__global__ void __launch_bounds__(kWarps* kWarpThreads)
    reduce_partials_kernel(const __grid_constant__ Partials partials,
                           const __grid_constant__ GemmEpilogue epilogue, GemmShape shape, int batch_count,
                           bool triggers_dependents) {
  if (triggers_dependents) ptx::griddepcontrol_launch_dependents();
  const int lane = static_cast<int>(threadIdx.x) % kWarpThreads;
  const int piece = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kWarpThreads;
  constexpr int kColumns = kGroups * 8;
  const int pieces_n = ceil_div(shape.n, kColumns);
  const int pieces_of_batch = ceil_div(shape.m, kRows) * pieces_n;
  const int batch = piece / pieces_of_batch;
  const int row = piece % pieces_of_batch / pieces_n * kRows;
  const int column = piece % pieces_n * kColumns;
  ptx::griddepcontrol_wait();
  if (batch >= batch_count) return;

  const FragmentPosition position = position_of_lane({batch, row, column}, lane);
  const EpilogueInputs<kGroups> inputs = load_epilogue_inputs<kGroups>(epilogue, position, shape);
  float values[kColumns / 2] = {};
  if (partials.count <= 2) {
    add_partials<kGroups, 2>(values, partials, position, shape);
  } else if (partials.count <= 4) {
    add_partials<kGroups, 4>(values, partials, position, shape);
  } else {
    add_partials<kGroups, 8>(values, partials, position, shape);
  }
  scale_and_add(values, epilogue, inputs);
  activate_and_store<kGroups>(values, epilogue, position, shape);
}

constexpr int kMostGroups = 2;

/// A warp with 16 columns stores whole sectors of 32 bytes of a 16-bit output. If D is large, there are warps enough for that.
int groups_of(const GemmEpilogue& epilogue, GemmShape shape) {
  constexpr std::int64_t kManyElems = 1 << 19;
  return epilogue.is_gated || std::int64_t{shape.m} * shape.n >= kManyElems ? kMostGroups : 1;
}

}  // namespace

Status load_reduce_partials() {
  HG_RETURN_IF_ERROR(load_kernel(reduce_partials_kernel<1>));
  return load_kernel(reduce_partials_kernel<kMostGroups>);
}

Status launch_reduce_partials(const Partials& partials, const GemmEpilogue& epilogue, GemmShape shape,
                              int batch_count, bool programmatic_dependent_launch, cudaStream_t stream) {
  const int groups = groups_of(epilogue, shape);
  const int pieces = ceil_div(shape.m, kRows) * ceil_div(shape.n, groups * 8) * batch_count;
  std::array<cudaLaunchAttribute, 1> attributes = {programmatic_dependent_launch_attribute()};
  cudaLaunchConfig_t config = launch_config(dim3(static_cast<unsigned>(ceil_div(pieces, kWarps))),
                                            kWarps * kWarpThreads, 0, attributes.data());
  config.numAttrs = programmatic_dependent_launch ? 1 : 0;
  config.stream = stream;
  const auto kernel = groups == 1 ? reduce_partials_kernel<1> : reduce_partials_kernel<kMostGroups>;
  HG_RETURN_IF_CUDA_ERROR(cudaLaunchKernelEx(&config, kernel, partials, epilogue, shape, batch_count,
                                             programmatic_dependent_launch));
  return {};
}

}  // namespace hopper_gemm::library
