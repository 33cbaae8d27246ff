#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "gemm/problem.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// Memory for one run, which is taken and given back in the order of a stream. A capture adds nodes for both to the
/// graph, which then owns the memory (CUDA C++ Programming Guide, "Graph Memory Nodes").
class StreamWorkspace {
 public:
  explicit StreamWorkspace(cudaStream_t stream) : stream_(stream) {}
  StreamWorkspace(const StreamWorkspace&) = delete;
  StreamWorkspace& operator=(const StreamWorkspace&) = delete;
  /// Gives back what release() has not.
  ~StreamWorkspace() { static_cast<void>(release()); }

  /// Takes memory from the pool of the device's context, which must be current. The first call in a context makes the
  /// pool. OutOfMemory: the GPU has no room. CudaError: the device has no memory pools. Thread-safe.
  Status allocate(const Device& device, std::size_t bytes);

  /// Gives the memory back behind everything that the stream holds so far.
  Status release();

  void* data() const { return data_; }

 private:
  cudaStream_t stream_;
  void* data_ = nullptr;
};

}  // namespace hopper_gemm::library
