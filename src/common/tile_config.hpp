#pragma once

#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm {

/// A point of a kernel's tuning space: how one CTA's tile is divided. All fields are in elements, except the stages and
/// the raster group. The fault_of() beside each kernel says for which points it can be compiled.
struct TileConfig {
  int block_m;  ///< of D, one CTA
  int block_n;
  int block_k;  ///< of A and B, one stage of shared memory
  int warp_m;   ///< of D, one warp
  int warp_n;
  int thread_m;  ///< of D, one thread at a time; 0 if an instruction decides that
  int thread_n;
  int stages;
  int band_m;  ///< rows of tiles of a raster group, for L2; 1: row by row

  HG_HOST_DEVICE friend constexpr bool operator==(const TileConfig&, const TileConfig&) = default;
};

/// A configuration for mma.sync, which decides each thread's part of a warp's tile. Raster groups have 8 rows of tiles.
HG_HOST_DEVICE constexpr TileConfig warp_tile(int block_m, int block_n, int block_k, int warp_m, int warp_n,
                                              int stages) {
  return {.block_m = block_m,
          .block_n = block_n,
          .block_k = block_k,
          .warp_m = warp_m,
          .warp_n = warp_n,
          .thread_m = 0,
          .thread_n = 0,
          .stages = stages,
          .band_m = 8};
}

}  // namespace hopper_gemm
