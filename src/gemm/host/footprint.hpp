#pragma once

#include <cstdint>

namespace hopper_gemm::library {

/// Where the elements of a batch of equal matrices lie, counted in elements from the first one. A matrix has `lines`
/// contiguous lines of `line_elems` each. Distances are not negative, and the leading dimension is at least a line.
struct StridedLines {
  std::int64_t batch_count;
  std::int64_t lines;
  std::int64_t line_elems;
  std::int64_t leading_dimension;
  std::int64_t batch_stride;
};

/// Elements from the first to the last, both included, as if the last line extended to the start of a next one. If
/// there are too many, the greatest int64.
std::int64_t spanned_elems(const StridedLines& matrices);

/// Whether an element belongs to two batches. It is exact, also for batches that lie side by side in the same lines.
/// Takes time logarithmic in the leading dimension.
bool batches_overlap(const StridedLines& matrices);

/// The bytes behind an address that belong to an operand: the first `band_bytes` of each `pitch_bytes`, up to
/// `span_bytes`.
struct Footprint {
  std::int64_t span_bytes = 0;  ///< up to the last byte; 0: none
  std::int64_t pitch_bytes = 1;
  std::int64_t band_bytes = 1;
};

/// The smallest footprint that holds the matrices, which must span less than 2^63 bytes. It is the whole span if
/// batches neither start a whole number of lines apart nor fit side by side into one line.
Footprint footprint_of(const StridedLines& matrices, int element_bytes);

/// The footprint of `bytes` bytes without gaps.
Footprint footprint_of_bytes(std::int64_t bytes);

/// Whether the operands at the two addresses may share a byte. Footprints with the same pitch may lie side by side. If
/// the pitches differ, the spans must not overlap.
bool overlap(const void* x, const Footprint& x_footprint, const void* y, const Footprint& y_footprint);

}  // namespace hopper_gemm::library
