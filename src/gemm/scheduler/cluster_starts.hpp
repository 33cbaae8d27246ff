#pragma once

#include <cuda/std/cstdint>

#include "device/tile_scheduler.hpp"
#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm::library {

/// Where the clusters of a launch begin. If each of them has one tile, a start is this tile, packed. To compute it takes
/// divisions, which short launches have no time for. Otherwise it is a place in the raster order. Kernels take it by value.
struct ClusterStarts {
  static constexpr int kMaxClusters =
      144;  ///< the SMs of the largest sm_90 GPU; clusters behind them are not listed
  static constexpr cuda::std::uint32_t kNoTile = 0xffffffff;

  cuda::std::uint32_t start[kMaxClusters];  ///< by cluster number

  HG_HOST_DEVICE static constexpr cuda::std::uint32_t packed(TileCoord tile) {
    return static_cast<cuda::std::uint32_t>(tile.m) << 16 | static_cast<cuda::std::uint32_t>(tile.n);
  }
  HG_HOST_DEVICE static constexpr TileCoord unpacked(cuda::std::uint32_t start) {
    return {static_cast<int>(start >> 16), static_cast<int>(start & 0xffff)};
  }
};

}  // namespace hopper_gemm::library
