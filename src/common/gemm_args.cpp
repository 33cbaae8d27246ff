#include "common/gemm_args.hpp"

#include <bit>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>

namespace hopper_gemm {
namespace {

constexpr std::int64_t kMaxPitchBytes = std::int64_t{1} << 40;
constexpr int kMaxMmaK = std::numeric_limits<int>::max() - 1024;

struct Operand {
  const char* name;
  const char* leading_dimension_name;
  const void* data;
  std::int64_t leading_dimension;
  int lines;
  int line_elems;
  const char* line;  // "row" or "column"
  DataType type;
};

Operand a_of(const GemmArgs& args) {
  const auto [m, n, k] = args.shape;
  if (args.a_layout == Layout::RowMajor) return {"A", "lda", args.a, args.lda, m, k, "row", args.input_type};
  return {"A", "lda", args.a, args.lda, k, m, "column", args.input_type};
}

Operand b_of(const GemmArgs& args) {
  const auto [m, n, k] = args.shape;
  if (args.b_layout == Layout::RowMajor) return {"B", "ldb", args.b, args.ldb, k, n, "row", args.input_type};
  return {"B", "ldb", args.b, args.ldb, n, k, "column", args.input_type};
}

Operand c_of(const GemmArgs& args) {
  return {"C", "ldc", args.c, args.ldc, args.shape.m, args.shape.n, "row", args.output_type};
}

// The bias as an operand: a matrix of one line.
Operand bias_of(const GemmArgs& args) {
  const int elems = args.bias_kind == Bias::PerRow ? args.shape.m : args.shape.n;
  return {"the bias", "", args.bias, elems, 1, elems, "", args.output_type};
}

Operand d_of(const GemmArgs& args) {
  const int columns = args.gated ? args.shape.n / 2 : args.shape.n;
  return {"D", "ldd", args.d, args.ldd, args.shape.m, columns, "row", args.output_type};
}

std::string extents_text(const GemmShape& shape) {
  return std::to_string(shape.m) + ", " + std::to_string(shape.n) + " and " + std::to_string(shape.k);
}

Status check_operand(const Operand& operand) {
  if (operand.lines == 0 || operand.line_elems == 0) return {};  // nobody reads or writes it
  const std::string name = operand.name;
  if (operand.data == nullptr) return invalid_argument(name + " is a null pointer");
  if (operand.leading_dimension < operand.line_elems) {
    return invalid_argument(std::string(operand.leading_dimension_name) + " = " +
                            std::to_string(operand.leading_dimension) + " is shorter than a " + operand.line +
                            " of " + name + ", which has " + std::to_string(operand.line_elems) +
                            " elements");
  }
  if (std::bit_cast<std::uintptr_t>(operand.data) % static_cast<unsigned>(size_of(operand.type)) != 0) {
    return invalid_argument(name + " is not aligned to its elements of " +
                            std::to_string(size_of(operand.type)) + " bytes");
  }
  return {};
}

Status check_16_byte_rows(const Operand& operand) {
  const std::string ld_name = operand.leading_dimension_name;
  if (operand.leading_dimension % kTmaAlignmentElems != 0) {
    return unsupported(ld_name + " = " + std::to_string(operand.leading_dimension) +
                       " is not a multiple of 8, so not every row starts 16-byte aligned");
  }
  if (std::bit_cast<std::uintptr_t>(operand.data) % 16 != 0) {
    return unsupported(std::string(operand.name) + " is not 16-byte aligned");
  }
  return {};
}

Status check_tma_pitch(const Operand& operand) {
  if (operand.leading_dimension < kMaxPitchBytes / size_of(operand.type)) return {};
  return unsupported(std::string(operand.leading_dimension_name) + " = " +
                     std::to_string(operand.leading_dimension) +
                     " is a row pitch of 2^40 bytes or more, which TMA cannot address");
}

// The checks that the ladders of tensor-core kernels share, except for the types. ladder: its name in a sentence.
Status check_ladder_gemm(const GemmArgs& args, const std::string& ladder) {
  const auto [m, n, k] = args.shape;
  if (m < 1 || n < 1 || k < 1) {
    return invalid_argument("M, N and K must be at least 1, not " + extents_text(args.shape));
  }
  HG_RETURN_IF_ERROR(check_gemm(args));
  HG_RETURN_IF_ERROR(check_ladder_operation(args));
  if (args.a_layout != Layout::RowMajor) {
    return unsupported("A is column-major, but the " + ladder +
                       " takes a row-major A, [M, K] with K contiguous");
  }
  if (args.b_layout != Layout::ColumnMajor) {
    return unsupported("B is row-major, but the " + ladder +
                       " takes a column-major B, [N, K] with K contiguous");
  }
  if (args.alpha != 1 || args.beta != 0) {
    return unsupported("the " + ladder + " computes only A·B, with alpha = 1 and beta = 0");
  }
  if (k % kTmaAlignmentElems != 0) {
    return unsupported("K = " + std::to_string(k) +
                       " is not a multiple of 8, but the kernels of the ladder need one");
  }
  for (const Operand& operand : {a_of(args), b_of(args), d_of(args)}) {
    HG_RETURN_IF_ERROR(check_16_byte_rows(operand));
  }
  return {};
}

}  // namespace

GemmProblem problem_of(const GemmArgs& args) {
  return {.shape = args.shape,
          .input_type = args.input_type,
          .output_type = args.output_type,
          .a_layout = args.a_layout,
          .b_layout = args.b_layout,
          .alpha = args.alpha,
          .beta = args.beta,
          .bias = args.bias_kind,
          .activation = args.activation,
          .gated = args.gated,
          .batch_count = args.batch_count};
}

Status check_gemm(const GemmArgs& args) {
  const auto [m, n, k] = args.shape;
  if (m < 0 || n < 0 || k < 0) {
    return invalid_argument("M, N and K must not be negative, but are " + extents_text(args.shape));
  }
  if (args.batch_count < 1) {
    return invalid_argument("there must be at least one batch, not " + std::to_string(args.batch_count));
  }
  if (args.gated && n % (2 * kGateColumns) != 0) {
    return invalid_argument("N = " + std::to_string(n) + " of a gated GEMM is not a multiple of " +
                            std::to_string(2 * kGateColumns));
  }
  if (args.gated && args.beta != 0) return invalid_argument("a gated GEMM adds no C, so beta must be 0");
  if (m == 0 || n == 0) return {};
  if (args.alpha != 0) {
    HG_RETURN_IF_ERROR(check_operand(a_of(args)));
    HG_RETURN_IF_ERROR(check_operand(b_of(args)));
  }
  if (args.beta != 0) {
    HG_RETURN_IF_ERROR(check_operand(c_of(args)));
    if (args.c == args.d && args.ldc != args.ldd) {
      return invalid_argument("C and D are one matrix, but ldc = " + std::to_string(args.ldc) +
                              " and ldd = " + std::to_string(args.ldd));
    }
  }
  if (args.bias_kind != Bias::None) HG_RETURN_IF_ERROR(check_operand(bias_of(args)));
  return check_operand(d_of(args));
}

Status check_ladder_operation(const GemmArgs& args) {
  if (args.batch_count != 1)
    return unsupported("the kernels of the ladders compute one product and no batches");
  if (args.bias_kind == Bias::None && args.activation == Activation::None && !args.gated) return {};
  return unsupported("the kernels of the ladders add no bias and apply no activation or gate");
}

BatchStrides batch_strides_of(const GemmArgs& args) {
  const auto [m, n, k] = args.shape;
  const std::int64_t lines_of_a = args.a_layout == Layout::RowMajor ? m : k;
  const std::int64_t lines_of_b = args.b_layout == Layout::RowMajor ? k : n;
  return {.a = lines_of_a * args.lda, .b = lines_of_b * args.ldb, .c = m * args.ldc, .d = m * args.ldd};
}

GemmArgs args_of_batch(const GemmArgs& args, int batch) {
  const BatchStrides strides = batch_strides_of(args);
  const auto skip = [batch](auto* matrix, std::int64_t stride, DataType type) {
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(matrix)>>, const std::byte,
                                    std::byte>;
    return matrix == nullptr ? matrix : static_cast<Byte*>(matrix) + batch * stride * size_of(type);
  };
  GemmArgs one = args;
  one.batch_count = 1;
  one.a = skip(args.a, strides.a, args.input_type);
  one.b = skip(args.b, strides.b, args.input_type);
  one.c = skip(args.c, strides.c, args.output_type);
  one.d = skip(args.d, strides.d, args.output_type);
  return one;
}

Status check_tma_gemm(const GemmArgs& args) {
  HG_RETURN_IF_ERROR(check_ladder_gemm(args, "Hopper ladder"));
  if (args.input_type != DataType::BFloat16 || args.output_type != DataType::BFloat16) {
    return unsupported(std::string("the Hopper ladder multiplies bf16 to bf16, not ") +
                       to_string(args.input_type) + " to " + to_string(args.output_type));
  }
  for (const Operand& operand : {a_of(args), b_of(args), d_of(args)}) {
    HG_RETURN_IF_ERROR(check_tma_pitch(operand));
  }
  return {};
}

Status check_mma_gemm(const GemmArgs& args) {
  HG_RETURN_IF_ERROR(check_ladder_gemm(args, "Ampere ladder"));
  if (args.input_type == DataType::Float32 || args.output_type != args.input_type) {
    return unsupported(
        std::string("versions 1 to 5 of the Ampere ladder multiply bf16 to bf16 or fp16 to fp16, not ") +
        to_string(args.input_type) + " to " + to_string(args.output_type));
  }
  // The ring of stages runs ahead of K's end, and counts columns in 32 bits.
  if (args.shape.k > kMaxMmaK) {
    return unsupported("K = " + std::to_string(args.shape.k) +
                       ", but versions 1 to 5 of the Ampere ladder take at most " + std::to_string(kMaxMmaK));
  }
  return {};
}

}  // namespace hopper_gemm
