#include "gemm/host/operand_maps.hpp"

#include <bit>
#include <string>

#include "gemm/config.hpp"

namespace hopper_gemm::library {
namespace {

constexpr int kTmaAlignmentBytes = 16;

TensorMapType tensor_map_type(DataType type) {
  switch (type) {
    case DataType::BFloat16: return TensorMapType::Bf16;
    case DataType::Float16: return TensorMapType::Fp16;
    case DataType::Float32: return TensorMapType::Fp32;
  }
  return TensorMapType::Bf16;
}

/// The map of a batch of matrices. If the stride is 0, all batches share one matrix.
Status encode_matrices(const char* name, DataType type, std::array<std::int64_t, 3> extents,
                       std::int64_t leading_dimension, std::int64_t batch_stride,
                       const std::array<int, 3>& box, TensorMap* tensor_map,
                       L2Promotion l2_promotion = L2Promotion::None) {
  const std::int64_t elem_bytes = size_of(type);
  const std::int64_t line_stride_bytes = leading_dimension * elem_bytes;
  const std::array<std::int64_t, 2> strides_bytes = {
      line_stride_bytes,
      batch_stride_bytes(extents[2], batch_stride * elem_bytes, extents[1], line_stride_bytes)};
  if (batch_stride == 0) extents[2] = 1;
  return encode_map(name, type, extents, strides_bytes, box, tensor_map, l2_promotion);
}

/// The map of C, D or aux. is_half: of a gated D, which has half as many columns.
Status encode_rows(const char* name, const KernelArgs& args, std::int64_t leading_dimension,
                   std::int64_t batch_stride, int box_rows, bool is_half, TensorMap* tensor_map) {
  const DataType type = args.epilogue.output_type;
  // Half of a subtile's 64 columns are 64 bytes in a 16-bit type, and 128 bytes in fp32.
  const int row_bytes = is_half && type != DataType::Float32 ? 64 : 128;
  return encode_matrices(
      name, type, {is_half ? args.shape.n / 2 : args.shape.n, args.shape.m, args.batch_count},
      leading_dimension, batch_stride, {row_bytes / size_of(type), box_rows, 1}, tensor_map);
}

}  // namespace

Status encode_map(const char* name, DataType type, std::span<const std::int64_t> extents,
                  std::span<const std::int64_t> strides_bytes, std::span<const int> box,
                  TensorMap* tensor_map, L2Promotion l2_promotion) {
  TensorMapSpec spec;
  spec.type = tensor_map_type(type);
  spec.base = std::bit_cast<const void*>(std::uintptr_t{kTmaAlignmentBytes});
  spec.extents_elems = extents;
  spec.strides_bytes = strides_bytes;
  spec.box_elems = box;
  spec.swizzle = box[0] * size_of(type) == 64 ? Swizzle::B64 : Swizzle::B128;
  spec.l2_promotion = l2_promotion;
  Status status = encode_tensor_map(spec, tensor_map);
  if (status.ok()) return status;
  return {status.code(), std::string(name) + ": " + status.message()};
}

L2Promotion input_promotion(OperandMajor major, std::int64_t line_stride_bytes) {
  return major == OperandMajor::K && line_stride_bytes % 256 == 0 ? L2Promotion::B256 : L2Promotion::B128;
}

Status encode_input(const char* name, const OperandArgs& operand, const KernelArgs& args, int lines,
                    int block_lines, int sharers, TensorMap* tensor_map) {
  const bool is_k_major = operand.major == OperandMajor::K;
  const int k = args.shape.k;
  const std::array<int, 3> box = is_k_major ? std::array{kBlockK, block_lines / sharers, 1}
                                            : std::array{kAtomLines, kBlockK / sharers, 1};
  return encode_matrices(
      name, args.input_type, {is_k_major ? k : lines, is_k_major ? lines : k, args.batch_count},
      operand.leading_dimension, operand.batch_stride, box, tensor_map,
      input_promotion(operand.major, operand.leading_dimension * size_of(args.input_type)));
}

Status encode_c(const KernelArgs& args, int box_rows, TensorMap* tensor_map) {
  return encode_rows("C", args, args.epilogue.ldc, args.epilogue.c_batch_stride, box_rows, false, tensor_map);
}

Status encode_output(const KernelArgs& args, int box_rows, TensorMap* tensor_map) {
  return encode_rows("D", args, args.epilogue.ldd, args.epilogue.d_batch_stride, box_rows,
                     args.epilogue.is_gated, tensor_map);
}

Status encode_aux(const KernelArgs& args, int box_rows, TensorMap* tensor_map) {
  return encode_rows("aux", args, args.epilogue.ldaux, args.epilogue.aux_batch_stride, box_rows, false,
                     tensor_map);
}

std::int64_t batch_stride_bytes(std::int64_t batch_count, std::int64_t stride_bytes, std::int64_t lines,
                                std::int64_t line_stride_bytes) {
  constexpr std::int64_t kTooLong = std::int64_t{1} << 40;
  if (batch_count > 1 && stride_bytes != 0) return stride_bytes;
  return line_stride_bytes < kTooLong / lines ? lines * line_stride_bytes : kTmaAlignmentBytes;
}

}  // namespace hopper_gemm::library
