#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Ok for cudaSuccess; otherwise a Status whose message is "`what`: NAME (text)", OutOfMemory or Unsupported
/// where the error says so, CudaError else. Clears the runtime's last error: having been reported here, it
/// must not be taken for the outcome of a later launch.
inline Status cuda_status(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return {};
  static_cast<void>(cudaGetLastError());
  StatusCode code = StatusCode::CudaError;
  if (error == cudaErrorMemoryAllocation) code = StatusCode::OutOfMemory;
  if (error == cudaErrorNoKernelImageForDevice) code = StatusCode::Unsupported;
  return {code, std::string(what) + ": " + cudaGetErrorName(error) + " (" + cudaGetErrorString(error) + ")"};
}

}  // namespace hopper_gemm

/// Returns a Status from the enclosing function when a CUDA runtime call fails; the message quotes the call.
#define HG_RETURN_IF_CUDA_ERROR(call) HG_RETURN_IF_ERROR(::hopper_gemm::cuda_status((call), #call))
