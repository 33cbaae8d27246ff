#pragma once

#include <cstdint>

namespace hopper_gemm::library {

/// Where the elements of a batch of equal matrices lie, counted in elements from the first: `lines` contiguous lines of
/// `line_elems` each. Distances are not negative, and the leading dimension is at least a line.
struct StridedLines {
  std::int64_t batch_count;
  std::int64_t lines;
  std::int64_t line_elems;
  std::int64_t leading_dimension;
  std::int64_t batch_stride;
};

/// Elements from the first to the last, both counted, as if the last line went on to the next one's start; the greatest
/// int64 where there are more.
std::int64_t spanned_elems(const StridedLines& matrices);

/// Whether an element belongs to two batches. Exact, also where batches lie side by side in the same lines; in time
/// logarithmic in the leading dimension.
bool batches_overlap(const StridedLines& matrices);

/// What of the memory behind an address belongs to an operand: of `span_bytes` the first `band_bytes` of each
/// `pitch_bytes`.
struct Footprint {
  std::int64_t span_bytes = 0;  ///< up to the last byte; 0: none
  std::int64_t pitch_bytes = 1;
  std::int64_t band_bytes = 1;
};

/// The smallest footprint that holds the matrices, which must span less than 2^63 bytes. Where batches neither start a
/// whole number of lines apart nor fit side by side into one, the whole span is taken to be theirs.
Footprint footprint_of(const StridedLines& matrices, int element_bytes);

/// A vector without gaps, or one for each batch.
Footprint footprint_of_bytes(std::int64_t bytes);

/// Whether the operands at the two addresses share a byte. Footprints of the same pitch may lie side by side; of two
/// that do not have the same, the spans must be apart.
bool overlap(const void* x, const Footprint& x_footprint, const void* y, const Footprint& y_footprint);

}  // namespace hopper_gemm::library
