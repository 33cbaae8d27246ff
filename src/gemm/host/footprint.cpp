#include "gemm/host/footprint.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>

namespace hopper_gemm::library {
namespace {

// Holds the product of two distances.
using Wide = __int128;

// The smallest x with low <= factor·x mod modulus <= high, for 1 <= low. This is Euclid's algorithm. If no multiple of
// factor lies between the bounds, the question becomes how often modulus must be subtracted. That is the same question
// with smaller numbers.
std::optional<Wide> first_multiple_between(Wide factor, Wide modulus, Wide low, Wide high) {
  factor %= modulus;
  if (low > high || factor == 0) return std::nullopt;
  const Wide steps = (low + factor - 1) / factor;
  if (steps * factor <= high) return steps;
  const auto wraps = first_multiple_between(modulus, factor, factor - high % factor, factor - low % factor);
  if (!wraps) return std::nullopt;
  return (*wraps * modulus + low + factor - 1) / factor;
}

}  // namespace

std::int64_t spanned_elems(const StridedLines& matrices) {
  const Wide span =
      static_cast<Wide>(std::max<std::int64_t>(matrices.batch_count - 1, 0)) * matrices.batch_stride +
      static_cast<Wide>(std::max<std::int64_t>(matrices.lines, 1)) * matrices.leading_dimension;
  return static_cast<std::int64_t>(std::min<Wide>(span, std::numeric_limits<std::int64_t>::max()));
}

bool batches_overlap(const StridedLines& matrices) {
  if (matrices.batch_count < 2 || matrices.lines == 0 || matrices.line_elems == 0) return false;
  if (matrices.batch_stride == 0) return true;
  const std::int64_t stride = matrices.batch_stride;
  const std::int64_t pitch = matrices.leading_dimension;
  const std::int64_t line = matrices.line_elems;
  // Two batches overlap if their distance is less than a line away from some whole number of lines. The remainder of
  // the distance by the pitch says whether that is so, and the quotient is the number of lines.
  const auto meet = [&](std::optional<Wide> batches_apart, int lines_beyond) {
    return batches_apart && *batches_apart < matrices.batch_count &&
           *batches_apart * stride / pitch + lines_beyond < matrices.lines;
  };
  return meet(pitch / std::gcd(stride, pitch), 0) ||
         meet(first_multiple_between(stride, pitch, 1, line - 1), 0) ||
         meet(first_multiple_between(stride, pitch, pitch - line + 1, pitch - 1), 1);
}

Footprint footprint_of_bytes(std::int64_t bytes) {
  const std::int64_t pitch = std::max<std::int64_t>(bytes, 1);
  return {.span_bytes = bytes, .pitch_bytes = pitch, .band_bytes = pitch};
}

Footprint footprint_of(const StridedLines& matrices, int element_bytes) {
  const auto [batch_count, lines, line, pitch, stride] = matrices;
  if (batch_count == 0 || lines == 0 || line == 0) return {};
  const std::int64_t last_batch = (batch_count - 1) * stride;
  const std::int64_t span = last_batch + (lines - 1) * pitch + line;
  std::int64_t band = line;
  if (stride % pitch != 0) {
    if (last_batch + line > pitch) return footprint_of_bytes(span * element_bytes);
    band += last_batch;
  }
  return {.span_bytes = span * element_bytes,
          .pitch_bytes = pitch * element_bytes,
          .band_bytes = band * element_bytes};
}

bool overlap(const void* x, const Footprint& x_footprint, const void* y, const Footprint& y_footprint) {
  auto first = std::bit_cast<std::uintptr_t>(x);
  auto second = std::bit_cast<std::uintptr_t>(y);
  const Footprint* first_footprint = &x_footprint;
  const Footprint* second_footprint = &y_footprint;
  if (first > second) {
    std::swap(first, second);
    std::swap(first_footprint, second_footprint);
  }
  if (first_footprint->span_bytes == 0 || second_footprint->span_bytes == 0) return false;
  const std::uintptr_t distance = second - first;
  if (distance >= static_cast<std::uintptr_t>(first_footprint->span_bytes)) return false;
  if (first_footprint->pitch_bytes != second_footprint->pitch_bytes) return true;
  const auto pitch = static_cast<std::uintptr_t>(first_footprint->pitch_bytes);
  const std::uintptr_t offset = distance % pitch;
  return offset < static_cast<std::uintptr_t>(first_footprint->band_bytes) ||
         offset + static_cast<std::uintptr_t>(second_footprint->band_bytes) > pitch;
}

}  // namespace hopper_gemm::library
