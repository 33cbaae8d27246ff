#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "hopper_gemm/gemm_epilogue.hpp"
#include "hopper_gemm/gemm_shape.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// What each slice of K adds to D, in fp32: row-major matrices [M, N], those of a batch's slices one after the other.
struct SliceSums {
  const float* data;               ///< 8-byte aligned
  std::int64_t leading_dimension;  ///< elements, even
  std::int64_t stride;             ///< elements from one matrix to the next, even
  int count;                       ///< slices of a batch
};

/// Loads the kernel onto the current GPU: to be done before it is launched there.
Status load_add_slices();

/// Enqueues what makes D of the sums: adds them up in the order of the slices and applies the epilogue. It starts while
/// the kernel before it in the stream, which has to allow that, ends (programmatic dependent launch). sm_90.
Status launch_add_slices(const SliceSums& sums, const GemmEpilogue& epilogue, GemmShape shape,
                         int batch_count, cudaStream_t stream);

}  // namespace hopper_gemm::library
