#include "registry/gemm_descriptor.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <tuple>

namespace hopper_gemm {
namespace {

/// The address's alignment, up to the largest that the library uses.
int alignment_bytes(const void* data) {
  constexpr int kMostBits = 4;
  return 1 << std::min(std::countr_zero(std::bit_cast<std::uintptr_t>(data)), kMostBits);
}

/// A matrix's layout. A matrix that is not read gets a layout without gaps, because its fields have no meaning.
MatrixLayout layout_of(const void* data, std::int64_t leading_dimension, std::int64_t batch_stride,
                       Layout order, bool is_read) {
  MatrixLayout layout;
  layout.order = order;
  if (!is_read) return layout;
  layout.leading_dimension = leading_dimension;
  layout.batch_stride = batch_stride;
  layout.alignment_bytes = alignment_bytes(data);
  return layout;
}

/// The fields that descriptor_of() sets.
auto fields_of(const GemmDescriptor& gemm) {
  const auto fields_of_layout = [](const MatrixLayout& layout) {
    return std::tuple(layout.order, layout.leading_dimension, layout.batch_stride, layout.alignment_bytes);
  };
  return std::tuple(gemm.m, gemm.n, gemm.k, gemm.batch_count, gemm.input_type, gemm.output_type,
                    fields_of_layout(gemm.a), fields_of_layout(gemm.b), fields_of_layout(gemm.c),
                    fields_of_layout(gemm.d), gemm.bias, gemm.bias_type, gemm.activation, gemm.gated);
}

}  // namespace

GemmDescriptor descriptor_of(const GemmArgs& args) {
  const auto [m, n, k] = args.shape;
  const bool has_product = m > 0 && n > 0 && k > 0 && args.alpha != 0;
  const bool has_output = m > 0 && n > 0;
  GemmDescriptor gemm;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.input_type = args.input_type;
  gemm.output_type = args.output_type;
  const BatchStrides strides = batch_strides_of(args);
  gemm.batch_count = args.batch_count;
  gemm.a = layout_of(args.a, args.lda, strides.a, args.a_layout, has_product);
  gemm.b = layout_of(args.b, args.ldb, strides.b, args.b_layout, has_product);
  gemm.d = layout_of(args.d, args.ldd, strides.d, Layout::RowMajor, has_output);
  gemm.bias = args.bias_kind;
  gemm.bias_type = args.output_type;
  gemm.activation = args.activation;
  gemm.gated = args.gated;
  gemm.c = args.beta == 0 ? gemm.d : layout_of(args.c, args.ldc, strides.c, Layout::RowMajor, has_output);
  return gemm;
}

bool is_same_problem(const GemmDescriptor& x, const GemmDescriptor& y) {
  return fields_of(x) == fields_of(y);
}

}  // namespace hopper_gemm
