#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Ok for cudaSuccess. Otherwise a Status with the message "`what`: NAME (text)": OutOfMemory or Unsupported if the
/// error means that, or else CudaError. Clears the runtime's last error, so that nobody takes it for the outcome of a
/// later launch.
inline Status cuda_status(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return {};
  static_cast<void>(cudaGetLastError());
  StatusCode code = StatusCode::CudaError;
  if (error == cudaErrorMemoryAllocation) code = StatusCode::OutOfMemory;
  if (error == cudaErrorNoKernelImageForDevice) code = StatusCode::Unsupported;
  return {code, std::string(what) + ": " + cudaGetErrorName(error) + " (" + cudaGetErrorString(error) + ")"};
}

}  // namespace hopper_gemm

/// Returns a Status from the enclosing function if a CUDA runtime call fails. The message quotes the call.
#define HG_RETURN_IF_CUDA_ERROR(call) HG_RETURN_IF_ERROR(::hopper_gemm::cuda_status((call), #call))
