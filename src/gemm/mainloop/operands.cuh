#pragma once

#include <cuda/std/cstdint>
#include <ptx/address.cuh>
#include <ptx/wgmma.cuh>

#include "device/smem_descriptor.hpp"
#include "gemm/config.hpp"
#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm::library {

inline constexpr int kWgmmaM = 64;
inline constexpr int kWgmmaK = 16;
/// Bytes of an element of A and B.
inline constexpr int kElemBytes = 2;
/// Bytes of a K block of a line: the width of a swizzle atom.
inline constexpr int kLineBytes = kBlockK * kElemBytes;

/// The operands of a main loop, and their layout in a stage. A K-major operand has lines along K. An MN-major operand
/// has swizzle atoms of kAtomLines lines, each with kBlockK rows. Both layouts take equally many bytes.
template <typename T_, ptx::Major kMajorA_, ptx::Major kMajorB_>
struct Operands {
  using T = T_;
  static constexpr ptx::Major kMajorA = kMajorA_;
  static constexpr ptx::Major kMajorB = kMajorB_;
  static_assert(sizeof(T) == kElemBytes);
  static_assert(kAtomLines == kWgmmaM, "an m64 block of A is a swizzle atom");

  HG_HOST_DEVICE static constexpr int elem_bytes_along_k(ptx::Major major) {
    return major == ptx::Major::K ? kElemBytes : kLineBytes;
  }
  /// Bytes from an element to the next along K.
  static constexpr int kElemBytesA = elem_bytes_along_k(kMajorA);
  static constexpr int kElemBytesB = elem_bytes_along_k(kMajorB);

  /// The descriptor of whole swizzle atoms of a stage, from the address `lines` on.
  static __device__ __forceinline__ cuda::std::uint64_t make_desc(ptx::Major major, ptx::SmemAddr lines) {
    constexpr int kAtomBytes = kBlockK * kLineBytes;
    return major == ptx::Major::K ? make_k_major_b128_desc(lines.value)
                                  : make_mn_major_b128_desc(lines.value, kAtomBytes);
  }
};

}  // namespace hopper_gemm::library
