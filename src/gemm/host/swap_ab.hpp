#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>

#include "device/tensor_map_type.hpp"
#include "gemm/config.hpp"
#include "gemm/host/kernel_args.hpp"
#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

constexpr wgmma::Tile skinny_tile(int block_m, int block_n, int block_k, int stages) {
  return {.block_m = block_m,
          .block_n = block_n,
          .stages = stages,
          .cluster_m = 1,
          .cluster_n = 1,
          .consumers = 1,
          .block_k = block_k};
}

/// What the skinny kernel is compiled for: as few rows as are multiplied anyway; boxes of B of 16 KiB or more, since a
/// copy by TMA takes a while whatever its size, but for 48 rows; and as many stages as leave room for two CTAs on an
/// SM, or as fit where there are not more CTAs than SMs.
inline constexpr std::array kSkinnyInstances = {
    skinny_tile(16, 64, 128, 5),  skinny_tile(16, 64, 256, 5), skinny_tile(16, 128, 128, 3),
    skinny_tile(16, 128, 128, 6), skinny_tile(32, 64, 128, 4), skinny_tile(32, 64, 128, 8),
    skinny_tile(32, 128, 64, 5),  skinny_tile(48, 64, 64, 7),  skinny_tile(64, 64, 128, 6),
};

/// The compiled kernel of a tile, which may have fewer columns.
constexpr wgmma::Tile instance_tile(const wgmma::Tile& tile) {
  return skinny_tile(tile.block_m, wgmma::stage_lines_n(tile), tile.block_k, tile.stages);
}

/// Its tiles: by all columns of a compiled one, and by fewer, so that D's columns make even waves.
inline constexpr auto kSkinnyTiles = [] {
  constexpr std::array kFew = {64, 56, 40, 32};
  constexpr std::array kMany = {128, 112, 88, 80};
  std::array<wgmma::Tile, kFew.size() * kSkinnyInstances.size()> tiles{};
  std::size_t count = 0;
  for (const auto& [block_m, block_n, stages, cluster_m, cluster_n, consumers, block_k] : kSkinnyInstances) {
    for (const int columns : block_n == kFew.front() ? kFew : kMany) {
      tiles[count++] = skinny_tile(block_m, columns, block_k, stages);
    }
  }
  return tiles;
}();

/// Loads the code for a tile onto the current GPU: to be done before it is launched there.
Status load_skinny_gemm(const wgmma::Tile& tile);

/// How many clusters of `split` CTAs the current GPU runs at a time. Unsupported where not even one fits.
Status skinny_gemm_clusters(const wgmma::Tile& tile, int split, int* clusters);

/// Whether TMA brings the several blocks of a stage of `tile` in one box: K is cut in blocks of 64 then, which are a
/// dimension of the tensor map, and must be whole, since what is behind the end of a line is the next one.
bool loads_whole_stages(const wgmma::Tile& tile, int k);

/// How the skinny kernel is launched.
struct SkinnyLaunch {
  bool overlaps;             ///< it may start before the kernel before it in the stream ends (griddepcontrol)
  bool triggers_dependents;  ///< the kernel behind it may start before it ends
  bool is_plain;             ///< D = alpha · sum in the inputs' type, and can be stored by 16 bytes
};

/// Enqueues what `args` say. tensor_map_a, tensor_map_b: K-major, 128B swizzle, of loaded_lines() and block_n
/// lines; if loads_whole_stages() [batch, K / 64, lines, 64] by boxes of a stage's blocks, or else
/// [batch, 1, lines, K] by those of one. split: CTAs of a cluster that share a tile's K, at most its blocks of
/// block_k. sm_90.
Status launch_skinny_gemm(const wgmma::Tile& tile, int split, const TensorMap& tensor_map_a,
                          const TensorMap& tensor_map_b, const KernelArgs& args, const SkinnyLaunch& launch,
                          cudaStream_t stream);

}  // namespace hopper_gemm::library
