// Every wrapper and overload of ptx/ that a GPU before Hopper has too, instantiated: if this compiles to the
// machine code of each architecture that tests/CMakeLists.txt names, ptxas has accepted each instruction
// there. Device code only, so that NVRTC compiles it as well. Never launched.

#include <ptx/address.cuh>
#include <ptx/cp_async.cuh>
#include <ptx/ldmatrix.cuh>
#include <ptx/mma.cuh>

namespace hopper_gemm {
namespace ptx {
namespace compile_ampere_test {

__global__ void matrix_loads(uint32_t* out) {
  __shared__ alignas(16) unsigned char rows[32 * 16];
  rows[threadIdx.x] = 0;
  const SmemAddr row = smem_addr(rows) + threadIdx.x * 16;
  uint32_t one[1];
  uint32_t two[2];
  uint32_t four[4];
  ldmatrix(one, row);
  ldmatrix(two, row);
  ldmatrix(four, row);
  uint32_t sum = one[0] + two[0] + two[1] + four[0] + four[1] + four[2] + four[3];
  ldmatrix_trans(one, row);
  ldmatrix_trans(two, row);
  ldmatrix_trans(four, row);
  sum += one[0] + two[0] + two[1] + four[0] + four[1] + four[2] + four[3];
  out[threadIdx.x] = sum;
}

template <typename T>
__global__ void products(float* out, uint4 words) {
  float accum[4] = {};
  const uint32_t a[4] = {words.x, words.y, words.z, words.w};
  const uint32_t b[2] = {words.y, words.x};
  const uint32_t half_of_a[2] = {words.x, words.y};
  const uint32_t half_of_b[1] = {words.z};
  mma_m16n8k16<T>(accum, a, b);
  mma_m16n8k8<T>(accum, half_of_a, half_of_b);
  for (int i = 0; i < 4; ++i) {
    out[threadIdx.x * 4 + i] = accum[i];
  }
}
template __global__ void products<__nv_bfloat16>(float*, uint4);
template __global__ void products<__half>(float*, uint4);

template <L2Prefetch kPrefetch>
__device__ void all_sizes(SmemAddr smem, const unsigned char* data, uint32_t src_bytes) {
  cp_async_ca<4, kPrefetch>(smem, data);
  cp_async_ca<8, kPrefetch>(smem, data);
  cp_async_ca<16, kPrefetch>(smem, data);
  cp_async_cg<kPrefetch>(smem, data);
  cp_async_ca<4, kPrefetch>(smem, data, src_bytes);
  cp_async_ca<8, kPrefetch>(smem, data, src_bytes);
  cp_async_ca<16, kPrefetch>(smem, data, src_bytes);
  cp_async_cg<kPrefetch>(smem, data, src_bytes);
}

__global__ void copies(const unsigned char* data, uint32_t* out, uint32_t src_bytes) {
  __shared__ alignas(16) unsigned char tile[1024];
  __shared__ alignas(8) uint64_t barrier_storage;
  const SmemAddr smem = smem_addr(tile);
  const SmemAddr bar = smem_addr(&barrier_storage);
  cp_async_ca<16>(smem, data);
  cp_async_cg(smem, data);
  cp_async_ca<16>(smem, data, src_bytes);
  cp_async_cg(smem, data, src_bytes);
  all_sizes<L2Prefetch::None>(smem, data, src_bytes);
  all_sizes<L2Prefetch::B64>(smem, data, src_bytes);
  all_sizes<L2Prefetch::B128>(smem, data, src_bytes);
  all_sizes<L2Prefetch::B256>(smem, data, src_bytes);
  cp_async_commit_group();
  cp_async_wait_group<1>();
  cp_async_wait_group<0>();
  cp_async_mbarrier_arrive(bar);
  cp_async_mbarrier_arrive_noinc(bar);
  cp_async_wait_all();
  out[threadIdx.x] = tile[threadIdx.x];
}

}  // namespace compile_ampere_test
}  // namespace ptx
}  // namespace hopper_gemm
