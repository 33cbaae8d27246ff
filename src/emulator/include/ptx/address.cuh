// Emulated: the wrappers of ptx/address.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

struct SmemAddr {
  uint32_t value;
};

struct ClusterAddr {
  uint32_t value;
};

HG_PTX_INLINE constexpr SmemAddr operator+(SmemAddr address, uint32_t bytes) {
  return SmemAddr{address.value + bytes};
}

HG_PTX_INLINE constexpr ClusterAddr operator+(ClusterAddr address, uint32_t bytes) {
  return ClusterAddr{address.value + bytes};
}

HG_PTX_INLINE SmemAddr smem_addr(const void* ptr) { return SmemAddr{emulator::shared_address(ptr)}; }

}  // namespace ptx
}  // namespace hopper_gemm
