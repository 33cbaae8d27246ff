#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "common/device_buffer.hpp"
#include "common/gemm_args.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Whether cublasLt fuses the epilogue of a GEMM. It fuses a bias of each column of D, ReLU, and GELU by tanh, but no
/// gate.
bool is_fused_by_cublas(const GemmProblem& problem);

/// The kernel that programs launch behind cuBLAS's GEMM if cublasLt does not fuse their epilogue. It reads the product
/// in the output's type, adds the bias, applies the activation and the gate, and writes D, 16 bytes at a time.
class ElementwiseEpilogue {
 public:
  /// Bytes of memory that allocate() takes.
  static std::int64_t required_bytes(const GemmProblem& problem);

  /// Allocates memory for a gated product. Other products lie where D will be.
  Status allocate(const GemmProblem& problem);

  /// What cuBLAS computes instead of `args`, which have the extents of the problem. cuBLAS still adds beta · C.
  GemmArgs product_of(const GemmArgs& args) const;

  /// Enqueues the kernel behind product_of(args). Takes any leading dimensions.
  Status launch(const GemmArgs& args, cudaStream_t stream) const;

 private:
  DeviceBuffer<std::byte> gated_product_;
};

}  // namespace hopper_gemm
