#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/launch.hpp"
#include "library/two_width_gemm.cuh"
#include "library/two_width_gemm.hpp"

namespace hopper_gemm::library {

/// The host's half of a kernel with tiles of two widths. Config, SharedStorage: the kernel's. Kernels::of<Operands>():
/// its instance. Kernels::begin_steps(): where the clusters of a launch keep pace, or null, see wave_pace.cuh;
/// Kernels::load(): what it needs.
template <typename Config, typename SharedStorage, typename Kernels>
struct TwoWidthLauncher {
  using Kernel = void (*)(TensorMap, TensorMap, TensorMap, TensorMap, TwoWidthParams<Config>,
                          ClusterPositions);

  template <typename T>
  static Kernel kernel_of_majors(OperandMajor a, OperandMajor b) {
    using ptx::Major;
    if constexpr (takes_mn_major_b(Config::kTile)) {
      if (b == OperandMajor::MN) {
        return a == OperandMajor::MN ? Kernels::template of<Operands<Config, T, Major::MN, Major::MN>>()
                                     : Kernels::template of<Operands<Config, T, Major::K, Major::MN>>();
      }
    }
    return a == OperandMajor::MN ? Kernels::template of<Operands<Config, T, Major::MN, Major::K>>()
                                 : Kernels::template of<Operands<Config, T, Major::K, Major::K>>();
  }

  static Kernel kernel_of(const TwoWidthInputs& inputs) {
    return inputs.type == DataType::Float16 ? kernel_of_majors<__half>(inputs.a, inputs.b)
                                            : kernel_of_majors<__nv_bfloat16>(inputs.a, inputs.b);
  }

  static Status load(const TwoWidthInputs& inputs) {
    const Kernel kernel = kernel_of(inputs);
    HG_RETURN_IF_ERROR(load_kernel(kernel));
    HG_RETURN_IF_ERROR(allow_dynamic_shared_memory(kernel, sizeof(SharedStorage)));
    return Kernels::load();
  }

  /// Of any instance: they differ in how they read their stages alone.
  static Status active_clusters(int* clusters) {
    return max_active_clusters(kernel_of({DataType::BFloat16, OperandMajor::K, OperandMajor::K}),
                               Config::kClusterN, Config::kNumThreads, sizeof(SharedStorage), clusters);
  }

  static Status launch(const TwoWidthMaps& maps, const TwoWidthInputs& inputs, GemmShape shape,
                       const ColumnSplit& columns, float alpha, const ClusterPositions& positions,
                       cudaStream_t stream) {
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
    HG_RETURN_IF_CUDA_ERROR(cudaLaunchKernelEx(&config, kernel_of(inputs), maps.a, maps.b, maps.b_narrow,
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
