#pragma once

// Host half of kernels whose clusters keep pace (WavePace). Device-only compilers (NVRTC) see an empty header.
#ifndef __CUDACC_RTC__

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <iterator>

#include "common/cuda_check.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Words where the clusters of launches count: a __device__ array of a kernel's file. They are dealt in turn to
/// launches as they are enqueued or captured. Two that run at the same time and count in the same place keep
/// no pace.
using WaveSteps = std::uint32_t[64];

/// Where the words lie on the current GPU. The first time it loads their file's code there, which cannot be
/// done while a stream is captured.
inline Status find_wave_steps(WaveSteps& words, void** address) {
  HG_RETURN_IF_CUDA_ERROR(cudaGetSymbolAddress(address, words));
  return {};
}

/// A word for the next launch in the stream, which is set to 0 before that; or null where so few K blocks are
/// not worth it. k_blocks: of each cluster, in full waves.
inline Status begin_wave_steps(WaveSteps& words, std::int64_t k_blocks, cudaStream_t stream,
                               std::uint32_t** steps) {
  *steps = nullptr;
  // What clusters are apart adds up. With four stages that is 0.4 % of the time at 8192³, of 1,280, and nothing
  // at 4096x7168x16384, of 1,024; with three it is nothing at either (H200).
  constexpr std::int64_t kFewKBlocks = 1024;
  if (k_blocks < kFewKBlocks) return {};
  static std::atomic<std::uint32_t> launches = 0;
  void* address = nullptr;
  HG_RETURN_IF_ERROR(find_wave_steps(words, &address));
  *steps = static_cast<std::uint32_t*>(address) + launches++ % std::size(words);
  HG_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(*steps, 0, sizeof(**steps), stream));
  return {};
}

}  // namespace hopper_gemm

#endif
