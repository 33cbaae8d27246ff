#pragma once

#include "gemm/config.hpp"
#include "hopper_gemm/host_device.hpp"

// What kernels with tiles of two widths are compiled for, on the GPU and on the host.

namespace hopper_gemm::library {

/// The wide kernel's larger tile: the least bytes for a product. Its stages leave no room for what it stores,
/// which goes through one of them.
inline constexpr wgmma::Tile kWideTile = {
    .block_m = 256, .block_n = 192, .stages = 4, .cluster_m = 1, .cluster_n = 2, .consumers = 2};
/// At either end of a tile the wide kernel's upper half multiplies so many K blocks, then its lower half, so
/// that one is stored under the other's products.
inline constexpr int kWideEndKBlocks = 2;
/// Columns of the narrow tiles, which wider ones share a kernel with.
inline constexpr int kNarrowN = 128;
/// Lines of an MN-major operand that come at a time: 128 bytes of its rows, one span of the swizzle.
inline constexpr int kSpanLines = 64;

/// Whether B may be MN-major: its columns then come in spans.
HG_HOST_DEVICE constexpr bool takes_mn_major_b(const wgmma::Tile& wide) {
  return wide.block_n % kSpanLines == 0 && kNarrowN % kSpanLines == 0;
}

}  // namespace hopper_gemm::library
