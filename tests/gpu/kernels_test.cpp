// Every version of the ladder against the fp64 product, over shapes that no tile divides.

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "benchmark/shapes.hpp"
#include "expect_verified.hpp"
#include "registry.hpp"
#include "require_hopper.hpp"
#include "verify/verify.hpp"

namespace hopper_gemm {
namespace {

constexpr GemmShape kShapes[] = {
    {1, 8, 8},        {17, 40, 72},    {129, 257, 264},  {1000, 776, 328},   {4096, 4096, 8},
    {8192, 8, 16384}, {1, 1, 8},       {1, 4099, 64},    {4099, 1, 64},      {63, 65, 120},
    {64, 64, 64},     {128, 128, 128}, {128, 256, 64},   {128, 256, 192},    {128, 256, 256},
    {256, 512, 320},  {128, 256, 384}, {384, 768, 4096}, {1752, 1000, 1000}, {2048, 2048, 2048},
};

using Param = std::tuple<KernelInfo, GemmShape>;

// Indices beyond 2^31 elements, in D and in A.
constexpr GemmShape kLargeShapes[] = {{46400, 46400, 8}, {65544, 8, 32776}};

class HopperLadder : public testing::TestWithParam<Param> {};

TEST_P(HopperLadder, MatchesTheFp64Product) {
  HG_SKIP_WITHOUT_HOPPER();
  const auto& [kernel, shape] = GetParam();
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
  if (static_cast<std::size_t>(verify_required_bytes({shape})) > free_bytes) {
    GTEST_SKIP() << "needs " << verify_required_bytes({shape}) << " bytes of GPU memory, free are "
                 << free_bytes;
  }
  expect_verified(kernel, shape);
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

}  // namespace
}  // namespace hopper_gemm
