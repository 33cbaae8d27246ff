#include "emulator/happens_before.hpp"

namespace hopper_gemm::emulator {
namespace {

// The emulator's most frequent loop. A CPU with AVX2 takes the maximum of 8 integers in one instruction, and the loader
// chooses that version where it can run.
#if defined(__x86_64__)
__attribute__((target_clones("avx2", "default")))
#endif
void raise_to(std::uint32_t* times, const std::uint32_t* other, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) times[i] = std::max(times[i], other[i]);
}

}  // namespace

void VectorClock::join_times(Times* times, const Times& other) {
  if (times->size() < other.size()) times->resize(other.size());
  raise_to(times->data(), other.data(), other.size());
}

}  // namespace hopper_gemm::emulator
