#pragma once

#include <string>

#include "common/tile_config.hpp"

namespace hopper_gemm {

/// The name by which users ask for a configuration of a ladder, such as "128x256x32, warps 64x64, 4 stages, bands of
/// 8". It has the CTA tile and the K block, the warp tile, the thread's tile if the configuration chooses one, the
/// stages, and the rows of tiles of a raster group.
inline std::string to_string(const TileConfig& config) {
  const auto tile = [](int m, int n) { return std::to_string(m) + "x" + std::to_string(n); };
  std::string text = tile(config.block_m, config.block_n) + "x" + std::to_string(config.block_k) +
                     ", warps " + tile(config.warp_m, config.warp_n);
  if (config.thread_m > 0) text += ", threads " + tile(config.thread_m, config.thread_n);
  return text + ", " + std::to_string(config.stages) + " stages, bands of " + std::to_string(config.band_m);
}

}  // namespace hopper_gemm
