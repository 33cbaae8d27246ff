#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/gemm_args.hpp"
#include "common/gemm_shape.hpp"
#include "hopper_gemm/data_type.hpp"
#include "registry/registry.hpp"

// What the versions are tested at, on a GPU (tests/gpu/kernels_test.cpp) and on the emulator
// (tests/emulator/ladder_test.cpp) alike.
namespace hopper_gemm {

/// A GEMM, and how its operands lie in memory.
struct LadderProblem {
  GemmProblem problem;
  /// Elements by which every operand begins behind a 16-byte boundary.
  int offset = 0;
  /// Elements by which leading dimensions are more than a multiple of 8.
  int pitch_remainder = 0;
  /// C is D. Where beta is 0 it is NaN, which must not leak.
  bool in_place = false;
};

/// One test.
struct LadderCase {
  KernelInfo kernel;
  LadderProblem problem;
};

/// A test of one configuration.
struct ConfigCase {
  KernelInfo kernel;
  std::string config;
  LadderProblem problem;
};

/// Whether `kernel` takes any shape, alignment, alpha and beta, not only those of its ladder's own operation.
inline bool is_general(const KernelInfo& kernel) {
  return kernel.version == "ampere.6" || kernel.version == "best" || kernel.version.starts_with("simt.");
}

inline bool is_of_ladder(const KernelInfo& kernel, std::string_view ladder) {
  return kernel.version.starts_with(std::string(ladder) + ".");
}

/// The input types that a ladder takes.
inline std::vector<DataType> input_types(const KernelInfo& kernel) {
  if (is_of_ladder(kernel, "ampere") || kernel.version == "best") {
    return {DataType::BFloat16, DataType::Float16};
  }
  return {kernel.target.input_type};
}

/// A·B as the kernel's ladder has it. Not canonical_problem(): tests on the emulator do not link the registry.
inline GemmProblem plain_problem(const KernelInfo& kernel, const GemmShape& shape, DataType type) {
  return {.shape = shape, .input_type = type, .output_type = type, .b_layout = kernel.target.b_layout};
}

/// Shapes that versions take at D = A·B in `type`, aligned.
inline std::vector<LadderProblem> product_problems(const KernelInfo& kernel, DataType type,
                                                   std::span<const GemmShape> shapes) {
  std::vector<LadderProblem> problems;
  for (const GemmShape& shape : shapes) problems.push_back({plain_problem(kernel, shape, type)});
  return problems;
}

// Partial tiles on all sides, K blocks that are cut short, fewer of them than stages and more.
inline constexpr GemmShape kProductShapes[] = {{1, 8, 8}, {17, 40, 72}, {129, 257, 264}, {200, 264, 72}};
// A K of 72 is more K blocks than any version of the SIMT ladder has stages.
inline constexpr GemmShape kSimtProductShapes[] = {{1, 8, 8}, {17, 40, 72}, {129, 257, 72}, {200, 264, 72}};
// For types that differ from others in a template's argument only.
inline constexpr GemmShape kFewProductShapes[] = {{17, 40, 72}, {129, 257, 136}};

/// What a general version takes besides, in inputs of `type`: no tile, chunk or vector divides it, nothing is left
/// of it, or something is multiplied by zero.
inline std::vector<LadderProblem> general_problems(const KernelInfo& kernel, DataType type) {
  const auto problem = [&](GemmShape shape, float alpha, float beta) {
    GemmProblem result = plain_problem(kernel, shape, type);
    result.alpha = alpha;
    result.beta = beta;
    return result;
  };
  std::vector<LadderProblem> problems = {
      {problem({1, 1, 1}, 1, 0)},
      {problem({17, 19, 23}, 1, 0)},
      {problem({127, 131, 67}, 1, 0)},
      {problem({257, 263, 37}, 1, 0)},
      // Less of K than a chunk or a vector.
      {problem({33, 35, 3}, 1, 0)},
      // An edge between whole vectors, and one within.
      {problem({132, 136, 40}, 2, -2)},
      {problem({131, 133, 41}, 2, -2)},
      // Nothing is summed up, and nothing stored.
      {problem({37, 41, 0}, 1, -2)},
      {problem({37, 41, 0}, 1, 0)},
      {problem({0, 41, 23}, 1, 3)},
      {problem({37, 0, 23}, 1, 3)},
      {problem({0, 0, 0}, 1, 3)},
      // A and B are NaN.
      {problem({65, 70, 33}, 0, -2)},
      {problem({65, 70, 33}, 0, 0)},
  };
  // C is D; the first C is NaN.
  for (const GemmProblem& each : {problem({65, 70, 33}, 1, 0), problem({65, 70, 33}, 1, -2),
                                  problem({132, 136, 40}, 2, 1), problem({37, 41, 0}, 1, -2)}) {
    problems.push_back({.problem = each, .in_place = true});
  }
  // Rows that start anywhere, and at pairs; operands that do and their rows do not, and the other way round.
  for (const auto& [offset, pitch_remainder] :
       {std::pair(1, 1), std::pair(2, 2), std::pair(1, 0), std::pair(0, 1)}) {
    for (const GemmProblem& each : {problem({129, 131, 67}, 1, 0), problem({132, 136, 72}, 2, -2)}) {
      problems.push_back({.problem = each, .offset = offset, .pitch_remainder = pitch_remainder});
    }
  }
  problems.push_back({.problem = problem({1, 1, 1}, 1, 0), .offset = 1, .pitch_remainder = 1});
  problems.push_back({.problem = problem({37, 41, 0}, 1, -2), .offset = 1, .pitch_remainder = 1});
  problems.push_back(
      {.problem = problem({65, 70, 33}, 1, -2), .offset = 1, .pitch_remainder = 1, .in_place = true});
  return problems;
}

/// Outputs of other types than the inputs.
inline std::vector<LadderProblem> mixed_type_problems(const KernelInfo& kernel, DataType type) {
  std::vector<LadderProblem> problems;
  for (const DataType output : {DataType::BFloat16, DataType::Float16, DataType::Float32}) {
    if (output == type) continue;
    for (const int misalignment : {0, 1}) {
      GemmProblem problem = plain_problem(kernel, {67, 133, 45}, type);
      problem.output_type = output;
      problems.push_back({.problem = problem, .offset = misalignment, .pitch_remainder = misalignment});
      problem.alpha = 2;
      problem.beta = -2;
      problems.push_back({.problem = problem, .offset = misalignment, .pitch_remainder = misalignment});
    }
  }
  return problems;
}

/// The same with B in the other layout, for what takes both.
inline std::vector<LadderProblem> with_other_b(std::vector<LadderProblem> problems) {
  for (auto& [problem, offset, pitch_remainder, in_place] : problems) {
    problem.b_layout = problem.b_layout == Layout::RowMajor ? Layout::ColumnMajor : Layout::RowMajor;
  }
  return problems;
}

/// The same with a column-major A.
inline std::vector<LadderProblem> with_other_a(std::vector<LadderProblem> problems) {
  for (LadderProblem& problem : problems) problem.problem.a_layout = Layout::ColumnMajor;
  return problems;
}

/// Every test of what is not the Hopper ladder, whose versions take one operation and have lists of their own.
/// kernels: all_kernels(), or those compiled for the emulator.
inline std::vector<LadderCase> ladder_cases(std::span<const KernelInfo> kernels) {
  std::vector<LadderCase> cases;
  for (const KernelInfo& kernel : kernels) {
    if (!is_of_ladder(kernel, "ampere") && !is_of_ladder(kernel, "simt") && !is_general(kernel)) continue;
    const auto add = [&](const std::vector<LadderProblem>& problems) {
      for (const LadderProblem& problem : problems) cases.push_back({kernel, problem});
    };
    for (const DataType type : input_types(kernel)) {
      const bool is_own = type == kernel.target.input_type;
      const std::span<const GemmShape> shapes_of_own =
          is_of_ladder(kernel, "simt") ? std::span(kSimtProductShapes) : std::span(kProductShapes);
      add(product_problems(kernel, type, is_own ? shapes_of_own : std::span(kFewProductShapes)));
      if (is_general(kernel)) add(general_problems(kernel, type));
      if (is_general(kernel) && type != DataType::Float32) add(mixed_type_problems(kernel, type));
      if (kernel.version != "best") continue;
      add(with_other_a(product_problems(kernel, type, kProductShapes)));
      add(with_other_b(product_problems(kernel, type, kProductShapes)));
      if (is_own) add(with_other_b(general_problems(kernel, type)));
    }
  }
  return cases;
}

/// Every configuration of every tunable version of a ladder, where no tile divides the shape and K blocks are more than
/// stages.
inline std::vector<ConfigCase> config_cases(std::span<const KernelInfo> kernels) {
  std::vector<ConfigCase> cases;
  for (const KernelInfo& kernel : kernels) {
    if (kernel.tuning == nullptr || kernel.version == "best") continue;
    // 5 stages of 64, or 3 of 16.
    const int k = kernel.version.starts_with("simt") ? 67 : 331;
    for (const DataType type : input_types(kernel)) {
      GemmProblem problem = plain_problem(kernel, {261, 259, k}, type);
      problem.beta = -2;
      for (const std::string& config : kernel.tuning->configs({}))
        cases.push_back({kernel, config, {problem}});
    }
  }
  return cases;
}

/// "129x257x264", as a part of a test's name.
inline std::string test_name(const GemmShape& shape) {
  return std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
}

/// "65x70x33_bf16_to_fp32_alpha_2_beta_minus_2_offset_1_pitch_1_in_place"
inline std::string test_name(const LadderProblem& test) {
  const GemmProblem& problem = test.problem;
  const auto factor = [](float value) {
    const int integer = static_cast<int>(value);
    return integer < 0 ? "minus_" + std::to_string(-integer) : std::to_string(integer);
  };
  std::string name = test_name(problem.shape) + "_" + to_string(problem.input_type);
  if (problem.output_type != problem.input_type) name += std::string("_to_") + to_string(problem.output_type);
  if (problem.a_layout == Layout::ColumnMajor) name += "_other_a";
  // The ladders' own.
  const bool own_b_is_row_major = problem.input_type == DataType::Float32;
  if ((problem.b_layout == Layout::RowMajor) != own_b_is_row_major) name += "_other_b";
  if (problem.alpha != 1) name += "_alpha_" + factor(problem.alpha);
  if (problem.beta != 0) name += "_beta_" + factor(problem.beta);
  if (test.offset != 0) name += "_offset_" + std::to_string(test.offset);
  if (test.pitch_remainder != 0) name += "_pitch_" + std::to_string(test.pitch_remainder);
  if (test.in_place) name += "_in_place";
  return name;
}

/// "ampere_6_general_17x19x23_bf16"
inline std::string test_name(const KernelInfo& kernel) {
  std::string name = std::string(kernel.version) + "_" + std::string(kernel.name);
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
}

inline std::string test_name(const LadderCase& test) {
  return test_name(test.kernel) + "_" + test_name(test.problem);
}

/// "ampere_6_general_bf16_128x256x32_warps_64x64_4_stages_bands_of_8"
inline std::string test_name(const ConfigCase& test) {
  std::string name = test_name(test.kernel) + "_" + to_string(test.problem.problem.input_type) + "_";
  for (const char c : test.config) {
    if (c != ',') name += c == ' ' ? '_' : c;
  }
  return name;
}

inline void PrintTo(const LadderCase& test, std::ostream* out) { *out << test_name(test); }
inline void PrintTo(const ConfigCase& test, std::ostream* out) { *out << test_name(test); }

}  // namespace hopper_gemm
