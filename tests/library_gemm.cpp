#include "tests/library_gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace hopper_gemm {
namespace {

using library::OperandArgs;
using library::OperandMajor;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint16_t kGuard = 0x7A5B;
constexpr std::int64_t kPaddingRows = 2;  // of D
// A leading dimension may be larger than all memory. Of gaps between lines so much is touched then.
constexpr std::int64_t kHugeMatrix = 1 << 22;
constexpr std::int64_t kTouchedPadding = 64;

/// Integers are of -2 ... 2, which every type holds.
float draw(OperandValues values, std::mt19937* random) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kSpecials[] = {kNan, kInfinity, -kInfinity};
  constexpr unsigned kOneSpecialIn = 101;
  if (values == OperandValues::Uniform) return static_cast<float>((*random)()) * 0x1p-31F - 1;
  if (values == OperandValues::Special && (*random)() % kOneSpecialIn == 0) return kSpecials[(*random)() % 3];
  return static_cast<float>((*random)() % 5) - 2;
}

std::int64_t padded(std::int64_t elems, const OperandMemory& memory) {
  return (elems + 7) / 8 * 8 + memory.gap + memory.remainder;
}

/// Of an address so many elements behind a multiple of 16 bytes.
int alignment_bytes(int offset, DataType type) {
  const int bytes = offset * size_of(type);
  return bytes == 0 ? 16 : std::min(16, bytes & -bytes);
}

void fill_guard(std::byte* memory, DataType type, std::int64_t index) {
  const std::uint16_t units[2] = {kGuard, kGuard};
  std::memcpy(memory + index * size_of(type), units, static_cast<std::size_t>(size_of(type)));
}

bool is_guard(const std::byte* memory, DataType type, std::int64_t index) {
  const std::uint16_t units[2] = {kGuard, kGuard};
  return std::memcmp(memory + index * size_of(type), units, static_cast<std::size_t>(size_of(type))) == 0;
}

/// Whether an element that an activation has made may be `actual`.
bool agrees(double actual, const library::ReferenceElement& expected, const LibraryProblem& problem,
            Activation activation) {
  const DataType type = problem.output_type;
  const double rounded = round_to(type, expected.value);
  if (actual == rounded || (std::isnan(actual) && std::isnan(rounded))) return true;
  double error = 0;
  double slope = 1;
  if (activation != Activation::None && activation != Activation::Relu) {
    // fp32 functions, of a few units in the last place, whose arguments may cancel.
    constexpr double kOfFunctions = 2e-6;
    error = std::abs(expected.value) * kOfFunctions + expected.factor * kOfFunctions;
    if (type != DataType::Float32) {
      error += approximation_error(activation) * std::abs(expected.argument);
    }
    slope = 1.2;  // the steepest
  }
  if (problem.values == OperandValues::Uniform) {
    // Every product, sum and scaling in fp32, of which the tensor core cuts off more than it rounds.
    constexpr double kOfSteps = 0x1p-22;
    constexpr double kScalings = 8;
    constexpr double kSmallestHalf = 0x1p-25;  // half of fp16's smallest step
    error += slope * (problem.shape.k + kScalings) * kOfSteps * expected.magnitude + kSmallestHalf;
  }
  if (error == 0) return false;
  return std::abs(actual - expected.value) <=
         error + (std::abs(expected.value) + error) * unit_roundoff(type);
}

}  // namespace

LibraryProblem with_outputs(LibraryProblem problem, int outputs) {
  problem.has_aux = outputs % 2 == 1;
  problem.gated = outputs / 2 == 1;
  if (!problem.gated) return problem;
  problem.shape.n = (problem.shape.n + 15) / 16 * 16;
  problem.beta = 0;
  problem.in_place = false;
  return problem;
}

std::string test_name(std::string config) {
  std::replace(config.begin(), config.end(), '+', '_');
  return config;
}

std::string test_name(const LibraryProblem& problem) {
  const auto contiguous = [](OperandMajor major, const char* other) {
    return major == OperandMajor::K ? "k" : other;
  };
  const auto factor = [](float value) {
    std::string text = fmt::format("{}", value);
    std::replace(text.begin(), text.end(), '-', 'm');
    std::replace(text.begin(), text.end(), '.', 'p');
    return text;
  };
  const auto& [m, n, k] = problem.shape;
  std::string name = fmt::format("{}x{}x{}", m, n, k);
  if (problem.batch_count > 1) name += fmt::format("_batches_{}", problem.batch_count);
  name += fmt::format("_{}_to_{}_{}{}", to_string(problem.input_type), to_string(problem.output_type),
                      contiguous(problem.major_a, "m"), contiguous(problem.major_b, "n"));
  const auto add_memory = [&name](const char* operand, const OperandMemory& memory) {
    if (memory.offset != 0) name += fmt::format("_{}_offset_{}", operand, memory.offset);
    if (memory.remainder != 0) name += fmt::format("_{}_remainder_{}", operand, memory.remainder);
    if (memory.gap > 8) name += fmt::format("_{}_gap_{}", operand, memory.gap);
    if (memory.shared) name += fmt::format("_{}_shared", operand);
  };
  add_memory("a", problem.a);
  add_memory("b", problem.b);
  add_memory("c", problem.c);
  add_memory("d", problem.d);
  add_memory("aux", problem.aux);
  if (problem.bias != Bias::None) {
    name += fmt::format("_bias_{}_{}", problem.bias == Bias::PerRow ? "row" : "column",
                        to_string(problem.bias_type));
    if (problem.bias_offset != 0) name += fmt::format("_offset_{}", problem.bias_offset);
    if (!problem.bias_shared) name += "_each";
  }
  constexpr const char* kActivations[] = {"", "_relu", "_gelu", "_gelutanh", "_silu"};
  name += kActivations[static_cast<int>(problem.activation)];
  if (problem.gated) name += "_gated";
  if (problem.has_aux) name += "_aux";
  if (problem.alpha != 1) name += "_alpha_" + factor(problem.alpha);
  if (problem.beta != 0) name += "_beta_" + factor(problem.beta);
  if (problem.in_place) name += "_in_place";
  if (problem.values == OperandValues::Uniform) name += "_uniform";
  if (problem.values == OperandValues::Special) name += "_special";
  return name;
}

LibraryGemm::Matrix LibraryGemm::allocate_matrix(std::int64_t lines, std::int64_t elems, DataType type,
                                                 const OperandMemory& memory, std::int64_t padding_lines,
                                                 const Allocate& allocate) const {
  Matrix matrix{.type = type,
                .batches = memory.shared ? 1 : problem_.batch_count,
                .lines = lines,
                .elems = elems,
                .leading_dimension = padded(elems, memory),
                .offset = memory.offset};
  // Of one batch nobody looks at the stride.
  matrix.batch_stride = memory.shared              ? 0
                        : problem_.batch_count > 1 ? padded(lines * matrix.leading_dimension, memory)
                                                   : 1;
  const std::int64_t last_line = matrix.index(matrix.batches - 1, std::max(lines, std::int64_t{1}) - 1);
  matrix.size = std::max(last_line + elems + padding_lines * matrix.leading_dimension, std::int64_t{1});
  matrix.memory = static_cast<std::byte*>(allocate(static_cast<std::size_t>(matrix.size * size_of(type))));
  return matrix;
}

template <typename Visit>
void LibraryGemm::Matrix::for_each_element(const Visit& visit) const {
  const std::int64_t before = std::min(offset, kTouchedPadding);
  for (std::int64_t i = offset - before; i < offset; ++i) visit(i, false);
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    for (std::int64_t line = 0; line < lines; ++line) {
      const std::int64_t first = index(batch, line);
      const bool is_last_of_batch = line + 1 == lines;
      const std::int64_t next = !is_last_of_batch     ? index(batch, line + 1)
                                : batch + 1 < batches ? index(batch + 1, 0)
                                                      : size;
      const std::int64_t touched =
          size < kHugeMatrix ? next : std::min(next, first + elems + kTouchedPadding);
      for (std::int64_t i = first; i < touched; ++i) visit(i, i < first + elems);
    }
  }
}

LibraryGemm::LibraryGemm(const LibraryProblem& problem, const Allocate& allocate) : problem_(problem) {
  const int m = problem.shape.m;
  const int n = problem.shape.n;
  const int k = problem.shape.k;
  std::mt19937 random;
  const auto make_input = [&](std::int64_t lines, std::int64_t elems, DataType type,
                              const OperandMemory& memory, bool used) {
    const Matrix matrix = allocate_matrix(lines, elems, type, memory, 0, allocate);
    matrix.for_each_element([&](std::int64_t index, bool inside) {
      store_element(matrix.memory, type, index, inside && used ? draw(problem.values, &random) : kNan);
    });
    return matrix;
  };
  const auto operand_of = [&](OperandMajor major, int extent, const OperandMemory& memory) {
    const bool is_k_major = major == OperandMajor::K;
    const Matrix matrix = make_input(is_k_major ? extent : k, is_k_major ? k : extent, problem.input_type,
                                     memory, problem.alpha != 0);
    return OperandArgs{matrix.first(), major, matrix.leading_dimension, matrix.batch_stride};
  };
  args_.shape = problem.shape;
  args_.batch_count = problem.batch_count;
  args_.input_type = problem.input_type;
  args_.a = operand_of(problem.major_a, m, problem.a);
  args_.b = operand_of(problem.major_b, n, problem.b);
  GemmEpilogue& epilogue = args_.epilogue;
  epilogue.output_type = problem.output_type;
  epilogue.alpha = problem.alpha;
  epilogue.beta = problem.beta;
  epilogue.activation = problem.activation;
  epilogue.bias_kind = problem.bias;
  epilogue.bias_type = problem.bias_type;
  if (problem.bias != Bias::None) {
    const OperandMemory memory = {.offset = problem.bias_offset, .gap = 3, .shared = problem.bias_shared};
    const Matrix bias = make_input(1, problem.bias == Bias::PerRow ? m : n, problem.bias_type, memory, true);
    epilogue.bias = bias.first();
    epilogue.bias_batch_stride = bias.batch_stride;
  }

  epilogue.is_gated = problem.gated;
  epilogue.has_aux = problem.has_aux;
  if (problem.has_aux) {
    aux_ = allocate_matrix(m, n, problem.output_type, problem.aux, kPaddingRows, allocate);
    epilogue.aux = aux_.first();
    epilogue.ldaux = aux_.leading_dimension;
    epilogue.aux_batch_stride = aux_.batch_stride;
  }
  d_ = allocate_matrix(m, problem.gated ? n / 2 : n, problem.output_type, problem.d, kPaddingRows, allocate);
  epilogue.d = d_.first();
  epilogue.ldd = d_.leading_dimension;
  epilogue.d_batch_stride = d_.batch_stride;
  reset();
  if (problem.in_place) {
    epilogue.c = epilogue.d;
    epilogue.ldc = epilogue.ldd;
    epilogue.c_batch_stride = epilogue.d_batch_stride;
  } else if (problem.beta != 0) {
    const Matrix c = make_input(m, n, problem.output_type, problem.c, true);
    epilogue.c = c.first();
    epilogue.ldc = c.leading_dimension;
    epilogue.c_batch_stride = c.batch_stride;
  }
  reference_aux_ = library::reference_values(args_);
  reference_d_ = library::reference_d(reference_aux_, n, epilogue);
}

void LibraryGemm::reset() {
  reset(d_, problem_.in_place && problem_.beta != 0);
  reset(aux_, false);
}

void LibraryGemm::reset(const Matrix& output, bool is_c) const {
  std::mt19937 random;
  output.for_each_element([&](std::int64_t index, bool inside) {
    if (inside) {
      store_element(output.memory, output.type, index, is_c ? draw(problem_.values, &random) : kNan);
    } else {
      fill_guard(output.memory, output.type, index);
    }
  });
}

std::vector<std::byte> LibraryGemm::bytes_of_outputs() const {
  std::vector<std::byte> bytes;
  for (const Matrix* output : {&d_, &aux_}) {
    bytes.insert(bytes.end(), output->memory, output->memory + output->size * size_of(output->type));
  }
  return bytes;
}

GemmDescriptor LibraryGemm::descriptor(const Description& description) const {
  const library::Problem problem = this->problem();
  const library::KernelArgs& args = problem.args;
  const GemmEpilogue& epilogue = args.epilogue;
  const bool swaps = description.column_major_d;
  const auto matrix = [](std::int64_t leading_dimension, std::int64_t batch_stride, int alignment) {
    return MatrixLayout{
        .leading_dimension = leading_dimension, .batch_stride = batch_stride, .alignment_bytes = alignment};
  };
  const auto input = [&](const OperandArgs& operand, int alignment, bool is_a, bool transposed) {
    MatrixLayout layout = matrix(operand.leading_dimension, operand.batch_stride, alignment);
    // Untransposed, rows of A and columns of B are what lies along K.
    const bool lines_are_rows = (operand.major == OperandMajor::K) == is_a;
    layout.order = lines_are_rows != transposed ? Layout::RowMajor : Layout::ColumnMajor;
    layout.transposed = transposed;
    return layout;
  };
  const auto output = [&](std::int64_t leading_dimension, std::int64_t batch_stride, int alignment) {
    MatrixLayout layout = matrix(leading_dimension, batch_stride, alignment);
    layout.order = swaps ? Layout::ColumnMajor : Layout::RowMajor;
    return layout;
  };
  GemmDescriptor gemm;
  gemm.m = swaps ? args.shape.n : args.shape.m;
  gemm.n = swaps ? args.shape.m : args.shape.n;
  gemm.k = args.shape.k;
  gemm.batch_count = args.batch_count;
  gemm.input_type = args.input_type;
  gemm.output_type = epilogue.output_type;
  gemm.a = input(swaps ? args.b : args.a, swaps ? problem.alignments.b : problem.alignments.a, true,
                 description.a_transposed);
  gemm.b = input(swaps ? args.a : args.b, swaps ? problem.alignments.a : problem.alignments.b, false,
                 description.b_transposed);
  gemm.c = output(args_.epilogue.c == nullptr ? kPacked : epilogue.ldc,
                  args_.epilogue.c == nullptr ? kPacked : epilogue.c_batch_stride, problem.alignments.c);
  gemm.d = output(epilogue.ldd, epilogue.d_batch_stride, problem.alignments.d);
  gemm.gated = epilogue.is_gated;
  gemm.has_aux = epilogue.has_aux;
  gemm.aux = output(epilogue.ldaux, epilogue.aux_batch_stride, problem.alignments.aux);
  gemm.bias = epilogue.bias_kind;
  if (swaps && gemm.bias != Bias::None) {
    gemm.bias = gemm.bias == Bias::PerRow ? Bias::PerColumn : Bias::PerRow;
  }
  gemm.bias_type = epilogue.bias_type;
  gemm.bias_batch_stride = epilogue.bias_batch_stride;
  gemm.activation = epilogue.activation;
  return gemm;
}

GemmOperands LibraryGemm::operands(const Description& description) const {
  const GemmEpilogue& epilogue = args_.epilogue;
  GemmOperands operands;
  operands.a = description.column_major_d ? args_.b.data : args_.a.data;
  operands.b = description.column_major_d ? args_.a.data : args_.b.data;
  operands.c = epilogue.c;
  operands.d = epilogue.d;
  operands.aux = epilogue.aux;
  operands.bias = epilogue.bias;
  operands.alpha = epilogue.alpha;
  operands.beta = epilogue.beta;
  return operands;
}

library::Problem LibraryGemm::problem() const {
  library::Problem result{
      .args = args_,
      .alignments = {.a = alignment_bytes(problem_.a.offset, problem_.input_type),
                     .b = alignment_bytes(problem_.b.offset, problem_.input_type),
                     .c = alignment_bytes((problem_.in_place ? problem_.d : problem_.c).offset,
                                          problem_.output_type),
                     .d = alignment_bytes(problem_.d.offset, problem_.output_type),
                     .aux = alignment_bytes(problem_.aux.offset, problem_.output_type)},
      .programmatic_dependent_launch = problem_.programmatic_dependent_launch,
      .workspace_limit_bytes = kWorkspaceLimitBytes};
  result.args.a.data = nullptr;
  result.args.b.data = nullptr;
  GemmEpilogue& epilogue = result.args.epilogue;
  epilogue.c = nullptr;
  epilogue.d = nullptr;
  epilogue.aux = nullptr;
  epilogue.bias = nullptr;
  epilogue.alpha = 1;
  epilogue.beta = 0;
  return result;
}

std::string LibraryGemm::fault() const {
  const std::string of_d = fault_of(d_, "D", problem_.activation, reference_d_);
  if (!of_d.empty() || !problem_.has_aux) return of_d;
  return fault_of(aux_, "aux", Activation::None, reference_aux_);
}

std::string LibraryGemm::fault_of(const Matrix& output, const char* name, Activation activation,
                                  const std::vector<library::ReferenceElement>& reference) const {
  std::string fault;
  auto expected = reference.begin();
  output.for_each_element([&](std::int64_t index, bool inside) {
    if (!fault.empty()) return;
    const std::int64_t from_first = index - output.offset;
    const auto where = [&] {
      return fmt::format("{} rows of {} and {} elements behind the first",
                         from_first / output.leading_dimension, output.leading_dimension,
                         from_first % output.leading_dimension);
    };
    if (!inside) {
      if (!is_guard(output.memory, output.type, index))
        fault = fmt::format("wrote outside of {}, {}", name, where());
      return;
    }
    const double actual = load_element(output.memory, output.type, index);
    if (!agrees(actual, *expected, problem_, activation)) {
      fault = fmt::format("{} instead of {} in {}, {}", actual, expected->value, name, where());
    }
    ++expected;
  });
  return fault;
}

}  // namespace hopper_gemm
