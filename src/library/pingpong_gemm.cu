// The host's half of the pingpong kernel.

#include "library/pingpong_gemm.cuh"

#include "library/two_width_launch.hpp"

namespace hopper_gemm::library {
namespace {

using pingpong::Config;

static_assert(kPingpongTiles.cluster_m == Config::BLOCK_M &&
              kPingpongTiles.wide_n == Config::kClusterN * Config::WIDE_N &&
              kPingpongTiles.narrow_n == Config::kClusterN * Config::NARROW_N);

struct Kernels {
  static auto of(DataType type) {
    return type == DataType::Float16 ? pingpong::gemm_kernel<__half> : pingpong::gemm_kernel<__nv_bfloat16>;
  }
};

}  // namespace

const TwoWidthKernel kPingpongKernel = TwoWidthLauncher<Config, pingpong::SharedStorage, Kernels>::kKernel;

}  // namespace hopper_gemm::library
