// Emulated: the wrappers of ptx/cluster.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/address.cuh>
#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

HG_PTX_INLINE void barrier_cluster_arrive() { emulator::cluster_barrier_arrive(true); }

HG_PTX_INLINE void barrier_cluster_arrive_relaxed() { emulator::cluster_barrier_arrive(false); }

HG_PTX_INLINE void barrier_cluster_wait() { emulator::cluster_barrier_wait(); }

HG_PTX_INLINE ClusterAddr mapa(SmemAddr address, uint32_t cta_rank) {
  return ClusterAddr{emulator::map_to_rank(address.value, cta_rank)};
}

HG_PTX_INLINE uint32_t getctarank(ClusterAddr address) { return emulator::rank_of(address.value); }

HG_PTX_INLINE void st_async(ClusterAddr dst, const float (&values)[4], ClusterAddr bar) {
  emulator::store_async(dst.value, values, sizeof(values), bar.value);
}

}  // namespace ptx
}  // namespace hopper_gemm
