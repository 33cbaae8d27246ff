#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "common/device_buffer.hpp"
#include "common/gemm_args.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Whether cublasLt fuses what a GEMM does besides its product: a bias of each column of D, ReLU and GELU by tanh, no gate.
bool is_fused_by_cublas(const GemmProblem& problem);

/// What programs launch behind cuBLAS's GEMM where cublasLt does not fuse it: one kernel that reads the product in the
/// output's type, adds the bias, applies the activation and the gate, and writes D, 16 bytes at a time.
class ElementwiseEpilogue {
 public:
  /// Memory that allocate() takes, in bytes.
  static std::int64_t required_bytes(const GemmProblem& problem);

  /// Takes memory for a gated product; others lie where D will.
  Status allocate(const GemmProblem& problem);

  /// What cuBLAS is asked for instead of `args`, which have the extents of the problem. beta · C stays its own.
  GemmArgs product_of(const GemmArgs& args) const;

  /// Enqueues the kernel, behind product_of(args). Any leading dimensions.
  Status launch(const GemmArgs& args, cudaStream_t stream) const;

 private:
  DeviceBuffer<std::byte> gated_product_;
};

}  // namespace hopper_gemm
