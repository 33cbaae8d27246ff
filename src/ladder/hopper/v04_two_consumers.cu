// v04 two_consumers   prev: v03   Change: 128x256 tile over two consumer warpgroups, setmaxnreg
// Why: two warpgroups of m64n256 share each B block, so a stage feeds a third more multiplications per byte, and one
//   can multiply while the other waits. Their 128 accumulators a thread need registers that the producer does
//   not: setmaxnreg takes them from it, which needs the producer to be a whole warpgroup.
// Expected: a quarter fewer bytes from L2 than v03 and fewer gaps in the tensor pipe.
// Measured: 706 TFLOP/s, 86.4 % of cuBLAS (H200, 8192³, burst: profiles/h200/). 18 % fewer bytes from L2 than v03,
//   and the tensor pipe is busy for 88 % of the time. The rest is start-up, epilogue, and the drain of the pipe
//   after each K block.
// Limits: K and the leading dimensions multiples of 8.

#include <cuda_bf16.h>

#include <cuda/barrier>
#include <cuda/std/cstdint>
#include <ptx/fence.cuh>
#include <ptx/mbarrier.cuh>
#include <ptx/setmaxnreg.cuh>
#include <ptx/tma.cuh>
#include <ptx/wgmma.cuh>

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/epilogue.cuh"
#include "device/launch.hpp"
#include "device/smem_descriptor.hpp"
#include "device/tensor_map_type.hpp"

namespace hopper_gemm::v04 {

using Barrier = cuda::barrier<cuda::thread_scope_block>;

enum class WarpgroupRole { Consumer, Producer };

struct Config {
  static constexpr int BLOCK_M = 128;
  static constexpr int BLOCK_N = 256;
  static constexpr int BLOCK_K = 64;  // 128 bytes: one span of the swizzle
  static constexpr int kWgmmaM = 64;
  static constexpr int kWgmmaK = 16;
  static constexpr int kNumStages = 4;
  static constexpr int kNumConsumers = BLOCK_M / kWgmmaM;
  static constexpr int kNumConsumerThreads = kNumConsumers * kWarpgroupThreads;
  static constexpr int kNumThreads = kNumConsumerThreads + kWarpgroupThreads;
  static constexpr int kFullArrivals = 1;  // the producer's thread, which also announces the bytes
  static constexpr int kEmptyArrivals = kNumConsumerThreads;
  static constexpr int kProducerRegisters = 40;
  static constexpr int kConsumerRegisters = 232;
  // setmaxnreg hands out what the CTA was launched with, which is rounded down: more would wait for ever.
  static constexpr int kEntryRegisters = kRegistersPerSm / kNumThreads / 8 * 8;
  static_assert(kProducerRegisters + kNumConsumers * kConsumerRegisters <=
                (1 + kNumConsumers) * kEntryRegisters);
  static constexpr int kStageBytes = (BLOCK_M + BLOCK_N) * BLOCK_K * int{sizeof(__nv_bfloat16)};
};

struct alignas(1024) SharedStorage {
  // [BLOCK_M, BLOCK_K] and [BLOCK_N, BLOCK_K] a stage, K-major, 128B swizzle
  __nv_bfloat16 a[Config::kNumStages][Config::BLOCK_M * Config::BLOCK_K];
  __nv_bfloat16 b[Config::kNumStages][Config::BLOCK_N * Config::BLOCK_K];
  Barrier full_barrier[Config::kNumStages];
  Barrier empty_barrier[Config::kNumStages];
};

__global__ void __launch_bounds__(Config::kNumThreads, 1)
    gemm_kernel(const __grid_constant__ TensorMap tensor_map_a,
                const __grid_constant__ TensorMap tensor_map_b, __nv_bfloat16* d, cuda::std::int64_t ldd,
                GemmShape shape) {
  using namespace ptx;
  SharedStorage& smem = dynamic_shared_storage<SharedStorage>();
  const int thread = static_cast<int>(threadIdx.x);

  if (thread == 0) {
    for (int stage = 0; stage < Config::kNumStages; ++stage) {
      init(&smem.full_barrier[stage], Config::kFullArrivals);
      init(&smem.empty_barrier[stage], Config::kEmptyArrivals);
    }
    // TMA completes on the barriers through the async proxy, which must see them initialised.
    fence_mbarrier_init_release_cluster();
  }
  __syncthreads();

  const int tiles_n = ceil_div(shape.n, Config::BLOCK_N);
  const int tile_m = static_cast<int>(blockIdx.x) / tiles_n;
  const int tile_n = static_cast<int>(blockIdx.x) % tiles_n;
  const int num_k_blocks = ceil_div(shape.k, Config::BLOCK_K);

  const WarpgroupRole role =
      thread < Config::kNumConsumerThreads ? WarpgroupRole::Consumer : WarpgroupRole::Producer;
  if (role == WarpgroupRole::Producer) {
    setmaxnreg_dec<Config::kProducerRegisters>();
    if (thread == Config::kNumConsumerThreads) {
      for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
        const int stage = k_block % Config::kNumStages;
        const bool phase = k_block / Config::kNumStages % 2 != 0;
        // In a new barrier the phase before the first counts as complete, so the first round does not wait.
        smem.empty_barrier[stage].wait_parity(!phase);
        const int k = k_block * Config::BLOCK_K;
        const SmemAddr bar = smem_addr(cuda::device::barrier_native_handle(smem.full_barrier[stage]));
        mbarrier_arrive_expect_tx(bar, Config::kStageBytes);
        cp_async_bulk_tensor_g2s(smem_addr(smem.a[stage]), &tensor_map_a, {k, tile_m * Config::BLOCK_M}, bar);
        cp_async_bulk_tensor_g2s(smem_addr(smem.b[stage]), &tensor_map_b, {k, tile_n * Config::BLOCK_N}, bar);
      }
    }
  } else {
    setmaxnreg_inc<Config::kConsumerRegisters>();
    const int consumer = thread / kWarpgroupThreads;
    float accum[Config::BLOCK_N / 2] = {};
    for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
      const int stage = k_block % Config::kNumStages;
      const bool phase = k_block / Config::kNumStages % 2 != 0;
      smem.full_barrier[stage].wait_parity(phase);

      wgmma_fence_operand(accum);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < Config::BLOCK_K; k += Config::kWgmmaK) {
        const __nv_bfloat16* const a = smem.a[stage] + consumer * Config::kWgmmaM * Config::BLOCK_K + k;
        const auto smem_desc_a = make_k_major_b128_desc(smem_addr(a).value);
        const auto smem_desc_b = make_k_major_b128_desc(smem_addr(smem.b[stage] + k).value);
        wgmma_mma_async<Config::BLOCK_N, __nv_bfloat16>(accum, smem_desc_a, smem_desc_b, 1);
      }
      wgmma_commit_group();
      wgmma_wait_group<0>();
      wgmma_fence_operand(accum);
      (void)smem.empty_barrier[stage].arrive();
    }

    store_accumulator<Config::BLOCK_N>(accum, d, ldd, tile_m * Config::BLOCK_M + consumer * Config::kWgmmaM,
                                       tile_n * Config::BLOCK_N, shape, thread % kWarpgroupThreads);
  }
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

}  // namespace hopper_gemm::v04
