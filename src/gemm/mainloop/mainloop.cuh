#pragma once

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/wgmma.cuh>

#include "device/smem_descriptor.hpp"
#include "gemm/config.hpp"
#include "gemm/mainloop/operands.cuh"

namespace hopper_gemm::library {

/// The consumers' half of a Pipeline of kAnyClusterSize, with the cluster size of the launch.
template <typename Pipeline>
struct ConsumersInCluster {
  using State = typename Pipeline::State;

  Pipeline& pipeline;
  int cluster_size;

  __device__ __forceinline__ void consumer_wait(State state) { pipeline.consumer_wait(state); }
  __device__ __forceinline__ void consumer_release(State state, int thread) {
    pipeline.consumer_release(state, thread, cluster_size);
  }
};

/// Multiplies the next `count` stages of the ring. For each stage it waits until the stage is full, starts its wgmmas
/// as one group, and waits until only that group is in flight. The group of the previous stage is then complete, and
/// the loop gives that stage back. At the end all groups are complete. Returns the last stage, which the caller gives
/// back.
///
/// locate(stage): returns the argument `place` of multiply(); it is called before the stage is full. multiply(place,
/// is_first): starts a stage's wgmmas. started(): called when the last wgmmas have been started. thread: number in the
/// warpgroup. Threads: the whole warpgroup. It must fence its accumulators (wgmma_fence_operand) before this call and
/// after it.
template <typename Pipeline, typename Locate, typename Multiply, typename Started>
__device__ __forceinline__ typename Pipeline::State for_each_stage(Pipeline& pipeline,
                                                                   typename Pipeline::State& state, int count,
                                                                   int thread, const Locate& locate,
                                                                   const Multiply& multiply,
                                                                   const Started& started) {
  typename Pipeline::State previous;
  for (int i = 0; i < count; ++i) {
    const auto place = locate(state.stage);
    pipeline.consumer_wait(state);
    ptx::wgmma_fence();
    multiply(place, i == 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();
    if (i != 0) pipeline.consumer_release(previous, thread);
    previous = state;
    state.advance();
  }
  started();
  ptx::wgmma_wait_group<0>();
  return previous;
}

/// Computes a consumer warpgroup's product over the next num_k_blocks stages: blocks of 64 rows by kN columns along M.
///
/// accum: each block takes the first kN / 2 registers and overwrites them; without stages they are undefined. first_a,
/// first_b: where the consumer's lines of A and of B begin in the first stage. stage_bytes_a, stage_bytes_b: bytes from
/// there to the next stage's. started, thread: see for_each_stage(). Threads: the whole warpgroup.
template <typename Operands, int kN, int kBlocks, int kCount, typename Pipeline, typename Started>
__device__ __forceinline__ void multiply_stages(float (&accum)[kBlocks][kCount], Pipeline& pipeline,
                                                typename Pipeline::State& state, int num_k_blocks,
                                                ptx::SmemAddr first_a, cuda::std::uint32_t stage_bytes_a,
                                                ptx::SmemAddr first_b, cuda::std::uint32_t stage_bytes_b,
                                                int thread, const Started& started) {
  static_assert(kN / 2 <= kCount);
  const cuda::std::uint64_t first_desc_a = Operands::make_desc(Operands::kMajorA, first_a);
  const cuda::std::uint64_t first_desc_b = Operands::make_desc(Operands::kMajorB, first_b);
  const auto block = [&](int i) -> float(&)[kN / 2] { return reinterpret_cast<float(&)[kN / 2]>(accum[i]); };
  struct Place {
    cuda::std::uint64_t desc_a;
    cuda::std::uint64_t desc_b;
  };
  const auto locate = [&](int stage) {
    const auto number = static_cast<cuda::std::uint32_t>(stage);
    return Place{advance_smem_desc(first_desc_a, number * stage_bytes_a),
                 advance_smem_desc(first_desc_b, number * stage_bytes_b)};
  };
  const auto multiply = [&](const Place& place, bool is_first) {
#pragma unroll
    for (int k = 0; k < kBlockK; k += kWgmmaK) {
      const auto desc_b = advance_smem_desc(place.desc_b, k * Operands::kElemBytesB);
#pragma unroll
      for (int i = 0; i < kBlocks; ++i) {
        ptx::wgmma_mma_async<kN, typename Operands::T, Operands::kMajorA, Operands::kMajorB>(
            block(i), advance_smem_desc(place.desc_a, k * Operands::kElemBytesA + i * kWgmmaM * kLineBytes),
            desc_b, !is_first || k != 0);
      }
    }
  };
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) ptx::wgmma_fence_operand(block(i));
  const auto last = for_each_stage(pipeline, state, num_k_blocks, thread, locate, multiply, started);
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) ptx::wgmma_fence_operand(block(i));
  if (num_k_blocks != 0) pipeline.consumer_release(last, thread);
}

}  // namespace hopper_gemm::library
