#include <string>

#include "benchmark/cutlass_baseline.hpp"
#include "benchmark/operation.hpp"

namespace hopper_gemm {
namespace {

// A grid has at most 65535 CTAs along y. Each stands for 8 tiles of at least 64 columns.
constexpr int kMostExtent = 65535 * 8 * 64;

}  // namespace

bool is_cutlass_problem(const GemmProblem& problem) {
  return problem.input_type != DataType::Float32 && problem.output_type == problem.input_type &&
         problem.a_layout == Layout::RowMajor && problem.b_layout == Layout::ColumnMajor &&
         is_product_alone(problem) && problem.batch_count == 1;
}

Status check_cutlass_gemm(const GemmArgs& args) {
  if (!is_cutlass_problem(problem_of(args))) {
    return unsupported(
        "CUTLASS is built only for bf16 or fp16, A row-major and B column-major, [M, K] and [N, K] with K "
        "contiguous, alpha = 1, beta = 0, no bias, no activation and no batches");
  }
  // The ladder that CUTLASS is compared with has the same rules for A, B and D's rows.
  HG_RETURN_IF_ERROR(check_mma_gemm(args));
  const auto [m, n, k] = args.shape;
  if (n % kTmaAlignmentElems != 0) {
    return unsupported("N = " + std::to_string(n) +
                       " is not a multiple of 8, but CUTLASS's epilogue stores 8 elements at a time");
  }
  if (m > kMostExtent || n > kMostExtent || k > kMostExtent) {
    return unsupported("M, N and K must be at most " + std::to_string(kMostExtent) + " for CUTLASS's grid");
  }
  return {};
}

}  // namespace hopper_gemm
