// Every configuration of CUTLASS against the fp64 product, where the program was built with them.

#include "benchmark/cutlass_baseline.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "benchmark/shapes.hpp"
#include "require_hopper.hpp"
#include "verify/verify.hpp"

namespace hopper_gemm {
namespace {

TEST(CutlassBaseline, MatchesTheFp64Product) {
  HG_SKIP_WITHOUT_HOPPER();
  if (cutlass_configs(DataType::BFloat16).empty()) GTEST_SKIP() << "built without CUTLASS";
  for (const DataType type : {DataType::BFloat16, DataType::Float16}) {
    std::vector<VerifyTarget> targets;
    for (const CutlassConfig& config : cutlass_configs(type)) targets.push_back({config.name, config.launch});
    for (const GemmShape& shape : {GemmShape{1, 8, 8}, GemmShape{129, 264, 1000}, GemmShape{1752, 1000, 1000},
                                   GemmShape{2048, 2048, 2048}}) {
      std::vector<VerifyReport> reports;
      const Status status = verify_targets({.shape = shape, .input_type = type, .output_type = type}, targets,
                                           {.seed = 20260101, .timeout_seconds = 20}, &reports);
      ASSERT_TRUE(status.ok()) << status.message();
      for (std::size_t i = 0; i < targets.size(); ++i) {
        EXPECT_TRUE(reports[i].verified) << to_string(type) << ", " << to_string(shape) << ", "
                                         << targets[i].name << ": " << reports[i].detail;
      }
    }
  }
}

}  // namespace
}  // namespace hopper_gemm
