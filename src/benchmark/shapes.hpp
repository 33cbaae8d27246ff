#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hopper_gemm/gemm_shape.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Leading dimensions, in elements, of A [M,K], B [N,K] and D [M,N], all row-major.
struct LeadingDimensions {
  std::int64_t a;
  std::int64_t b;
  std::int64_t d;
};

/// The shortest pitches that TMA can address: each row's length rounded up to 8 elements (16 bytes).
LeadingDimensions make_leading_dimensions(const GemmShape& shape);

/// 2·M·N·K: one multiplication and one addition per term.
double gemm_flops(const GemmShape& shape);

/// "8192x8192x8192".
std::string to_string(const GemmShape& shape);

/// Reads "MxNxK", each a whole number from 1 to INT_MAX. InvalidArgument: one sentence that names `argument`
/// ("--shape").
Status parse_shape(std::string_view argument, std::string_view text, GemmShape* shape);

/// Reads a whole number from `min` to `max`. InvalidArgument as above; `what` names the number ("M").
Status parse_number(std::string_view argument, std::string_view what, std::string_view text,
                    std::uint64_t min, std::uint64_t max, std::uint64_t* value);

/// Reads the N of an NxNxN shape.
Status parse_size(std::string_view argument, std::string_view text, GemmShape* shape);

/// The shapes of "squares", "llm" or "ragged". InvalidArgument: the names there are.
Status find_suite(std::string_view name, std::vector<GemmShape>* shapes);

}  // namespace hopper_gemm
