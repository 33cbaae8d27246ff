// Kernels of the library for a compiler that has no host: two consumer warpgroups and one, columns in whole swizzle atoms
// and others, swap-AB, a mixed tile N, and small M. Each path of the source is here once, and not with each tile. CUDA 12.3
// takes 50 s for a kernel of 256 columns that serves every layout, and 4 s for one of 64 or one whose operands are K-major.

#include "gemm/kernel/cooperative.cuh"
#include "gemm/kernel/cooperative_mixed_n.cuh"
#include "gemm/kernel/pingpong.cuh"
#include "gemm/kernel/small_m.cuh"

namespace hopper_gemm::library::cooperative {

HG_HOST_DEVICE constexpr KernelConfig kernel(int consumers, int block_n, int stages,
                                             Majors majors = Majors::Any) {
  KernelConfig config = {.schedule = Schedule::Cooperative,
                         .consumers = consumers,
                         .block_m = 64 * consumers,
                         .block_n = block_n,
                         .stages = stages,
                         .majors = majors};
  if (block_n % kBlockK != 0) {
    config.epilogues = Epilogues::AlphaOnly;
    config.majors = Majors::KMajor;
  }
  return config;
}

HG_HOST_DEVICE constexpr KernelConfig swapped_kernel(int consumers, int block_m, int block_n, int stages) {
  KernelConfig config = kernel(consumers, block_n, stages);
  config.block_m = block_m;
  config.swap_ab = true;
  config.epilogues = Epilogues::AlphaOnly;
  config.majors = Majors::KMajorA;
  return config;
}

HG_HOST_DEVICE constexpr KernelConfig divided_kernel(int block_m, int block_n, int stages) {
  KernelConfig config = swapped_kernel(2, block_m, block_n, stages);
  config.divides_wgmma_n = true;
  return config;
}

#define HG_INSTANTIATE(config, kind)                                        \
  template __global__ void gemm_kernel<Config<config, EpilogueKind::kind>>( \
      const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, \
      const __grid_constant__ TensorMap, const __grid_constant__ Params,    \
      const __grid_constant__ MatricesOf<EpilogueKind::kind>, const __grid_constant__ ClusterStarts)

HG_INSTANTIATE((kernel(2, 256, 4, Majors::KMajor)), General);
HG_INSTANTIATE((kernel(2, 64, 8)), General);
HG_INSTANTIATE((kernel(1, 64, 12)), AlphaOnly);
HG_INSTANTIATE((kernel(2, 208, 4)), AlphaOnly);
HG_INSTANTIATE((kernel(1, 176, 7)), AlphaOnly);
HG_INSTANTIATE((swapped_kernel(2, 96, 128, 6)), AlphaOnly);
HG_INSTANTIATE((swapped_kernel(1, 48, 64, 12)), AlphaOnly);
HG_INSTANTIATE((divided_kernel(192, 192, 4)), AlphaOnly);

#undef HG_INSTANTIATE

}  // namespace hopper_gemm::library::cooperative

namespace hopper_gemm::library {

#define HG_INSTANTIATE(params, ...)                                                                          \
  template __global__ void __VA_ARGS__(const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, \
                                       const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, \
                                       const __grid_constant__ params,                                       \
                                       const __grid_constant__ ClusterPositions)

// The one whose last piece of a row begins in the one before, and the one of whole swizzle atoms.
using Pingpong = pingpong::Config<kPingpongConfigs[1]>;
using PingpongAtoms = pingpong::Config<kPingpongConfigs[0]>;

constexpr auto kK = ptx::Major::K;
constexpr auto kMn = ptx::Major::MN;

HG_INSTANTIATE(MixedNParams<cooperative_mixed_n::Config>,
               cooperative_mixed_n::gemm_kernel<Operands<__nv_bfloat16, kK, kK>, EpilogueKind::AlphaOnly>);
HG_INSTANTIATE(MixedNParams<cooperative_mixed_n::Config>,
               cooperative_mixed_n::gemm_kernel<Operands<__half, kK, kMn>, EpilogueKind::General>);
HG_INSTANTIATE(MixedNParams<Pingpong>,
               pingpong::gemm_kernel<Pingpong, Operands<__nv_bfloat16, kK, kK>, EpilogueKind::General>);
HG_INSTANTIATE(MixedNParams<Pingpong>,
               pingpong::gemm_kernel<Pingpong, Operands<__half, kMn, kK>, EpilogueKind::AlphaOnly>);
HG_INSTANTIATE(MixedNParams<PingpongAtoms>,
               pingpong::gemm_kernel<PingpongAtoms, Operands<__half, kK, kMn>, EpilogueKind::AlphaOnly>);

#undef HG_INSTANTIATE

}  // namespace hopper_gemm::library

namespace hopper_gemm::library::small_m {

HG_HOST_DEVICE constexpr KernelConfig kernel(int block_m, int block_n, int stages) {
  return {.schedule = Schedule::SmallM,
          .consumers = 1,
          .block_m = block_m,
          .block_n = block_n,
          .stages = stages,
          .block_k = 128,
          .swap_ab = block_m < 64};
}

using SwapAb = Config<kernel(16, 128, 3)>;
using Straight = Config<kernel(64, 64, 6)>;
#define HG_INSTANTIATE(config, type, kind)                                \
  template __global__ void gemm_kernel<config, type, EpilogueKind::kind>( \
      const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, const __grid_constant__ Params)

HG_INSTANTIATE(SwapAb, __nv_bfloat16, AlphaOnly);
HG_INSTANTIATE(SwapAb, __half, General);
HG_INSTANTIATE(Straight, __half, AlphaOnly);
HG_INSTANTIATE(Straight, __nv_bfloat16, General);

#undef HG_INSTANTIATE

}  // namespace hopper_gemm::library::small_m
