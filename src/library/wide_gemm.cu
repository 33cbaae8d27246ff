// The host's half of the wide kernel.

#include "library/wide_gemm.cuh"

#include "library/two_width_launch.hpp"

namespace hopper_gemm::library {
namespace {

using wide::Config;

struct Kernels {
  static auto of(DataType type) {
    return type == DataType::Float16 ? wide::gemm_kernel<__half> : wide::gemm_kernel<__nv_bfloat16>;
  }
};

}  // namespace

const TwoWidthKernel kWideKernel = TwoWidthLauncher<Config, wide::SharedStorage, Kernels>::kKernel;

}  // namespace hopper_gemm::library
