// What the tunable versions do with configurations that do not fit: the emulated GPU, the operands, or the kernel.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "common/tile_config_name.hpp"
#include "emulated_gemm.hpp"
#include "emulator/emulated_ladder.hpp"
#include "emulator/emulator.hpp"
#include "tests/ladder_problems.hpp"

namespace hopper_gemm::emulator {
namespace {

using ::testing::HasSubstr;

const KernelInfo& kernel_of(std::string_view version) {
  const auto kernels = emulated_kernels();
  return *std::find_if(kernels.begin(), kernels.end(),
                       [&](const KernelInfo& kernel) { return kernel.version == version; });
}

/// One that has the largest tiles: 96 KiB of stages.
constexpr TileConfig kLargeConfig = {.block_m = 128,
                                     .block_n = 256,
                                     .block_k = 32,
                                     .warp_m = 64,
                                     .warp_n = 64,
                                     .thread_m = 0,
                                     .thread_n = 0,
                                     .stages = 4,
                                     .band_m = 8};

// With four SMs two rounds of the largest tiles are the fastest.
constexpr GemmShape kShape = {512, 512, 72};

class SharedMemory : public testing::TestWithParam<EmulatedCapability> {};

TEST_P(SharedMemory, IsWhatTheGeneralVersionFitsItsTilesTo) {
  EmulatedGemm gemm({{.shape = kShape}});
  configure({.seed = 1, .sms = 4, .compute_capability = GetParam()});
  const Status status = kernel_of("ampere.6").launch(gemm.args(), nullptr);
  ASSERT_TRUE(status.ok()) << status.message() << '\n' << last_report();
  EXPECT_EQ(gemm.fault(), "");
}

INSTANTIATE_TEST_SUITE_P(Gpus, SharedMemory,
                         testing::Values(EmulatedCapability{7, 5}, EmulatedCapability{8, 0},
                                         EmulatedCapability{8, 6}, EmulatedCapability{8, 9},
                                         EmulatedCapability{9, 0}),
                         [](const auto& gpu) {
                           return "sm_" + std::to_string(gpu.param.major) + std::to_string(gpu.param.minor);
                         });

TEST(Configs, ThatNeedMoreSharedMemoryThanThereIsSayHowMuch) {
  EmulatedGemm gemm({{.shape = {17, 40, 72}}});
  const auto launch = [&](EmulatedCapability gpu, const TileConfig& config) {
    configure({.seed = 1, .compute_capability = gpu});
    return kernel_of("ampere.6").tuning->launch(to_string(config), gemm.args(), nullptr);
  };
  EXPECT_TRUE(launch({8, 6}, kLargeConfig).ok());
  EXPECT_EQ(gemm.fault(), "");
  gemm.poison();
  const Status on_turing = launch({7, 5}, kLargeConfig);
  EXPECT_EQ(on_turing.code(), StatusCode::Unsupported);
  EXPECT_THAT(on_turing.message(),
              HasSubstr("a tile of 128x256 with 4 stages takes 98304 bytes of shared memory, and this GPU "
                        "gives a CTA 65536"));
  TileConfig longer = kLargeConfig;
  longer.stages = 5;
  EXPECT_TRUE(launch({8, 0}, longer).ok());
  EXPECT_EQ(gemm.fault(), "");
  const Status on_ga102 = launch({8, 6}, longer);
  EXPECT_EQ(on_ga102.code(), StatusCode::Unsupported);
  EXPECT_THAT(on_ga102.message(),
              HasSubstr("takes 122880 bytes of shared memory, and this GPU gives a CTA 101376"));
}

TEST(Configs, AreForRowsThatAreAligned) {
  for (const auto& [offset, pitch_remainder] : {std::pair(1, 0), std::pair(2, 0), std::pair(0, 1)}) {
    EmulatedGemm gemm(
        {.problem = {.shape = {17, 40, 72}}, .offset = offset, .pitch_remainder = pitch_remainder});
    const Status status = kernel_of("ampere.6").tuning->launch(to_string(kLargeConfig), gemm.args(), nullptr);
    EXPECT_EQ(status.code(), StatusCode::Unsupported);
    EXPECT_THAT(status.message(), HasSubstr("rows of A and B that start 16-byte aligned"));
  }
}

// What can_implement refuses is refused with every configuration.
TEST(Configs, TakeNoMoreThanTheirVersion) {
  for (const char* const version : {"ampere.6", "simt.7", "simt.8"}) {
    const KernelInfo& kernel = kernel_of(version);
    EmulatedGemm gemm({plain_problem(kernel, {17, 40, 72}, kernel.target.input_type)});
    GemmArgs args = gemm.args();
    args.b_layout = args.b_layout == Layout::RowMajor ? Layout::ColumnMajor : Layout::RowMajor;
    args.ldb = 128;
    EXPECT_EQ(kernel.tuning->launch(kernel.tuning->configs({})[0], args, nullptr).code(),
              StatusCode::Unsupported)
        << version;
    args = gemm.args();
    args.a_layout = Layout::ColumnMajor;
    EXPECT_EQ(kernel.tuning->launch(kernel.tuning->configs({})[0], args, nullptr).code(),
              StatusCode::Unsupported)
        << version;
    args = gemm.args();
    args.d = nullptr;
    EXPECT_EQ(kernel.tuning->launch(kernel.tuning->configs({})[0], args, nullptr).code(),
              StatusCode::InvalidArgument)
        << version;
  }
}

// What `matmul tune best` measures, and --config then asks for by name.
TEST(Configs, OfTheLibraryAreThoseThatItRanksFirst) {
  const KernelInfo& best = kernel_of("best");
  EmulatedGemm gemm({{.shape = {200, 264, 200}}});
  configure({.seed = 1, .sms = 4});
  const std::vector<std::string> configs = best.tuning->configs(gemm.args());
  ASSERT_EQ(configs.size(), 24U);
  KernelChoice choice;
  const Status chosen = best.choose(gemm.args(), &choice);
  ASSERT_TRUE(chosen.ok()) << chosen.message();
  EXPECT_EQ(choice.config, configs.front());
  EXPECT_THAT(choice.explanation, HasSubstr(configs.front()));
  for (const std::string& config : {configs.front(), configs.back()}) {
    SCOPED_TRACE(config);
    EXPECT_TRUE(best.tuning->has_config(config));
    gemm.poison();
    const Status status = best.tuning->launch(config, gemm.args(), nullptr);
    ASSERT_TRUE(status.ok()) << status.message() << last_report();
    EXPECT_EQ(gemm.fault(), "");
  }
}

// By the estimates several CTAs would share K, in clusters for which there are too few SMs.
TEST(Best, TakesAClusterForWhichTheGpuHasSms) {
  const KernelInfo& best = kernel_of("best");
  EmulatedGemm gemm({{.shape = {65, 72, 712}}});
  for (const int sms : {1, 2, 4}) {
    SCOPED_TRACE(sms);
    configure({.seed = 1, .sms = sms});
    KernelChoice choice;
    ASSERT_TRUE(best.choose(gemm.args(), &choice).ok());
    EXPECT_THAT(choice.config, testing::Not(testing::StartsWith("mma_sync_")));
    EXPECT_EQ(choice.config, best.tuning->configs(gemm.args()).front());
    gemm.poison();
    const Status status = best.launch(gemm.args(), nullptr);
    ASSERT_TRUE(status.ok()) << status.message() << last_report();
    EXPECT_EQ(gemm.fault(), "");
  }
}

// A plan is for a GPU: the one that is kept must not be run on another.
TEST(Best, PlansAnewForAnotherGpu) {
  const KernelInfo& best = kernel_of("best");
  EmulatedGemm gemm({{.shape = {17, 40, 72}}});
  KernelChoice choice;
  configure({.seed = 1});
  ASSERT_TRUE(best.choose(gemm.args(), &choice).ok());
  EXPECT_THAT(choice.config, testing::Not(testing::StartsWith("mma_sync_")));
  configure({.seed = 1, .compute_capability = {8, 0}});
  ASSERT_TRUE(best.choose(gemm.args(), &choice).ok());
  EXPECT_THAT(choice.config, testing::StartsWith("mma_sync_"));
  ASSERT_TRUE(best.launch(gemm.args(), nullptr).ok());
  EXPECT_EQ(gemm.fault(), "");
  configure({.seed = 1, .compute_capability = {7, 5}});
  EXPECT_EQ(best.launch(gemm.args(), nullptr).code(), StatusCode::Unsupported);
  EXPECT_THAT(best.tuning->configs(gemm.args()), testing::IsEmpty());
}

}  // namespace
}  // namespace hopper_gemm::emulator
