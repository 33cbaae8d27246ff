#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// While it lives, this thread may make calls that a capture in any thread forbids otherwise. They must not touch a
/// capturing stream (CUDA Runtime API, cudaThreadExchangeStreamCaptureMode). The device's primary context becomes current
/// if the thread had none.
class RelaxedCapture {
 public:
  RelaxedCapture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ~RelaxedCapture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// A number for the CUDA context that is current for this thread. No other context of the process ever has the same:
/// after cudaDeviceReset() the primary context has a new one. 0 where the driver does not tell, or there is no GPU.
std::uint64_t current_context_id();

/// The SMs that kernels of the current context run on: of a green context fewer than the device has.
Status current_context_sm_count(int device, int* sm_count);

}  // namespace hopper_gemm
