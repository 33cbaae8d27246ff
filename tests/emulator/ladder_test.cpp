// Every version of every ladder on the emulated GPU: whatever its schedule, the product is exact and nothing else is
// written.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "emulated_gemm.hpp"
#include "emulator/emulated_ladder.hpp"
#include "emulator/emulator.hpp"
#include "fresh_seed.hpp"
#include "tests/ladder_problems.hpp"

namespace hopper_gemm::emulator {
namespace {

// The last but one: tiles that threads store in part, and others after them.
constexpr GemmShape kHopperShapes[] = {
    {1, 8, 8},      {17, 40, 72},   {129, 257, 264}, {200, 264, 72},  {256, 512, 320},
    {384, 256, 64}, {128, 1032, 8}, {264, 257, 264}, {520, 776, 328},
};
constexpr std::uint64_t kHopperSeeds[] = {1, 2, 3, 4, 5, 6};
// The others' problems are many, and their warps have less to agree upon.
constexpr std::uint64_t kSeeds[] = {1};
constexpr std::uint64_t kConfigSeed = 1;
constexpr std::string_view kFirstSimtVectors = "simt.6";
constexpr int kSms[] = {2, 4, 6};

void expect_product(const std::function<Status(const GemmArgs&)>& launch, EmulationOptions options,
                    EmulatedGemm* gemm) {
  options.sms = kSms[options.seed % std::size(kSms)];
  SCOPED_TRACE("seed " + std::to_string(options.seed) + " on " + std::to_string(options.sms) + " SMs");
  configure(options);
  gemm->poison();
  const Status status = launch(gemm->args());
  ASSERT_TRUE(status.ok()) << status.message() << '\n' << last_report();
  ASSERT_EQ(gemm->fault(), "");
}

void expect_products(const KernelInfo& kernel, const LadderProblem& problem,
                     std::span<const std::uint64_t> seeds) {
  EmulatedGemm gemm(problem);
  const auto launch = [&](const GemmArgs& args) { return kernel.launch(args, nullptr); };
  for (const std::uint64_t seed : with_fresh_seeds(seeds)) expect_product(launch, {.seed = seed}, &gemm);
}

std::span<const KernelInfo> emulated_hopper_kernels() {
  const std::span<const KernelInfo> kernels = emulated_kernels();
  const auto end = std::find_if(kernels.begin(), kernels.end(), [](const KernelInfo& kernel) {
    return kernel.version.find('.') != std::string_view::npos;
  });
  return {kernels.begin(), end};
}

using Param = std::tuple<KernelInfo, GemmShape>;

class EmulatedLadder : public testing::TestWithParam<Param> {};

TEST_P(EmulatedLadder, IsExactAndCleanWhateverTheSchedule) {
  const auto& [kernel, shape] = GetParam();
  expect_products(kernel, {{.shape = shape}}, kHopperSeeds);
}

std::string param_name(const testing::TestParamInfo<Param>& param) {
  return std::string(std::get<0>(param.param).name) + "_" + test_name(std::get<1>(param.param));
}

INSTANTIATE_TEST_SUITE_P(AllVersions, EmulatedLadder,
                         testing::Combine(testing::ValuesIn(emulated_hopper_kernels().begin(),
                                                            emulated_hopper_kernels().end()),
                                          testing::ValuesIn(kHopperShapes)),
                         param_name);

class EmulatedOtherLadders : public testing::TestWithParam<LadderCase> {};

TEST_P(EmulatedOtherLadders, AreExactAndCleanWhateverTheSchedule) {
  expect_products(GetParam().kernel, GetParam().problem, kSeeds);
}

/// All but operands at other addresses for the versions of the SIMT ladder that load element by element.
std::vector<LadderCase> emulated_ladder_cases() {
  std::vector<LadderCase> cases = ladder_cases(emulated_kernels());
  std::erase_if(cases, [](const LadderCase& each) {
    const bool is_elsewhere = each.problem.offset != 0 || each.problem.pitch_remainder != 0;
    return is_elsewhere && each.kernel.version.starts_with("simt.") &&
           each.kernel.version < kFirstSimtVectors;
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(AllVersions, EmulatedOtherLadders, testing::ValuesIn(emulated_ladder_cases()),
                         [](const auto& param) { return test_name(param.param); });

class EmulatedConfigs : public testing::TestWithParam<ConfigCase> {};

TEST_P(EmulatedConfigs, AreExactAndClean) {
  const ConfigCase& test = GetParam();
  EmulatedGemm gemm(test.problem);
  const auto launch = [&](const GemmArgs& args) {
    return test.kernel.tuning->launch(test.config, args, nullptr);
  };
  // Of compute capability 8.0, which has room for all of them.
  expect_product(launch, {.seed = kConfigSeed, .compute_capability = {8, 0}}, &gemm);
}

/// Types other than a ladder's own differ from it in a template's argument only, so that a few configurations do for them.
std::vector<ConfigCase> emulated_config_cases() {
  constexpr std::size_t kEveryFourth = 4;
  std::vector<ConfigCase> cases;
  std::size_t of_other_types = 0;
  for (const ConfigCase& each : config_cases(emulated_kernels())) {
    const bool is_own = each.problem.problem.input_type == each.kernel.target.input_type;
    if (is_own || of_other_types++ % kEveryFourth == 0) cases.push_back(each);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(AllConfigs, EmulatedConfigs, testing::ValuesIn(emulated_config_cases()),
                         [](const auto& param) { return test_name(param.param); });

}  // namespace
}  // namespace hopper_gemm::emulator
