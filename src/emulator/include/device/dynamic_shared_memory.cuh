// Emulated: the dynamic shared memory of the emulated thread's CTA.
#pragma once

#include <cstdint>
#include <ptx/address.cuh>

#include "emulator/device_api.hpp"

namespace hopper_gemm {

template <typename Storage>
Storage& dynamic_shared_storage() {
  static_assert(alignof(Storage) <= 1024, "dynamic shared memory is aligned to 1024 bytes");
  if (sizeof(Storage) > emulator::dynamic_shared_memory_size()) {
    emulator::trap("the launch gave less dynamic shared memory than the kernel uses");
  }
  return *reinterpret_cast<Storage*>(emulator::dynamic_shared_memory());
}

inline void leave_undefined(ptx::SmemAddr begin, int bytes) {
  if (bytes > 0) emulator::leave_undefined(begin.value, static_cast<std::uint32_t>(bytes));
}

}  // namespace hopper_gemm
