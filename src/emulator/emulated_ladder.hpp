#pragma once

#include <span>

#include "emulator/api.hpp"
#include "registry/registry.hpp"

namespace hopper_gemm {
namespace emulator HG_EMULATOR_API {

/// The kernels of all_kernels(), compiled for the emulator. A launch runs there to its end, on host memory. Pointers in
/// GemmArgs come from allocate(), or are any host memory.
std::span<const KernelInfo> emulated_kernels();

}  // namespace HG_EMULATOR_API
}  // namespace hopper_gemm
