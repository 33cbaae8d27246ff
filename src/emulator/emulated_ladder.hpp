#pragma once

#include <span>

#include "emulator/api.hpp"
#include "registry/registry.hpp"

namespace hopper_gemm {
namespace emulator HG_EMULATOR_API {

/// The kernels of all_kernels(), compiled for the emulator: its launches run there, on host memory, to their
/// end. Pointers in GemmArgs are from allocate(), or any host memory.
std::span<const KernelInfo> emulated_kernels();

}  // namespace HG_EMULATOR_API
}  // namespace hopper_gemm
