#include "cli/refusal.hpp"

#include <cuda_bf16.h>
#include <fmt/format.h>

#include <limits>
#include <string>
#include <utility>

#include "benchmark/shapes.hpp"
#include "hopper_gemm/gemm_args.hpp"

namespace hopper_gemm {
namespace {

/// Operands that can_implement may look at: their addresses are aligned, and nothing is read through them.
GemmArgs placeholder_args(const GemmShape& shape) {
  alignas(256) static __nv_bfloat16 aligned[1];
  const LeadingDimensions ld = make_leading_dimensions(shape);
  return {.shape = shape, .a = aligned, .lda = ld.a, .b = aligned, .ldb = ld.b, .d = aligned, .ldd = ld.d};
}

/// What to type instead of a shape that a kernel refuses.
std::string advice_on(const GemmShape& shape) {
  const int below = shape.k / kTmaAlignmentElems * kTmaAlignmentElems;
  if (below == shape.k) return "type a smaller --shape";
  const int to_next = kTmaAlignmentElems - (shape.k - below);
  if (below == 0) return fmt::format("type K = {}", kTmaAlignmentElems);
  if (shape.k > std::numeric_limits<int>::max() - to_next) return fmt::format("type K = {}", below);
  return fmt::format("type K = {} or {}", below, shape.k + to_next);
}

}  // namespace

Status kernel_refusal(const KernelInfo& kernel, const GemmShape& shape) {
  const Status refusal = kernel.can_implement(placeholder_args(shape));
  if (refusal.ok()) return {};
  return {refusal.code(), fmt::format("kernel {} ({}) cannot run {}: {}; {}", kernel.version, kernel.name,
                                      to_string(shape), refusal.message(), advice_on(shape))};
}

Status check_any_can_run(const Options& options) {
  Status first;
  for (const GemmShape& shape : options.shapes) {
    for (const KernelInfo* kernel : options.kernels) {
      Status refusal = kernel_refusal(*kernel, shape);
      if (refusal.ok()) return {};
      if (first.ok()) first = std::move(refusal);
    }
  }
  return first;
}

}  // namespace hopper_gemm
