// Every version of every ladder against the fp64 product, over shapes that no tile divides.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "benchmark/shapes.hpp"
#include "common/device_buffer.hpp"
#include "common/watchdog.hpp"
#include "expect_verified.hpp"
#include "registry/registry.hpp"
#include "require_gpu.hpp"
#include "require_hopper.hpp"
#include "tests/ladder_problems.hpp"
#include "verify/fill.hpp"
#include "verify/verify.hpp"

namespace hopper_gemm {
namespace {

constexpr GemmShape kShapes[] = {
    {1, 8, 8},        {17, 40, 72},    {129, 257, 264},  {1000, 776, 328},   {4096, 4096, 8},
    {8192, 8, 16384}, {1, 1, 8},       {1, 4099, 64},    {4099, 1, 64},      {63, 65, 120},
    {64, 64, 64},     {128, 128, 128}, {128, 256, 64},   {128, 256, 192},    {128, 256, 256},
    {256, 512, 320},  {128, 256, 384}, {384, 768, 4096}, {1752, 1000, 1000}, {2048, 2048, 2048},
    {5888, 1408, 72},  // tiles of two widths in versions 14 and up
};

using Param = std::tuple<KernelInfo, GemmShape>;

// Indices beyond 2^31 elements, in D and in A.
constexpr GemmShape kLargeShapes[] = {{46400, 46400, 8}, {65544, 8, 32776}};

/// Why this GPU has not the memory that verifying takes, or an empty string.
std::string reason_without_memory(const GemmProblem& problem) {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) return "the free GPU memory is unknown";
  if (static_cast<std::size_t>(verify_required_bytes(problem)) <= free_bytes) return "";
  return "needs " + std::to_string(verify_required_bytes(problem)) + " bytes of GPU memory, free are " +
         std::to_string(free_bytes);
}

class HopperLadder : public testing::TestWithParam<Param> {};

TEST_P(HopperLadder, MatchesTheFp64Product) {
  HG_SKIP_WITHOUT_HOPPER();
  const auto& [kernel, shape] = GetParam();
  const std::string reason = reason_without_memory({shape});
  if (!reason.empty()) GTEST_SKIP() << reason;
  expect_verified(kernel, {{shape}});
}

std::string param_name(const testing::TestParamInfo<Param>& param) {
  return std::string(std::get<0>(param.param).name) + "_" + to_string(std::get<1>(param.param));
}

INSTANTIATE_TEST_SUITE_P(LargeShapes, HopperLadder,
                         testing::Combine(testing::ValuesIn(hopper_ladder().begin(), hopper_ladder().end()),
                                          testing::ValuesIn(kLargeShapes)),
                         param_name);

INSTANTIATE_TEST_SUITE_P(AllVersions, HopperLadder,
                         testing::Combine(testing::ValuesIn(hopper_ladder().begin(), hopper_ladder().end()),
                                          testing::ValuesIn(kShapes)),
                         param_name);

/// Later versions add up the same products in the same order: what they compute is that of version 11 in every bit.
class HopperBits : public testing::TestWithParam<GemmShape> {};

TEST_P(HopperBits, AreThoseOfVersion11InAllLaterVersions) {
  HG_SKIP_WITHOUT_HOPPER();
  const auto [m, n, k] = GetParam();
  const auto pitch = [](int extent) { return (std::int64_t{extent} + 7) / 8 * 8; };
  DeviceBuffer<std::uint16_t> a;
  DeviceBuffer<std::uint16_t> b;
  DeviceBuffer<std::uint16_t> d;
  ASSERT_TRUE(a.allocate(m * pitch(k)).ok());
  ASSERT_TRUE(b.allocate(n * pitch(k)).ok());
  ASSERT_TRUE(d.allocate(m * pitch(n)).ok());
  ASSERT_TRUE(
      fill_matrix(a.data(), DataType::BFloat16, m, k, pitch(k), DataKind::Normal, 1, 7, nullptr).ok());
  ASSERT_TRUE(
      fill_matrix(b.data(), DataType::BFloat16, n, k, pitch(k), DataKind::Normal, 1, 8, nullptr).ok());
  const GemmArgs args = {.shape = GetParam(),
                         .a = a.data(),
                         .lda = pitch(k),
                         .b = b.data(),
                         .ldb = pitch(k),
                         .d = d.data(),
                         .ldd = pitch(n)};
  const auto bits_of = [&](const KernelInfo& kernel) {
    std::vector<std::uint16_t> bits(static_cast<std::size_t>(d.size()));
    EXPECT_EQ(cudaMemset(d.data(), 0xFF, d.size_bytes()), cudaSuccess);
    const Status status = kernel.launch(args, nullptr);
    EXPECT_TRUE(status.ok()) << status.message();
    constexpr double kSeconds = 20;
    const Status done = wait_with_watchdog(nullptr, kSeconds);
    if (!done.ok()) {  // no later CUDA call would return
      std::fprintf(stderr, "%s: %s\n", std::string(kernel.name).c_str(), done.message().c_str());
      std::_Exit(EXIT_FAILURE);
    }
    EXPECT_EQ(cudaMemcpy(bits.data(), d.data(), d.size_bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    return bits;
  };
  const KernelInfo& reference = *find_kernel("11");
  const std::vector<std::uint16_t> expected = bits_of(reference);
  for (const KernelInfo& kernel : hopper_ladder().last(hopper_ladder().size() - 11)) {
    EXPECT_TRUE(bits_of(kernel) == expected) << kernel.version;
  }
}

INSTANTIATE_TEST_SUITE_P(AllVersions, HopperBits,
                         testing::Values(GemmShape{129, 257, 264}, GemmShape{1000, 776, 328},
                                         GemmShape{4096, 4096, 1024}, GemmShape{5888, 1412, 72}),
                         [](const auto& param) { return to_string(param.param); });

// The other ladders.

// More of K than any emulator has the time for, waves of tiles and bands of them, K of less than a chunk.
constexpr GemmShape kGeneralShapes[] = {{1999, 2003, 1009}, {4096, 4096, 7}};
// For the fp32 versions that load every element many times.
constexpr GemmShape kModestShapes[] = {{1000, 776, 328}, {1, 4099, 64},    {4099, 1, 64},
                                       {63, 65, 120},    {128, 256, 4096}, {2048, 2048, 2048}};

class OtherLadders : public testing::TestWithParam<LadderCase> {};

TEST_P(OtherLadders, MatchTheFp64Product) {
  const auto& [kernel, problem] = GetParam();
  HG_SKIP_UNLESS_IT_RUNS(kernel);
  const std::string reason = reason_without_memory(problem.problem);
  if (!reason.empty()) GTEST_SKIP() << reason;
  expect_verified(kernel, problem);
}

std::string case_name(const testing::TestParamInfo<LadderCase>& param) { return test_name(param.param); }

std::vector<LadderCase> gpu_cases() {
  std::vector<LadderCase> cases;
  for (const KernelInfo& kernel : all_kernels()) {
    if (!is_of_ladder(kernel, "ampere") && !is_of_ladder(kernel, "simt")) continue;
    const auto add = [&](std::span<const GemmShape> shapes, int misalignment) {
      for (const DataType type : input_types(kernel)) {
        for (LadderProblem problem : product_problems(kernel, type, shapes)) {
          problem.offset = misalignment;
          problem.pitch_remainder = misalignment;
          cases.push_back({kernel, problem});
        }
      }
    };
    add(is_of_ladder(kernel, "ampere") ? std::span<const GemmShape>(kShapes)
                                       : std::span<const GemmShape>(kModestShapes),
        0);
    if (!is_general(kernel)) continue;
    add(kGeneralShapes, 0);
    add(kGeneralShapes, 1);
  }
  return cases;
}

std::vector<LadderCase> large_cases() {
  std::vector<LadderCase> cases;
  for (const char* const version : {"ampere.6", "simt.8"}) {
    const KernelInfo& kernel = *find_kernel(version);
    for (LadderProblem problem : product_problems(kernel, kernel.target.input_type, kLargeShapes)) {
      cases.push_back({kernel, problem});
    }
  }
  return cases;
}

// On the emulator too.
INSTANTIATE_TEST_SUITE_P(AllVersions, OtherLadders, testing::ValuesIn(ladder_cases(all_kernels())),
                         case_name);

INSTANTIATE_TEST_SUITE_P(MoreShapes, OtherLadders, testing::ValuesIn(gpu_cases()), case_name);

INSTANTIATE_TEST_SUITE_P(LargeShapes, OtherLadders, testing::ValuesIn(large_cases()), case_name);

class Configs : public testing::TestWithParam<ConfigCase> {};

TEST_P(Configs, MatchTheFp64Product) {
  const ConfigCase& test = GetParam();
  HG_SKIP_UNLESS_IT_RUNS(test.kernel);
  const auto launch = [&](const GemmArgs& args, cudaStream_t stream) {
    return test.kernel.tuning->launch(test.config, args, stream);
  };
  // Small, and many tiles of the largest for each SM.
  LadderProblem large = test.problem;
  large.problem.shape = {2051, 2049, 1003};
  for (const LadderProblem& each : {test.problem, large}) {
    SCOPED_TRACE(test_name(each));
    VerifyReport report;
    ASSERT_NO_FATAL_FAILURE(verify_launch({test_name(test), launch}, each, false, &report));
    if (report.detail.find("bytes of shared memory, and this GPU gives") != std::string::npos) {
      GTEST_SKIP() << report.detail;
    }
    EXPECT_TRUE(report.verified) << report.detail;
  }
}

INSTANTIATE_TEST_SUITE_P(AllConfigs, Configs, testing::ValuesIn(config_cases(all_kernels())),
                         [](const auto& param) { return test_name(param.param); });

}  // namespace
}  // namespace hopper_gemm
