#pragma once

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/fence.cuh>
#include <ptx/tma.cuh>
#include <ptx/wgmma.cuh>

#include "common/type_traits.hpp"
#include "device/device_common.cuh"
#include "device/epilogue.cuh"
#include "device/fragment_epilogue.cuh"
#include "device/tensor_map_type.hpp"
#include "device/tile_scheduler.hpp"
#include "gemm/config.hpp"
#include "gemm/epilogue/bias_queue.cuh"
#include "gemm/epilogue/epilogue_params.hpp"
#include "gemm/instances/mixed_n_configs.hpp"
#include "gemm/mainloop/operands.cuh"
#include "hopper_gemm/host_device.hpp"

// Device code that the kernels with a mixed tile N share.

namespace hopper_gemm::library {

/// What their configurations have in common.
template <KernelConfig kWide>
struct MixedNConfig {
  static constexpr KernelConfig kKernel = kWide;
  static_assert(kKernel.narrow_n != 0 && kKernel.cluster_m == 1 && kKernel.cluster_n == 2 &&
                kKernel.consumers == 2);
  static constexpr int BLOCK_M = kKernel.block_m;
  static constexpr int WIDE_N = kKernel.block_n;
  static constexpr int NARROW_N = kKernel.narrow_n;
  static constexpr int kNumStages = kKernel.stages;
  static_assert(kNumStages >= 2, "a consumer holds one stage while it waits for the next");
  static constexpr int kClusterN = kKernel.cluster_n;  // CTAs of a cluster, along N
  static constexpr int kNumConsumers = kKernel.consumers;
  static constexpr int kNumConsumerThreads = kNumConsumers * kWarpgroupThreads;
  static constexpr int kNumConsumerWarps = kNumConsumerThreads / kWarpThreads;
  static constexpr int kNumThreads = kNumConsumerThreads + kWarpgroupThreads;
  static constexpr int kMulticastM = BLOCK_M / kClusterN;  // rows of the A block that each CTA loads for both
  static constexpr cuda::std::uint16_t kMulticastMask = (1 << kClusterN) - 1;
  static constexpr int kWarpgroupWarps = kWarpgroupThreads / kWarpThreads;
  static constexpr int kStoreM = 16;  // rows of a wgmma's D that a warp holds
  static constexpr int kStoreN = 64;
  static constexpr int kProducerRegisters = 40;
  static constexpr int kConsumerRegisters = 232;
  // setmaxnreg hands out the registers that the CTA was launched with, rounded down. A request for more would wait
  // forever.
  static constexpr int kEntryRegisters = kRegistersPerSm / kNumThreads / 8 * 8;
  static_assert(kProducerRegisters + kNumConsumers * kConsumerRegisters <=
                (1 + kNumConsumers) * kEntryRegisters);
  static constexpr int kStageBytes = (BLOCK_M + WIDE_N) * kLineBytes;
  using Matrices = conditional_t<kKernel.epilogues == Epilogues::All, MatrixParams, NoMatrixParams>;
};

/// The cluster tiles of D: first columns of wide tiles, then columns of narrow ones. The batches follow each other
/// along M.
template <typename Config>
struct MixedNTiles {
  TileGrid wide;
  TileGrid narrow;
  int batch_count;
  int batch_m;  ///< tiles along M of a batch

  HG_HOST_DEVICE cuda::std::uint32_t count() const { return wide.num_tiles() + narrow.num_tiles(); }

  /// The cluster tile at a place of the raster order: raster groups of kBandM rows, each column by column. All wide
  /// tiles come before the narrow ones, and the columns of narrow tiles count on from the wide ones.
  __device__ __forceinline__ TileCoord at(cuda::std::uint32_t index) const {
    if (index < wide.num_tiles()) return supertile_order(index, wide, Config::kBandM);
    const TileCoord tile = supertile_order(index - wide.num_tiles(), narrow, Config::kBandM);
    return {tile.m, wide.n + tile.n};
  }

  /// Columns of each CTA's tile in a cluster tile.
  __device__ __forceinline__ int block_n(TileCoord cluster_tile) const {
    return cluster_tile.n < wide.n ? Config::WIDE_N : Config::NARROW_N;
  }

  /// Where a CTA's tile begins in D.
  __device__ __forceinline__ FragmentCorner corner(TileCoord cluster_tile, int cta_rank) const {
    const int batch = !takes_batches(Config::kKernel) || batch_count == 1 ? 0 : cluster_tile.m / batch_m;
    const bool is_wide = cluster_tile.n < wide.n;
    const int first_narrow = wide.n * Config::kClusterN * Config::WIDE_N;
    const int column = (is_wide ? 0 : first_narrow) +
                       ((is_wide ? cluster_tile.n : cluster_tile.n - wide.n) * Config::kClusterN + cta_rank) *
                           block_n(cluster_tile);
    return {batch, (cluster_tile.m - batch * batch_m) * Config::BLOCK_M, column};
  }
};

/// The kernel's parameters beside the tensor maps.
template <typename Config>
struct MixedNParams {
  MixedNTiles<Config> tiles;
  int num_k_blocks;
  float alpha;  ///< a copy of the epilogue's: read from there, it makes ptxas 12.3 serialise wgmmas
  cuda::std::uint32_t* steps;  ///< the counter of the wave throttle, see WavePace; or null
  EpilogueParams epilogue;
  bool a_is_batched;  ///< if false, all batches share one
  bool b_is_batched;
  typename Config::Matrices matrices;
};

/// Loads a tile's operands, stage after stage: the CTA's half of A for both CTAs of the cluster, and its own B. corner:
/// of the tile in D. tensor_map_b: with boxes of block_n rows, or of swizzle atoms, see MixedNLauncher.
/// after_k_block(): called after the loads of a K block have been issued. Threads: the producer warp, of which
/// is_leader issues the loads.
template <typename Config, typename Operands, typename SharedStorage, typename AfterKBlock>
__device__ __forceinline__ void load_tile(SharedStorage& smem, typename Config::Pipeline::State& state,
                                          const TensorMap& tensor_map_a, const TensorMap& tensor_map_b,
                                          const MixedNParams<Config>& params, FragmentCorner corner,
                                          int block_n, int cta_rank, bool is_leader,
                                          const AfterKBlock& after_k_block) {
  using namespace ptx;
  const int batch_a = params.a_is_batched ? corner.batch : 0;
  const int batch_b = params.b_is_batched ? corner.batch : 0;
  const int own_row = cta_rank * Config::kMulticastM;
  for (int k_block = 0; k_block < params.num_k_blocks; ++k_block) {
    smem.pipeline.producer_wait_uniform(state);
    if (is_leader) {
      const SmemAddr bar = smem.pipeline.producer_announce(state, (Config::BLOCK_M + block_n) * kLineBytes);
      [[maybe_unused]] const int k = k_block * kBlockK;  // NVRTC 12.3 misses its uses in braces
      if constexpr (Operands::kMajorA == Major::K) {
        cp_async_bulk_tensor_g2s_multicast(smem_addr(smem.a[state.stage] + own_row * kLineBytes),
                                           &tensor_map_a, {k, corner.row + own_row, batch_a}, bar,
                                           Config::kMulticastMask);
      } else {
#pragma unroll
        for (int row = own_row; row < own_row + Config::kMulticastM; row += kAtomLines) {
          cp_async_bulk_tensor_g2s_multicast(smem_addr(smem.a[state.stage] + row * kLineBytes), &tensor_map_a,
                                             {corner.row + row, k, batch_a}, bar, Config::kMulticastMask);
        }
      }
      if constexpr (Operands::kMajorB == Major::K) {
        cp_async_bulk_tensor_g2s(smem_addr(smem.b[state.stage]), &tensor_map_b, {k, corner.column, batch_b},
                                 bar);
      } else {
        for (int column = 0; column < block_n; column += kAtomLines) {
          cp_async_bulk_tensor_g2s(smem_addr(smem.b[state.stage] + column * kLineBytes), &tensor_map_b,
                                   {corner.column + column, k, batch_b}, bar);
        }
      }
    }
    state.advance();
    after_k_block();
  }
}

/// Loads the bias of each of a CTA's tiles, from first_index on. Threads: a warp, converged.
template <typename Config, typename BiasQueue>
__device__ __forceinline__ void load_bias(BiasQueue& queue, const MixedNTiles<Config>& tiles,
                                          const EpilogueParams& params, cuda::std::uint32_t first_index,
                                          cuda::std::uint32_t num_clusters, int cta_rank, int lane) {
  typename BiasQueue::State state;
  for (cuda::std::uint32_t index = first_index; index < tiles.count(); index += num_clusters) {
    const TileCoord cluster_tile = tiles.at(index);
    send_bias(queue, state, params, tiles.corner(cluster_tile, cta_rank), Config::BLOCK_M,
              tiles.block_n(cluster_tile), lane);
    state.advance();
  }
}

/// Multiplies kColumns columns of a warp's 16 rows by alpha and stores them by TMA. fragment: their accumulators.
/// staging: one of kBuffers, which the warp uses one after the other. corner: where the columns begin in D. Threads:
/// the whole warp.
template <typename T, int kColumns, int kBuffers>
__device__ __forceinline__ void store_scaled_piece(const float* fragment, float alpha, ptx::SmemAddr staging,
                                                   const TensorMap* tensor_map_d, FragmentCorner corner,
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
    cp_async_bulk_tensor_s2g(tensor_map_d, {corner.column, corner.row, corner.batch}, staging);
    cp_async_bulk_commit_group();
  }
}

}  // namespace hopper_gemm::library
