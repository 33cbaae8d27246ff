// The second kernel where K is cut in slices: see wgmma_gemm.cuh.

#include "gemm/epilogue/reduce_partials.hpp"

#include <array>
#include <ptx/griddepcontrol.cuh>

#include "common/ceil_div.hpp"
#include "device/device_common.cuh"
#include "device/fragment_epilogue.cuh"
#include "device/launch.hpp"

namespace hopper_gemm::library {
namespace {

// A warp has so small a piece of D, 16x8, that there are enough of them to wait for memory together.
constexpr int kWarps = 4;
constexpr int kRows = 16;
constexpr int kColumns = 8;

__global__ void __launch_bounds__(kWarps* kWarpThreads)
    add_slices_kernel(const __grid_constant__ SliceSums sums, const __grid_constant__ GemmEpilogue epilogue,
                      GemmShape shape, int batch_count, bool triggers_dependents) {
  if (triggers_dependents) ptx::griddepcontrol_launch_dependents();
  const int lane = static_cast<int>(threadIdx.x) % kWarpThreads;
  const int piece = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kWarpThreads;
  const int pieces_n = ceil_div(shape.n, kColumns);
  const int pieces_of_batch = ceil_div(shape.m, kRows) * pieces_n;
  const int batch = piece / pieces_of_batch;
  const int row = piece % pieces_of_batch / pieces_n * kRows;
  const int column = piece % pieces_n * kColumns;
  ptx::griddepcontrol_wait();
  if (batch >= batch_count) return;

  const FragmentPosition position = position_of_lane({batch, row, column}, lane);
  const EpilogueInputs<1> inputs = load_epilogue_inputs<1>(epilogue, position, shape);
  // The sums are to be added as if they were a C.
  GemmEpilogue sum_of_slice;
  sum_of_slice.output_type = DataType::Float32;
  sum_of_slice.c = sums.data;
  sum_of_slice.ldc = sums.leading_dimension;
  sum_of_slice.c_batch_stride = sums.stride;
  sum_of_slice.beta = 1;
  float values[kColumns / 2] = {};
#pragma unroll 8
  for (int slice = 0; slice < sums.count; ++slice) {
    const FragmentPosition in_slice = {batch * sums.count + slice, position.row, position.column};
    add_scaled_c<float>(values, load_epilogue_inputs<1>(sum_of_slice, in_slice, shape), 1);
  }
  scale_and_add(values, epilogue, inputs);
  activate(values, epilogue.activation);
  store_fragment<1>(values, epilogue, position, shape);
}

}  // namespace

Status load_add_slices() { return load_kernel(add_slices_kernel); }

Status launch_add_slices(const SliceSums& sums, const GemmEpilogue& epilogue, GemmShape shape,
                         int batch_count, bool programmatic_dependent_launch, cudaStream_t stream) {
  const int pieces = ceil_div(shape.m, kRows) * ceil_div(shape.n, kColumns) * batch_count;
  std::array<cudaLaunchAttribute, 1> attributes = {programmatic_dependent_launch_attribute()};
  cudaLaunchConfig_t config = launch_config(dim3(static_cast<unsigned>(ceil_div(pieces, kWarps))),
                                            kWarps * kWarpThreads, 0, attributes.data());
  config.numAttrs = programmatic_dependent_launch ? 1 : 0;
  config.stream = stream;
  HG_RETURN_IF_CUDA_ERROR(cudaLaunchKernelEx(&config, add_slices_kernel, sums, epilogue, shape, batch_count,
                                             programmatic_dependent_launch));
  return {};
}

}  // namespace hopper_gemm::library
