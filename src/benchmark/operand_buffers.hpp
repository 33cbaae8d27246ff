#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "benchmark/device_info.hpp"
#include "benchmark/shapes.hpp"
#include "common/device_buffer.hpp"
#include "common/gemm_args.hpp"
#include "hopper_gemm/status.hpp"
#include "verify/fill.hpp"

namespace hopper_gemm {

/// How many copies of the operands a measurement rotates over, and the elements of each copy.
///
/// A launch that finds its operands in L2, where the launch before left them, runs faster than the same GEMM in a
/// program. If the operands take less than three times the L2, there are therefore as many sets as it takes to reach
/// that, but at most kMaxLaunchesPerGraph, because one graph holds no more launches. Each operand is padded to a
/// multiple of 16 lines, so that every copy begins at a 256-byte boundary, as an allocation does.
struct BufferPlan {
  LeadingDimensions leading_dimensions;
  std::int64_t sets;
  std::int64_t a_bytes;  ///< per set
  std::int64_t b_bytes;
  std::int64_t c_bytes;  ///< 0 if beta is 0
  std::int64_t bias_bytes;
  std::int64_t d_bytes;
  std::int64_t total_bytes;  ///< of all sets; INT64_MAX if it does not fit that type
};

BufferPlan plan_operand_buffers(const GemmProblem& problem, std::int64_t l2_bytes);

/// Bytes of GPU memory that a measurement of `problem` takes for its operands and a workspace.
std::int64_t required_bytes(const GemmProblem& problem, std::int64_t l2_bytes);

/// Ok if `required(shape)` bytes fit into the device's free memory. OutOfMemory: they do not; the message says what
/// `shape` needs, how much is free, and which is the largest square that fits.
Status check_memory(const GemmShape& shape, const DeviceInfo& device,
                    const std::function<std::int64_t(const GemmShape&)>& required);

/// The operands of one problem on the device. All are filled except D.
class OperandBuffers {
 public:
  /// Allocates the sets and fills them by `data` and `seed` on `stream`, without waiting.
  static Status allocate(const GemmProblem& problem, std::int64_t l2_bytes, DataKind data, std::uint64_t seed,
                         cudaStream_t stream, OperandBuffers* buffers);

  /// One GemmArgs per set. They share the workspace, so rotate over them on one stream.
  const std::vector<GemmArgs>& sets() const { return sets_; }

 private:
  DeviceBuffer<std::byte> slab_;
  DeviceBuffer<std::byte> workspace_;
  std::vector<GemmArgs> sets_;
};

}  // namespace hopper_gemm
