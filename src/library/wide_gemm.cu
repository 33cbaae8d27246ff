// The host's half of the wide kernel.

#include "library/wide_gemm.hpp"

#include <algorithm>

#include "kernels/launch.hpp"
#include "library/wide_gemm.cuh"

namespace hopper_gemm::library {
namespace {

using wide::Config;
using wide::SharedStorage;

static_assert(kWideTiles == WideAndNarrow{Config::BLOCK_M, Config::kClusterN* Config::WIDE_N,
                                          Config::kClusterN* Config::NARROW_N});

using Kernel = void (*)(TensorMap, TensorMap, TensorMap, TensorMap, wide::Params, ClusterPositions);

Kernel kernel_of(DataType type) {
  return type == DataType::Float16 ? wide::gemm_kernel<__half> : wide::gemm_kernel<__nv_bfloat16>;
}

}  // namespace

WideBoxes wide_boxes() {
  return {.a_rows = Config::kMulticastM,
          .b_rows = Config::WIDE_N,
          .b_narrow_rows = Config::NARROW_N,
          .d_rows = Config::kStoreM,
          .d_columns = Config::kStoreN};
}

Status load_wide_gemm() {
  for (const DataType type : {DataType::BFloat16, DataType::Float16}) {
    HG_RETURN_IF_ERROR(load_kernel(kernel_of(type)));
    HG_RETURN_IF_ERROR(allow_dynamic_shared_memory(kernel_of(type), sizeof(SharedStorage)));
  }
  return {};
}

Status wide_gemm_clusters(int* clusters) {
  return max_active_clusters(kernel_of(DataType::BFloat16), Config::kClusterN, Config::kNumThreads,
                             sizeof(SharedStorage), clusters);
}

Status launch_wide_gemm(const WideMaps& maps, DataType type, GemmShape shape, const ColumnSplit& columns,
                        float alpha, const ClusterPositions& positions, cudaStream_t stream) {
  const int rows = ceil_div(shape.m, Config::BLOCK_M);
  wide::Params params;
  params.tiles = {{rows, columns.wide_columns}, {rows, columns.narrow_columns}};
  // Two at least, the first and the last of a tile: TMA fills in zeros beyond K.
  params.num_k_blocks = std::max(2, ceil_div(shape.k, Config::BLOCK_K));
  params.alpha = alpha;
  cudaLaunchAttribute cluster = cluster_attribute(Config::kClusterN);
  cudaLaunchConfig_t config = launch_config(dim3(static_cast<unsigned>(columns.workers * Config::kClusterN)),
                                            Config::kNumThreads, sizeof(SharedStorage), &cluster);
  config.stream = stream;
  HG_RETURN_IF_CUDA_ERROR(
      cudaLaunchKernelEx(&config, kernel_of(type), maps.a, maps.b, maps.b_narrow, maps.d, params, positions));
  return {};
}

}  // namespace hopper_gemm::library
