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

/// The type as cuBLAS names it.
cudaDataType_t cuda_data_type(DataType type);

/// How cuBLAS takes A and B: see Cublas.
inline cublasOperation_t a_operation(const GemmArgs& args) {
  return args.a_layout == Layout::ColumnMajor ? CUBLAS_OP_T : CUBLAS_OP_N;
}
inline cublasOperation_t b_operation(const GemmArgs& args) {
  return args.b_layout == Layout::ColumnMajor ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/// Ok for CUBLAS_STATUS_SUCCESS; otherwise "`what`: NAME (text)". OutOfMemory for ALLOC_FAILED; Unsupported
/// for NOT_SUPPORTED, and for NOT_INITIALIZED, with which cublasCreate answers on a machine where it cannot
/// work.
Status cublas_status(cublasStatus_t status, std::string_view what);

/// A cuBLAS handle with a workspace of its own, which lets its calls be captured into CUDA graphs. Not
/// thread-safe.
///
/// cuBLAS is column-major: it sees our row-major D[M,N] as the column-major D^T[N,M] with the same pitch. So D = A·B is
/// asked for as D^T = B^T · A^T: B first, A second. A row-major A[M,K] is A^T to cuBLAS, as it is, and a row-major
/// B[K,N] is B^T; a column-major one is A or B itself, to be transposed.
///
/// What is added is fp32, and what is multiplied is of the inputs' type: no TF32 for fp32 inputs.
class Cublas {
 public:
  static Status create(std::unique_ptr<Cublas>* cublas);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// Enqueues D = A·B by cublasSgemm for fp32 inputs, by cublasGemmEx for others, of several batches by their strided
  /// forms. alpha must be 1 and beta 0. Any leading dimensions.
  Status gemm(const GemmArgs& args, cudaStream_t stream);

  /// The same with fp32 output to d_fp32 [M, N] row-major, rows ldd elements apart; args.d is not used.
  Status gemm_fp32(const GemmArgs& args, float* d_fp32, std::int64_t ldd, cudaStream_t stream);

 private:
  Cublas() = default;
  Status gemm_into(const GemmArgs& args, void* d, DataType d_type, std::int64_t ldd, cudaStream_t stream);
  Status use_stream(cudaStream_t stream);

  cublasHandle_t handle_ = nullptr;
  DeviceBuffer<std::byte> workspace_;
  cudaStream_t stream_ = nullptr;
};

/// D = A·B with fp32 output, the measure that verification takes of fp32 accumulation: see
/// Cublas::gemm_fp32. Waits for the product, since the handle and its workspace live only as long as the
/// call; after Timeout they are never freed, which would wait for the kernel that hangs.
Status cublas_gemm_fp32(const GemmArgs& args, float* d_fp32, std::int64_t ldd, double timeout_seconds,
                        cudaStream_t stream);

}  // namespace hopper_gemm

/// Returns a Status from the enclosing function when a cuBLAS or cublasLt call fails; the message quotes the
/// call.
#define HG_RETURN_IF_CUBLAS_ERROR(call) HG_RETURN_IF_ERROR(::hopper_gemm::cublas_status((call), #call))
