#include "benchmark/operand_buffers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "benchmark/benchmark.hpp"
#include "common/ceil_div.hpp"
#include "common/matrix_lines.hpp"
#include "registry/registry.hpp"

namespace hopper_gemm {
namespace {

constexpr std::int64_t kLinePadding = 16;  // 16 lines of a multiple of 16 bytes take a multiple of 256 bytes
constexpr std::int64_t kL2Multiple = 3;

constexpr std::int64_t saturating_multiply(std::int64_t x, std::int64_t y) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(x, y, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

constexpr std::int64_t saturating_add(std::int64_t x, std::int64_t y) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(x, y, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

constexpr std::int64_t padded_lines(std::int64_t lines) {
  return ceil_div(lines, kLinePadding) * kLinePadding;
}

constexpr double gigabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e9; }

/// The largest multiple of 128 whose square shape takes at most `free_bytes`; 0 if there is none.
int largest_square(std::int64_t free_bytes, const std::function<std::int64_t(const GemmShape&)>& required) {
  constexpr int kStep = 128;
  int fits = 0;
  int too_large = std::numeric_limits<int>::max() / kStep;
  while (too_large - fits > 1) {
    const int middle = fits + (too_large - fits) / 2;
    const int size = middle * kStep;
    (required({size, size, size}) <= free_bytes ? fits : too_large) = middle;
  }
  return fits * kStep;
}

}  // namespace

BufferPlan plan_operand_buffers(const GemmProblem& problem, std::int64_t l2_bytes) {
  const LeadingDimensions ld = make_leading_dimensions(problem);
  const auto bytes = [](const MatrixLines& matrix, std::int64_t pitch, DataType type) {
    return saturating_multiply(saturating_multiply(padded_lines(matrix.lines), pitch), size_of(type));
  };
  const MatrixLines bias = line_of_bias(problem);
  BufferPlan plan{.leading_dimensions = ld,
                  .sets = 1,
                  .a_bytes = bytes(lines_of_a(problem), ld.a, problem.input_type),
                  .b_bytes = bytes(lines_of_b(problem), ld.b, problem.input_type),
                  .c_bytes = problem.beta == 0 ? 0 : bytes(lines_of_c(problem), ld.d, problem.output_type),
                  .bias_bytes = bytes(bias, bias.elems, problem.output_type),
                  .d_bytes = bytes(lines_of_d(problem), ld.d, problem.output_type),
                  .total_bytes = 0};
  std::int64_t set_bytes = plan.bias_bytes;
  for (const std::int64_t operand : {plan.a_bytes, plan.b_bytes, plan.c_bytes, plan.d_bytes}) {
    set_bytes = saturating_add(set_bytes, operand);
  }
  const std::int64_t wanted_bytes = kL2Multiple * l2_bytes;
  if (set_bytes < wanted_bytes) {
    plan.sets = std::min(ceil_div(wanted_bytes, set_bytes), std::int64_t{kMaxLaunchesPerGraph});
  }
  plan.total_bytes = saturating_multiply(plan.sets, set_bytes);
  return plan;
}

std::int64_t required_bytes(const GemmProblem& problem, std::int64_t l2_bytes) {
  return saturating_add(plan_operand_buffers(problem, l2_bytes).total_bytes,
                        static_cast<std::int64_t>(kWorkspaceBytes));
}

Status check_memory(const GemmShape& shape, const DeviceInfo& device,
                    const std::function<std::int64_t(const GemmShape&)>& required) {
  const std::int64_t needed_bytes = required(shape);
  if (needed_bytes <= device.free_bytes) return {};
  const int square = largest_square(device.free_bytes, required);
  const std::string advice =
      square > 0 ? fmt::format("type --size {} or less", square) : "end the programs that hold its memory";
  return out_of_memory(
      fmt::format("the shape {} needs {:.1f} GB of GPU memory, but {} has {:.1f} GB free of {:.1f} GB; {}",
                  to_string(shape), gigabytes(needed_bytes), device.name, gigabytes(device.free_bytes),
                  gigabytes(device.total_bytes), advice));
}

Status OperandBuffers::allocate(const GemmProblem& problem, std::int64_t l2_bytes, DataKind data,
                                std::uint64_t seed, cudaStream_t stream, OperandBuffers* buffers) {
  const BufferPlan plan = plan_operand_buffers(problem, l2_bytes);
  const LeadingDimensions ld = plan.leading_dimensions;
  OperandBuffers allocated;
  HG_RETURN_IF_ERROR(allocated.slab_.allocate(plan.total_bytes));
  HG_RETURN_IF_ERROR(allocated.workspace_.allocate(kWorkspaceBytes));
  std::byte* const a = allocated.slab_.data();
  std::byte* const b = a + plan.sets * plan.a_bytes;
  std::byte* const c = b + plan.sets * plan.b_bytes;
  std::byte* const bias = c + plan.sets * plan.c_bytes;
  std::byte* const d = bias + plan.sets * plan.bias_bytes;
  // The copies of an operand lie one behind the other, with lines of one pitch, so one call fills them all.
  const auto fill = [&](std::byte* operand, const MatrixLines& matrix, std::int64_t pitch, DataType type,
                        double density, std::uint64_t own_seed) {
    return fill_matrix(operand, type, plan.sets * padded_lines(matrix.lines), matrix.elems, pitch, data,
                       density, own_seed, stream);
  };
  const double density = integer_density(problem.shape.k);
  HG_RETURN_IF_ERROR(fill(a, lines_of_a(problem), ld.a, problem.input_type, density, seed));
  HG_RETURN_IF_ERROR(fill(b, lines_of_b(problem), ld.b, problem.input_type, density, seed + 1));
  if (plan.c_bytes != 0) {
    HG_RETURN_IF_ERROR(fill(c, lines_of_c(problem), ld.d, problem.output_type, integer_density(1), seed + 2));
  }
  const MatrixLines bias_line = line_of_bias(problem);
  if (plan.bias_bytes != 0) {
    HG_RETURN_IF_ERROR(
        fill(bias, bias_line, bias_line.elems, problem.output_type, integer_density(1), seed + 3));
  }
  for (std::int64_t set = 0; set < plan.sets; ++set) {
    allocated.sets_.push_back(args_of(problem, a + set * plan.a_bytes, ld.a, b + set * plan.b_bytes, ld.b,
                                      d + set * plan.d_bytes, ld.d,
                                      plan.c_bytes == 0 ? nullptr : c + set * plan.c_bytes, ld.d,
                                      plan.bias_bytes == 0 ? nullptr : bias + set * plan.bias_bytes));
    allocated.sets_.back().workspace = allocated.workspace_.data();
    allocated.sets_.back().workspace_bytes = kWorkspaceBytes;
  }
  *buffers = std::move(allocated);
  return {};
}

}  // namespace hopper_gemm
