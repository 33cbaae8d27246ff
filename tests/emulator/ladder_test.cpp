// Every version of the ladder on the emulated GPU: whatever its schedule, the product is exact and nothing else is
// written.

#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <tuple>

#include "emulated_gemm.hpp"
#include "emulator/emulated_ladder.hpp"
#include "emulator/emulator.hpp"

namespace hopper_gemm::emulator {
namespace {

constexpr GemmShape kShapes[] = {
    {1, 8, 8},       {17, 40, 72},   {129, 257, 264}, {200, 264, 72},
    {256, 512, 320}, {384, 256, 64}, {128, 1032, 8},  {520, 776, 328},
};
constexpr std::uint64_t kSeeds[] = {1, 2, 3, 4, 5, 6};
constexpr int kSms[] = {2, 4, 6};

// One for the whole run, so that a line of its output is enough to repeat it.
std::uint64_t fresh_seed() {
  static const std::uint64_t seed = std::random_device()();
  return seed;
}

using Param = std::tuple<KernelInfo, GemmShape>;

class EmulatedLadder : public testing::TestWithParam<Param> {};

void expect_product(const KernelInfo& kernel, std::uint64_t seed, EmulatedGemm* gemm) {
  const int sms = kSms[seed % std::size(kSms)];
  SCOPED_TRACE("seed " + std::to_string(seed) + " on " + std::to_string(sms) + " SMs");
  configure({.seed = seed, .sms = sms, .trace_path = ""});
  gemm->poison();
  const Status status = kernel.launch(gemm->args(), nullptr);
  ASSERT_TRUE(status.ok()) << status.message() << '\n' << last_report();
  ASSERT_EQ(gemm->fault(), "");
}

TEST_P(EmulatedLadder, IsExactAndCleanWhateverTheSchedule) {
  const auto& [kernel, shape] = GetParam();
  std::cout << "the fresh seed is " << fresh_seed() << '\n';
  RecordProperty("fresh_seed", std::to_string(fresh_seed()));
  EmulatedGemm gemm(shape);
  for (const std::uint64_t seed : kSeeds) expect_product(kernel, seed, &gemm);
  expect_product(kernel, fresh_seed(), &gemm);
}

std::string param_name(const testing::TestParamInfo<Param>& param) {
  return std::string(std::get<0>(param.param).name) + "_" + to_string(std::get<1>(param.param));
}

INSTANTIATE_TEST_SUITE_P(AllVersions, EmulatedLadder,
                         testing::Combine(testing::ValuesIn(emulated_kernels().begin(),
                                                            emulated_kernels().end()),
                                          testing::ValuesIn(kShapes)),
                         param_name);

}  // namespace
}  // namespace hopper_gemm::emulator
