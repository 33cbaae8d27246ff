// The tensor cores' own rate: wgmma m64n256k16 from shared memory that is filled once, and nothing else.
// A GEMM that runs at this speed moves its operands for free; what it stays below is the price of moving
// them. Random operands matter: the rate is limited by power, and zeros would not switch the multipliers.

#include <cuda_bf16.h>

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/fence.cuh>
#include <ptx/wgmma.cuh>

#include "device/device_common.cuh"
#include "device/launch.hpp"
#include "device/smem_descriptor.hpp"

namespace hopper_gemm::wgmma_ceiling {

struct Config {
  static constexpr int BLOCK_M = 128;
  static constexpr int BLOCK_N = 256;
  static constexpr int BLOCK_K = 64;
  static constexpr int kWgmmaM = 64;
  static constexpr int kWgmmaK = 16;
  static constexpr int kNumStages = 4;
  static constexpr int kNumThreads = BLOCK_M / kWgmmaM * kWarpgroupThreads;
};

struct alignas(1024) SharedStorage {
  __nv_bfloat16 a[Config::kNumStages][Config::BLOCK_M * Config::BLOCK_K];
  __nv_bfloat16 b[Config::kNumStages][Config::BLOCK_N * Config::BLOCK_K];
};

constexpr int kNumOperandElems = sizeof(SharedStorage) / sizeof(__nv_bfloat16);
constexpr int kVectorElems = sizeof(uint4) / sizeof(__nv_bfloat16);

__global__ void __launch_bounds__(Config::kNumThreads, 1)
    ceiling_kernel(cuda::std::int64_t num_k_blocks_total, const __nv_bfloat16* operands, float* sink) {
  using namespace ptx;
  SharedStorage& smem = dynamic_shared_storage<SharedStorage>();
  const int thread = static_cast<int>(threadIdx.x);
  // All CTAs read the same 192 KiB, which soon lie in L2: a start-up of microseconds.
  for (int i = thread; i < kNumOperandElems / kVectorElems; i += Config::kNumThreads) {
    reinterpret_cast<uint4*>(&smem)[i] = reinterpret_cast<const uint4*>(operands)[i];
  }
  fence_proxy_async_shared_cta();
  __syncthreads();

  // Whole K blocks dealt out to the CTAs, the first ones taking one more where they do not divide.
  const cuda::std::int64_t share = num_k_blocks_total / gridDim.x;
  const cuda::std::int64_t num_k_blocks = share + (blockIdx.x < num_k_blocks_total % gridDim.x ? 1 : 0);
  const int consumer = thread / kWarpgroupThreads;
  float accum[Config::BLOCK_N / 2] = {};
  wgmma_fence_operand(accum);
  for (cuda::std::int64_t k_block = 0; k_block < num_k_blocks; ++k_block) {
    const int stage = static_cast<int>(k_block % Config::kNumStages);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < Config::BLOCK_K; k += Config::kWgmmaK) {
      const __nv_bfloat16* const a = smem.a[stage] + consumer * Config::kWgmmaM * Config::BLOCK_K + k;
      const auto smem_desc_a = make_k_major_b128_desc(smem_addr(a).value);
      const auto smem_desc_b = make_k_major_b128_desc(smem_addr(smem.b[stage] + k).value);
      wgmma_mma_async<Config::BLOCK_N, __nv_bfloat16>(accum, smem_desc_a, smem_desc_b, 1);
    }
    wgmma_commit_group();
    wgmma_wait_group<1>();
  }
  wgmma_wait_group<0>();
  wgmma_fence_operand(accum);

  float sum = 0;
#pragma unroll
  for (float value : accum) sum += value;
  sink[static_cast<cuda::std::int64_t>(blockIdx.x) * Config::kNumThreads + thread] = sum;
}

}  // namespace hopper_gemm::wgmma_ceiling

// Host side
#include "ladder/hopper/wgmma_ceiling.hpp"

namespace hopper_gemm {
namespace {

using wgmma_ceiling::Config;

std::int64_t num_k_blocks_total(GemmShape shape) {
  return std::int64_t{ceil_div(shape.m, Config::BLOCK_M)} * ceil_div(shape.n, Config::BLOCK_N) *
         ceil_div(shape.k, Config::BLOCK_K);
}

}  // namespace

double wgmma_ceiling_flops(GemmShape shape) {
  return 2.0 * Config::BLOCK_M * Config::BLOCK_N * Config::BLOCK_K *
         static_cast<double>(num_k_blocks_total(shape));
}

std::int64_t wgmma_ceiling_operand_elems() { return wgmma_ceiling::kNumOperandElems; }

std::int64_t wgmma_ceiling_sink_elems(int sm_count) { return std::int64_t{sm_count} * Config::kNumThreads; }

Status launch_wgmma_ceiling(GemmShape shape, int sm_count, const __nv_bfloat16* operands, float* sink,
                            cudaStream_t stream) {
  return launch_kernel(wgmma_ceiling::ceiling_kernel, dim3(static_cast<unsigned>(sm_count)),
                       Config::kNumThreads, sizeof(wgmma_ceiling::SharedStorage), stream,
                       num_k_blocks_total(shape), operands, sink);
}

}  // namespace hopper_gemm
