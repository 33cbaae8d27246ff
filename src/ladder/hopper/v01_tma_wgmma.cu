// v01 tma_wgmma   prev: none   Change: the starting point of the Hopper ladder
// Why: the tensor cores read shared memory through descriptors (wgmma) and a copy engine fills it (TMA), so
//   that no thread moves an element of A or B through registers. One warpgroup loads a K block, waits for it,
//   multiplies, and starts over.
// Expected: memory latency in the open, hidden only by the other CTAs of the SM, and few operations per byte:
//   a 64x64 tile does 32 for each byte that it fetches from L2.
// Measured: 306 TFLOP/s, 37.4 % of cuBLAS (H200, 8192³, burst: profiles/h200/). The tensor pipe is busy a third
//   of the time, and DRAM delivers each byte of A and B 43 times: CTAs that run together share few tiles.
// Limits: K and the leading dimensions multiples of 8.

#include <cuda_bf16.h>

#include <cuda/barrier>
#include <cuda/std/cstdint>
#include <ptx/fence.cuh>
#include <ptx/mbarrier.cuh>
#include <ptx/tma.cuh>
#include <ptx/wgmma.cuh>

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/epilogue.cuh"
#include "device/launch.hpp"
#include "device/smem_descriptor.hpp"
#include "device/tensor_map_type.hpp"

namespace hopper_gemm::v01 {

using Barrier = cuda::barrier<cuda::thread_scope_block>;

struct Config {
  static constexpr int BLOCK_M = 64;
  static constexpr int BLOCK_N = 64;
  static constexpr int BLOCK_K = 64;  // 128 bytes: one span of the swizzle
  static constexpr int kWgmmaK = 16;
  static constexpr int kNumThreads = kWarpgroupThreads;
  static constexpr int kFullArrivals = 1;  // thread 0, which also announces the bytes
  static constexpr int kStageBytes = (BLOCK_M + BLOCK_N) * BLOCK_K * int{sizeof(__nv_bfloat16)};
};

struct alignas(1024) SharedStorage {
  __nv_bfloat16 a[Config::BLOCK_M * Config::BLOCK_K];  // [BLOCK_M, BLOCK_K] K-major, 128B swizzle
  __nv_bfloat16 b[Config::BLOCK_N * Config::BLOCK_K];  // [BLOCK_N, BLOCK_K] K-major, 128B swizzle
  Barrier full_barrier;
};

__global__ void __launch_bounds__(Config::kNumThreads)
    gemm_kernel(const __grid_constant__ TensorMap tensor_map_a,
                const __grid_constant__ TensorMap tensor_map_b, __nv_bfloat16* d, cuda::std::int64_t ldd,
                GemmShape shape) {
  using namespace ptx;
  SharedStorage& smem = dynamic_shared_storage<SharedStorage>();
  const int thread = static_cast<int>(threadIdx.x);

  if (thread == 0) {
    init(&smem.full_barrier, Config::kFullArrivals);
    // TMA completes on the barrier through the async proxy, which must see it initialised.
    fence_mbarrier_init_release_cluster();
  }
  __syncthreads();

  const int tiles_n = ceil_div(shape.n, Config::BLOCK_N);
  const int tile_m = static_cast<int>(blockIdx.x) / tiles_n;
  const int tile_n = static_cast<int>(blockIdx.x) % tiles_n;
  const int num_k_blocks = ceil_div(shape.k, Config::BLOCK_K);

  float accum[Config::BLOCK_N / 2] = {};
  for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
    if (thread == 0) {
      const int k = k_block * Config::BLOCK_K;
      const SmemAddr bar = smem_addr(cuda::device::barrier_native_handle(smem.full_barrier));
      mbarrier_arrive_expect_tx(bar, Config::kStageBytes);
      cp_async_bulk_tensor_g2s(smem_addr(smem.a), &tensor_map_a, {k, tile_m * Config::BLOCK_M}, bar);
      cp_async_bulk_tensor_g2s(smem_addr(smem.b), &tensor_map_b, {k, tile_n * Config::BLOCK_N}, bar);
    }
    smem.full_barrier.wait_parity(k_block % 2 != 0);

    wgmma_fence_operand(accum);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < Config::BLOCK_K; k += Config::kWgmmaK) {
      const auto smem_desc_a = make_k_major_b128_desc(smem_addr(smem.a + k).value);
      const auto smem_desc_b = make_k_major_b128_desc(smem_addr(smem.b + k).value);
      wgmma_mma_async<Config::BLOCK_N, __nv_bfloat16>(accum, smem_desc_a, smem_desc_b, 1);
    }
    wgmma_commit_group();
    wgmma_wait_group<0>();
    wgmma_fence_operand(accum);
    // All four warps have read the tiles before the next TMA overwrites them.
    __syncthreads();
  }

  store_accumulator<Config::BLOCK_N>(accum, d, ldd, tile_m * Config::BLOCK_M, tile_n * Config::BLOCK_N, shape,
                                     thread);
}

// Host side
Status can_implement(const GemmArgs& args) {
  HG_RETURN_IF_ERROR(check_tma_gemm(args));
  return check_tile_grid(args.shape, Config::BLOCK_M, Config::BLOCK_N);
}

Status launch(const GemmArgs& args, cudaStream_t stream) {
  HG_RETURN_IF_ERROR(can_implement(args));
  const auto [m, n, k] = args.shape;
  TensorMap tensor_map_a;
  TensorMap tensor_map_b;
  HG_RETURN_IF_ERROR(
      make_tensor_map_2d("A", args.a, m, k, args.lda, Config::BLOCK_M, Config::BLOCK_K, &tensor_map_a));
  HG_RETURN_IF_ERROR(
      make_tensor_map_2d("B", args.b, n, k, args.ldb, Config::BLOCK_N, Config::BLOCK_K, &tensor_map_b));
  const dim3 grid = tile_grid(args.shape, Config::BLOCK_M, Config::BLOCK_N);
  return launch_kernel(gemm_kernel, grid, Config::kNumThreads, sizeof(SharedStorage), stream, tensor_map_a,
                       tensor_map_b, args.d_as<__nv_bfloat16>(), args.ldd, args.shape);
}

}  // namespace hopper_gemm::v01
