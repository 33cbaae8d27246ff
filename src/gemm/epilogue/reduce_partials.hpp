#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/gemm_shape.hpp"
#include "hopper_gemm/gemm_epilogue.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// What each cluster of a split-K through the workspace adds to D, in fp32: row-major matrices [M, N], those of a batch
/// one after the other.
struct Partials {
  const float* data;               ///< 8-byte aligned
  std::int64_t leading_dimension;  ///< elements, even
  std::int64_t stride;             ///< elements from one matrix to the next, even
  int count;                       ///< of a batch
};

/// Loads the kernel onto the current GPU: to be done before it is launched there.
Status load_reduce_partials();

/// Enqueues the kernel that makes D of the partials: it adds them up in the order of K and applies the epilogue.
/// With programmatic_dependent_launch it may start while the kernel before it in the stream runs, and the kernel behind
/// it while it runs. sm_90.
Status launch_reduce_partials(const Partials& partials, const GemmEpilogue& epilogue, GemmShape shape,
                              int batch_count, bool programmatic_dependent_launch, cudaStream_t stream);

}  // namespace hopper_gemm::library
