#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/gemm_args.hpp"
#include "common/matrix_lines.hpp"
#include "tests/ladder_problems.hpp"

namespace hopper_gemm::emulator {

/// Operands of one problem in the emulated GPU's memory, of integers so small that every sum is exact, and
/// the result. Around them lies what a kernel must not use: NaN behind the lines of A, B and C, no memory at
/// all behind their last elements, a pattern around the rows of D. NaN is all of an operand that is
/// multiplied by zero, too; there is no C where beta is 0, unless it is D. One at a time: it frees all that
/// the emulated GPU had allocated.
class EmulatedGemm {
 public:
  explicit EmulatedGemm(const LadderProblem& problem);

  const GemmArgs& args() const { return args_; }
  /// Makes D what it is before a launch: C where it is to be in place, otherwise NaN.
  void poison();
  /// Runs all launches to their ends. What is wrong with them or with D, or nothing: "wrong product at [3, 4]: ..." or
  /// "wrote outside of D at [3, 40]: ...".
  std::string fault() const;

 private:
  /// Elements of a matrix's lines, and where they are.
  struct Operand {
    void* memory = nullptr;
    DataType type = DataType::BFloat16;
    MatrixLines matrix{};
    std::int64_t ld = 0;
    std::int64_t offset = 0;  // of the first element
    std::int64_t elems = 0;   // of all the memory

    std::byte* first() const;
    std::byte* at(std::int64_t line, std::int64_t elem) const;
  };

  /// Memory of its own for a matrix, all of it the pattern.
  Operand allocate_operand(const MatrixLines& matrix, DataType type, int padding_units,
                           int padding_rows) const;

  LadderProblem problem_;
  Operand d_;
  std::vector<float> c_values_;  // [M, N] of a C that is D
  GemmArgs args_{};
  std::vector<double> reference_;  // [M, N]
};

}  // namespace hopper_gemm::emulator
