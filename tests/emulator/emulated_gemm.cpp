#include "emulated_gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "emulator/emulator.hpp"
#include "verify/check.hpp"
#include "verify/element.cuh"
#include "verify/reference.hpp"

namespace hopper_gemm::emulator {
namespace {

constexpr int kPaddingRows = 2;  // of D
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// One of -2 ... 2, which every type holds.
float draw(std::mt19937* random) { return static_cast<float>((*random)() % 5) - 2; }

/// Where a matrix ends that starts at 0: with its last element, so that whoever reads behind it leaves the allocation.
std::int64_t matrix_end(const MatrixLines& matrix, std::int64_t ld) {
  return matrix.lines == 0 || matrix.elems == 0 ? 0 : (matrix.lines - 1) * ld + matrix.elems;
}

}  // namespace

std::byte* EmulatedGemm::Operand::first() const { return at(0, 0); }

std::byte* EmulatedGemm::Operand::at(std::int64_t line, std::int64_t elem) const {
  return static_cast<std::byte*>(memory) + (offset + line * ld + elem) * size_of(type);
}

EmulatedGemm::Operand EmulatedGemm::allocate_operand(const MatrixLines& matrix, DataType type,
                                                     int padding_units, int padding_rows) const {
  Operand operand{.type = type, .matrix = matrix, .offset = problem_.offset};
  operand.ld = padded_pitch(matrix.elems, padding_units) + problem_.pitch_remainder;
  operand.elems =
      std::max(operand.offset + matrix_end(matrix, operand.ld) + padding_rows * operand.ld, std::int64_t{1});
  const auto bytes = static_cast<std::size_t>(operand.elems * size_of(type));
  operand.memory = allocate(bytes);
  std::fill_n(static_cast<std::uint16_t*>(operand.memory), bytes / sizeof(std::uint16_t), kGuard);
  return operand;
}

EmulatedGemm::EmulatedGemm(const LadderProblem& problem) : problem_(problem) {
  free_all();
  const GemmProblem& gemm = problem.problem;
  std::mt19937 random;
  // Pitches differ from operand to operand.
  const auto make_input = [&](const MatrixLines& matrix, DataType type, int padding_units, bool used) {
    const Operand operand = allocate_operand(matrix, type, padding_units, 0);
    for (std::int64_t i = 0; i < operand.elems; ++i) store_element(operand.memory, type, i, kNan);
    for (std::int64_t line = 0; used && line < matrix.lines; ++line) {
      for (std::int64_t elem = 0; elem < matrix.elems; ++elem) {
        store_element(operand.at(line, elem), type, 0, draw(&random));
      }
    }
    return operand;
  };
  const Operand a = make_input(lines_of_a(gemm), gemm.input_type, 1, gemm.alpha != 0);
  const Operand b = make_input(lines_of_b(gemm), gemm.input_type, 2, gemm.alpha != 0);
  d_ = allocate_operand(lines_of_d(gemm), gemm.output_type, 1, kPaddingRows);
  args_ = args_of(gemm, a.first(), a.ld, b.first(), b.ld, d_.first(), d_.ld);
  if (problem.in_place) {
    args_.c = d_.first();
    args_.ldc = d_.ld;
    const std::int64_t elems = d_.matrix.lines * d_.matrix.elems;
    for (std::int64_t i = 0; i < elems; ++i) c_values_.push_back(gemm.beta == 0 ? kNan : draw(&random));
  } else if (gemm.beta != 0) {
    const Operand c = make_input(lines_of_d(gemm), gemm.output_type, 3, true);
    args_.c = c.first();
    args_.ldc = c.ld;
  }
  poison();
  reference_.resize(static_cast<std::size_t>(d_.matrix.lines * d_.matrix.elems));
  reference_gemm_host(args_, reference_.data());
}

void EmulatedGemm::poison() {
  const auto row_bytes = static_cast<std::size_t>(d_.matrix.elems * size_of(d_.type));
  const auto bytes = static_cast<std::size_t>(d_.elems * size_of(d_.type));
  std::fill_n(static_cast<std::uint16_t*>(d_.memory), bytes / sizeof(std::uint16_t), kGuard);
  for (std::int64_t row = 0; row < d_.matrix.lines; ++row) {
    std::fill_n(d_.at(row, 0), row_bytes, std::byte{0xFF});
    static_assert(kPoison == 0xFFFF);
    for (std::int64_t col = 0; problem_.in_place && col < d_.matrix.elems; ++col) {
      store_element(d_.at(row, col), d_.type, 0,
                    c_values_[static_cast<std::size_t>(row * d_.matrix.elems + col)]);
    }
  }
}

std::string EmulatedGemm::fault() const {
  if (const std::string report = last_report(); !report.empty()) return report;
  const auto [m, n, k] = args_.shape;
  const CheckResult result = check_host({args_.d, args_.ldd, reference_.data(), m, n, d_.type}, {});
  if (!result.ok()) {
    return fmt::format("wrong product at [{}, {}]: {}, not {}", result.first_wrong_index / n,
                       result.first_wrong_index % n, result.first_wrong_value, result.first_wrong_reference);
  }
  for (std::int64_t i = 0; i < d_.elems; ++i) {
    const std::int64_t from_first = i - d_.offset;
    const std::int64_t row = from_first < 0 ? -1 : from_first / d_.ld;
    const std::int64_t col = from_first < 0 ? d_.ld + from_first : from_first % d_.ld;
    if (row >= 0 && row < m && col < n) continue;
    std::uint16_t units[2] = {kGuard, kGuard};
    std::memcpy(units, static_cast<const std::byte*>(d_.memory) + i * size_of(d_.type),
                static_cast<std::size_t>(size_of(d_.type)));
    if (units[0] != kGuard || units[1] != kGuard) {
      return fmt::format("wrote outside of D at [{}, {}]: {}", row, col, load_element(d_.memory, d_.type, i));
    }
  }
  return "";
}

}  // namespace hopper_gemm::emulator
