#include "hopper_gemm/gemm_args.hpp"

#include <bit>
#include <string>

namespace hopper_gemm {
namespace {

constexpr std::int64_t kMaxPitchBytes = std::int64_t{1} << 40;

struct Operand {
  const char* name;
  const char* leading_dimension_name;
  const void* data;
  std::int64_t leading_dimension;
  int row_elems;
};

Status check_operand(const Operand& operand) {
  const std::string name = operand.name;
  const std::string ld_name = operand.leading_dimension_name;
  const std::string ld = std::to_string(operand.leading_dimension);
  if (operand.data == nullptr) return invalid_argument(name + " is a null pointer");
  if (operand.leading_dimension < operand.row_elems) {
    return invalid_argument(ld_name + " = " + ld + " is shorter than a row of " + name + ", which has " +
                            std::to_string(operand.row_elems) + " elements");
  }
  if (operand.leading_dimension % kTmaAlignmentElems != 0) {
    return unsupported(ld_name + " = " + ld +
                       " is not a multiple of 8, so that not every row starts 16-byte aligned");
  }
  if (operand.leading_dimension >= kMaxPitchBytes / static_cast<std::int64_t>(sizeof(__nv_bfloat16))) {
    return unsupported(ld_name + " = " + ld +
                       " is a row pitch of 2^40 bytes or more, which TMA cannot address");
  }
  if (std::bit_cast<std::uintptr_t>(operand.data) % 16 != 0) {
    return unsupported(name + " is not 16-byte aligned");
  }
  return {};
}

}  // namespace

Status check_tma_gemm(const GemmArgs& args) {
  const auto [m, n, k] = args.shape;
  if (m < 1 || n < 1 || k < 1) {
    return invalid_argument("M, N and K must be at least 1, not " + std::to_string(m) + ", " +
                            std::to_string(n) + " and " + std::to_string(k));
  }
  if (k % kTmaAlignmentElems != 0) {
    return unsupported("K = " + std::to_string(k) +
                       " is not a multiple of 8, as the kernels of the ladder take it");
  }
  HG_RETURN_IF_ERROR(check_operand({"A", "lda", args.a, args.lda, k}));
  HG_RETURN_IF_ERROR(check_operand({"B", "ldb", args.b, args.ldb, k}));
  return check_operand({"D", "ldd", args.d, args.ldd, n});
}

}  // namespace hopper_gemm
