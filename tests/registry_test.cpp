#include "registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <set>
#include <string>

#include "kernels/launch.hpp"

namespace hopper_gemm {
namespace {

GemmArgs args_of(GemmShape shape) {
  const auto pointer = [](std::uintptr_t address) { return std::bit_cast<__nv_bfloat16*>(address); };
  const auto pitch = [](std::int64_t row) { return row + 8 - row % 8; };
  return {shape,          pointer(0x1000), pitch(shape.k), pointer(0x2000),
          pitch(shape.k), pointer(0x3000), pitch(shape.n)};
}

TEST(Registry, VersionsCountUpFromOneAndNamesAreUnique) {
  std::set<std::string_view> names;
  int expected = 1;
  for (const KernelInfo& kernel : hopper_ladder()) {
    EXPECT_EQ(kernel.version, std::to_string(expected++));
    EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
    EXPECT_FALSE(kernel.idea.empty());
    EXPECT_EQ(kernel.target.compute_capability, (ComputeCapability{9, 0}));
    EXPECT_FALSE(kernel.target.or_newer);
    EXPECT_EQ(find_kernel(kernel.version), &kernel);
  }
  EXPECT_GE(names.size(), 4U);
}

TEST(Registry, FindsNothingForUnknownVersions) {
  EXPECT_EQ(find_kernel("99"), nullptr);
  EXPECT_EQ(find_kernel(""), nullptr);
  EXPECT_EQ(find_kernel("01"), nullptr);
}

TEST(Registry, EveryVersionSaysWhatItCannotDo) {
  for (const KernelInfo& kernel : hopper_ladder()) {
    SCOPED_TRACE(kernel.name);
    EXPECT_TRUE(kernel.can_implement(args_of({129, 257, 264})).ok());
    EXPECT_EQ(kernel.can_implement(args_of({64, 64, 12})).code(), StatusCode::Unsupported);
    EXPECT_EQ(kernel.can_implement(args_of({0, 64, 64})).code(), StatusCode::InvalidArgument);
    EXPECT_EQ(kernel.can_implement(args_of({2147483647, 2147483647, 8})).code(), StatusCode::Unsupported);
  }
}

// The same refusals come from launch, before anything touches a GPU.
TEST(Registry, LaunchRefusesWhatCanImplementRefuses) {
  for (const KernelInfo& kernel : hopper_ladder()) {
    EXPECT_EQ(kernel.launch(args_of({64, 64, 12}), nullptr).code(), StatusCode::Unsupported);
  }
}

TEST(CeilDiv, RoundsUpAndDoesNotOverflow) {
  constexpr int kMax = std::numeric_limits<int>::max();
  EXPECT_EQ(ceil_div(0, 64), 0);
  EXPECT_EQ(ceil_div(1, 64), 1);
  EXPECT_EQ(ceil_div(64, 64), 1);
  EXPECT_EQ(ceil_div(65, 64), 2);
  EXPECT_EQ(ceil_div(kMax, 64), 33554432);
  EXPECT_EQ(ceil_div(kMax, 1), kMax);
}

TEST(TileGrid, CountsPartialTiles) {
  EXPECT_EQ(tile_grid({129, 257, 8}, 128, 256).x, 4U);
  EXPECT_EQ(tile_grid({1, 1, 8}, 128, 256).x, 1U);
  EXPECT_EQ(tile_grid({1, std::numeric_limits<int>::max(), 8}, 64, 64).x, 33554432U);
}

TEST(TileGrid, RefusesMoreTilesThanAGridHolds) {
  const Status status = check_tile_grid({2147483647, 2147483647, 8}, 64, 64);
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_THAT(status.message(), testing::HasSubstr("1125899906842624 tiles of 64x64"));
}

// Row and column numbers are 32-bit in the kernels, in the part of a tile that lies outside of D too.
TEST(TileGrid, RefusesTilesThatReachBeyondAnInt) {
  EXPECT_TRUE(check_tile_grid({2147483392, 8, 8}, 256, 256).ok());
  EXPECT_EQ(check_tile_grid({2147483393, 8, 8}, 256, 256).code(), StatusCode::Unsupported);
  EXPECT_TRUE(check_tile_grid({8, 2147483392, 8}, 256, 256).ok());
  EXPECT_EQ(check_tile_grid({8, 2147483393, 8}, 256, 256).code(), StatusCode::Unsupported);
}

TEST(WgmmaCeiling, CountsWholeBlocks) {
  EXPECT_EQ(wgmma_ceiling_flops({128, 256, 64}), 2.0 * 128 * 256 * 64);
  EXPECT_EQ(wgmma_ceiling_flops({129, 1, 1}), 2.0 * 2 * 128 * 256 * 64);
  EXPECT_EQ(wgmma_ceiling_flops({8192, 8192, 8192}), 2.0 * 8192 * 8192 * 8192);
}

}  // namespace
}  // namespace hopper_gemm
