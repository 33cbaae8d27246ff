// Emulated: the wrappers of ptx/special_registers.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

// Grids, CTAs and clusters have one dimension.

HG_PTX_INLINE uint32_t laneid() { return emulator::thread_index().x % 32; }

HG_PTX_INLINE uint32_t warpid() { return emulator::thread_index().x / 32; }

HG_PTX_INLINE uint32_t nwarpid() { return 64; }

HG_PTX_INLINE uint32_t smid() { return emulator::block_index().x % emulator::sm_count(); }

HG_PTX_INLINE uint32_t nsmid() { return emulator::sm_count(); }

HG_PTX_INLINE uint64_t clock64() { return emulator::elapsed_steps(); }

HG_PTX_INLINE uint64_t globaltimer() { return emulator::elapsed_steps(); }

HG_PTX_INLINE uint32_t dynamic_smem_size() { return emulator::dynamic_shared_memory_size(); }

HG_PTX_INLINE uint32_t total_smem_size() { return emulator::dynamic_shared_memory_size(); }

HG_PTX_INLINE uint32_t clusterid_x() { return emulator::block_index().x / emulator::cluster_size(); }

HG_PTX_INLINE uint32_t clusterid_y() { return 0; }

HG_PTX_INLINE uint32_t clusterid_z() { return 0; }

HG_PTX_INLINE uint32_t nclusterid_x() { return emulator::grid_extent().x / emulator::cluster_size(); }

HG_PTX_INLINE uint32_t nclusterid_y() { return 1; }

HG_PTX_INLINE uint32_t nclusterid_z() { return 1; }

HG_PTX_INLINE uint32_t cluster_ctaid_x() { return emulator::cluster_rank(); }

HG_PTX_INLINE uint32_t cluster_ctaid_y() { return 0; }

HG_PTX_INLINE uint32_t cluster_ctaid_z() { return 0; }

HG_PTX_INLINE uint32_t cluster_nctaid_x() { return emulator::cluster_size(); }

HG_PTX_INLINE uint32_t cluster_nctaid_y() { return 1; }

HG_PTX_INLINE uint32_t cluster_nctaid_z() { return 1; }

HG_PTX_INLINE uint32_t cluster_ctarank() { return emulator::cluster_rank(); }

HG_PTX_INLINE uint32_t cluster_nctarank() { return emulator::cluster_size(); }

}  // namespace ptx
}  // namespace hopper_gemm
