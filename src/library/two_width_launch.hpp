#pragma once

#include "kernels/launch.hpp"
#include "library/two_width_gemm.cuh"
#include "library/two_width_gemm.hpp"

namespace hopper_gemm::library {

/// The host's half of a kernel with tiles of two widths. Config, SharedStorage: the kernel's. Kernels::of(type): its
/// instance for a type. Kernels::begin_steps(): where the clusters of a launch keep pace, or null, see wave_pace.cuh;
/// Kernels::load(): what it needs.
template <typename Config, typename SharedStorage, typename Kernels>
struct TwoWidthLauncher {
  static Status load() {
    for (const DataType type : {DataType::BFloat16, DataType::Float16}) {
      HG_RETURN_IF_ERROR(load_kernel(Kernels::of(type)));
      HG_RETURN_IF_ERROR(allow_dynamic_shared_memory(Kernels::of(type), sizeof(SharedStorage)));
    }
    return Kernels::load();
  }

  static Status active_clusters(int* clusters) {
    return max_active_clusters(Kernels::of(DataType::BFloat16), Config::kClusterN, Config::kNumThreads,
                               sizeof(SharedStorage), clusters);
  }

  static Status launch(const TwoWidthMaps& maps, DataType type, GemmShape shape, const ColumnSplit& columns,
                       float alpha, const ClusterPositions& positions, cudaStream_t stream) {
    const int rows = ceil_div(shape.m, Config::BLOCK_M);
    TwoWidthParams<Config> params;
    params.tiles = {{rows, columns.wide_columns}, {rows, columns.narrow_columns}};
    // TMA fills in zeros beyond K.
    params.num_k_blocks = k_blocks_of_two_widths(Config::kTile, shape.k);
    params.alpha = alpha;
    HG_RETURN_IF_ERROR(
        Kernels::begin_steps(params.tiles, params.num_k_blocks, columns.workers, stream, &params.steps));
    cudaLaunchAttribute cluster = cluster_attribute(Config::kClusterN);
    cudaLaunchConfig_t config =
        launch_config(dim3(static_cast<unsigned>(columns.workers * Config::kClusterN)), Config::kNumThreads,
                      sizeof(SharedStorage), &cluster);
    config.stream = stream;
    HG_RETURN_IF_CUDA_ERROR(cudaLaunchKernelEx(&config, Kernels::of(type), maps.a, maps.b, maps.b_narrow,
                                               maps.d, params, positions));
    return {};
  }

  static constexpr TwoWidthKernel kKernel = {.boxes = {.a_rows = Config::kMulticastM,
                                                       .b_rows = Config::WIDE_N,
                                                       .b_narrow_rows = Config::NARROW_N,
                                                       .d_rows = Config::kStoreM,
                                                       .d_columns = Config::kStoreN},
                                             .load = load,
                                             .active_clusters = active_clusters,
                                             .launch = launch};
};

}  // namespace hopper_gemm::library
