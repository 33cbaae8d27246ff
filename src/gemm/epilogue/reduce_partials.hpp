#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/gemm_shape.hpp"
#include "hopper_gemm/gemm_epilogue.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// The partials of a split-K through the workspace: row-major fp32 matrices [M, N], one for each cluster that shares K.
/// The matrices of a batch follow each other.
struct Partials {
  const float* data;               ///< 8-byte aligned
  std::int64_t leading_dimension;  ///< elements, even
  std::int64_t stride;             ///< elements from one matrix to the next, even
  int count;                       ///< matrices of a batch
};

/// Loads the kernel onto the current GPU. Must be called before the first launch there.
Status load_reduce_partials();

/// Enqueues the reduction: it adds up the partials in the order of K, applies the epilogue and stores D.
/// programmatic_dependent_launch: the kernel may start while the kernel before it in the stream runs, and the next
/// kernel while this one runs. sm_90.
Status launch_reduce_partials(const Partials& partials, const GemmEpilogue& epilogue, GemmShape shape,
                              int batch_count, bool programmatic_dependent_launch, cudaStream_t stream);

}  // namespace hopper_gemm::library
