#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "common/device_buffer.hpp"
#include "common/gemm_args.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// cuBLAS's name of the type.
cudaDataType_t cuda_data_type(DataType type);

/// The operations with which cuBLAS takes A and B, see Cublas.
inline cublasOperation_t a_operation(const GemmArgs& args) {
  return args.a_layout == Layout::ColumnMajor ? CUBLAS_OP_T : CUBLAS_OP_N;
}
inline cublasOperation_t b_operation(const GemmArgs& args) {
  return args.b_layout == Layout::ColumnMajor ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/// Ok for CUBLAS_STATUS_SUCCESS. Otherwise the message is "`what`: NAME (text)", and the code is OutOfMemory for
/// ALLOC_FAILED, and Unsupported for NOT_SUPPORTED and NOT_INITIALIZED. cublasCreate returns NOT_INITIALIZED on a
/// machine where it cannot work.
Status cublas_status(cublasStatus_t status, std::string_view what);

/// A cuBLAS handle with a workspace of its own, so that CUDA graphs can capture its calls. Not thread-safe.
///
/// cuBLAS is column-major. It sees our row-major D[M,N] as the column-major D^T[N,M] with the same pitch. We therefore
/// ask for D^T = B^T · A^T: B comes first, A second. To cuBLAS a row-major A[M,K] is A^T, and a row-major B[K,N] is
/// B^T, so both need no transposition. A column-major one is A or B itself, and must be transposed.
///
/// Sums are fp32, and factors have the inputs' type: there is no TF32 for fp32 inputs.
class Cublas {
 public:
  static Status create(std::unique_ptr<Cublas>* cublas);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// Enqueues D = A·B with cublasSgemm for fp32 inputs, and with cublasGemmEx for others. Several batches take their
  /// strided forms. alpha must be 1 and beta 0. Takes any leading dimensions.
  Status gemm(const GemmArgs& args, cudaStream_t stream);

  /// The same with an fp32 output: d_fp32 [M, N] row-major, rows ldd elements apart. args.d is not used.
  Status gemm_fp32(const GemmArgs& args, float* d_fp32, std::int64_t ldd, cudaStream_t stream);

 private:
  Cublas() = default;
  Status gemm_into(const GemmArgs& args, void* d, DataType d_type, std::int64_t ldd, cudaStream_t stream);
  Status use_stream(cudaStream_t stream);

  cublasHandle_t handle_ = nullptr;
  DeviceBuffer<std::byte> workspace_;
  cudaStream_t stream_ = nullptr;
};

/// Computes D = A·B with an fp32 output, see Cublas::gemm_fp32(). Verification uses it to measure the error of fp32
/// accumulation. It waits for the product, because the handle and its workspace live only as long as the call. After a
/// Timeout they are never freed, because that would wait for the kernel that hangs.
Status cublas_gemm_fp32(const GemmArgs& args, float* d_fp32, std::int64_t ldd, double timeout_seconds,
                        cudaStream_t stream);

}  // namespace hopper_gemm

/// Returns a Status from the enclosing function if a cuBLAS or cublasLt call fails. The message quotes the call.
#define HG_RETURN_IF_CUBLAS_ERROR(call) HG_RETURN_IF_ERROR(::hopper_gemm::cublas_status((call), #call))
