#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gemm/host/backend.hpp"
#include "gemm/kernel_args.hpp"
#include "hopper_gemm/gemm.hpp"
#include "tests/library_reference.hpp"

namespace hopper_gemm {

/// So many bytes that host and device read and write, at a multiple of 256. What lies around them is the allocator's.
using Allocate = std::function<void*(std::size_t)>;

/// What the operands hold.
enum class OperandValues {
  Integers,  ///< so small that every sum is exact
  Uniform,   ///< numbers between -1 and 1: sums depend on the order
  Special    ///< the integers, but a few are infinite or NaN
};

/// How an operand lies in memory.
struct OperandMemory {
  /// Elements by which it begins behind a multiple of 16 bytes.
  int offset = 0;
  /// Elements by which its leading dimension and, of several batches, its batch stride are more than a multiple of 8.
  int remainder = 0;
  /// Elements that are added to its leading dimension.
  std::int64_t gap = 8;
  /// All batches have the same: never of D.
  bool shared = false;
};

/// A problem of the library's, and how its operands lie in memory.
struct LibraryProblem {
  GemmShape shape;
  int batch_count = 1;
  DataType input_type = DataType::BFloat16;
  DataType output_type = DataType::BFloat16;
  library::OperandMajor major_a = library::OperandMajor::K;
  library::OperandMajor major_b = library::OperandMajor::K;
  OperandMemory a = {};
  OperandMemory b = {};
  OperandMemory c = {};
  OperandMemory d = {};
  OperandMemory aux = {};
  Bias bias = Bias::None;
  DataType bias_type = DataType::BFloat16;
  int bias_offset = 0;
  bool bias_shared = true;  ///< by all batches
  Activation activation = Activation::None;
  bool gated = false;
  bool has_aux = false;
  float alpha = 1;
  float beta = 0;
  bool in_place = false;  ///< C is D. Where beta is 0 it is NaN, which must not leak
  OperandValues values = OperandValues::Integers;
  bool programmatic_dependent_launch = false;
};

/// The problem with one of the kOutputs that a GEMM can have: D, D and aux, a gated D, and that and aux. What a gated one
/// cannot have is left out, and N becomes a multiple of 16.
inline constexpr int kOutputs = 4;
LibraryProblem with_outputs(LibraryProblem problem, int outputs);

/// What the tests' problems may take, which is all that any of their configurations asks for.
inline constexpr std::size_t kWorkspaceLimitBytes = std::size_t{64} << 20;

/// Which of the descriptors that mean the same problem.
struct Description {
  bool column_major_d = false;  ///< D is the problem's transpose
  bool a_transposed = false;    ///< of the descriptor's A, which is the problem's B where D is column-major
  bool b_transposed = false;
};

/// "65x70x33_x3_bf16_to_fp32_kn_offset_1_0_..."
std::string test_name(const LibraryProblem& problem);

/// The name of a configuration in characters that a test's name may have.
std::string test_name(std::string config);

/// Operands of one problem and its result. Around them lies what a kernel must not use: NaN behind the lines
/// of A, B and C, the allocator's memory behind their last elements, a pattern around the rows of D. NaN is
/// all of an operand that is multiplied by zero, too; there is no C where beta is 0, unless it is D.
class LibraryGemm {
 public:
  LibraryGemm(const LibraryProblem& problem, const Allocate& allocate);

  /// Everything but addresses, alpha and beta: what a back end prepares.
  library::Problem problem() const;
  const library::KernelArgs& args() const { return args_; }

  /// The same for the public interface.
  GemmDescriptor descriptor(const Description& description) const;
  GemmOperands operands(const Description& description) const;

  /// Makes D and aux what they were before the first run.
  void reset();
  /// What is wrong with D or aux, or nothing. Where all sums are exact, and there is no activation other than Relu, they must
  /// be.
  std::string fault() const;
  /// D and aux and all around them, to be compared with those of another run.
  std::vector<std::byte> bytes_of_outputs() const;

 private:
  /// Batches of lines, and where they are.
  struct Matrix {
    std::byte* memory = nullptr;
    DataType type = DataType::BFloat16;
    std::int64_t batches = 0;
    std::int64_t lines = 0;
    std::int64_t elems = 0;
    std::int64_t leading_dimension = 0;
    std::int64_t batch_stride = 0;
    std::int64_t offset = 0;
    std::int64_t size = 0;  // of all the memory

    std::byte* first() const { return memory + offset * size_of(type); }
    std::int64_t index(std::int64_t batch, std::int64_t line) const {
      return offset + batch * batch_stride + line * leading_dimension;
    }
    /// Calls visit(index, inside), in order, for the matrix's elements, and for those around them.
    template <typename Visit>
    void for_each_element(const Visit& visit) const;
  };

  Matrix allocate_matrix(std::int64_t lines, std::int64_t elems, DataType type, const OperandMemory& memory,
                         std::int64_t padding_lines, const Allocate& allocate) const;

  void reset(const Matrix& output, bool is_c) const;
  std::string fault_of(const Matrix& output, const char* name, Activation activation,
                       const std::vector<library::ReferenceElement>& reference) const;

  LibraryProblem problem_;
  Matrix d_;
  Matrix aux_;
  library::KernelArgs args_{};
  std::vector<library::ReferenceElement> reference_d_;    // [batch_count, M, N], or N / 2
  std::vector<library::ReferenceElement> reference_aux_;  // [batch_count, M, N]
};

}  // namespace hopper_gemm
