// Emulated: the wrapper of ptx/max.cuh, with the same signature. What it promises is written there.
#pragma once

#include <cmath>
#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

HG_PTX_INLINE float max_nan(float x, float y) { return std::isnan(x) || x > y ? x : y; }

}  // namespace ptx
}  // namespace hopper_gemm
