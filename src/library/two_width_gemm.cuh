#pragma once

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/fence.cuh>
#include <ptx/tma.cuh>

#include "hopper_gemm/epilogue.cuh"
#include "hopper_gemm/host_device.hpp"
#include "hopper_gemm/tensor_map_type.hpp"
#include "hopper_gemm/tile_scheduler.hpp"

// What the kernels with tiles of two widths share on the GPU.

namespace hopper_gemm::library {

/// The cluster tiles of D: wide ones, and narrow ones in the columns behind them.
template <typename Config>
struct TwoWidthTiles {
  TileGrid wide;
  TileGrid narrow;

  HG_HOST_DEVICE cuda::std::uint32_t count() const { return wide.num_tiles() + narrow.num_tiles(); }

  /// How many columns each CTA of a cluster has of it.
  __device__ __forceinline__ int block_n(cuda::std::uint32_t index) const {
    return index < wide.num_tiles() ? Config::WIDE_N : Config::NARROW_N;
  }

  /// Bands of rows, each walked column by column.
  __device__ __forceinline__ TileCoord at(cuda::std::uint32_t index) const {
    return index < wide.num_tiles() ? supertile_order(index, wide, Config::kBandM)
                                    : supertile_order(index - wide.num_tiles(), narrow, Config::kBandM);
  }

  /// Where a CTA's tile of so many columns begins in D.
  __device__ __forceinline__ int first_column(TileCoord cluster_tile, int cta_rank, int block_n) const {
    const int first_narrow = wide.n * Config::kClusterN * Config::WIDE_N;
    return (block_n == Config::WIDE_N ? 0 : first_narrow) +
           (cluster_tile.n * Config::kClusterN + cta_rank) * block_n;
  }
};

/// What of a launch is no tensor map.
template <typename Config>
struct TwoWidthParams {
  TwoWidthTiles<Config> tiles;
  int num_k_blocks;
  float alpha;
};

/// Stores kColumns columns of a warp's 16 rows, times alpha, by TMA. fragment: their accumulators. staging: one of
/// kBuffers, which the warp uses in turn. Threads: the whole warp.
template <typename T, int kColumns, int kBuffers>
__device__ __forceinline__ void store_scaled_piece(const float* fragment, float alpha, ptx::SmemAddr staging,
                                                   const TensorMap* tensor_map_d, int row, int column,
                                                   int lane) {
  using namespace ptx;
  if (lane == 0) cp_async_bulk_wait_group_read<kBuffers - 1>();
  __syncwarp();
  float scaled[kColumns / 2];
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i) scaled[i] = alpha * fragment[i];
  stage_fragment_swizzled<T, kColumns>(scaled, staging, 0, lane);
  fence_proxy_async_shared_cta();
  __syncwarp();
  if (lane == 0) {
    cp_async_bulk_tensor_s2g(tensor_map_d, {column, row, 0}, staging);
    cp_async_bulk_commit_group();
  }
}

}  // namespace hopper_gemm::library
