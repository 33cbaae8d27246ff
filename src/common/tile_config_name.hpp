#pragma once

#include <string>

#include "common/tile_config.hpp"

namespace hopper_gemm {

/// "128x256x32, warps 64x64, 4 stages, bands of 8": CTA tile and K block, warp tile, threads' tiles where they are the
/// configuration's choice, stages, and rows of tiles in a band. By this name the ladders' configurations are asked for.
inline std::string to_string(const TileConfig& config) {
  const auto tile = [](int m, int n) { return std::to_string(m) + "x" + std::to_string(n); };
  std::string text = tile(config.block_m, config.block_n) + "x" + std::to_string(config.block_k) +
                     ", warps " + tile(config.warp_m, config.warp_n);
  if (config.thread_m > 0) text += ", threads " + tile(config.thread_m, config.thread_n);
  return text + ", " + std::to_string(config.stages) + " stages, bands of " + std::to_string(config.band_m);
}

}  // namespace hopper_gemm
