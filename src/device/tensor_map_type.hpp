#pragma once

#include <cuda/std/cstdint>

namespace hopper_gemm {

/// The opaque descriptor of 128 bytes that TMA reads. It has the layout of the driver's CUtensorMap, and is declared
/// here so that device code compiles without driver headers. Kernels take it by value as `const __grid_constant__`: in
/// parameter memory the async proxy sees it without a tensormap fence. TMA needs 64-byte alignment, and CUDA 13's
/// CUtensorMap has 128.
struct alignas(128) TensorMap {
  cuda::std::uint64_t opaque[16];
};

}  // namespace hopper_gemm
