#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Ok for cudaSuccess; otherwise a Status whose message is "`what`: NAME (text)". Out-of-memory keeps its own
/// code.
inline Status cuda_status(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return {};
  const StatusCode code =
      error == cudaErrorMemoryAllocation ? StatusCode::OutOfMemory : StatusCode::CudaError;
  return {code, std::string(what) + ": " + cudaGetErrorName(error) + " (" + cudaGetErrorString(error) + ")"};
}

}  // namespace hopper_gemm

/// Returns a Status from the enclosing function when a CUDA runtime call fails; the message quotes the call.
#define HG_RETURN_IF_CUDA_ERROR(call) HG_RETURN_IF_ERROR(::hopper_gemm::cuda_status((call), #call))
