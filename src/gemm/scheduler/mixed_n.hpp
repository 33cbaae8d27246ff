#pragma once

#include <algorithm>

#include "common/ceil_div.hpp"
#include "common/gemm_shape.hpp"
#include "device/column_split.hpp"
#include "gemm/config.hpp"
#include "gemm/instances/mixed_n_configs.hpp"

// How D is cut for kernels with a mixed tile N.

namespace hopper_gemm::library {

/// K blocks that a tile of these kernels is multiplied by: the cooperative one's at least by those of both ends, zeros
/// beyond K.
constexpr int k_blocks_of(const KernelConfig& kernel, int k) {
  const int least = kernel.schedule == Schedule::Cooperative ? 2 * kWideEndKBlocks : 1;
  return std::max(least, ceil_div(k, kBlockK));
}

/// What they cut: all batches one above the other, with whole tiles each.
constexpr GemmShape shape_of_batches(const KernelConfig& kernel, GemmShape shape, int batch_count) {
  const int batch_m = kernel.cluster_m * kernel.block_m;
  return {ceil_div(shape.m, batch_m) * batch_m * batch_count, shape.n, shape.k};
}

/// What their clusters compute at a time. Narrow tiles come behind the wide ones of all batches, when A is in L2 no more.
/// So 32 batches of 1024x1024x1024 took 107 us by tiles of 192 and 128 columns, 101 by such of 128 alone, and 98 by such of
/// 176 alone, which compute 3 % in vain (H100).
constexpr WideAndNarrow wide_and_narrow(const KernelConfig& kernel, int batch_count) {
  WideAndNarrow tiles = {.cluster_m = kernel.cluster_m * kernel.block_m,
                         .wide_n = kernel.cluster_n * kernel.block_n,
                         .narrow_n = kernel.cluster_n * kernel.narrow_n};
  // 600 cycles a tile, of which 128x384x64 by two SMs take 768 (H200, 4096x32768x512).
  if (kernel.schedule == Schedule::Pingpong) tiles.tile_cost = 300;
  if (batch_count > 1) {
    tiles.mixes = false;
    tiles.narrow_slowness = 1.055;
  }
  return tiles;
}

}  // namespace hopper_gemm::library
