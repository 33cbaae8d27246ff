#include "emulator/emulated_ladder.hpp"

namespace hopper_gemm::emulator {

std::span<const KernelInfo> emulated_kernels() { return all_kernels(); }

}  // namespace hopper_gemm::emulator
