#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "device/tensor_map.hpp"
#include "gemm/kernel_args.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// Tensor maps of operands, with 128B swizzle. They have no address, because it comes with each launch
/// (replace_tensor_map_address). name: the operand's name in an error message. Unsupported: the driver refuses the map.

/// A map of any rank. extents, box: in elements, the contiguous dimension first.
Status encode_map(const char* name, DataType type, std::span<const std::int64_t> extents,
                  std::span<const std::int64_t> strides_bytes, std::span<const int> box,
                  TensorMap* tensor_map, L2Promotion l2_promotion = L2Promotion::None);

/// How much of a line of A or B an L2 miss fetches: the 128 bytes of a cache line, but 256 bytes of a K-major operand whose
/// lines all begin at multiples of them. Its next K block needs the bytes behind a box, so that memory may deliver both at
/// once (profiles/experiments.md, 43). The bytes beside a box of an MN-major operand belong to another box, which asks for
/// them at the same time (57).
L2Promotion input_promotion(OperandMajor major, std::int64_t line_stride_bytes);

/// The map of A or B: K-major [batch, lines, K], or MN-major [batch, K, lines]. lines: of the operand along M or N;
/// block_lines: of a CTA's tile; sharers: CTAs that load equal parts of the tile. A K-major box has all lines that a
/// CTA loads. An MN-major box has kAtomLines lines by a part of kBlockK.
Status encode_input(const char* name, const OperandArgs& operand, const KernelArgs& args, int lines,
                    int block_lines, int sharers, TensorMap* tensor_map);

/// The maps of C, D and aux: [batch, M, N], with boxes of box_rows rows by 128 bytes. A gated D has [batch, M, N / 2],
/// with boxes of 32 columns.
Status encode_c(const KernelArgs& args, int box_rows, TensorMap* tensor_map);
Status encode_output(const KernelArgs& args, int box_rows, TensorMap* tensor_map);
Status encode_aux(const KernelArgs& args, int box_rows, TensorMap* tensor_map);

/// The stride between matrices of `lines` lines. TMA does not use the stride of a single matrix, but the map must hold
/// a valid one. That is the stride of matrices without gaps, unless it is too long.
std::int64_t batch_stride_bytes(std::int64_t batch_count, std::int64_t stride_bytes, std::int64_t lines,
                                std::int64_t line_stride_bytes);

}  // namespace hopper_gemm::library
