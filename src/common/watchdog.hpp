#pragma once

#include <cuda_runtime_api.h>

#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Waits until `stream` has finished its work.
///
/// Timeout: a kernel still runs after `seconds`, so it is taken to hang. The context cannot be recovered then. The
/// caller must report it and end the process with std::_Exit, because every ordinary exit would wait for the kernel.
Status wait_with_watchdog(cudaStream_t stream, double seconds);

}  // namespace hopper_gemm
