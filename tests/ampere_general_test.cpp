// What version 6 of the Ampere ladder chooses to run, for GPUs and operands that need not be there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>

#include "ladder/ampere/versions.hpp"

namespace hopper_gemm::ampere::v6 {
namespace {

constexpr int kSms = 108;
constexpr int kSharedBytes = 163 << 10;

const void* at(std::uintptr_t address) { return std::bit_cast<const void*>(address); }

GemmArgs args_of(GemmShape shape) {
  const auto pitch = [](int row) { return std::int64_t{row} + 8 - row % 8; };
  return {.shape = shape,
          .a = at(0x1000),
          .lda = pitch(shape.k),
          .b = at(0x2000),
          .ldb = pitch(shape.k),
          .d = std::bit_cast<void*>(std::uintptr_t{0x3000}),
          .ldd = pitch(shape.n)};
}

TileConfig config_of(const GemmArgs& args, int sm_count = kSms, int shared = kSharedBytes) {
  const std::optional<Choice> choice = choose(args, sm_count, shared);
  EXPECT_TRUE(choice.has_value());
  return choice.value_or(Choice{}).config;
}

/// Of the stages of A and B.
int shared_bytes(const TileConfig& config) {
  return config.stages * (config.block_m + config.block_n) * config.block_k * 2;
}

int area(const TileConfig& config) { return config.block_m * config.block_n; }

TEST(Choose, LargeTilesForALargeDAndSmallOnesForASmallOne) {
  EXPECT_EQ(area(config_of(args_of({8192, 8192, 8192}))), 128 * 256);
  EXPECT_EQ(area(config_of(args_of({512, 512, 8192}))), 64 * 64);
  EXPECT_EQ(area(config_of(args_of({1, 1, 8}))), 64 * 64);
}

// As many SMs as D has small tiles: all of them work. On one SM nothing is gained by that.
TEST(Choose, LooksAtTheNumberOfSms) {
  const GemmArgs args = args_of({1024, 1024, 4096});
  EXPECT_EQ(area(config_of(args, 256)), 64 * 64);
  EXPECT_EQ(area(config_of(args, 1)), 128 * 256);
  EXPECT_EQ(area(config_of(args, 32)), 128 * 256);
}

TEST(Choose, IsAlwaysCompiledAndFitsTheSharedMemory) {
  for (const GemmShape shape : {GemmShape{8192, 8192, 8192}, {300, 200, 100}, {4096, 64, 64}, {1, 8192, 8}}) {
    for (const int sm_count : {1, 14, 40, 84, 108, 132}) {
      for (const int shared : {64 << 10, 99 << 10, 163 << 10, 227 << 10}) {
        const TileConfig config = config_of(args_of(shape), sm_count, shared);
        EXPECT_LE(shared_bytes(config), shared);
        const auto compiled = configs();
        EXPECT_NE(std::find(compiled.begin(), compiled.end(), config), compiled.end());
      }
    }
  }
}

TEST(Choose, TakesASmallerTileWhereSharedMemoryIsScarce) {
  const GemmArgs args = args_of({8192, 8192, 8192});
  EXPECT_EQ(area(config_of(args, kSms, 163 << 10)), 128 * 256);  // sm_80: 144 KiB
  EXPECT_EQ(area(config_of(args, kSms, 99 << 10)), 128 * 128);   // sm_86: 96 KiB
  EXPECT_EQ(config_of(args, kSms, 99 << 10).block_k, 64);
  EXPECT_EQ(area(config_of(args, kSms, 64 << 10)), 128 * 128);  // 48 KiB
  EXPECT_EQ(config_of(args, kSms, 64 << 10).block_k, 32);
  EXPECT_EQ(area(config_of(args, kSms, 47 << 10)), 64 * 64);  // 24 KiB
  EXPECT_EQ(choose(args, kSms, 23 << 10), std::nullopt);
}

TEST(Choose, CopiesAsMuchAsAllRowsAllow) {
  const auto copy_elems = [](const GemmArgs& args) { return choose(args, kSms, kSharedBytes)->copy_elems; };
  const GemmArgs aligned = args_of({100, 100, 100});
  EXPECT_EQ(copy_elems(aligned), 8);
  for (const auto member : {&GemmArgs::lda, &GemmArgs::ldb}) {
    GemmArgs args = aligned;
    args.*member += 4;
    EXPECT_EQ(copy_elems(args), 2);
    args.*member += 1;
    EXPECT_EQ(copy_elems(args), 1);
  }
  for (const auto member : {&GemmArgs::a, &GemmArgs::b}) {
    GemmArgs args = aligned;
    args.*member = at(0x1008);
    EXPECT_EQ(copy_elems(args), 2);
    args.*member = at(0x1002);
    EXPECT_EQ(copy_elems(args), 1);
  }
}

// D and C may lie as they will: it is the copies of A and B that need whole chunks.
TEST(Choose, DoesNotMindTheAlignmentOfTheOutput) {
  GemmArgs args = args_of({8192, 8192, 8192});
  args.ldd += 1;
  args.d = std::bit_cast<void*>(std::uintptr_t{0x3002});
  args.beta = 1;
  args.c = args.d;
  args.ldc = args.ldd;
  EXPECT_EQ(choose(args, kSms, kSharedBytes)->copy_elems, 8);
  EXPECT_EQ(area(config_of(args)), 128 * 256);
}

TEST(Choose, DoesNotMindOperandsThatAreNotRead) {
  GemmArgs args = args_of({100, 100, 100});
  args.lda = args.ldb = 101;
  args.alpha = 0;
  EXPECT_EQ(choose(args, kSms, kSharedBytes)->copy_elems, 8);
  args.alpha = 1;
  EXPECT_EQ(choose(args, kSms, kSharedBytes)->copy_elems, 1);
  args.shape.k = 0;
  EXPECT_EQ(choose(args, kSms, kSharedBytes)->copy_elems, 8);
}

TEST(Choose, NarrowCopiesNeedSharedMemoryToo) {
  GemmArgs args = args_of({100, 100, 100});
  args.lda = 101;
  const int needed = shared_bytes(choose(args, kSms, kSharedBytes)->config);
  EXPECT_TRUE(choose(args, kSms, needed).has_value());
  EXPECT_FALSE(choose(args, kSms, needed - 1).has_value());
}

// Offsets of rows within a tile, in copies, are of 32 bits.
TEST(Choose, CopiesLessWhereRowsAreTooFarApart) {
  GemmArgs args = args_of({256, 256, 64});
  args.lda = std::int64_t{std::numeric_limits<std::uint32_t>::max()} / 256 * 8;
  EXPECT_EQ(choose(args, kSms, kSharedBytes)->copy_elems, 8);
  args.lda += 8;
  EXPECT_EQ(choose(args, kSms, kSharedBytes)->copy_elems, 2);
}

// Which is said before anything touches a GPU.
TEST(LaunchConfig, NamesTheFieldThatNoKernelCanHave) {
  const TileConfig good = configs().front();
  const auto fault = [&](int TileConfig::*field, int value) {
    TileConfig config = good;
    config.*field = value;
    const Status status = launch_config(config, args_of({64, 64, 64}), nullptr);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    return status.message();
  };
  EXPECT_THAT(fault(&TileConfig::thread_m, 4), testing::HasSubstr("thread_m"));
  EXPECT_THAT(fault(&TileConfig::warp_m, 24), testing::HasSubstr("warp_m"));
  EXPECT_THAT(fault(&TileConfig::warp_n, 128), testing::HasSubstr("warp_n"));
  EXPECT_THAT(fault(&TileConfig::block_k, 48), testing::HasSubstr("32 or 64"));
  EXPECT_THAT(fault(&TileConfig::stages, 2), testing::HasSubstr("at least 3 stages"));
  EXPECT_THAT(fault(&TileConfig::stages, 50), testing::HasSubstr("163 KiB"));
  EXPECT_THAT(fault(&TileConfig::block_m, 100), testing::HasSubstr("block_m"));
  EXPECT_THAT(fault(&TileConfig::block_m, 1024), testing::HasSubstr("4 or 8 warps"));
  EXPECT_THAT(fault(&TileConfig::band_m, 0), testing::HasSubstr("band_m"));
  EXPECT_THAT(fault(&TileConfig::band_m, 4), testing::HasSubstr("not compiled for this configuration"));
}

}  // namespace
}  // namespace hopper_gemm::ampere::v6
