#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/device_buffer.hpp"
#include "common/watchdog.hpp"
#include "hopper_gemm/gemm.hpp"
#include "poisoned_memory.hpp"
#include "tests/library_gemm.hpp"
#include "tests/library_plans.hpp"

// What the tests of the library on a GPU share.
namespace hopper_gemm {

inline constexpr std::size_t kMemoryBytes = std::size_t{64} << 20;

/// A kernel that never ends takes the whole process down with a message: no later CUDA call would return.
inline Status wait_for(cudaStream_t stream) {
  constexpr double kTimeoutSeconds = 20;
  Status status = wait_with_watchdog(stream, kTimeoutSeconds);
  if (status.code() != StatusCode::Timeout) return status;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::_Exit(EXIT_FAILURE);
}

inline PlanTarget target_of(PoisonedMemory* memory, cudaStream_t stream = nullptr) {
  return {.allocate = memory->allocate(), .wait = [stream] { return wait_for(stream); }, .stream = stream};
}

/// A stream that waits for no other.
class Stream {
 public:
  Stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

inline GemmOptions options_of(const std::string& config) {
  GemmOptions options;
  options.config = config;
  options.workspace_limit_bytes = kWorkspaceLimitBytes;
  return options;
}

/// Allocates what the plan needs.
inline Status give_workspace(const GemmPlan& plan, DeviceBuffer<std::byte>* workspace,
                             GemmOperands* operands) {
  HG_RETURN_IF_ERROR(workspace->allocate(static_cast<std::int64_t>(plan.workspace_bytes())));
  operands->workspace = workspace->data();
  operands->workspace_bytes = workspace->size_bytes();
  return {};
}

}  // namespace hopper_gemm
