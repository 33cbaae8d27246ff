#include "emulator/emulated_ladder.hpp"

namespace hopper_gemm::emulator {

std::span<const KernelInfo> emulated_ladder() { return hopper_ladder(); }

}  // namespace hopper_gemm::emulator
