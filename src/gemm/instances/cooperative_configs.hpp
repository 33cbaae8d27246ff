#pragma once

// What the cooperative kernel of one tile N is compiled for, and the tables of the compiled kernels.

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>

#include "device/tensor_map_type.hpp"
#include "gemm/config.hpp"
#include "gemm/epilogue/epilogue_params.hpp"
#include "gemm/scheduler/cluster_starts.hpp"

namespace hopper_gemm::library::cooperative {

struct Params;

template <typename Matrices>
using Kernel = void (*)(TensorMap, TensorMap, TensorMap, Params, Matrices, ClusterStarts);

/// What is compiled for a configuration.
struct Instance {
  KernelConfig config;  ///< without a cluster
  Kernel<NoMatrixParams> alpha_only;
  Kernel<MatrixParams> general;  ///< nullptr for a configuration of Epilogues::AlphaOnly
  std::size_t smem_bytes;        ///< the larger of both kernels'
};

constexpr KernelConfig config(int consumers, int block_m, int block_n, int stages) {
  return {.schedule = Schedule::Cooperative,
          .consumers = consumers,
          .block_m = block_m,
          .block_n = block_n,
          .stages = stages};
}

/// The same for alpha only and K-major operands. An MN-major B and the general epilogue need block_n to be whole
/// swizzle atoms of 64, and this kernel does not.
constexpr KernelConfig alpha_only_config(int consumers, int block_m, int block_n, int stages) {
  KernelConfig kernel = config(consumers, block_m, block_n, stages);
  kernel.epilogues = Epilogues::AlphaOnly;
  kernel.majors = Majors::KMajor;
  return kernel;
}

/// The same for a B of any layout, whose block_n is whole swizzle atoms.
constexpr KernelConfig any_b_config(int consumers, int block_m, int block_n, int stages) {
  KernelConfig kernel = alpha_only_config(consumers, block_m, block_n, stages);
  kernel.majors = Majors::KMajorA;
  return kernel;
}

/// The same with swap-AB. wgmma's N is block_m, which may be 16 or a multiple of 8 from 32, and B may have any layout.
constexpr KernelConfig swapped_config(int consumers, int block_m, int block_n, int stages) {
  KernelConfig kernel = config(consumers, block_m, block_n, stages);
  kernel.swap_ab = true;
  kernel.epilogues = Epilogues::AlphaOnly;
  kernel.majors = Majors::KMajorA;
  return kernel;
}

/// The same with consumers that divide the tile along wgmma's N, for a block_n that is an odd multiple of 64 or a block_m
/// that is too large for one wgmma.
constexpr KernelConfig divided_config(int block_m, int block_n, int stages) {
  KernelConfig kernel = swapped_config(2, block_m, block_n, stages);
  kernel.divides_wgmma_n = true;
  return kernel;
}

// The kernels that are compiled, each for every cluster. Two consumers give the most products per byte. One consumer
// serves small M. Each kernel has as many stages as fit. The arrays are compiled in files of their own.
inline constexpr std::array kLargeKernels = {
    config(2, 128, 256, 4),
    config(2, 256, 128, 4),
    config(2, 128, 192, 4),
};
inline constexpr std::array kSmallKernels = {
    config(2, 128, 128, 6), config(2, 128, 64, 8), config(1, 64, 256, 5),
    config(1, 64, 192, 6),  config(1, 64, 128, 8), config(1, 64, 64, 12),
};

// Widths between the others, for shapes at which tiles of the others leave SMs without work. The stages are those that
// were measured. The last two have few stages, for batches that memory limits: with less under way, memory delivers more
// (profiles/experiments.md, 43).
inline constexpr std::array kAlphaOnlyKernels = {
    alpha_only_config(2, 128, 208, 4), alpha_only_config(2, 128, 144, 5), alpha_only_config(2, 128, 112, 6),
    alpha_only_config(2, 128, 80, 7),  alpha_only_config(1, 64, 176, 7),  alpha_only_config(1, 64, 160, 7),
    alpha_only_config(1, 64, 96, 10),  alpha_only_config(2, 128, 240, 4), any_b_config(2, 128, 128, 4),
    any_b_config(2, 128, 256, 2),
};

// Heights between the others, for an M that tiles of the others cover with waste, and low tiles for a small M with an
// MN-major B. cuBLAS takes the same or the next multiple of 8 for these shapes (profiles/experiments.md, 41, 42, 44, 52
// and 59).
inline constexpr std::array kSwappedKernels = {
    swapped_config(2, 64, 128, 8),  swapped_config(2, 160, 128, 5), swapped_config(2, 176, 128, 5),
    swapped_config(2, 224, 128, 4), swapped_config(2, 240, 128, 4), swapped_config(2, 144, 256, 4),
    swapped_config(2, 160, 256, 4), swapped_config(2, 208, 128, 4), swapped_config(2, 48, 128, 8),
    swapped_config(2, 96, 128, 6),  swapped_config(2, 144, 128, 5), swapped_config(2, 192, 128, 4),
    divided_config(192, 192, 4),    divided_config(160, 192, 4),    swapped_config(2, 184, 128, 5),
    swapped_config(2, 200, 128, 5), swapped_config(2, 216, 128, 4), swapped_config(2, 96, 256, 4),
    swapped_config(2, 32, 128, 10), swapped_config(2, 16, 128, 11), divided_config(208, 192, 4),
    swapped_config(2, 112, 128, 7), swapped_config(2, 136, 128, 6), swapped_config(2, 152, 128, 5),
    swapped_config(2, 112, 256, 4), swapped_config(2, 152, 256, 4),
};

// The same with one consumer.
inline constexpr std::array kSmallSwappedKernels = {
    swapped_config(1, 48, 64, 12), swapped_config(1, 80, 64, 10), swapped_config(1, 96, 64, 9),
    swapped_config(1, 192, 64, 6), swapped_config(1, 64, 64, 12), swapped_config(1, 32, 64, 14),
    swapped_config(1, 16, 64, 20), swapped_config(1, 56, 64, 13), swapped_config(1, 72, 64, 11),
    swapped_config(1, 104, 64, 9), swapped_config(1, 112, 64, 9), swapped_config(1, 136, 64, 8),
};

/// CTAs along M and along N that share loads.
struct ClusterShape {
  int m;
  int n;
};

/// The clusters in which a kernel is launched if fault_of() has nothing against it.
inline constexpr std::array<ClusterShape, 8> kClusterShapes = {
    {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 4}, {4, 1}, {2, 4}, {4, 2}}};

extern const std::array<Instance, kLargeKernels.size()> kLargeInstances;
extern const std::array<Instance, kSmallKernels.size()> kSmallInstances;
extern const std::array<Instance, kAlphaOnlyKernels.size()> kAlphaOnlyInstances;
extern const std::array<Instance, kSwappedKernels.size()> kSwappedInstances;
extern const std::array<Instance, kSmallSwappedKernels.size()> kSmallSwappedInstances;

}  // namespace hopper_gemm::library::cooperative
