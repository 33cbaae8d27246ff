#pragma once

#include <cuda_runtime_api.h>

#include <array>

#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/status.hpp"
#include "hopper_gemm/tensor_map_type.hpp"
#include "library/kernel_args.hpp"
#include "library/wgmma_tile.hpp"

namespace hopper_gemm::library {

/// What the skinny kernel is compiled for: as few rows as are multiplied anyway; and as many stages as leave
/// room for two or three CTAs on an SM, or as fit where there are not more CTAs than SMs.
inline constexpr std::array kSkinnyTiles = {
    wgmma::Tile{.block_m = 16, .block_n = 64, .stages = 4, .cluster_m = 1, .cluster_n = 1, .consumers = 1},
    wgmma::Tile{.block_m = 16, .block_n = 64, .stages = 7, .cluster_m = 1, .cluster_n = 1, .consumers = 1},
    wgmma::Tile{.block_m = 16, .block_n = 64, .stages = 20, .cluster_m = 1, .cluster_n = 1, .consumers = 1},
    wgmma::Tile{.block_m = 32, .block_n = 64, .stages = 4, .cluster_m = 1, .cluster_n = 1, .consumers = 1},
    wgmma::Tile{.block_m = 32, .block_n = 64, .stages = 6, .cluster_m = 1, .cluster_n = 1, .consumers = 1},
    wgmma::Tile{.block_m = 32, .block_n = 64, .stages = 17, .cluster_m = 1, .cluster_n = 1, .consumers = 1},
    wgmma::Tile{.block_m = 48, .block_n = 64, .stages = 7, .cluster_m = 1, .cluster_n = 1, .consumers = 1},
};

/// Loads the code for a tile onto the current GPU: to be done before it is launched there.
Status load_skinny_gemm(const wgmma::Tile& tile);

/// How many clusters of `split` CTAs the current GPU runs at a time. Unsupported where not even one fits.
Status skinny_gemm_clusters(const wgmma::Tile& tile, int split, int* clusters);

/// Enqueues what `args` say. tensor_map_a, tensor_map_b: [batch, M, K] and [batch, N, K], K-major, by boxes
/// of 64 along K and loaded_lines() and block_n lines, 128B swizzle. split: CTAs of a cluster that share a
/// tile's K, at most its blocks of 64. overlaps: the kernel may start before the one before it ends
/// (griddepcontrol). sm_90.
Status launch_skinny_gemm(const wgmma::Tile& tile, int split, const TensorMap& tensor_map_a,
                          const TensorMap& tensor_map_b, const KernelArgs& args, bool overlaps,
                          cudaStream_t stream);

}  // namespace hopper_gemm::library
