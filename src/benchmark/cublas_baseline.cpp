#include "benchmark/cublas_baseline.hpp"

#include <fmt/format.h>

#include <array>
#include <numeric>

#include "benchmark/benchmark.hpp"
#include "benchmark/elementwise_epilogue.hpp"
#include "benchmark/gpu_sampler.hpp"
#include "registry/registry.hpp"
#include "verify/verify.hpp"

namespace hopper_gemm {
namespace {

constexpr int kMaxCandidates = 32;

/// The operands as cublasLt sees them, column-major; see Cublas.
struct MatrixLayouts {
  cublasLtMatrixLayoutOpaque_t b;
  cublasLtMatrixLayoutOpaque_t a;
  cublasLtMatrixLayoutOpaque_t c;
  cublasLtMatrixLayoutOpaque_t d;

  Status init(const GemmArgs& args) {
    const auto m = static_cast<std::uint64_t>(args.shape.m);
    const auto n = static_cast<std::uint64_t>(args.shape.n);
    const auto k = static_cast<std::uint64_t>(args.shape.k);
    const cudaDataType_t input_type = cuda_data_type(args.input_type);
    const bool transposes_b = b_operation(args) == CUBLAS_OP_T;
    HG_RETURN_IF_CUBLAS_ERROR(
        cublasLtMatrixLayoutInit(&b, input_type, transposes_b ? k : n, transposes_b ? n : k, args.ldb));
    const bool transposes_a = a_operation(args) == CUBLAS_OP_T;
    HG_RETURN_IF_CUBLAS_ERROR(
        cublasLtMatrixLayoutInit(&a, input_type, transposes_a ? m : k, transposes_a ? k : m, args.lda));
    const cudaDataType_t output_type = cuda_data_type(args.output_type);
    HG_RETURN_IF_CUBLAS_ERROR(
        cublasLtMatrixLayoutInit(&c, output_type, n, m, args.beta == 0 ? args.ldd : args.ldc));
    HG_RETURN_IF_CUBLAS_ERROR(cublasLtMatrixLayoutInit(&d, output_type, n, m, args.ldd));
    if (args.batch_count == 1) return {};
    const BatchStrides strides = batch_strides_of(args);
    HG_RETURN_IF_ERROR(set_batches(&a, args.batch_count, strides.a));
    HG_RETURN_IF_ERROR(set_batches(&b, args.batch_count, strides.b));
    HG_RETURN_IF_ERROR(set_batches(&c, args.batch_count, args.beta == 0 ? strides.d : strides.c));
    return set_batches(&d, args.batch_count, strides.d);
  }

 private:
  static Status set_batches(cublasLtMatrixLayout_t layout, std::int32_t count, std::int64_t stride) {
    HG_RETURN_IF_CUBLAS_ERROR(
        cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    HG_RETURN_IF_CUBLAS_ERROR(cublasLtMatrixLayoutSetAttribute(
        layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride));
    return {};
  }
};

template <typename T>
Status set_attribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
                     const T& value) {
  return cublas_status(
      cublasLtMatmulDescSetAttribute(operation, attribute, static_cast<const void*>(&value), sizeof value),
      "cublasLtMatmulDescSetAttribute");
}

/// cublasLt's name for an epilogue that is_fused_by_cublas(). Its columns are our rows, and its GELU is the one by
/// tanh.
cublasLtEpilogue_t epilogue_of(const GemmArgs& args) {
  const bool has_bias = args.bias_kind == Bias::PerColumn;
  switch (args.activation) {
    case Activation::None: return has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case Activation::Relu: return has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    default: return has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  }
}

}  // namespace

Status CublasLtCandidates::find(const GemmArgs& args, std::unique_ptr<CublasLtCandidates>* candidates) {
  std::unique_ptr<CublasLtCandidates> found(new CublasLtCandidates);
  if (is_fused_by_cublas(problem_of(args))) {
    HG_RETURN_IF_ERROR(found->create_handles(args, epilogue_of(args)));
    HG_RETURN_IF_ERROR(found->ask_heuristics(args));
  }
  *candidates = std::move(found);
  return {};
}

CublasLtCandidates::~CublasLtCandidates() {
  if (preference_ != nullptr) cublasLtMatmulPreferenceDestroy(preference_);
  if (operation_ != nullptr) cublasLtMatmulDescDestroy(operation_);
  if (handle_ != nullptr) cublasLtDestroy(handle_);
}

Status CublasLtCandidates::create_handles(const GemmArgs& args, cublasLtEpilogue_t epilogue) {
  const auto set = [this](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return set_attribute(operation_, attribute, value);
  };
  HG_RETURN_IF_CUBLAS_ERROR(cublasLtCreate(&handle_));
  HG_RETURN_IF_ERROR(workspace_.allocate(kWorkspaceBytes));
  HG_RETURN_IF_CUBLAS_ERROR(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  HG_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSA, b_operation(args)));
  HG_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSB, a_operation(args)));
  HG_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
  if (args.bias_kind != Bias::None) {
    HG_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_data_type(args.output_type)));
    HG_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, args.bias));
  }
  HG_RETURN_IF_CUBLAS_ERROR(cublasLtMatmulPreferenceCreate(&preference_));
  const std::size_t workspace_bytes = workspace_.size_bytes();
  HG_RETURN_IF_CUBLAS_ERROR(cublasLtMatmulPreferenceSetAttribute(
      preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes));
  // Partials are not reduced in the output type, as in cublasGemmEx.
  const std::uint32_t reduction_schemes =
      CUBLASLT_REDUCTION_SCHEME_MASK & ~CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  HG_RETURN_IF_CUBLAS_ERROR(cublasLtMatmulPreferenceSetAttribute(
      preference_, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reduction_schemes, sizeof reduction_schemes));
  return {};
}

Status CublasLtCandidates::ask_heuristics(const GemmArgs& args) {
  MatrixLayouts layouts{};
  HG_RETURN_IF_ERROR(layouts.init(args));
  std::array<cublasLtMatmulHeuristicResult_t, kMaxCandidates> results{};
  int returned = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, operation_, &layouts.b, &layouts.a, &layouts.c, &layouts.d,
                                     preference_, kMaxCandidates, results.data(), &returned);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  HG_RETURN_IF_ERROR(cublas_status(status, "cublasLtMatmulAlgoGetHeuristic"));
  for (const auto& result : std::span(results).first(static_cast<std::size_t>(returned))) {
    if (result.state == CUBLAS_STATUS_SUCCESS) algorithms_.push_back(result.algo);
  }
  return {};
}

Status CublasLtCandidates::launch(std::size_t index, const GemmArgs& args, cudaStream_t stream) {
  MatrixLayouts layouts{};
  HG_RETURN_IF_ERROR(layouts.init(args));
  if (args.bias_kind != Bias::None) {
    HG_RETURN_IF_ERROR(set_attribute(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, args.bias));
  }
  const void* const c = args.beta == 0 ? args.d : args.c;
  return cublas_status(
      cublasLtMatmul(handle_, operation_, &args.alpha, args.b, &layouts.b, args.a, &layouts.a, &args.beta, c,
                     &layouts.c, args.d, &layouts.d, &algorithms_[index], workspace_.data(),
                     workspace_.size_bytes(), stream),
      "cublasLtMatmul");
}

Status check_candidates(const GemmProblem& problem, std::size_t count,
                        const std::function<Status(std::size_t, const GemmArgs&, cudaStream_t)>& launch,
                        std::uint64_t seed, double timeout_seconds, CandidateVerdicts* verdicts) {
  *verdicts = {};
  std::vector<bool> refused(count);
  std::vector<VerifyTarget> targets(count);
  for (std::size_t i = 0; i < count; ++i) {
    targets[i] = {fmt::format("cublasLt #{}", i), [&, i](const GemmArgs& args, cudaStream_t stream) {
                    Status status = launch(i, args, stream);
                    refused[i] = status.code() == StatusCode::Unsupported;
                    return status;
                  }};
  }
  std::vector<VerifyReport> reports;
  HG_RETURN_IF_ERROR(verify_targets(
      problem, targets,
      {.seed = seed, .timeout_seconds = timeout_seconds, .integers_only = true, .padded = false}, &reports));
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_wrong = !reports[i].verified && !refused[i];
    (is_wrong ? verdicts->wrong : verdicts->sound).push_back(i);
    if (is_wrong && verdicts->first_fault.empty()) verdicts->first_fault = reports[i].detail;
  }
  return {};
}

Status find_fastest_candidate(const std::function<Status(std::size_t, const GemmArgs&, cudaStream_t)>& launch,
                              std::span<const std::size_t> which, std::span<const GemmArgs> sets,
                              std::uint64_t seed, cudaStream_t stream, std::optional<std::size_t>* fastest) {
  constexpr int kRounds = 3;
  fastest->reset();
  GpuSampler sampler({sets.begin(), sets.end()}, stream, nullptr);
  std::vector<std::size_t> running;  // the candidate of each of the sampler's contestants
  for (const std::size_t i : which) {
    const Status added =
        sampler.add([&launch, i](const GemmArgs& args, cudaStream_t on) { return launch(i, args, on); });
    if (added.code() == StatusCode::Unsupported) continue;
    HG_RETURN_IF_ERROR(added);
    running.push_back(i);
  }
  if (running.empty()) return {};
  std::vector<std::size_t> contestants(running.size());
  std::iota(contestants.begin(), contestants.end(), std::size_t{0});
  std::vector<Measurement> measurements;
  HG_RETURN_IF_ERROR(run_rounds(contestants, Mode::Burst, kRounds, seed, sampler, nullptr, &measurements));
  *fastest = running[best_by_median(measurements)];
  return {};
}

}  // namespace hopper_gemm
