// Tuning spaces: the product of the axes, what is left of it, in which order.

#include "ladder/config_space.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "common/tile_config.hpp"
#include "ladder/simt/versions.hpp"
#include "registry/registry.hpp"

namespace hopper_gemm {
namespace {

constexpr ConfigAxes kAxes = {
    .block_m = {64, 128},
    .block_n = {64, 128, 256},
    .block_k = {32},
    .warp_m = {64},
    .warp_n = {32, 64},
    .thread_m = {0},
    .thread_n = {0},
    .stages = {2, 3},
    .band_m = {8},
};

constexpr const char* allow_all(const TileConfig&) { return nullptr; }
constexpr const char* allow_squares(const TileConfig& config) {
  return config.block_m == config.block_n ? nullptr : "no square";
}
constexpr const char* allow_none(const TileConfig&) { return "nothing will do"; }

constexpr TileConfig config_of(int block_m, int block_n, int warp_n, int stages) {
  return {.block_m = block_m,
          .block_n = block_n,
          .block_k = 32,
          .warp_m = 64,
          .warp_n = warp_n,
          .thread_m = 0,
          .thread_n = 0,
          .stages = stages,
          .band_m = 8};
}

TEST(ConfigSpace, HoldsTheProductOfItsAxesEachPointOnce) {
  static_assert(num_points(kAxes) == 2 * 3 * 2 * 2);
  constexpr auto kAll = valid_configs<kAxes, allow_all>();
  static_assert(kAll.size() == num_points(kAxes));
  std::set<std::tuple<int, int, int, int>> seen;
  for (const TileConfig& config : kAll) {
    EXPECT_EQ(config.block_k, 32);
    EXPECT_EQ(config.warp_m, 64);
    EXPECT_EQ(config.band_m, 8);
    seen.insert({config.block_m, config.block_n, config.warp_n, config.stages});
  }
  EXPECT_EQ(seen.size(), kAll.size());
}

TEST(ConfigSpace, ChangesItsLastAxisFastest) {
  constexpr auto kAll = valid_configs<kAxes, allow_all>();
  EXPECT_EQ(kAll[0], config_of(64, 64, 32, 2));
  EXPECT_EQ(kAll[1], config_of(64, 64, 32, 3));
  EXPECT_EQ(kAll[2], config_of(64, 64, 64, 2));
  EXPECT_EQ(kAll[4], config_of(64, 128, 32, 2));
  EXPECT_EQ(kAll[12], config_of(128, 64, 32, 2));
  EXPECT_EQ(kAll.back(), config_of(128, 256, 64, 3));
  EXPECT_EQ(point_of(kAxes, 12), kAll[12]);
}

TEST(ConfigSpace, KeepsTheOrderOfWhatIsValid) {
  constexpr auto kSquares = valid_configs<kAxes, allow_squares>();
  static_assert(kSquares.size() == 8);
  EXPECT_EQ(kSquares[0], config_of(64, 64, 32, 2));
  EXPECT_EQ(kSquares[3], config_of(64, 64, 64, 3));
  EXPECT_EQ(kSquares[4], config_of(128, 128, 32, 2));
}

TEST(ConfigSpace, MayHoldNothingThatIsValid) {
  constexpr auto kNone = valid_configs<kAxes, allow_none>();
  static_assert(kNone.empty());
  EXPECT_EQ(index_of(kNone, config_of(64, 64, 32, 2)), 0U);
}

TEST(ConfigSpace, FindsAConfigurationByAllOfItsFields) {
  constexpr auto kAll = valid_configs<kAxes, allow_all>();
  EXPECT_EQ(index_of(kAll, config_of(64, 128, 32, 2)), 4U);
  TileConfig other = config_of(64, 128, 32, 2);
  other.band_m = 1;
  EXPECT_EQ(index_of(kAll, other), kAll.size());
  other = config_of(64, 128, 32, 4);
  EXPECT_EQ(index_of(kAll, other), kAll.size());
}

constexpr auto kThree = std::array{config_of(1, 2, 3, 4), config_of(5, 6, 7, 8), config_of(9, 10, 11, 12)};

TEST(ConfigSpace, MakesSomethingOfEachConfiguration) {
  constexpr auto kProducts = for_each_config<kThree>(
      [](auto config) { return config.kConfig.block_m * 100 + config.kConfig.block_n; });
  EXPECT_THAT(kProducts, testing::ElementsAre(102, 506, 910));
}

// Of the versions themselves: two points alike would be measured twice, and told apart by nothing.
TEST(TuningSpaces, HoldEachConfigurationOnce) {
  int tunable = 0;
  for (const KernelInfo& kernel : all_kernels()) {
    if (kernel.tuning == nullptr) continue;
    ++tunable;
    if (kernel.version == "best") continue;  // has those that its GPU calls for
    const std::vector<std::string> configs = kernel.tuning->configs({});
    EXPECT_GE(configs.size(), 10U) << kernel.version;
    EXPECT_EQ(std::set(configs.begin(), configs.end()).size(), configs.size()) << kernel.version;
    for (const std::string& config : configs) EXPECT_TRUE(kernel.tuning->has_config(config)) << config;
  }
  EXPECT_EQ(tunable, 4);
}

// Before anything touches a GPU.
TEST(TuningSpaces, RefuseConfigurationsThatTheyDoNotHold) {
  for (const KernelInfo& kernel : all_kernels()) {
    if (kernel.tuning == nullptr) continue;
    SCOPED_TRACE(kernel.version);
    for (const char* const config : {"", "wgmma", "7x7x7, warps 7x7, 7 stages, bands of 7"}) {
      EXPECT_FALSE(kernel.tuning->has_config(config));
      const Status status = kernel.tuning->launch(config, {}, nullptr);
      EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
      EXPECT_THAT(status.message(), testing::HasSubstr(std::string("there is no configuration '") + config));
    }
  }
}

TEST(TuningSpaces, OfTheirVersionsAreThose) {
  const auto expect_refused = [](std::span<const TileConfig> configs, const auto& launch_config) {
    TileConfig config = configs.front();
    config.band_m = 7;
    const Status status = launch_config(config, GemmArgs{}, nullptr);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_THAT(status.message(), testing::HasSubstr("not compiled for this configuration"));
    EXPECT_EQ(launch_config(TileConfig{}, GemmArgs{}, nullptr).code(), StatusCode::InvalidArgument);
  };
  expect_refused(simt::v7::configs(), simt::v7::launch_config);
  expect_refused(simt::v8::configs(), simt::v8::launch_config);
}

// On any GPU, and without one.
TEST(TuningSpaces, OfTheLibraryHoldsItsFamiliesAndFp32) {
  const TuningSpace& space = *find_kernel("best")->tuning;
  EXPECT_TRUE(space.has_config("cooperative_128x256_s4_c2x1"));
  EXPECT_TRUE(space.has_config("mma_sync_128x128x64_s3"));
  GemmArgs single{};
  single.input_type = single.output_type = DataType::Float32;
  const std::vector<std::string> configs = space.configs(single);
  EXPECT_EQ(configs, find_kernel("simt.8")->tuning->configs(single));
  EXPECT_TRUE(space.has_config(configs.front()));
}

}  // namespace
}  // namespace hopper_gemm
