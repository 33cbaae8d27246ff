// Every wrapper and overload of ptx/, instantiated: if this compiles to sm_90a machine code, ptxas has
// accepted each instruction. Device code only, so that NVRTC compiles it as well. Never launched.

#include <ptx/address.cuh>
#include <ptx/approximate.cuh>
#include <ptx/cache_policy.cuh>
#include <ptx/cluster.cuh>
#include <ptx/elect.cuh>
#include <ptx/fence.cuh>
#include <ptx/global_memory.cuh>
#include <ptx/griddepcontrol.cuh>
#include <ptx/max.cuh>
#include <ptx/mbarrier.cuh>
#include <ptx/named_barrier.cuh>
#include <ptx/prefetch.cuh>
#include <ptx/setmaxnreg.cuh>
#include <ptx/special_registers.cuh>
#include <ptx/stmatrix.cuh>
#include <ptx/tma.cuh>
#include <ptx/wgmma.cuh>

namespace hopper_gemm {
namespace ptx {
namespace compile_test {

struct alignas(64) TensorMap {
  unsigned char opaque[128];
};

__global__ void addresses_and_barriers(uint64_t* out, uint32_t parity, uint32_t count) {
  __shared__ alignas(8) uint64_t barrier_storage[2];
  const SmemAddr bar = smem_addr(barrier_storage) + 8u;
  mbarrier_init(bar, count);
  fence_mbarrier_init_release_cluster();
  barrier_cluster_arrive_relaxed();
  barrier_cluster_wait();

  const ClusterAddr peer_bar = mapa(bar, 1) + 0u;
  uint64_t sum = getctarank(peer_bar);
  const uint64_t state = mbarrier_arrive(bar);
  sum += mbarrier_pending_count(state);
  sum += mbarrier_arrive(bar, count);
  sum += mbarrier_arrive_expect_tx(bar, 1024);
  mbarrier_arrive_cluster(peer_bar);
  mbarrier_arrive_cluster(peer_bar, count);
  mbarrier_arrive_relaxed_cluster(peer_bar);
  mbarrier_arrive_expect_tx_cluster(peer_bar, 1024);
  st_async(mapa(bar, 1) + 8u, {1.0f, 2.0f, 3.0f, 4.0f}, peer_bar);
  mbarrier_expect_tx(bar, 1024);
  sum += mbarrier_test_wait(bar, state);
  sum += mbarrier_test_wait_parity(bar, parity);
  sum += mbarrier_try_wait(bar, state);
  sum += mbarrier_try_wait_parity(bar, parity);
  sum += mbarrier_try_wait_parity(bar, parity, 1000u);
  sum += mbarrier_try_wait_parity_cluster(bar, parity);
  sum += mbarrier_try_wait_parity_relaxed_cluster(bar, parity);
  barrier_cluster_arrive();
  barrier_cluster_wait();
  mbarrier_inval(bar);

  barrier_arrive(1, 64);
  barrier_sync(1, 64);
  barrier_sync(count, parity);  // ids and counts in registers
  out[threadIdx.x] = sum + elect_sync() + elect_sync(0x0000ffffu);
}

__global__ void matrix_stores(uint4 words) {
  __shared__ alignas(16) unsigned char rows[32 * 16];
  const SmemAddr row = smem_addr(rows) + threadIdx.x * 16;
  const uint32_t one[1] = {words.x};
  const uint32_t two[2] = {words.x, words.y};
  const uint32_t four[4] = {words.x, words.y, words.z, words.w};
  stmatrix(row, one);
  stmatrix(row, two);
  stmatrix(row, four);
  stmatrix_trans(row, one);
  stmatrix_trans(row, two);
  stmatrix_trans(row, four);
}

__global__ void fences(const TensorMap* global_map) {
  fence_proxy_async();
  fence_proxy_async_shared_cta();
  fence_proxy_async_shared_cluster();
  fence_proxy_async_global();
  fence_proxy_tensormap_generic_release_gpu();
  fence_proxy_tensormap_generic_acquire_gpu(global_map);
  fence_acq_rel_cta();
  fence_acq_rel_cluster();
  fence_acq_rel_gpu();
  griddepcontrol_wait();
  griddepcontrol_launch_dependents();
}

__global__ void prefetches(const void* global) {
  prefetch_l1(global);
  prefetch_l2(global);
}

__global__ void global_memory(uint32_t* global) { red_add_relaxed_gpu(global, ld_relaxed_gpu(global)); }

__global__ void approximations(float* values) {
  values[0] = max_nan(tanh_approx(ex2_approx_ftz(rcp_approx_ftz(values[0]))), values[1]);
}

__global__ void special_registers(uint64_t* out) {
  uint64_t sum = 0;
  sum += laneid() + warpid() + nwarpid() + smid() + nsmid();
  sum += clock64() + globaltimer() + dynamic_smem_size() + total_smem_size();
  sum += clusterid_x() + clusterid_y() + clusterid_z();
  sum += nclusterid_x() + nclusterid_y() + nclusterid_z();
  sum += cluster_ctaid_x() + cluster_ctaid_y() + cluster_ctaid_z();
  sum += cluster_nctaid_x() + cluster_nctaid_y() + cluster_nctaid_z();
  sum += cluster_ctarank() + cluster_nctarank();
  out[threadIdx.x] = sum;
}

template <ReduceOp kOp, int kDims>
__device__ void reduce(const TensorMap& map, const int32_t (&coords)[kDims], SmemAddr src, uint64_t policy) {
  cp_reduce_async_bulk_tensor_s2g<kOp>(&map, coords, src);
  cp_reduce_async_bulk_tensor_s2g<kOp>(&map, coords, src, policy);
}

template <int kDims>
__global__ void tensor_copies(const __grid_constant__ TensorMap map, uint64_t* out, int32_t coord) {
  __shared__ alignas(1024) unsigned char tile[1024];
  __shared__ alignas(8) uint64_t barrier_storage;
  const SmemAddr smem = smem_addr(tile);
  const SmemAddr bar = smem_addr(&barrier_storage);
  int32_t coords[kDims];
  for (int i = 0; i < kDims; ++i) {
    coords[i] = coord + i;
  }
  const uint64_t policy = createpolicy_fractional_evict_first();
  prefetch_tensormap(&map);
  cp_async_bulk_tensor_g2s(smem, &map, coords, bar);
  cp_async_bulk_tensor_g2s(smem, &map, coords, bar, policy);
  cp_async_bulk_tensor_g2s_multicast(smem, &map, coords, bar, uint16_t{3});
  cp_async_bulk_tensor_g2s_multicast(smem, &map, coords, bar, uint16_t{3}, policy);
  cp_async_bulk_tensor_s2g(&map, coords, smem);
  cp_async_bulk_tensor_s2g(&map, coords, smem, policy);
  reduce<ReduceOp::kAdd>(map, coords, smem, policy);
  reduce<ReduceOp::kMin>(map, coords, smem, policy);
  reduce<ReduceOp::kMax>(map, coords, smem, policy);
  reduce<ReduceOp::kInc>(map, coords, smem, policy);
  reduce<ReduceOp::kDec>(map, coords, smem, policy);
  reduce<ReduceOp::kAnd>(map, coords, smem, policy);
  reduce<ReduceOp::kOr>(map, coords, smem, policy);
  reduce<ReduceOp::kXor>(map, coords, smem, policy);
  cp_async_bulk_prefetch_tensor(&map, coords);
  cp_async_bulk_prefetch_tensor(&map, coords, policy);
  cp_async_bulk_commit_group();
  cp_async_bulk_wait_group<1>();
  cp_async_bulk_wait_group_read<1>();
  cp_async_bulk_wait_group_read<0>();
  cp_async_bulk_wait_group<0>();
  out[threadIdx.x] = tile[threadIdx.x];
}
template __global__ void tensor_copies<1>(const __grid_constant__ TensorMap, uint64_t*, int32_t);
template __global__ void tensor_copies<2>(const __grid_constant__ TensorMap, uint64_t*, int32_t);
template __global__ void tensor_copies<3>(const __grid_constant__ TensorMap, uint64_t*, int32_t);
template __global__ void tensor_copies<4>(const __grid_constant__ TensorMap, uint64_t*, int32_t);
template __global__ void tensor_copies<5>(const __grid_constant__ TensorMap, uint64_t*, int32_t);

__global__ void bulk_copies(unsigned char* data, uint32_t size_bytes, float fraction) {
  __shared__ alignas(16) unsigned char tile[1024];
  __shared__ alignas(8) uint64_t barrier_storage;
  const SmemAddr smem = smem_addr(tile);
  const SmemAddr bar = smem_addr(&barrier_storage);
  cp_async_bulk_g2s(smem, data, size_bytes, bar);
  cp_async_bulk_g2s(smem, data, size_bytes, bar, createpolicy_fractional_evict_last(fraction));
  cp_async_bulk_g2s(smem, data, size_bytes, bar, createpolicy_fractional_evict_first(fraction));
  cp_async_bulk_s2g(data, smem, size_bytes);
  cp_async_bulk_s2g(data, smem, size_bytes, createpolicy_fractional_evict_normal());
  cp_async_bulk_s2g(data, smem, size_bytes, createpolicy_fractional_evict_unchanged());
}

// setmaxnreg is honoured only where the register count at entry is known: hence the launch bounds.
__global__ void __launch_bounds__(384, 1) registers(uint32_t* out) {
  if (threadIdx.x < 128) {
    setmaxnreg_dec<24>();
  } else {
    setmaxnreg_inc<240>();
    out[threadIdx.x] = threadIdx.x;
  }
}

template <int kN, typename T, int kScaleA, int kScaleB>
__device__ void all_wgmma_majors(float (&accum)[kN / 2], const uint32_t (&a)[4], uint64_t desc, int scale_d) {
  wgmma_mma_async<kN, T, Major::K, Major::K, kScaleA, kScaleB>(accum, desc, desc, scale_d);
  wgmma_mma_async<kN, T, Major::K, Major::MN, kScaleA, kScaleB>(accum, desc, desc, 1);
  wgmma_mma_async<kN, T, Major::MN, Major::K, kScaleA, kScaleB>(accum, desc, desc, 1);
  wgmma_mma_async<kN, T, Major::MN, Major::MN, kScaleA, kScaleB>(accum, desc, desc, 1);
  wgmma_fence();
  wgmma_mma_async<kN, T, Major::K, kScaleA, kScaleB>(accum, a, desc, scale_d);
  wgmma_mma_async<kN, T, Major::MN, kScaleA, kScaleB>(accum, a, desc, 1);
}

template <int kN, typename T>
__global__ void __launch_bounds__(128, 1) all_wgmma(float* out, uint64_t desc, int scale_d, uint4 a_words) {
  float accum[kN / 2] = {};
  uint32_t a[4] = {a_words.x, a_words.y, a_words.z, a_words.w};
  wgmma_fence_operand(accum);
  wgmma_fence_operand(a);
  wgmma_fence();
  wgmma_mma_async<kN, T>(accum, desc, desc, 0);
  wgmma_fence();
  wgmma_mma_async<kN, T>(accum, a, desc, 1);
  all_wgmma_majors<kN, T, 1, 1>(accum, a, desc, scale_d);
  // Scales are immediates, the same for every N, and instructions of many registers take the compilers a while.
  if constexpr (kN % 64 == 0) {
    all_wgmma_majors<kN, T, -1, -1>(accum, a, desc, scale_d);
    all_wgmma_majors<kN, T, 1, -1>(accum, a, desc, scale_d);
    all_wgmma_majors<kN, T, -1, 1>(accum, a, desc, scale_d);
  }
  wgmma_commit_group();
  wgmma_wait_group<7>();
  wgmma_wait_group<0>();
  wgmma_fence_operand(accum);
  for (int i = 0; i < kN / 2; ++i) {
    out[threadIdx.x * (kN / 2) + i] = accum[i];
  }
}
#define HG_ALL_WGMMA(N, T) template __global__ void all_wgmma<N, T>(float*, uint64_t, int, uint4);
// A generator writes all N alike, so that each N but the multiples of 64 has one of the types.
#define HG_ALL_WGMMA_64(N)            \
  HG_ALL_WGMMA(N + 8, __nv_bfloat16)  \
  HG_ALL_WGMMA(N + 16, __half)        \
  HG_ALL_WGMMA(N + 24, __nv_bfloat16) \
  HG_ALL_WGMMA(N + 32, __half)        \
  HG_ALL_WGMMA(N + 40, __nv_bfloat16) \
  HG_ALL_WGMMA(N + 48, __half)        \
  HG_ALL_WGMMA(N + 56, __nv_bfloat16) \
  HG_ALL_WGMMA(N + 64, __nv_bfloat16) \
  HG_ALL_WGMMA(N + 64, __half)
HG_ALL_WGMMA_64(0)
#ifndef __CUDACC_RTC__  // CUDA 12.3 takes 40 s for the larger ones.
HG_ALL_WGMMA_64(64)
HG_ALL_WGMMA_64(128)
#endif
HG_ALL_WGMMA_64(192)

// The numbered names behind the front door, called once by name.
__global__ void __launch_bounds__(128, 1) wgmma_by_name(float* out, uint64_t desc) {
  float accum[4];
  const uint32_t a[4] = {1, 2, 3, 4};
  wgmma_fence();
  wgmma_mma_async_m64n8k16<__nv_bfloat16>(accum, desc, desc, 0);
  wgmma_fence();
  wgmma_mma_async_m64n8k16<__half, Major::MN>(accum, a, desc, 1);
  wgmma_commit_group();
  wgmma_wait_group<0>();
  out[threadIdx.x] = accum[0] + accum[1] + accum[2] + accum[3];
}

}  // namespace compile_test
}  // namespace ptx
}  // namespace hopper_gemm
