// The host's half of the wide kernel.

#include "library/wide_gemm.cuh"

#include <atomic>
#include <cstdint>

#include "library/two_width_launch.hpp"

namespace hopper_gemm::library {
namespace {

using wide::Config;

// Dealt in turn to launches as they are enqueued or captured. Two that run at the same time and count in the
// same place keep no pace.
constexpr std::uint32_t kCounters = 64;
__device__ cuda::std::uint32_t steps_of_launches[kCounters];

struct Kernels {
  static auto of(DataType type) {
    return type == DataType::Float16 ? wide::gemm_kernel<__half> : wide::gemm_kernel<__nv_bfloat16>;
  }

  static Status find_counters(void** counters) {
    HG_RETURN_IF_CUDA_ERROR(cudaGetSymbolAddress(counters, steps_of_launches));
    return {};
  }

  /// Loads them onto the current GPU, which cannot be done while a stream is captured.
  static Status load() {
    void* counters = nullptr;
    return find_counters(&counters);
  }

  /// tiles: of which the first fill waves of so many clusters.
  static Status begin_steps(const TwoWidthTiles<Config>& tiles, int num_k_blocks, int clusters,
                            cudaStream_t stream, cuda::std::uint32_t** steps) {
    *steps = nullptr;
    // What clusters are apart adds up: to 0.4 % of the time at 8192³, of 1,280, and to nothing at
    // 4096x7168x16384, of 1,024 (H200).
    constexpr std::int64_t kFewKBlocks = 1024;
    const std::int64_t waves = tiles.wide.num_tiles() / static_cast<std::uint32_t>(clusters);
    if (waves * num_k_blocks < kFewKBlocks) return {};
    static std::atomic<std::uint32_t> launches = 0;
    void* counters = nullptr;
    HG_RETURN_IF_ERROR(find_counters(&counters));
    *steps = static_cast<cuda::std::uint32_t*>(counters) + launches++ % kCounters;
    HG_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(*steps, 0, sizeof(**steps), stream));
    return {};
  }
};

}  // namespace

const TwoWidthKernel kWideKernel = TwoWidthLauncher<Config, wide::SharedStorage, Kernels>::kKernel;

}  // namespace hopper_gemm::library
