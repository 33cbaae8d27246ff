#pragma once

// The configurations for which the cooperative kernel of one tile N is compiled, and the tables of their kernels.

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>

#include "device/cluster_positions.hpp"
#include "device/tensor_map_type.hpp"
#include "gemm/config.hpp"
#include "gemm/epilogue/epilogue_params.hpp"

namespace hopper_gemm::library::cooperative {

struct Params;

template <typename Matrices>
using Kernel = void (*)(TensorMap, TensorMap, TensorMap, Params, Matrices, ClusterPositions);

/// A configuration's compiled kernels.
struct Instance {
  KernelConfig config;
  Kernel<NoMatrixParams> alpha_only;
  Kernel<MatrixParams> general;  ///< nullptr for a configuration of Epilogues::AlphaOnly
  std::size_t smem_bytes;        ///< the larger of both kernels'
};

/// cluster_m, cluster_n: CTAs along M and along N that share loads.
constexpr KernelConfig config(int consumers, int block_m, int block_n, int stages, int cluster_m = 1,
                              int cluster_n = 1) {
  return {.schedule = Schedule::Cooperative,
          .consumers = consumers,
          .block_m = block_m,
          .block_n = block_n,
          .stages = stages,
          .cluster_m = cluster_m,
          .cluster_n = cluster_n};
}

/// The same for alpha only and K-major operands. An MN-major B and the general epilogue need block_n to be whole
/// swizzle atoms of 64, and this kernel does not.
constexpr KernelConfig alpha_only_config(int consumers, int block_m, int block_n, int stages, int cluster_m,
                                         int cluster_n) {
  KernelConfig kernel = config(consumers, block_m, block_n, stages, cluster_m, cluster_n);
  kernel.epilogues = Epilogues::AlphaOnly;
  kernel.majors = Majors::KMajor;
  return kernel;
}

/// The same for a B of any layout, whose block_n is whole swizzle atoms.
constexpr KernelConfig any_b_config(int consumers, int block_m, int block_n, int stages, int cluster_m,
                                    int cluster_n) {
  KernelConfig kernel = alpha_only_config(consumers, block_m, block_n, stages, cluster_m, cluster_n);
  kernel.majors = Majors::KMajorA;
  return kernel;
}

/// The same with swap-AB. wgmma's N is block_m, which may be any multiple of 16, and B may have any layout.
constexpr KernelConfig swapped_config(int consumers, int block_m, int block_n, int stages, int cluster_m,
                                      int cluster_n) {
  KernelConfig kernel = config(consumers, block_m, block_n, stages, cluster_m, cluster_n);
  kernel.swap_ab = true;
  kernel.epilogues = Epilogues::AlphaOnly;
  kernel.majors = Majors::KMajorA;
  return kernel;
}

/// The same with consumers that divide the tile along wgmma's N, for a block_n that is an odd multiple of 64 or a block_m
/// that is too large for one wgmma.
constexpr KernelConfig divided_config(int block_m, int block_n, int stages, int cluster_m, int cluster_n) {
  KernelConfig kernel = swapped_config(2, block_m, block_n, stages, cluster_m, cluster_n);
  kernel.divides_wgmma_n = true;
  return kernel;
}

// Two consumers give the most products per byte. One consumer serves small M. Each configuration has as many stages as
// fit. The arrays are compiled in files of their own.
inline constexpr std::array kLargeKernels = {
    config(2, 128, 256, 4, 2, 1), config(2, 256, 128, 4, 1, 2), config(2, 128, 256, 4),
    config(2, 256, 128, 4),       config(2, 128, 192, 4, 2, 1), config(2, 128, 192, 4),
};
inline constexpr std::array kSmallKernels = {
    config(2, 128, 128, 6, 2, 1), config(2, 128, 128, 6),      config(2, 128, 64, 8),
    config(2, 128, 64, 8, 1, 2),  config(2, 128, 64, 8, 2, 2), config(2, 128, 128, 6, 1, 2),
    config(2, 128, 128, 6, 2, 2), config(1, 64, 256, 5),       config(1, 64, 256, 5, 1, 2),
    config(1, 64, 192, 6),        config(1, 64, 128, 8),       config(1, 64, 128, 8, 2, 1),
    config(1, 64, 128, 8, 1, 2),  config(1, 64, 128, 8, 2, 2), config(1, 64, 64, 12),
    config(1, 64, 64, 12, 2, 2),  config(1, 64, 64, 12, 1, 2),
};

// Widths between the others, for shapes at which tiles of the others leave SMs without work. The stages are those that
// were measured. The 128x192 share more of their loads than those above, for shapes that L2 limits. The last two have few
// stages, for batches that memory limits: with less under way, memory delivers more (profiles/experiments.md, 43).
inline constexpr std::array kAlphaOnlyKernels = {
    alpha_only_config(2, 128, 208, 4, 2, 1), alpha_only_config(2, 128, 144, 5, 1, 1),
    alpha_only_config(2, 128, 112, 6, 1, 1), alpha_only_config(2, 128, 96, 6, 1, 1),
    alpha_only_config(2, 128, 80, 7, 2, 2),  alpha_only_config(1, 64, 176, 7, 2, 2),
    alpha_only_config(1, 64, 160, 7, 1, 1),  alpha_only_config(1, 64, 96, 10, 2, 1),
    alpha_only_config(1, 64, 80, 10, 2, 1),  alpha_only_config(2, 256, 144, 4, 1, 2),
    any_b_config(2, 128, 192, 4, 2, 2),      any_b_config(2, 128, 192, 4, 4, 2),
    any_b_config(2, 128, 128, 4, 1, 1),      any_b_config(2, 128, 256, 2, 2, 1),
};

// Heights between the others, for an M that tiles of the others cover with waste, and large clusters, for tiles whose
// loads L2 limits: cuBLAS takes the same or the next multiple of 8 for these shapes (profiles/experiments.md, 41, 42 and 44).
inline constexpr std::array kSwappedKernels = {
    swapped_config(1, 48, 64, 12, 2, 2),  swapped_config(1, 80, 64, 10, 2, 2),
    swapped_config(1, 96, 64, 9, 1, 4),   swapped_config(1, 96, 64, 9, 2, 4),
    swapped_config(2, 64, 128, 8, 4, 1),  swapped_config(2, 64, 128, 8, 2, 4),
    swapped_config(2, 160, 128, 5, 1, 4), swapped_config(2, 160, 128, 5, 2, 4),
    swapped_config(2, 176, 128, 5, 4, 2), swapped_config(2, 224, 128, 4, 1, 4),
    swapped_config(2, 240, 128, 4, 2, 1), swapped_config(2, 144, 256, 4, 2, 1),
    swapped_config(2, 160, 256, 4, 2, 1), swapped_config(2, 160, 256, 4, 1, 2),
    swapped_config(2, 176, 128, 5, 2, 1), swapped_config(2, 208, 128, 4, 1, 2),
    swapped_config(2, 160, 128, 5, 2, 1), swapped_config(2, 160, 128, 5, 1, 2),
    swapped_config(2, 240, 128, 4, 1, 2), swapped_config(2, 48, 128, 8, 1, 2),
    swapped_config(1, 192, 64, 6, 1, 4),  swapped_config(2, 96, 128, 6, 2, 1),
    swapped_config(1, 64, 64, 12, 1, 4),  divided_config(192, 192, 4, 1, 2),
    divided_config(160, 192, 4, 2, 1),
};

extern const std::array<Instance, kLargeKernels.size()> kLargeInstances;
extern const std::array<Instance, kSmallKernels.size()> kSmallInstances;
extern const std::array<Instance, kAlphaOnlyKernels.size()> kAlphaOnlyInstances;
extern const std::array<Instance, kSwappedKernels.size()> kSwappedInstances;

}  // namespace hopper_gemm::library::cooperative
