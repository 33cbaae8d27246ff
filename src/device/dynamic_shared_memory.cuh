#pragma once

#include <ptx/address.cuh>

namespace hopper_gemm {

/// The launch's dynamic shared memory, viewed as a `Storage`. No constructor runs.
/// Storage may be aligned to 1024 bytes at most, which tiles with 128B swizzle need: the swizzle counts from such
/// boundaries. If the driver placed the memory elsewhere, products would be wrong, so this function traps. Threads:
/// any.
template <typename Storage>
__device__ __forceinline__ Storage& dynamic_shared_storage() {
  static_assert(alignof(Storage) <= 1024, "dynamic shared memory is aligned to 1024 bytes");
  extern __shared__ __align__(1024) unsigned char dynamic_shared_memory[];
  if (ptx::smem_addr(dynamic_shared_memory).value % alignof(Storage) != 0) __trap();
  return *reinterpret_cast<Storage*>(dynamic_shared_memory);
}

/// Declares that shared memory is read on purpose although nobody writes it, because no result depends on it. It costs
/// nothing on a GPU. The emulator does not report such reads then. It fills the memory with NaNs, which show if a
/// result does depend on it. begin, bytes: multiples of 16. Threads: any one, before the first read.
__device__ __forceinline__ void leave_undefined(ptx::SmemAddr /*begin*/, int /*bytes*/) {}

}  // namespace hopper_gemm
