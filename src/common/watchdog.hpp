#pragma once

#include <cuda_runtime_api.h>

#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Waits until `stream` has finished its work.
///
/// A kernel that still runs after `seconds` hangs: the Status is Timeout. The context cannot be recovered
/// then; the caller reports and ends the process with std::_Exit, since every ordinary exit would wait for
/// the kernel.
Status wait_with_watchdog(cudaStream_t stream, double seconds);

}  // namespace hopper_gemm
