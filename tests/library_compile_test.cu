// Kernels of the library for a compiler that has no host: the largest tiles of two consumer warpgroups and of one, of
// widths in whole spans and of others, and the kernels with tiles of two widths and of few rows.

#include "gemm/kernel/cooperative.cuh"
#include "gemm/kernel/cooperative_mixed_n.cuh"
#include "gemm/kernel/pingpong.cuh"
#include "gemm/kernel/swap_ab.cuh"

namespace hopper_gemm::library::wgmma {

#define HG_INSTANTIATE(tile, kind)                                               \
  template __global__ void gemm_kernel<Config<tile, wgmma::EpilogueKind::kind>>( \
      const __grid_constant__ TensorMap, const __grid_constant__ TensorMap,      \
      const __grid_constant__ TensorMap, const __grid_constant__ Params,         \
      const __grid_constant__ ClusterPositions)

HG_INSTANTIATE((Tile{128, 256, 4, 2, 1, 2}), Plain);
HG_INSTANTIATE((Tile{128, 256, 4, 2, 1, 2}), General);
HG_INSTANTIATE((Tile{64, 256, 5, 1, 1, 1}), Plain);
HG_INSTANTIATE((Tile{64, 256, 5, 1, 1, 1}), General);
HG_INSTANTIATE((Tile{128, 208, 4, 2, 1, 2}), Plain);
HG_INSTANTIATE((Tile{64, 176, 7, 2, 2, 1}), Plain);

#undef HG_INSTANTIATE

}  // namespace hopper_gemm::library::wgmma

namespace hopper_gemm::library {

#define HG_INSTANTIATE(params, ...)                                                                          \
  template __global__ void __VA_ARGS__(const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, \
                                       const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, \
                                       const __grid_constant__ params,                                       \
                                       const __grid_constant__ ClusterPositions)

// The one whose last piece of a row begins in the one before, and the one of whole spans.
using Pingpong = pingpong::Config<wgmma::Tile{128, 176, 5, 1, 2, 2}>;
using PingpongSpans = pingpong::Config<wgmma::Tile{128, 192, 5, 1, 2, 2}>;

constexpr auto kK = ptx::Major::K;
constexpr auto kMn = ptx::Major::MN;

HG_INSTANTIATE(TwoWidthParams<wide::Config>,
               wide::gemm_kernel<Operands<wide::Config, __nv_bfloat16, kK, kK>>);
HG_INSTANTIATE(TwoWidthParams<wide::Config>, wide::gemm_kernel<Operands<wide::Config, __half, kK, kMn>>);
HG_INSTANTIATE(TwoWidthParams<wide::Config>,
               wide::gemm_kernel<Operands<wide::Config, __nv_bfloat16, kMn, kMn>>);
HG_INSTANTIATE(
    pingpong::Params<Pingpong>,
    pingpong::gemm_kernel<Pingpong, Operands<Pingpong, __nv_bfloat16, kK, kK>, wgmma::EpilogueKind::General>);
HG_INSTANTIATE(
    pingpong::Params<Pingpong>,
    pingpong::gemm_kernel<Pingpong, Operands<Pingpong, __half, kMn, kK>, wgmma::EpilogueKind::Plain>);
HG_INSTANTIATE(pingpong::Params<PingpongSpans>,
               pingpong::gemm_kernel<PingpongSpans, Operands<PingpongSpans, __half, kK, kMn>,
                                     wgmma::EpilogueKind::Plain>);

#undef HG_INSTANTIATE

}  // namespace hopper_gemm::library

namespace hopper_gemm::library::skinny {

using Skinny = Config<wgmma::Tile{16, 128, 3, 1, 1, 1, 128}>;
using Skinny64 = Config<wgmma::Tile{64, 64, 6, 1, 1, 1, 128}>;
#define HG_INSTANTIATE(config, type, kind)                                       \
  template __global__ void gemm_kernel<config, type, wgmma::EpilogueKind::kind>( \
      const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, const __grid_constant__ Params)

HG_INSTANTIATE(Skinny, __nv_bfloat16, Plain);
HG_INSTANTIATE(Skinny, __half, General);
HG_INSTANTIATE(Skinny64, __half, Plain);
HG_INSTANTIATE(Skinny64, __nv_bfloat16, General);

#undef HG_INSTANTIATE

}  // namespace hopper_gemm::library::skinny
