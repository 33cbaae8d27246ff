#include "gemm/host/checked_gemm.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace hopper_gemm::library {
namespace {

// Kernels count rows and columns in 32 bits, also those of a tile that extends past D's edge.
constexpr std::int64_t kMaxExtent = std::numeric_limits<int>::max() - std::int64_t{256};
constexpr std::int64_t kMaxBatchCount = std::numeric_limits<int>::max();
constexpr int kWorkspaceAlignmentBytes = 16;

std::string text_of(const char* field, std::int64_t value) {
  return std::string(field) + " is " + std::to_string(value);
}

std::string text_of(const char* matrix, const char* field, std::int64_t value) {
  return std::string(matrix) + "." + text_of(field, value);
}

// A value from C, or one that was not initialised, need not be one of the enumerators.
template <typename Enum>
Status check_enumerator(const char* field, Enum value, Enum last) {
  const int number = static_cast<int>(value);
  if (number >= 0 && number <= static_cast<int>(last)) return {};
  return invalid_argument(text_of(field, number) + ", but its values are 0 to " +
                          std::to_string(static_cast<int>(last)));
}

Status check_extent(const char* field, std::int64_t value, std::int64_t max) {
  if (value >= 0 && value <= max) return {};
  return invalid_argument(text_of(field, value) + ", but must be 0 to " + std::to_string(max));
}

Status check_scalars(const GemmDescriptor& gemm) {
  HG_RETURN_IF_ERROR(check_extent("m", gemm.m, kMaxExtent));
  HG_RETURN_IF_ERROR(check_extent("n", gemm.n, kMaxExtent));
  HG_RETURN_IF_ERROR(check_extent("k", gemm.k, kMaxExtent));
  HG_RETURN_IF_ERROR(check_extent("batch_count", gemm.batch_count, kMaxBatchCount));
  HG_RETURN_IF_ERROR(check_enumerator("input_type", gemm.input_type, DataType::Float32));
  HG_RETURN_IF_ERROR(check_enumerator("output_type", gemm.output_type, DataType::Float32));
  HG_RETURN_IF_ERROR(check_enumerator("bias", gemm.bias, Bias::PerColumn));
  HG_RETURN_IF_ERROR(check_enumerator("bias_type", gemm.bias_type, DataType::Float32));
  HG_RETURN_IF_ERROR(check_enumerator("activation", gemm.activation, Activation::Silu));
  if (gemm.input_type == DataType::Float32) {
    return unsupported("input_type is fp32, but the library multiplies only bf16 and fp16");
  }
  if (!gemm.gated) return {};
  if (gemm.n % (2 * kGateColumns) != 0) {
    return invalid_argument(text_of("n", gemm.n) +
                            ", but a gated GEMM needs a multiple of 16: 8 columns of the gate and 8 of up");
  }
  if (gemm.d.order == Layout::ColumnMajor) {
    return unsupported("d.order is column-major, but a gated GEMM stores only a row-major D");
  }
  return {};
}

// An operand, with its name in the descriptor.
struct Matrix {
  const char* name;
  const MatrixLayout& layout;
  std::int64_t rows;  // of the stored matrix
  std::int64_t cols;
  DataType type;
};

Status too_much_memory(const std::string& operand) {
  return unsupported(operand + " spans 2^63 bytes or more, which is more memory than can be addressed");
}

bool spans_too_much(const StridedLines& matrices, int element_bytes) {
  return spanned_elems(matrices) > std::numeric_limits<std::int64_t>::max() / element_bytes;
}

// Where the elements are. It replaces kPacked by numbers. The batch stride of a single batch becomes 0, as if batches
// shared one matrix, because nobody steps to a next one.
Status resolve(const Matrix& matrix, std::int64_t batch_count, StridedLines* resolved) {
  const MatrixLayout& layout = matrix.layout;
  const std::string order = std::string(matrix.name) + ".order";
  HG_RETURN_IF_ERROR(check_enumerator(order.c_str(), layout.order, Layout::ColumnMajor));
  const bool row_major = layout.order == Layout::RowMajor;
  const std::int64_t lines = row_major ? matrix.rows : matrix.cols;
  const std::int64_t line = row_major ? matrix.cols : matrix.rows;

  std::int64_t pitch = layout.leading_dimension;
  if (pitch == kPacked) {
    pitch = line;
  } else if (pitch < line) {
    return invalid_argument(text_of(matrix.name, "leading_dimension", pitch) +
                            ", which is shorter than a line of " + std::to_string(line));
  }
  pitch = std::max<std::int64_t>(pitch, 1);

  std::int64_t stride = layout.batch_stride;
  if (stride < 0 && stride != kPacked) {
    return invalid_argument(text_of(matrix.name, "batch_stride", stride) +
                            ", but must be kPacked, 0 or more");
  }
  const int alignment = layout.alignment_bytes;
  const int element_bytes = size_of(matrix.type);
  if (alignment < element_bytes || !std::has_single_bit(static_cast<unsigned>(alignment))) {
    return invalid_argument(text_of(matrix.name, "alignment_bytes", alignment) +
                            ", but must be a power of two, and at least an element's " +
                            std::to_string(element_bytes));
  }

  *resolved = {.batch_count = batch_count,
               .lines = lines,
               .line_elems = line,
               .leading_dimension = pitch,
               .batch_stride = 0};
  // Checks one matrix first, because the packed batch stride is the size of one.
  if (spans_too_much(*resolved, element_bytes)) return too_much_memory(matrix.name);
  if (batch_count > 1) resolved->batch_stride = stride == kPacked ? lines * pitch : stride;
  return spans_too_much(*resolved, element_bytes) ? too_much_memory(matrix.name) : Status{};
}

OperandMajor major_of(const Matrix& matrix, bool columns_are_k) {
  const bool columns_are_contiguous = (matrix.layout.order == Layout::RowMajor) != matrix.layout.transposed;
  return columns_are_contiguous == columns_are_k ? OperandMajor::K : OperandMajor::MN;
}

Status null_operand(const char* name) {
  return invalid_argument(std::string("operands.") + name + " is null");
}

// alignment_bytes: a power of two.
bool is_multiple(const void* address, int alignment_bytes) {
  return (std::bit_cast<std::uintptr_t>(address) & static_cast<std::uintptr_t>(alignment_bytes - 1)) == 0;
}

Status check_address(const char* name, const void* address, int alignment_bytes) {
  if (address == nullptr) return null_operand(name);
  if (is_multiple(address, alignment_bytes)) return {};
  return invalid_argument(std::string("operands.") + name + " is not " + std::to_string(alignment_bytes) +
                          "-byte aligned, but the plan's descriptor promises that");
}

Status overlapping(const char* written, const char* other) {
  return invalid_argument(std::string("operands.") + written + " overlaps operands." + other);
}

Status check_batches_apart(const char* matrix, const char* of, const StridedLines& lines) {
  if (!batches_overlap(lines)) return {};
  return invalid_argument(text_of(matrix, "batch_stride", lines.batch_stride) + ", so batches of " + of +
                          " overlap; kPacked sets them apart");
}

}  // namespace

Status CheckedGemm::create(const GemmDescriptor& gemm, const GemmOptions& options, CheckedGemm* checked) {
  HG_RETURN_IF_ERROR(check_scalars(gemm));
  const auto stored = [](std::int64_t rows, std::int64_t cols, bool transposed) {
    return transposed ? std::pair(cols, rows) : std::pair(rows, cols);
  };
  const auto [a_rows, a_cols] = stored(gemm.m, gemm.k, gemm.a.transposed);
  const auto [b_rows, b_cols] = stored(gemm.k, gemm.n, gemm.b.transposed);
  const Matrix a = {"a", gemm.a, a_rows, a_cols, gemm.input_type};
  const Matrix b = {"b", gemm.b, b_rows, b_cols, gemm.input_type};
  const Matrix c = {"c", gemm.c, gemm.m, gemm.n, gemm.output_type};
  const Matrix d = {"d", gemm.d, gemm.m, gemm.gated ? gemm.n / 2 : gemm.n, gemm.output_type};
  const Matrix aux = {"aux", gemm.aux, gemm.m, gemm.n, gemm.output_type};
  for (const Matrix* matrix : {&c, &d, &aux}) {
    if (!matrix->layout.transposed) continue;
    return invalid_argument(std::string(matrix->name) +
                            ".transposed is true, but only a and b can be transposed");
  }
  StridedLines a_lines{};
  StridedLines b_lines{};
  StridedLines c_lines{};
  StridedLines d_lines{};
  HG_RETURN_IF_ERROR(resolve(a, gemm.batch_count, &a_lines));
  HG_RETURN_IF_ERROR(resolve(b, gemm.batch_count, &b_lines));
  // A gated GEMM has no C.
  if (!gemm.gated) HG_RETURN_IF_ERROR(resolve(c, gemm.batch_count, &c_lines));
  HG_RETURN_IF_ERROR(resolve(d, gemm.batch_count, &d_lines));
  HG_RETURN_IF_ERROR(check_batches_apart("d", "D", d_lines));
  StridedLines aux_lines{};
  if (gemm.has_aux) {
    if (gemm.aux.order != gemm.d.order) return invalid_argument("aux.order is not d.order");
    HG_RETURN_IF_ERROR(resolve(aux, gemm.batch_count, &aux_lines));
    HG_RETURN_IF_ERROR(check_batches_apart("aux", "aux", aux_lines));
  }

  CheckedGemm result;
  result.column_major_d_ = gemm.d.order == Layout::ColumnMajor;
  result.c_has_order_of_d_ = gemm.c.order == gemm.d.order && !gemm.gated;
  // No run can read this C, so its layout must not decide which kernel is chosen.
  if (!result.c_has_order_of_d_) c_lines = d_lines;
  result.c_may_be_d_ =
      c_lines.leading_dimension == d_lines.leading_dimension && c_lines.batch_stride == d_lines.batch_stride;

  KernelArgs& args = result.problem_.args;
  args.shape = {static_cast<int>(gemm.m), static_cast<int>(gemm.n), static_cast<int>(gemm.k)};
  args.batch_count = static_cast<int>(gemm.batch_count);
  args.input_type = gemm.input_type;
  args.a = {nullptr, major_of(a, true), a_lines.leading_dimension, a_lines.batch_stride};
  args.b = {nullptr, major_of(b, false), b_lines.leading_dimension, b_lines.batch_stride};
  args.epilogue.ldd = d_lines.leading_dimension;
  args.epilogue.d_batch_stride = d_lines.batch_stride;
  args.epilogue.ldc = c_lines.leading_dimension;
  args.epilogue.c_batch_stride = c_lines.batch_stride;
  args.epilogue.output_type = gemm.output_type;
  args.epilogue.bias_type = gemm.bias_type;
  args.epilogue.bias_kind = gemm.bias;
  args.epilogue.activation = gemm.activation;
  args.epilogue.is_gated = gemm.gated;
  args.epilogue.has_aux = gemm.has_aux;
  args.epilogue.ldaux = aux_lines.leading_dimension;
  args.epilogue.aux_batch_stride = aux_lines.batch_stride;

  if (gemm.bias != Bias::None) {
    const std::int64_t length = gemm.bias == Bias::PerRow ? gemm.m : gemm.n;
    const std::int64_t stride = gemm.bias_batch_stride == kPacked ? length : gemm.bias_batch_stride;
    if (stride < 0) {
      return invalid_argument(text_of("bias_batch_stride", stride) + ", but must be kPacked, 0 or more");
    }
    const StridedLines bias_lines = {.batch_count = gemm.batch_count,
                                     .lines = 1,
                                     .line_elems = length,
                                     .leading_dimension = std::max<std::int64_t>(length, 1),
                                     .batch_stride = gemm.batch_count > 1 ? stride : 0};
    if (spans_too_much(bias_lines, size_of(gemm.bias_type))) return too_much_memory("the bias");
    args.epilogue.bias_batch_stride = bias_lines.batch_stride;
    result.bias_ = {footprint_of(bias_lines, size_of(gemm.bias_type)), size_of(gemm.bias_type)};
  }

  result.problem_.programmatic_dependent_launch = options.programmatic_dependent_launch;
  result.problem_.workspace_limit_bytes = options.workspace_limit_bytes;
  Alignments& alignments = result.problem_.alignments;
  alignments = {.a = gemm.a.alignment_bytes,
                .b = gemm.b.alignment_bytes,
                .c = (result.c_has_order_of_d_ ? gemm.c : gemm.d).alignment_bytes,
                .d = gemm.d.alignment_bytes,
                .aux = gemm.aux.alignment_bytes};
  result.a_ = {footprint_of(a_lines, size_of(gemm.input_type)), alignments.a};
  result.b_ = {footprint_of(b_lines, size_of(gemm.input_type)), alignments.b};
  result.c_ = {footprint_of(c_lines, size_of(gemm.output_type)), alignments.c};
  result.d_ = {footprint_of(d_lines, size_of(gemm.output_type)), alignments.d};
  if (gemm.has_aux) result.aux_ = {footprint_of(aux_lines, size_of(gemm.output_type)), alignments.aux};

  // A column-major matrix is its transpose in row-major order, and (A·B)ᵀ = Bᵀ·Aᵀ.
  if (result.column_major_d_) {
    std::swap(args.shape.m, args.shape.n);
    std::swap(args.a, args.b);
    std::swap(alignments.a, alignments.b);
    if (gemm.bias != Bias::None) {
      args.epilogue.bias_kind = gemm.bias == Bias::PerRow ? Bias::PerColumn : Bias::PerRow;
    }
  }
  *checked = result;
  return {};
}

bool CheckedGemm::empty() const { return d_.footprint.span_bytes == 0; }

Status CheckedGemm::check(const GemmOperands& operands, std::size_t workspace_bytes) const {
  struct Read {
    const char* name;
    const void* address;
    const Operand* operand;
  };
  Read reads[4];
  int count = 0;
  if (operands.alpha != 0 && problem_.args.shape.k != 0) {
    reads[count++] = {"a", operands.a, &a_};
    reads[count++] = {"b", operands.b, &b_};
  }
  if (operands.beta != 0) {
    if (problem_.args.epilogue.is_gated) {
      return invalid_argument("operands.beta is not 0, but a gated GEMM adds no C");
    }
    if (!c_has_order_of_d_) {
      return invalid_argument(
          "operands.beta is not 0, but the descriptor's c.order is not d.order; the kernel reads C in D's "
          "order");
    }
    reads[count++] = {"c", operands.c, &c_};
  }
  if (problem_.args.epilogue.bias_kind != Bias::None) {
    reads[count++] = {"bias", operands.bias, &bias_};
  } else if (operands.bias != nullptr) {
    return invalid_argument("operands.bias is not null, but the plan's descriptor has no bias");
  }

  HG_RETURN_IF_ERROR(check_address("d", operands.d, d_.alignment_bytes));
  const bool has_aux = problem_.args.epilogue.has_aux;
  if (has_aux) {
    HG_RETURN_IF_ERROR(check_address("aux", operands.aux, aux_.alignment_bytes));
    if (overlap(operands.d, d_.footprint, operands.aux, aux_.footprint)) return overlapping("d", "aux");
  } else if (operands.aux != nullptr) {
    return invalid_argument("operands.aux is not null, but the plan's descriptor has no aux");
  }
  for (const Read* read = reads; read != reads + count; ++read) {
    HG_RETURN_IF_ERROR(check_address(read->name, read->address, read->operand->alignment_bytes));
    if (has_aux && overlap(operands.aux, aux_.footprint, read->address, read->operand->footprint)) {
      return overlapping("aux", read->name);
    }
    if (read->operand == &c_ && read->address == operands.d) {
      if (c_may_be_d_) continue;
      return invalid_argument(
          "operands.c is operands.d, but their leading dimensions or batch strides are not the same");
    }
    if (overlap(operands.d, d_.footprint, read->address, read->operand->footprint)) {
      return overlapping("d", read->name);
    }
  }

  if (workspace_bytes == 0) return {};
  if (operands.workspace == nullptr) {
    if (operands.workspace_bytes == 0) return {};
    return invalid_argument("operands.workspace is null, but operands.workspace_bytes is " +
                            std::to_string(operands.workspace_bytes));
  }
  if (operands.workspace_bytes < workspace_bytes) {
    return invalid_argument("operands.workspace_bytes is " + std::to_string(operands.workspace_bytes) +
                            ", but the plan needs " + std::to_string(workspace_bytes));
  }
  if (!is_multiple(operands.workspace, kWorkspaceAlignmentBytes)) {
    return invalid_argument("operands.workspace is not 16-byte aligned");
  }
  const Footprint workspace = footprint_of_bytes(static_cast<std::int64_t>(workspace_bytes));
  if (overlap(operands.workspace, workspace, operands.d, d_.footprint)) return overlapping("workspace", "d");
  if (has_aux && overlap(operands.workspace, workspace, operands.aux, aux_.footprint)) {
    return overlapping("workspace", "aux");
  }
  for (const Read* read = reads; read != reads + count; ++read) {
    if (!overlap(operands.workspace, workspace, read->address, read->operand->footprint)) continue;
    return overlapping("workspace", read->name);
  }
  return {};
}

KernelArgs CheckedGemm::with_addresses(const GemmOperands& operands) const {
  KernelArgs args = problem_.args;
  const bool multiplies = operands.alpha != 0 && args.shape.k != 0;
  args.a.data = multiplies ? (column_major_d_ ? operands.b : operands.a) : nullptr;
  args.b.data = multiplies ? (column_major_d_ ? operands.a : operands.b) : nullptr;
  args.epilogue.d = operands.d;
  args.epilogue.aux = operands.aux;
  args.epilogue.c = operands.beta != 0 ? operands.c : nullptr;
  args.epilogue.bias = operands.bias;
  args.epilogue.alpha = operands.alpha;
  args.epilogue.beta = operands.beta;
  return args;
}

}  // namespace hopper_gemm::library
