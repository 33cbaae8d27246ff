#pragma once

#include <cuda/std/cstdint>

namespace hopper_gemm {

/// The 128-byte opaque descriptor that TMA reads, layout-compatible with the driver's CUtensorMap, declared
/// here so that device code compiles without driver headers. Kernels take it by value as `const
/// __grid_constant__`: in parameter memory it is visible to the async proxy without a tensormap fence. TMA
/// asks for 64-byte alignment, the driver type of CUDA 13 for 128.
struct alignas(128) TensorMap {
  cuda::std::uint64_t opaque[16];
};

}  // namespace hopper_gemm
