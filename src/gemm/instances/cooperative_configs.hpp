#pragma once

// The tiles that the wgmma kernel is compiled for, and what launches them.

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>

#include "device/cluster_positions.hpp"
#include "device/tensor_map_type.hpp"
#include "gemm/config.hpp"

namespace hopper_gemm::library::wgmma {

struct Params;

using Kernel = void (*)(TensorMap, TensorMap, TensorMap, Params, ClusterPositions);

/// A tile's compiled kernels.
struct Instance {
  Tile tile;
  Kernel plain;
  Kernel general;          ///< nullptr where is_plain_only()
  std::size_t smem_bytes;  ///< of both
};

// Of two consumer warpgroups, whose tiles do the most products per byte, and of one, for few rows. As many stages as
// fit. In parts that are compiled apart.
inline constexpr std::array kLargeTiles = {
    Tile{.block_m = 128, .block_n = 256, .stages = 4, .cluster_m = 2, .cluster_n = 1, .consumers = 2},
    Tile{.block_m = 256, .block_n = 128, .stages = 4, .cluster_m = 1, .cluster_n = 2, .consumers = 2},
    Tile{.block_m = 128, .block_n = 256, .stages = 4, .cluster_m = 1, .cluster_n = 1, .consumers = 2},
    Tile{.block_m = 256, .block_n = 128, .stages = 4, .cluster_m = 1, .cluster_n = 1, .consumers = 2},
    Tile{.block_m = 128, .block_n = 192, .stages = 4, .cluster_m = 2, .cluster_n = 1, .consumers = 2},
    Tile{.block_m = 128, .block_n = 192, .stages = 4, .cluster_m = 1, .cluster_n = 1, .consumers = 2},
};
inline constexpr std::array kSmallTiles = {
    Tile{.block_m = 128, .block_n = 128, .stages = 6, .cluster_m = 2, .cluster_n = 1, .consumers = 2},
    Tile{.block_m = 128, .block_n = 128, .stages = 6, .cluster_m = 1, .cluster_n = 1, .consumers = 2},
    Tile{.block_m = 128, .block_n = 64, .stages = 8, .cluster_m = 1, .cluster_n = 1, .consumers = 2},
    Tile{.block_m = 128, .block_n = 64, .stages = 8, .cluster_m = 1, .cluster_n = 2, .consumers = 2},
    Tile{.block_m = 128, .block_n = 64, .stages = 8, .cluster_m = 2, .cluster_n = 2, .consumers = 2},
    Tile{.block_m = 128, .block_n = 128, .stages = 6, .cluster_m = 1, .cluster_n = 2, .consumers = 2},
    Tile{.block_m = 128, .block_n = 128, .stages = 6, .cluster_m = 2, .cluster_n = 2, .consumers = 2},
    Tile{.block_m = 64, .block_n = 256, .stages = 5, .cluster_m = 1, .cluster_n = 1, .consumers = 1},
    Tile{.block_m = 64, .block_n = 256, .stages = 5, .cluster_m = 1, .cluster_n = 2, .consumers = 1},
    Tile{.block_m = 64, .block_n = 192, .stages = 6, .cluster_m = 1, .cluster_n = 1, .consumers = 1},
    Tile{.block_m = 64, .block_n = 128, .stages = 8, .cluster_m = 1, .cluster_n = 1, .consumers = 1},
    Tile{.block_m = 64, .block_n = 128, .stages = 8, .cluster_m = 2, .cluster_n = 1, .consumers = 1},
    Tile{.block_m = 64, .block_n = 128, .stages = 8, .cluster_m = 1, .cluster_n = 2, .consumers = 1},
    Tile{.block_m = 64, .block_n = 128, .stages = 8, .cluster_m = 2, .cluster_n = 2, .consumers = 1},
    Tile{.block_m = 64, .block_n = 64, .stages = 12, .cluster_m = 1, .cluster_n = 1, .consumers = 1},
    Tile{.block_m = 64, .block_n = 64, .stages = 12, .cluster_m = 2, .cluster_n = 2, .consumers = 1},
    Tile{.block_m = 64, .block_n = 64, .stages = 12, .cluster_m = 1, .cluster_n = 2, .consumers = 1},
};

// Of widths between those, where tiles of them leave SMs without work. With the stages that were measured.
inline constexpr std::array kPlainTiles = {
    Tile{.block_m = 128, .block_n = 208, .stages = 4, .cluster_m = 2, .cluster_n = 1, .consumers = 2},
    Tile{.block_m = 128, .block_n = 144, .stages = 5, .cluster_m = 1, .cluster_n = 1, .consumers = 2},
    Tile{.block_m = 128, .block_n = 112, .stages = 6, .cluster_m = 1, .cluster_n = 1, .consumers = 2},
    Tile{.block_m = 128, .block_n = 96, .stages = 6, .cluster_m = 1, .cluster_n = 1, .consumers = 2},
    Tile{.block_m = 128, .block_n = 80, .stages = 7, .cluster_m = 2, .cluster_n = 2, .consumers = 2},
    Tile{.block_m = 64, .block_n = 176, .stages = 7, .cluster_m = 2, .cluster_n = 2, .consumers = 1},
    Tile{.block_m = 64, .block_n = 160, .stages = 7, .cluster_m = 1, .cluster_n = 1, .consumers = 1},
    Tile{.block_m = 64, .block_n = 96, .stages = 10, .cluster_m = 2, .cluster_n = 1, .consumers = 1},
    Tile{.block_m = 64, .block_n = 80, .stages = 10, .cluster_m = 2, .cluster_n = 1, .consumers = 1},
};

extern const std::array<Instance, kLargeTiles.size()> kLargeInstances;
extern const std::array<Instance, kSmallTiles.size()> kSmallInstances;
extern const std::array<Instance, kPlainTiles.size()> kPlainInstances;

}  // namespace hopper_gemm::library::wgmma
