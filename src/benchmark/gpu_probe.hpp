#pragma once

#include "benchmark/probe.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Measures the current GPU, which request.device describes. After an error, *report holds what was measured before it.
/// Unsupported: the GPU is older than sm_80. OutOfMemory: too little memory is free.
Status probe_gpu(const ProbeRequest& request, ProbeReport* report);

}  // namespace hopper_gemm
