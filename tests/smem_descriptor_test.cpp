#include "device/smem_descriptor.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace hopper_gemm {
namespace {

// Golden values, worked out by hand from the field table of the PTX ISA.
TEST(SmemDescriptor, KMajorTileWithThe128ByteSwizzle) {
  // start 0x400 >> 4 = 0x40; leading 16 >> 4 = 1; stride 1024 >> 4 = 0x40; swizzle 1 in bits 62 and 63.
  EXPECT_EQ(make_smem_desc(0x400, 16, 1024, Swizzle::B128), 0x4000'0040'0001'0040ULL);
  EXPECT_EQ(make_k_major_b128_desc(0x400), 0x4000'0040'0001'0040ULL);
}

TEST(SmemDescriptor, MnMajorTileWithThe128ByteSwizzle) {
  // start 0x800 >> 4 = 0x80; leading, from span to span, 8192 >> 4 = 0x200; stride, from 8 rows to 8 rows, 0x40.
  EXPECT_EQ(make_mn_major_b128_desc(0x800, 8192), 0x4000'0040'0200'0080ULL);
}

TEST(SmemDescriptor, SwizzleCodesAreNotThoseOfTheTensorMap) {
  EXPECT_EQ(make_smem_desc(0, 0, 0, Swizzle::None), 0x0000'0000'0000'0000ULL);
  EXPECT_EQ(make_smem_desc(0, 0, 0, Swizzle::B128), 0x4000'0000'0000'0000ULL);
  EXPECT_EQ(make_smem_desc(0, 0, 0, Swizzle::B64), 0x8000'0000'0000'0000ULL);
  EXPECT_EQ(make_smem_desc(0, 0, 0, Swizzle::B32), 0xC000'0000'0000'0000ULL);
}

TEST(SmemDescriptor, EachFieldStandsInItsBits) {
  EXPECT_EQ(make_smem_desc(0x3FFF0, 0, 0, Swizzle::None), 0x0000'0000'0000'3FFFULL);
  EXPECT_EQ(make_smem_desc(0, 0x3FFF0, 0, Swizzle::None), 0x0000'0000'3FFF'0000ULL);
  EXPECT_EQ(make_smem_desc(0, 0, 0x3FFF0, Swizzle::None), 0x0000'3FFF'0000'0000ULL);
  EXPECT_EQ(make_smem_desc(0, 0, 0, Swizzle::None, 7), 0x000E'0000'0000'0000ULL);
}

TEST(SmemDescriptor, AdvancingAlongKAddsToTheStartAddressOnly) {
  constexpr std::uint32_t kTile = 0x8000;
  constexpr std::uint32_t kSixteenBf16 = 32;
  EXPECT_EQ(make_k_major_b128_desc(kTile + kSixteenBf16) - make_k_major_b128_desc(kTile), 2U);
}

TEST(SmemDescriptor, AnAddressBeyondTheFieldIsCutNotSpilledIntoTheNext) {
  EXPECT_EQ(make_smem_desc(0x40000, 0, 0, Swizzle::None), 0U);
}

// Chunk c (16 bytes) of row r lies at chunk c XOR r of an 8-row pattern of 128-byte rows.
TEST(Swizzle, B128PermutesChunksByRow) {
  for (std::uint32_t row = 0; row < 16; ++row) {
    for (std::uint32_t chunk = 0; chunk < 8; ++chunk) {
      EXPECT_EQ(swizzle_offset(row * 128 + chunk * 16, Swizzle::B128), row * 128 + (chunk ^ (row % 8)) * 16);
    }
  }
}

TEST(Swizzle, IsItsOwnInverseAndMovesWholeChunks) {
  for (const Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128}) {
    std::set<std::uint32_t> seen;
    for (std::uint32_t offset = 0; offset < 4096; ++offset) {
      const std::uint32_t swizzled = swizzle_offset(offset, swizzle);
      EXPECT_EQ(swizzle_offset(swizzled, swizzle), offset);
      EXPECT_EQ(swizzled % 16, offset % 16);
      seen.insert(swizzled);
    }
    EXPECT_EQ(seen.size(), 4096U);
  }
}

// The purpose of it: the eight rows of a column of chunks lie in eight different bank groups.
TEST(Swizzle, B128SpreadsAColumnOverAllBanks) {
  for (std::uint32_t chunk = 0; chunk < 8; ++chunk) {
    std::set<std::uint32_t> bank_groups;
    for (std::uint32_t row = 0; row < 8; ++row) {
      bank_groups.insert(swizzle_offset(row * 128 + chunk * 16, Swizzle::B128) / 16 % 8);
    }
    EXPECT_EQ(bank_groups.size(), 8U);
  }
}

TEST(Swizzle, SpansAndAlignments) {
  EXPECT_EQ(swizzle_span_bytes(Swizzle::B128), 128);
  EXPECT_EQ(swizzle_alignment_bytes(Swizzle::B128), 1024);
  EXPECT_EQ(swizzle_alignment_bytes(Swizzle::B64), 512);
  EXPECT_EQ(swizzle_alignment_bytes(Swizzle::B32), 256);
  EXPECT_EQ(swizzle_alignment_bytes(Swizzle::None), 128);
}

}  // namespace
}  // namespace hopper_gemm
