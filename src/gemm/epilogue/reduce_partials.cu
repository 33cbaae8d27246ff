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

// A warp's part of the product is small: 16x8, or 16x16 if the output is gated. There are then enough warps to hide the
// latency of memory.
constexpr int kWarps = 4;
constexpr int kRows = 16;

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
  // Loads each partial as if it were a C.
  GemmEpilogue as_c;
  as_c.output_type = DataType::Float32;
  as_c.c = partials.data;
  as_c.ldc = partials.leading_dimension;
  as_c.c_batch_stride = partials.stride;
  as_c.beta = 1;
  float values[kColumns / 2] = {};
#pragma unroll 8
  for (int number = 0; number < partials.count; ++number) {
    const FragmentPosition in_partials = {batch * partials.count + number, position.row, position.column};
    add_scaled_c<float>(values, load_epilogue_inputs<kGroups>(as_c, in_partials, shape), 1);
  }
  scale_and_add(values, epilogue, inputs);
  activate_and_store<kGroups>(values, epilogue, position, shape);
}

constexpr int kGatedGroups = 2;

}  // namespace

Status load_reduce_partials() {
  HG_RETURN_IF_ERROR(load_kernel(reduce_partials_kernel<1>));
  return load_kernel(reduce_partials_kernel<kGatedGroups>);
}

Status launch_reduce_partials(const Partials& partials, const GemmEpilogue& epilogue, GemmShape shape,
                              int batch_count, bool programmatic_dependent_launch, cudaStream_t stream) {
  const int groups = epilogue.is_gated ? kGatedGroups : 1;
  const int pieces = ceil_div(shape.m, kRows) * ceil_div(shape.n, groups * 8) * batch_count;
  std::array<cudaLaunchAttribute, 1> attributes = {programmatic_dependent_launch_attribute()};
  cudaLaunchConfig_t config = launch_config(dim3(static_cast<unsigned>(ceil_div(pieces, kWarps))),
                                            kWarps * kWarpThreads, 0, attributes.data());
  config.numAttrs = programmatic_dependent_launch ? 1 : 0;
  config.stream = stream;
  const auto kernel = epilogue.is_gated ? reduce_partials_kernel<kGatedGroups> : reduce_partials_kernel<1>;
  HG_RETURN_IF_CUDA_ERROR(cudaLaunchKernelEx(&config, kernel, partials, epilogue, shape, batch_count,
                                             programmatic_dependent_launch));
  return {};
}

}  // namespace hopper_gemm::library
