#pragma once

#include <ptx/address.cuh>

namespace hopper_gemm {

/// The launch's dynamic shared memory, viewed as a `Storage`. No constructor runs.
/// Storage may be aligned to 1024 bytes at most, as tiles under the 128-byte swizzle must be: it counts from such
/// boundaries, so a block that the driver placed elsewhere would give wrong products. It traps instead. Threads: any.
template <typename Storage>
__device__ __forceinline__ Storage& dynamic_shared_storage() {
  static_assert(alignof(Storage) <= 1024, "dynamic shared memory is aligned to 1024 bytes");
  extern __shared__ __align__(1024) unsigned char dynamic_shared_memory[];
  if (ptx::smem_addr(dynamic_shared_memory).value % alignof(Storage) != 0) __trap();
  return *reinterpret_cast<Storage*>(dynamic_shared_memory);
}

/// Says of shared memory that is read, but written by nobody, that this is meant: of what is computed from it
/// nothing is used. Costs nothing. The emulator reports such reads otherwise; where this was said it finds
/// NaNs instead, which show if they are used all the same. begin, bytes: multiples of 16. Threads: any one,
/// before the first read.
__device__ __forceinline__ void leave_undefined(ptx::SmemAddr /*begin*/, int /*bytes*/) {}

}  // namespace hopper_gemm
