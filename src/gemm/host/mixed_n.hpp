#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <optional>

#include "common/ceil_div.hpp"
#include "common/gemm_shape.hpp"
#include "device/cluster_positions.hpp"
#include "device/column_split.hpp"
#include "device/tensor_map_type.hpp"
#include "gemm/config.hpp"
#include "gemm/epilogue/epilogue_params.hpp"
#include "gemm/host/kernel_args.hpp"
#include "gemm/instances/mixed_n_configs.hpp"
#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/status.hpp"

// The kernels with a mixed tile N, for sm_90: wide and narrow tiles together fill the waves.

namespace hopper_gemm::library {

/// The pingpong kernel's: each consumer warpgroup has a tile of its own, and stores it under the other's
/// products. Of several widths the one whose waves are fullest.
inline constexpr std::array kPingpongTiles = {
    wgmma::Tile{.block_m = 128, .block_n = 192, .stages = 5, .cluster_m = 1, .cluster_n = 2, .consumers = 2},
    wgmma::Tile{.block_m = 128, .block_n = 176, .stages = 5, .cluster_m = 1, .cluster_n = 2, .consumers = 2},
    wgmma::Tile{.block_m = 128, .block_n = 144, .stages = 5, .cluster_m = 1, .cluster_n = 2, .consumers = 2},
};

constexpr bool is_pingpong(const wgmma::Tile& tile) {
  return std::find(kPingpongTiles.begin(), kPingpongTiles.end(), tile) != kPingpongTiles.end();
}

/// Whether the kernel of such a tile adds a bias, applies an activation and has any output type. The accumulators of the
/// others leave no registers for more than alpha · A·B.
constexpr bool has_general_epilogue(const wgmma::Tile& tile) {
  constexpr int kMostColumns = 176;
  return is_pingpong(tile) && tile.block_n <= kMostColumns;
}

/// K blocks that a tile of these kernels is multiplied by: the wide kernel's at least by those of both ends,
/// zeros beyond K.
constexpr int k_blocks_of_two_widths(const wgmma::Tile& tile, int k) {
  const int least = tile == kWideTile ? 2 * kWideEndKBlocks : 1;
  return std::max(least, ceil_div(k, wgmma::kBlockK));
}

/// What their clusters, of two CTAs side by side, compute at a time; nothing for a tile of the wgmma kernel.
constexpr std::optional<WideAndNarrow> two_widths_of(const wgmma::Tile& tile) {
  if (tile != kWideTile && !is_pingpong(tile)) return std::nullopt;
  WideAndNarrow tiles = {.cluster_m = tile.block_m,
                         .wide_n = tile.cluster_n * tile.block_n,
                         .narrow_n = tile.cluster_n * kNarrowN};
  // 600 cycles a tile, of which 128x384x64 by two SMs take 768 (H200, 4096x32768x512).
  if (is_pingpong(tile)) tiles.tile_cost = 300;
  return tiles;
}

/// What a launch multiplies, for which the kernels have an instance each. b: K-major unless takes_mn_major_b().
struct TwoWidthInputs {
  DataType type;  ///< bf16 or fp16
  OperandMajor a;
  OperandMajor b;
};

/// How such a kernel cuts its operands, in rows of [M, K], [N, K] and [M, N], and columns of the last; along
/// K it takes 64 at a time. MN-major operands come in spans of 64 lines by 64 along K instead. 128B swizzle.
struct TwoWidthBoxes {
  int a_rows;
  int b_rows;         ///< for wide tiles
  int b_narrow_rows;  ///< for narrow ones
  int d_rows;
  int d_columns;
};

/// Tensor maps of these boxes, of rank 3: the last extent is 1.
struct TwoWidthMaps {
  TensorMap a;
  TensorMap b;
  TensorMap b_narrow;
  TensorMap d;
};

/// What of a launch is no tensor map.
struct TwoWidthLaunch {
  TwoWidthInputs inputs;
  wgmma::EpilogueKind epilogue_kind;
  const EpilogueParams& epilogue;
  const ColumnSplit& columns;  ///< by split_columns() for the kernel's tiles
  const ClusterPositions& positions;
};

/// One of these kernels.
struct TwoWidthKernel {
  TwoWidthBoxes boxes;
  /// Loads the code onto the current GPU: to be done before it is launched there.
  Status (*load)(const TwoWidthInputs& inputs);
  /// How many clusters the current GPU runs at a time. Unsupported where not even one fits.
  Status (*active_clusters)(int* clusters);
  /// Enqueues the product.
  Status (*launch)(const TwoWidthMaps& maps, const TwoWidthLaunch& product, cudaStream_t stream);
};

extern const TwoWidthKernel kWideKernel;
/// In the order of kPingpongTiles.
extern const std::array<TwoWidthKernel, kPingpongTiles.size()> kPingpongKernels;

}  // namespace hopper_gemm::library
