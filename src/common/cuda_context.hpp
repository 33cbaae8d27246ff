#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// While it lives, this thread may make calls that a capture in any thread would otherwise forbid. The calls must not
/// touch a capturing stream (CUDA Runtime API, cudaThreadExchangeStreamCaptureMode). If the thread has no context, the
/// device's primary context becomes current.
class RelaxedCapture {
 public:
  RelaxedCapture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ~RelaxedCapture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// A number for the CUDA context that is current for this thread. No other context of the process ever has the same
/// number: after cudaDeviceReset() the primary context has a new one. 0 if the driver does not tell, or if there is no
/// GPU.
std::uint64_t current_context_id();

/// The number of SMs on which kernels of the current context run. A green context has fewer than the device.
Status current_context_sm_count(int device, int* sm_count);

}  // namespace hopper_gemm
