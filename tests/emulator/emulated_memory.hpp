#pragma once

#include <cstddef>

#include "emulator/emulator.hpp"
#include "tests/library_gemm.hpp"

namespace hopper_gemm::emulator {

/// Memory of the emulated GPU, for one problem at a time: frees all that it had allocated. Behind it there is none.
inline Allocate emulated_memory() {
  free_all();
  return [](std::size_t bytes) { return allocate(bytes); };
}

}  // namespace hopper_gemm::emulator
