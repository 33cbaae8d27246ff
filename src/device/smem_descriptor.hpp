#pragma once

#include <cuda/std/cstdint>

#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm {

/// The swizzle: how chunks of 16 bytes of a tile in shared memory are permuted, so that wgmma and TMA touch all 32
/// banks.
///
/// Rows of the tile have S bytes (32, 64 or 128). Count lines of 128 bytes from an aligned base. Chunk c of line l is
/// then stored at chunk c XOR l % 8 of its line, with only as many bits of l as a row has chunks: see swizzle_offset().
/// The pattern repeats every 8 * S bytes, and the base must be aligned to that (1024 bytes for B128, 512 for B64, 256
/// for B32).
///
/// The tensor map that fills a tile and the descriptor that reads it must name the same mode. Nothing checks this. If
/// they differ, the product is wrong.
enum class Swizzle { None, B32, B64, B128 };

/// Bytes of a row of the swizzle pattern: the most that a TMA box may have along its contiguous dimension. 0 for None.
HG_HOST_DEVICE constexpr int swizzle_span_bytes(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::None: return 0;
    case Swizzle::B32: return 32;
    case Swizzle::B64: return 64;
    case Swizzle::B128: return 128;
  }
  return 0;
}

/// The alignment in bytes that a tile needs in shared memory if TMA fills it.
HG_HOST_DEVICE constexpr int swizzle_alignment_bytes(Swizzle swizzle) {
  return swizzle == Swizzle::None ? 128 : 8 * swizzle_span_bytes(swizzle);
}

/// Where byte `offset` of an unswizzled tile lies in the swizzled one. `offset` counts from an aligned tile base
/// (swizzle_alignment_bytes()). The permutation XORs bits [4,7) of the offset with bits [7,10), of which it keeps as
/// many as a row has chunks. It is its own inverse.
HG_HOST_DEVICE constexpr cuda::std::uint32_t swizzle_offset(cuda::std::uint32_t offset, Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::None: return offset;
    case Swizzle::B32: return offset ^ ((offset >> 3) & 0x10);
    case Swizzle::B64: return offset ^ ((offset >> 3) & 0x30);
    case Swizzle::B128: return offset ^ ((offset >> 3) & 0x70);
  }
  return offset;
}

/// Builds the 64-bit matrix descriptor through which wgmma reads an operand from shared memory. PTX ISA
/// "Asynchronous Warpgroup Level Matrix Shared Memory Layout: Matrix Descriptor Format".
///
/// | bits    | field               | unit                                                             |
/// |---------|---------------------|------------------------------------------------------------------|
/// | 0–13    | start address       | 16 bytes                                                         |
/// | 16–29   | leading byte offset | 16 bytes                                                         |
/// | 32–45   | stride byte offset  | 16 bytes                                                         |
/// | 49–51   | base offset         | phase of the swizzle pattern, 0 when the tile base is aligned    |
/// | 62–63   | swizzle             | 0 none, 1 128 B, 2 64 B, 3 32 B (not the order of the tensor map) |
///
/// All arguments are bytes, multiples of 16 and below 2^18; base_offset is 0–7. The two offsets mean:
/// - K-major without a swizzle: the tile consists of core matrices, 8 rows of 16 contiguous bytes. The leading byte
///   offset is the distance of neighbours along K, and the stride byte offset that of neighbours along M or N.
/// - K-major with a swizzle: the stride byte offset is the distance between groups of 8 rows, which is 8 rows of the
///   swizzle pattern in a densely packed tile. The hardware ignores the leading byte offset as long as one
///   instruction's K (32 bytes) stays inside a row of the pattern.
/// - MN-major with a swizzle: the leading byte offset is the distance along M or N between swizzle atoms, and the
///   stride byte offset is the distance along K between groups of 8.
HG_HOST_DEVICE constexpr cuda::std::uint64_t make_smem_desc(cuda::std::uint32_t smem_address_bytes,
                                                            cuda::std::uint32_t leading_byte_offset,
                                                            cuda::std::uint32_t stride_byte_offset,
                                                            Swizzle swizzle,
                                                            cuda::std::uint32_t base_offset = 0) {
  constexpr cuda::std::uint32_t kByteFieldMask = 0x3FFFF;
  const auto field = [](cuda::std::uint32_t bytes) {
    return static_cast<cuda::std::uint64_t>((bytes & kByteFieldMask) >> 4);
  };
  cuda::std::uint64_t mode = 0;
  switch (swizzle) {
    case Swizzle::None: mode = 0; break;
    case Swizzle::B128: mode = 1; break;
    case Swizzle::B64: mode = 2; break;
    case Swizzle::B32: mode = 3; break;
  }
  return field(smem_address_bytes) | field(leading_byte_offset) << 16 | field(stride_byte_offset) << 32 |
         static_cast<cuda::std::uint64_t>(base_offset & 0x7) << 49 | mode << 62;
}

/// The descriptor of a K-major bf16 or fp16 tile [rows, 64] with rows of 128 bytes and 128B swizzle, as TMA writes it.
/// smem_address_bytes: the tile's address, 1024-byte aligned, plus k * 2 bytes to start at column k (a multiple of 16
/// elements). The hardware swizzles the sum, so that a step along K inside a row needs no other change of the
/// descriptor.
HG_HOST_DEVICE constexpr cuda::std::uint64_t make_k_major_b128_desc(cuda::std::uint32_t smem_address_bytes) {
  constexpr cuda::std::uint32_t kIgnoredLeadingByteOffset = 16;
  constexpr cuda::std::uint32_t kEightRowsBytes = 8 * 128;
  return make_smem_desc(smem_address_bytes, kIgnoredLeadingByteOffset, kEightRowsBytes, Swizzle::B128);
}

/// The descriptor of an MN-major bf16 or fp16 tile with 128B swizzle, as TMA writes it. The tile consists of blocks
/// that are 64 elements wide along M or N: each is [k, 64] with rows of 128 bytes. span_distance_bytes: from a block to
/// the next along M or N. smem_address_bytes: 1024-byte aligned, plus k * 128 bytes to start at row k (a multiple of
/// 8).
HG_HOST_DEVICE constexpr cuda::std::uint64_t make_mn_major_b128_desc(
    cuda::std::uint32_t smem_address_bytes, cuda::std::uint32_t span_distance_bytes) {
  constexpr cuda::std::uint32_t kEightRowsBytes = 8 * 128;
  return make_smem_desc(smem_address_bytes, span_distance_bytes, kEightRowsBytes, Swizzle::B128);
}

/// The descriptor of the same layout `offset_bytes` further on: another stage or another column. This is one addition
/// instead of the shifts and masks of a new descriptor. offset_bytes is a multiple of 16, and the address must stay
/// below 2^18.
HG_HOST_DEVICE constexpr cuda::std::uint64_t advance_smem_desc(cuda::std::uint64_t desc,
                                                               cuda::std::uint32_t offset_bytes) {
  return desc + (offset_bytes >> 4);
}

}  // namespace hopper_gemm
