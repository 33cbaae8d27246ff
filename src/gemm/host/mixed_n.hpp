#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <iterator>

#include "common/gemm_shape.hpp"
#include "device/cluster_positions.hpp"
#include "device/column_split.hpp"
#include "device/tensor_map_type.hpp"
#include "gemm/config.hpp"
#include "gemm/epilogue/epilogue_params.hpp"
#include "gemm/instances/mixed_n_configs.hpp"
#include "gemm/kernel_args.hpp"
#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/status.hpp"

// The kernels with a mixed tile N: wide and narrow tiles together fill the waves.

namespace hopper_gemm::library {

/// What a launch multiplies, for which the kernels have an instance each. b: K-major unless Majors::Any.
struct MixedNInputs {
  DataType type;  ///< bf16 or fp16
  OperandMajor a;
  OperandMajor b;
};

/// How such a kernel cuts its operands, in rows of [M, K], [N, K] and [M, N], and columns of the last; along
/// K it takes 64 at a time. MN-major operands come in swizzle atoms of 64 lines by 64 along K instead. 128B swizzle.
struct MixedNBoxes {
  int a_rows;
  int b_rows;         ///< for wide tiles
  int b_narrow_rows;  ///< for narrow ones
  int d_rows;
  int d_columns;
};

/// Tensor maps of these boxes, of rank 3: the last extent is 1.
struct MixedNMaps {
  TensorMap a;
  TensorMap b;
  TensorMap b_narrow;
  TensorMap d;
};

/// What of a launch is no tensor map.
struct MixedNLaunch {
  MixedNInputs inputs;
  EpilogueKind epilogue_kind;
  const EpilogueParams& epilogue;
  const ColumnSplit& columns;  ///< by split_columns() for the kernel's tiles
  const ClusterPositions& positions;
};

/// One of these kernels.
struct MixedNKernel {
  MixedNBoxes boxes;
  /// Loads the code onto the current GPU: to be done before it is launched there.
  Status (*load)(const MixedNInputs& inputs);
  /// How many clusters the current GPU runs at a time. Unsupported where not even one fits.
  Status (*active_clusters)(int* clusters);
  /// Enqueues the product.
  Status (*launch)(const MixedNMaps& maps, const MixedNLaunch& product, cudaStream_t stream);
};

extern const MixedNKernel kWideKernel;
/// In the order of kPingpongConfigs.
extern const std::array<MixedNKernel, std::size(kPingpongConfigs)> kPingpongKernels;

}  // namespace hopper_gemm::library
