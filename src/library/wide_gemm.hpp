#pragma once

#include <cuda_runtime_api.h>

#include "column_split.hpp"
#include "hopper_gemm/cluster_positions.hpp"
#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/gemm_shape.hpp"
#include "hopper_gemm/status.hpp"
#include "hopper_gemm/tensor_map_type.hpp"

namespace hopper_gemm::library {

/// What a cluster of the wide kernel, of two CTAs side by side, computes at a time.
inline constexpr WideAndNarrow kWideTiles = {.cluster_m = 256, .wide_n = 384, .narrow_n = 256};

/// How the wide kernel cuts its operands, in rows of [M, K], [N, K] and [M, N], and columns of the last; along K it takes
/// 64 at a time. 128B swizzle.
struct WideBoxes {
  int a_rows;
  int b_rows;         ///< for wide tiles
  int b_narrow_rows;  ///< for narrow ones
  int d_rows;
  int d_columns;
};
WideBoxes wide_boxes();

/// Tensor maps of these boxes, of rank 3: the last extent is 1.
struct WideMaps {
  TensorMap a;
  TensorMap b;
  TensorMap b_narrow;
  TensorMap d;
};

/// Loads the kernels onto the current GPU: to be done before they are launched there.
Status load_wide_gemm();

/// How many clusters of the wide kernel the current GPU runs at a time. Unsupported where not even one fits.
Status wide_gemm_clusters(int* clusters);

/// Enqueues D = alpha · A·B with fp32 accumulation, A and B K-major, all of `type`, bf16 or fp16. columns: by
/// split_columns() for kWideTiles. sm_90.
Status launch_wide_gemm(const WideMaps& maps, DataType type, GemmShape shape, const ColumnSplit& columns,
                        float alpha, const ClusterPositions& positions, cudaStream_t stream);

}  // namespace hopper_gemm::library
