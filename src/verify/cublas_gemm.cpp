#include "verify/cublas_gemm.hpp"

#include <fmt/format.h>

#include "common/watchdog.hpp"
#include "registry/registry.hpp"

namespace hopper_gemm {

cudaDataType_t cuda_data_type(DataType type) {
  switch (type) {
    case DataType::BFloat16: return CUDA_R_16BF;
    case DataType::Float16: return CUDA_R_16F;
    case DataType::Float32: return CUDA_R_32F;
  }
  return CUDA_R_32F;
}

Status cublas_status(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  StatusCode code = StatusCode::CudaError;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_NOT_INITIALIZED) {
    code = StatusCode::Unsupported;
  }
  if (status == CUBLAS_STATUS_ALLOC_FAILED) code = StatusCode::OutOfMemory;
  return {code, fmt::format("{}: {} ({})", what, cublasGetStatusName(status), cublasGetStatusString(status))};
}

Status Cublas::create(std::unique_ptr<Cublas>* cublas) {
  std::unique_ptr<Cublas> created(new Cublas);
  HG_RETURN_IF_CUBLAS_ERROR(cublasCreate(&created->handle_));
  // By default cuBLAS may add the partials of a split-K in bf16. Our kernels add them in fp32, so cuBLAS must, too.
  HG_RETURN_IF_CUBLAS_ERROR(cublasSetMathMode(
      created->handle_,
      static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)));
  HG_RETURN_IF_ERROR(created->workspace_.allocate(kWorkspaceBytes));
  HG_RETURN_IF_CUBLAS_ERROR(
      cublasSetWorkspace(created->handle_, created->workspace_.data(), created->workspace_.size_bytes()));
  *cublas = std::move(created);
  return {};
}

Cublas::~Cublas() {
  if (handle_ != nullptr) cublasDestroy(handle_);
}

Status Cublas::use_stream(cudaStream_t stream) {
  if (stream == stream_) return {};
  HG_RETURN_IF_CUBLAS_ERROR(cublasSetStream(handle_, stream));
  // Must come after cublasSetStream, which resets the workspace to cuBLAS's own pool.
  HG_RETURN_IF_CUBLAS_ERROR(cublasSetWorkspace(handle_, workspace_.data(), workspace_.size_bytes()));
  stream_ = stream;
  return {};
}

Status Cublas::gemm_into(const GemmArgs& args, void* d, DataType d_type, std::int64_t ldd,
                         cudaStream_t stream) {
  HG_RETURN_IF_ERROR(use_stream(stream));
  const auto [m, n, k] = args.shape;
  const float alpha = 1;
  const float beta = 0;
  const BatchStrides strides = batch_strides_of(args);
  const std::int64_t d_stride = m * ldd;
  const int batches = args.batch_count;
  if (args.input_type == DataType::Float32) {
    const auto* const a = static_cast<const float*>(args.a);
    const auto* const b = static_cast<const float*>(args.b);
    auto* const to = static_cast<float*>(d);
    if (batches > 1) {
      return cublas_status(cublasSgemmStridedBatched_64(handle_, b_operation(args), a_operation(args), n, m,
                                                        k, &alpha, b, args.ldb, strides.b, a, args.lda,
                                                        strides.a, &beta, to, ldd, d_stride, batches),
                           "cublasSgemmStridedBatched");
    }
    return cublas_status(cublasSgemm_64(handle_, b_operation(args), a_operation(args), n, m, k, &alpha, b,
                                        args.ldb, a, args.lda, &beta, to, ldd),
                         "cublasSgemm");
  }
  const cudaDataType_t input_type = cuda_data_type(args.input_type);
  if (batches > 1) {
    return cublas_status(
        cublasGemmStridedBatchedEx_64(handle_, b_operation(args), a_operation(args), n, m, k, &alpha, args.b,
                                      input_type, args.ldb, strides.b, args.a, input_type, args.lda,
                                      strides.a, &beta, d, cuda_data_type(d_type), ldd, d_stride, batches,
                                      CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmStridedBatchedEx");
  }
  return cublas_status(cublasGemmEx_64(handle_, b_operation(args), a_operation(args), n, m, k, &alpha, args.b,
                                       input_type, args.ldb, args.a, input_type, args.lda, &beta, d,
                                       cuda_data_type(d_type), ldd, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                       "cublasGemmEx");
}

Status Cublas::gemm(const GemmArgs& args, cudaStream_t stream) {
  return gemm_into(args, args.d, args.output_type, args.ldd, stream);
}

Status Cublas::gemm_fp32(const GemmArgs& args, float* d_fp32, std::int64_t ldd, cudaStream_t stream) {
  return gemm_into(args, d_fp32, DataType::Float32, ldd, stream);
}

Status cublas_gemm_fp32(const GemmArgs& args, float* d_fp32, std::int64_t ldd, double timeout_seconds,
                        cudaStream_t stream) {
  std::unique_ptr<Cublas> cublas;
  HG_RETURN_IF_ERROR(Cublas::create(&cublas));
  HG_RETURN_IF_ERROR(cublas->gemm_fp32(args, d_fp32, ldd, stream));
  Status status = wait_with_watchdog(stream, timeout_seconds);
  if (status.code() == StatusCode::Timeout) static_cast<void>(cublas.release());
  return status;
}

}  // namespace hopper_gemm
