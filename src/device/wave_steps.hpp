#pragma once

// Host code for kernels with a wave throttle (WavePace). Device-only compilers (NVRTC) see an empty header.
#ifndef __CUDACC_RTC__

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <iterator>

#include "common/cuda_check.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// The counters of the wave throttle: a __device__ array of a kernel's file. Launches take one after the other when
/// they are enqueued or captured. If two launches that run at the same time get the same counter, neither is throttled.
using WaveSteps = std::uint32_t[64];

/// The address of the counters on the current GPU. The first call loads their file's code there, which is not possible
/// while a stream is captured.
inline Status find_wave_steps(WaveSteps& words, void** address) {
  HG_RETURN_IF_CUDA_ERROR(cudaGetSymbolAddress(address, words));
  return {};
}

/// A counter for the next launch in the stream, or null if there are too few K blocks to gain from the throttle. The
/// call enqueues the counter's reset to 0. k_blocks: of each cluster, in full waves.
inline Status begin_wave_steps(WaveSteps& words, std::int64_t k_blocks, cudaStream_t stream,
                               std::uint32_t** steps) {
  *steps = nullptr;
  // The distance between clusters grows with the K blocks. With four stages the throttle gains 0.4 % at 8192³, which
  // has 1,280 K blocks, and nothing at 4096x7168x16384, which has 1,024. With three stages it gains nothing at either
  // (H200).
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
