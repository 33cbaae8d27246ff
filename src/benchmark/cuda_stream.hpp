#pragma once

#include <cuda_runtime_api.h>

#include "common/cuda_check.hpp"

namespace hopper_gemm {

/// A stream for which the legacy default stream does not wait. Verification uses the default stream.
class CudaStream {
 public:
  CudaStream() = default;
  ~CudaStream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  Status create() {
    return cuda_status(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
  }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace hopper_gemm
