#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "device/launch.hpp"
#include "gemm/host/mixed_n.hpp"
#include "gemm/kernel/mixed_n.cuh"
#include "gemm/scheduler/mixed_n.hpp"

namespace hopper_gemm::library {

/// The host's half of a kernel with a mixed tile N. Config, SharedStorage: the kernel's. Kernels::of<Operands>():
/// its instance. Kernels::begin_steps(): where the clusters of a launch keep pace, or null, see wave_pace.cuh;
/// Kernels::load(): what it needs.
template <typename Config, typename SharedStorage, typename Params, typename Kernels>
struct MixedNLauncher {
  using Kernel = void (*)(TensorMap, TensorMap, TensorMap, TensorMap, Params, ClusterPositions);

  template <typename T, EpilogueKind kEpilogueKind>
  static Kernel kernel_of_majors(OperandMajor a, OperandMajor b) {
    using ptx::Major;
    if constexpr (Config::kKernel.majors == Majors::Any) {
      if (b == OperandMajor::MN) {
        return a == OperandMajor::MN
                   ? Kernels::template of<Operands<Config, T, Major::MN, Major::MN>, kEpilogueKind>()
                   : Kernels::template of<Operands<Config, T, Major::K, Major::MN>, kEpilogueKind>();
      }
    }
    return a == OperandMajor::MN
               ? Kernels::template of<Operands<Config, T, Major::MN, Major::K>, kEpilogueKind>()
               : Kernels::template of<Operands<Config, T, Major::K, Major::K>, kEpilogueKind>();
  }

  template <EpilogueKind kEpilogueKind>
  static Kernel kernel_of_type(const MixedNInputs& inputs) {
    return inputs.type == DataType::Float16
               ? kernel_of_majors<__half, kEpilogueKind>(inputs.a, inputs.b)
               : kernel_of_majors<__nv_bfloat16, kEpilogueKind>(inputs.a, inputs.b);
  }

  static Kernel kernel_of(const MixedNInputs& inputs, EpilogueKind epilogue_kind) {
    if constexpr (Config::kKernel.epilogues != Epilogues::AlphaOnly) {
      if (epilogue_kind == EpilogueKind::General) return kernel_of_type<EpilogueKind::General>(inputs);
    }
    return kernel_of_type<EpilogueKind::AlphaOnly>(inputs);
  }

  static Status load(const MixedNInputs& inputs) {
    for (const EpilogueKind epilogue_kind : {EpilogueKind::AlphaOnly, EpilogueKind::General}) {
      const Kernel kernel = kernel_of(inputs, epilogue_kind);
      HG_RETURN_IF_ERROR(load_kernel(kernel));
      HG_RETURN_IF_ERROR(allow_dynamic_shared_memory(kernel, sizeof(SharedStorage)));
    }
    return Kernels::load();
  }

  /// All instances have the same threads and shared memory.
  static Status active_clusters(int* clusters) {
    return max_active_clusters(
        kernel_of({DataType::BFloat16, OperandMajor::K, OperandMajor::K}, EpilogueKind::AlphaOnly),
        Config::kClusterN, Config::kNumThreads, sizeof(SharedStorage), clusters);
  }

  static Status launch(const MixedNMaps& maps, const MixedNLaunch& product, cudaStream_t stream) {
    const GemmShape shape = product.epilogue.shape;
    const ColumnSplit& columns = product.columns;
    const int rows = ceil_div(shape.m, Config::BLOCK_M);
    Params params;
    params.tiles = {{rows, columns.wide_columns}, {rows, columns.narrow_columns}};
    // TMA fills in zeros beyond K.
    params.num_k_blocks = k_blocks_of(Config::kKernel, shape.k);
    params.alpha = product.epilogue.operations.alpha;
    if constexpr (requires { params.epilogue; }) params.epilogue = product.epilogue;
    HG_RETURN_IF_ERROR(
        Kernels::begin_steps(params.tiles, params.num_k_blocks, columns.workers, stream, &params.steps));
    cudaLaunchAttribute cluster = cluster_attribute(Config::kClusterN);
    cudaLaunchConfig_t config =
        launch_config(dim3(static_cast<unsigned>(columns.workers * Config::kClusterN)), Config::kNumThreads,
                      sizeof(SharedStorage), &cluster);
    config.stream = stream;
    HG_RETURN_IF_CUDA_ERROR(cudaLaunchKernelEx(&config, kernel_of(product.inputs, product.epilogue_kind),
                                               maps.a, maps.b, maps.b_narrow, maps.d, params,
                                               product.positions));
    return {};
  }

  static constexpr MixedNKernel kKernel = {.boxes = {.a_rows = Config::kMulticastM,
                                                     .b_rows = Config::WIDE_N,
                                                     .b_narrow_rows = Config::NARROW_N,
                                                     .d_rows = Config::kStoreM,
                                                     .d_columns = Config::kStoreN},
                                           .load = load,
                                           .active_clusters = active_clusters,
                                           .launch = launch};
};

}  // namespace hopper_gemm::library
