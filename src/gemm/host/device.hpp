#pragma once

#include "gemm/host/backend.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// The GPU and the context that are current for this thread. Unsupported: there is no usable GPU.
Status query_current_device(Device* device);

/// Unsupported: the library has no code for the GPU.
Status check_device(const Device& device);

}  // namespace hopper_gemm::library
