// Emulated: what every header of this folder needs.
#pragma once

#include <cuda/std/cstdint>

#include "emulator/device_api.hpp"

#define HG_PTX_INLINE __attribute__((always_inline)) inline

namespace hopper_gemm {
namespace ptx {

using cuda::std::int32_t;
using cuda::std::uint16_t;
using cuda::std::uint32_t;
using cuda::std::uint64_t;

}  // namespace ptx
}  // namespace hopper_gemm
