// Emulated: the wrappers of ptx/approximate.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <cmath>
#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

// The results are more exact than a GPU's.
HG_PTX_INLINE float ex2_approx_ftz(float x) { return std::exp2(x); }

HG_PTX_INLINE float rcp_approx_ftz(float x) { return 1 / x; }

HG_PTX_INLINE float tanh_approx(float x) { return std::tanh(x); }

}  // namespace ptx
}  // namespace hopper_gemm
