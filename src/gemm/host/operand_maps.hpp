#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "device/tensor_map.hpp"
#include "gemm/kernel_args.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// Tensor maps of operands, with 128B swizzle and without an address, which comes with each launch
/// (replace_tensor_map_address). name: how an error calls the operand. Unsupported: the driver refuses it.

/// The map has any rank. extents, box: in elements, the contiguous dimension first.
Status encode_map(const char* name, DataType type, std::span<const std::int64_t> extents,
                  std::span<const std::int64_t> strides_bytes, std::span<const int> box,
                  TensorMap* tensor_map);

/// Of A or B, [batch, lines, K] or MN-major [batch, K, lines]. lines: all of the operand along M or N; block_lines: of a
/// CTA's tile, which so many sharers load equal parts of. A K-major box has all lines that a CTA loads, an MN-major one
/// kAtomLines by a part of kBlockK.
Status encode_input(const char* name, const OperandArgs& operand, const KernelArgs& args, int lines,
                    int block_lines, int sharers, TensorMap* tensor_map);

/// Of C, D or aux, [batch, M, N], by boxes of so many rows and 128 bytes; of a gated D, [batch, M, N / 2], by boxes of 32
/// columns.
Status encode_c(const KernelArgs& args, int box_rows, TensorMap* tensor_map);
Status encode_output(const KernelArgs& args, int box_rows, TensorMap* tensor_map);
Status encode_aux(const KernelArgs& args, int box_rows, TensorMap* tensor_map);

/// The stride between matrices of `lines` lines. TMA does not use that of a single one, but the map must hold one that it
/// could take: that of matrices without gaps where it is not too long.
std::int64_t batch_stride_bytes(std::int64_t batch_count, std::int64_t stride_bytes, std::int64_t lines,
                                std::int64_t line_stride_bytes);

}  // namespace hopper_gemm::library
