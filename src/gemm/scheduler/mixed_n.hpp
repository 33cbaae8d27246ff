#pragma once

#include <algorithm>

#include "common/ceil_div.hpp"
#include "common/gemm_shape.hpp"
#include "device/column_split.hpp"
#include "gemm/config.hpp"
#include "gemm/instances/mixed_n_configs.hpp"

// How D is cut into tiles for kernels with a mixed tile N.

namespace hopper_gemm::library {

/// K blocks of a tile. The cooperative kernel multiplies at least the K blocks of both ends of a tile. TMA fills in
/// zeros beyond K.
constexpr int k_blocks_of(const KernelConfig& kernel, int k) {
  const int least = kernel.schedule == Schedule::Cooperative ? 2 * kWideEndKBlocks : 1;
  return std::max(least, ceil_div(k, kBlockK));
}

/// The matrix that is cut: the batches along M, one after the other, each rounded up to whole tiles.
constexpr GemmShape shape_of_batches(const KernelConfig& kernel, GemmShape shape, int batch_count) {
  const int batch_m = kernel.cluster_m * kernel.block_m;
  return {ceil_div(shape.m, batch_m) * batch_m * batch_count, shape.n, shape.k};
}

/// The sizes of a cluster's tiles. Several batches do not mix widths: the narrow tiles would come after the wide tiles
/// of all batches, and A would no longer be in L2. 32 batches of 1024x1024x1024 took 107 us with tiles of 192 and 128
/// columns, 101 us with tiles of 128 alone, and 98 us with tiles of 176 alone, which compute 3 % in vain (H100).
constexpr WideAndNarrow wide_and_narrow(const KernelConfig& kernel, int batch_count) {
  WideAndNarrow tiles = {.cluster_m = kernel.cluster_m * kernel.block_m,
                         .wide_n = kernel.cluster_n * kernel.block_n,
                         .narrow_n = kernel.cluster_n * kernel.narrow_n};
  // A tile costs 600 cycles beside its products. Two SMs multiply 128x384x64 in 768 cycles (H200, 4096x32768x512).
  if (kernel.schedule == Schedule::Pingpong) tiles.tile_cost = 300;
  if (batch_count > 1) {
    tiles.mixes = false;
    tiles.narrow_slowness = 1.055;
  }
  return tiles;
}

}  // namespace hopper_gemm::library
