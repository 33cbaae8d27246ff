#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/operation.hpp"
#include "common/gemm_args.hpp"
#include "common/gemm_shape.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Leading dimensions, in elements, of A, B and D.
struct LeadingDimensions {
  std::int64_t a;
  std::int64_t b;
  std::int64_t d;
};

/// The shortest pitches that TMA and 16-byte accesses can address, which is each line's length rounded up to 16 bytes.
LeadingDimensions make_leading_dimensions(const GemmProblem& problem);

/// 2·M·N·K: one multiplication and one addition per term.
double gemm_flops(const GemmShape& shape);
/// The same, for all batches of a problem.
double flops_of(const GemmProblem& problem);

/// "8192x8192x8192".
std::string to_string(const GemmShape& shape);

/// "row" or "col", as command lines and files spell it.
std::string_view to_string(Layout layout);
/// The layout of that name; empty if there is none.
std::optional<Layout> layout_of_name(std::string_view name);

/// Reads "MxNxK" or "MXNXK", each a whole number from 1 to INT_MAX. InvalidArgument: one sentence that names
/// `argument` ("--shape").
Status parse_shape(std::string_view argument, std::string_view text, GemmShape* shape);

/// The range of a number on the command line, and the words for refusing others.
struct NumberRule {
  std::string_view argument;  ///< "--shape"
  std::string_view what;      ///< "M"
  std::uint64_t min;
  std::uint64_t max;
  std::string_view example;  ///< a value to type instead: "4096x7168x2048"
};

/// Reads a whole number. InvalidArgument: one sentence that names `rule.argument`.
Status parse_number(const NumberRule& rule, std::string_view text, std::uint64_t* value);

/// Reads the N of an NxNxN shape.
Status parse_size(std::string_view argument, std::string_view text, GemmShape* shape);

/// The shapes of "squares", "llm", "ragged", "library", "long_k" or "ragged_k". Empty for a suite of find_operations().
/// InvalidArgument: there is no such suite; the message names all suites.
Status find_suite(std::string_view name, std::vector<GemmShape>* shapes);

inline constexpr std::string_view kRandomSuite = "random";

/// What the suite "random" draws. The same seed gives the same shapes everywhere.
struct RandomSuite {
  std::uint64_t seed = 0;
  int count = 1;
};

/// The operations of a suite that brings its own, with their shapes. "epilogues" has the product alone and five other
/// operations at eight shapes, "gated" gated GEMMs, and "batches" products of several batches. "random" has products of
/// `random.count` different shapes, two thirds of them with a column-major B. Empty for every other suite.
std::vector<Operation> find_operations(std::string_view name, const RandomSuite& random = {});

}  // namespace hopper_gemm
