#include <gtest/gtest.h>

#include "ladder/hopper/wgmma_ceiling.hpp"
#include "registry/registry.hpp"

namespace hopper_gemm {
namespace {

TEST(WgmmaCeiling, CountsWholeBlocks) {
  EXPECT_EQ(wgmma_ceiling_flops({128, 256, 64}), 2.0 * 128 * 256 * 64);
  EXPECT_EQ(wgmma_ceiling_flops({129, 1, 1}), 2.0 * 2 * 128 * 256 * 64);
  EXPECT_EQ(wgmma_ceiling_flops({8192, 8192, 8192}), 2.0 * 8192 * 8192 * 8192);
}

}  // namespace
}  // namespace hopper_gemm
