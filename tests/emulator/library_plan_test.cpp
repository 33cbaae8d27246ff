// The library through its public interface on the emulated GPU, with both back ends: what its plans compute, what they
// refuse, and whatever a fuzzer comes upon.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "emulated_memory.hpp"
#include "emulator/emulator.hpp"
#include "gemm/host/backend.hpp"
#include "gemm/host/operand_maps.hpp"
#include "hopper_gemm/gemm.h"
#include "hopper_gemm/gemm.hpp"
#include "tests/allocation_limit.hpp"
#include "tests/library_gemm.hpp"
#include "tests/library_plans.hpp"

namespace hopper_gemm::emulator {
namespace {

using library::OperandMajor;
using testing::HasSubstr;
using testing::StartsWith;

// The same for all: back ends remember what a GPU is able to do.
constexpr int kSms = 8;

PlanTarget emulated_target(std::uint64_t seed) {
  configure({.seed = seed, .sms = kSms});
  return {.allocate = emulated_memory(), .wait = [] {
            return *last_report() == '\0' ? Status() : Status(StatusCode::CudaError, last_report());
          }};
}

class EmulatedLibraryPlans : public testing::TestWithParam<PlanCase> {};

TEST_P(EmulatedLibraryPlans, ComputeWhatTheirDescriptorSays) {
  for (const std::uint64_t seed : {1, 2}) {
    EXPECT_EQ(fault_of(GetParam(), emulated_target(seed)), "") << "seed " << seed;
  }
}

std::string name_of_param(const testing::TestParamInfo<PlanCase>& param) {
  return std::to_string(param.index) + "_" + test_name(param.param);
}

std::vector<PlanCase> pairwise_cases() {
  std::vector<PlanCase> cases;
  for (const GridPoint& point : pairwise_points()) cases.push_back(case_at(point));
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Pairwise, EmulatedLibraryPlans, testing::ValuesIn(pairwise_cases()), name_of_param);

TEST(EmulatedLibraryInputs, FetchMoreThanABoxWhereKMajorLinesAreAligned) {
  EXPECT_EQ(library::input_promotion(OperandMajor::K, 4096), L2Promotion::B256);
  EXPECT_EQ(library::input_promotion(OperandMajor::K, 4096 + 128), L2Promotion::B128);
  EXPECT_EQ(library::input_promotion(OperandMajor::K, 4096 + 16), L2Promotion::B128);
  EXPECT_EQ(library::input_promotion(OperandMajor::MN, 4096), L2Promotion::B128);
}

/// What has no product, or is multiplied by zero, is NaN; so is a C that is D where beta is 0.
std::vector<PlanCase> cases_without_product() {
  std::vector<PlanCase> cases;
  for (const int k : {0, 72}) {
    for (const float alpha : {0.0F, std::numeric_limits<float>::quiet_NaN()}) {
      // A NaN counts for nothing where there is no product.
      if (k != 0 && alpha != 0) continue;
      for (const float beta : {0.0F, -2.0F}) {
        for (const bool in_place : {false, true}) {
          const LibraryProblem problem{.shape = {37, 40, k},
                                       .bias = Bias::PerColumn,
                                       .alpha = alpha,
                                       .beta = beta,
                                       .in_place = in_place};
          cases.push_back({problem, {.column_major_d = in_place}, {}});
        }
      }
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(WithoutProduct, EmulatedLibraryPlans, testing::ValuesIn(cases_without_product()),
                         name_of_param);

/// NaN and infinities in A, B, C and the bias go where IEEE 754 says, and nowhere else.
std::vector<PlanCase> cases_of_special_values() {
  std::vector<PlanCase> cases;
  for (const char* const family : {"wgmma", "mma_sync"}) {
    for (const DataType type : {DataType::BFloat16, DataType::Float16, DataType::Float32}) {
      for (const float beta : {0.0F, -2.0F}) {
        for (const bool transposes : {false, true}) {
          LibraryProblem problem{.shape = {133, 72, 40}, .output_type = type};
          problem.input_type = transposes ? DataType::Float16 : DataType::BFloat16;
          problem.major_a = transposes ? OperandMajor::MN : OperandMajor::K;
          problem.activation = transposes ? Activation::Relu : Activation::None;
          problem.bias = beta == 0 ? Bias::None : Bias::PerRow;
          problem.beta = beta;
          problem.in_place = transposes;
          problem.values = OperandValues::Special;
          PlanCase plan_case{problem, {.column_major_d = transposes}, {}};
          plan_case.options.config = family;
          cases.push_back(plan_case);
        }
      }
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(SpecialValues, EmulatedLibraryPlans, testing::ValuesIn(cases_of_special_values()),
                         name_of_param);

TEST(EmulatedLibraryPlan, RefusesOperandsAndLeavesDAlone) {
  EXPECT_EQ(fault_of_refusals(emulated_target(1)), "");
}

TEST(EmulatedLibraryPlan, TakesOperandsInOtherPlaces) {
  EXPECT_EQ(fault_of_relocation(emulated_target(1)), "");
}

/// Elements that say where they come from.
std::uint16_t gate_at(std::int64_t k, std::int64_t column) {
  return static_cast<std::uint16_t>(k * 100 + column);
}
constexpr std::uint16_t kOfUp = 0x8000;

TEST(EmulatedLibraryPlan, InterleavesGateAndUpInEveryLayout) {
  constexpr std::int64_t kK = 19;
  constexpr std::int64_t kN = 48;
  constexpr std::int64_t kGap = 3;
  const auto index = [](const MatrixLayout& layout, std::int64_t k, std::int64_t column) {
    const bool rows_lie_along_n = (layout.order == Layout::RowMajor) != layout.transposed;
    return rows_lie_along_n ? k * layout.leading_dimension + column : column * layout.leading_dimension + k;
  };
  for (const Layout order : {Layout::RowMajor, Layout::ColumnMajor}) {
    for (const bool transposed : {false, true}) {
      GemmDescriptor gemm;
      gemm.m = 1;
      gemm.n = kN;
      gemm.k = kK;
      gemm.gated = true;
      gemm.b.order = order;
      gemm.b.transposed = transposed;
      gemm.b.leading_dimension = kN + kGap;
      gemm.b.alignment_bytes = 2;
      const MatrixLayout halves = {.order = transposed ? Layout::RowMajor : Layout::ColumnMajor,
                                   .leading_dimension = kN / 2 + kGap};
      constexpr std::size_t kElems = (kN + kGap) * (kN + kGap);
      const auto allocate_elems = [] { return static_cast<std::uint16_t*>(allocate(kElems * 2)); };
      std::uint16_t* const gate = allocate_elems();
      std::uint16_t* const up = allocate_elems();
      std::uint16_t* const b = allocate_elems();
      for (std::int64_t k = 0; k < kK; ++k) {
        for (std::int64_t column = 0; column < kN / 2; ++column) {
          gate[index(halves, k, column)] = gate_at(k, column);
          up[index(halves, k, column)] = gate_at(k, column) | kOfUp;
        }
      }
      configure({});
      const Status status = interleave_gate_and_up(gemm, gate, up, halves, b, nullptr);
      ASSERT_TRUE(status.ok()) << status.message() << last_report();
      for (std::int64_t k = 0; k < kK; ++k) {
        for (std::int64_t column = 0; column < kN; ++column) {
          const std::uint16_t expected = gate_at(k, column / 16 * 8 + column % 8);
          ASSERT_EQ(b[index(gemm.b, k, column)], column / 8 % 2 == 0 ? expected : expected | kOfUp)
              << k << ", " << column;
        }
      }
    }
  }
}

TEST(EmulatedLibraryPlan, SaysWhatItChoseAndWhy) {
  const PlanTarget target = emulated_target(1);
  GemmDescriptor gemm;
  gemm.m = gemm.n = gemm.k = 256;
  GemmPlan plan;
  ASSERT_TRUE(plan.create(gemm).ok());
  EXPECT_THAT(plan.config(), StartsWith("cooperative_"));
  EXPECT_THAT(plan.explain(), HasSubstr(plan.config()));
  EXPECT_THAT(plan.explain(), HasSubstr("256x256x256"));
  gemm.a.alignment_bytes = 4;
  ASSERT_TRUE(plan.create(gemm).ok());
  EXPECT_THAT(plan.config(), StartsWith("mma_sync_"));
  EXPECT_THAT(plan.explain(), HasSubstr("not wgmma: wgmma: the address of A is not a multiple of 16 bytes"));
}

// The driver takes maps that its manual does not allow. Should it refuse them one day, every plan still has to run.
PlanTarget strict_target(std::uint64_t seed) {
  PlanTarget target = emulated_target(seed);
  configure({.seed = seed, .sms = kSms, .strict_tensor_maps = true});
  return target;
}

TEST_P(EmulatedLibraryPlans, ComputeItWhereTheDriverTakesWhatItsManualAllowsAlone) {
  EXPECT_EQ(fault_of(GetParam(), strict_target(1)), "");
}

TEST(EmulatedLibraryPlan, TakesTheNextKernelWhereTheDriverRefusesATensorMap) {
  GemmDescriptor gemm;
  gemm.m = 16;
  gemm.n = 64;
  gemm.k = 2048;
  gemm.b.order = Layout::ColumnMajor;
  GemmPlan plan;
  emulated_target(1);
  ASSERT_TRUE(plan.create(gemm).ok());
  const std::string skinny = plan.config();
  GemmOptions options;
  options.config = skinny;
  strict_target(1);
  EXPECT_EQ(plan.create(gemm, options).code(), StatusCode::Unsupported);
  ASSERT_TRUE(plan.create(gemm).ok());
  EXPECT_THAT(plan.config(), StartsWith("cooperative_"));
  EXPECT_NE(plan.config(), skinny);
  EXPECT_THAT(plan.explain(), HasSubstr("chosen after " + skinny + " failed (A: cuTensorMapEncodeTiled"));

  // No map of wgmma's: a batch begins within the line of the one before.
  gemm.batch_count = 2;
  gemm.a.leading_dimension = 2 * gemm.k;
  gemm.a.batch_stride = gemm.k;
  ASSERT_TRUE(plan.create(gemm).ok());
  EXPECT_THAT(plan.config(), StartsWith("mma_sync_"));
  EXPECT_THAT(plan.explain(), HasSubstr("not wgmma: A: cuTensorMapEncodeTiled"));
}

TEST(EmulatedLibraryPlan, IsMadeByEveryConfigurationItNames) {
  const PlanTarget target = emulated_target(1);
  GemmDescriptor gemm;
  gemm.m = gemm.n = 64;
  gemm.k = 120 * 64;  // a block for each CTA of those that have most
  for (const library::Backend* backend : {&library::wgmma_backend(), &library::mma_sync_backend()}) {
    for (const std::string& config : backend->configs()) {
      GemmPlan plan;
      GemmOptions options;
      options.config = config;
      options.workspace_limit_bytes = kWorkspaceLimitBytes;
      const Status status = plan.create(gemm, options);
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(plan.config(), config);
    }
  }
  GemmOptions options;
  options.config = "cooperative_64x64_w1_s12_k9";
  EXPECT_EQ(GemmPlan().create(gemm, options).code(), StatusCode::InvalidArgument);
}

TEST(EmulatedLibraryPlan, HasKOfAsManyBlocksAsItIsSplitInto) {
  const PlanTarget target = emulated_target(1);
  GemmDescriptor gemm;
  gemm.m = gemm.n = 64;
  gemm.k = 3 * 64;
  GemmOptions options;
  options.config = "cooperative_64x64_w1_s12_k4";
  EXPECT_EQ(GemmPlan().create(gemm, options).code(), StatusCode::Unsupported);
  gemm.k += 8;
  EXPECT_TRUE(GemmPlan().create(gemm, options).ok());
}

// --- The fuzzer ------------------------------------------------------------------------------------------------------

// Where a line is multiplied by a thousand the emulator has time for a few hundred.
constexpr int kMaxExtent = 160;

void expect_no_fault(std::uint64_t seed) {
  const std::string fault = fuzz(seed, kMaxExtent, emulated_target(seed));
  ASSERT_TRUE(fault.empty()) << fault;
}

TEST(EmulatedLibraryFuzzer, FindsNothingInWhatItAlwaysDraws) {
  constexpr std::uint64_t kProblems = 400;
  for (std::uint64_t seed = 0; seed < kProblems; ++seed) ASSERT_NO_FATAL_FAILURE(expect_no_fault(seed));
}

TEST(EmulatedLibraryFuzzer, FindsNothingNew) {
  constexpr double kSeconds = 5;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(fuzz_seconds(kSeconds));
  std::uint64_t seed = first_fuzz_seed();
  std::cout << "the first seed is " << seed << '\n';
  RecordProperty("first_seed", std::to_string(seed));
  const std::uint64_t first = seed;
  do {
    ASSERT_NO_FATAL_FAILURE(expect_no_fault(seed++));
  } while (std::chrono::steady_clock::now() < end);
  std::cout << seed - first << " problems\n";
}

/// Makes what memory is left for run out at each allocation in turn, until there is enough.
template <typename Attempt>
int expect_out_of_memory(Attempt attempt) {
  constexpr int kMost = 10000;
  for (int allocations = 0; allocations < kMost; ++allocations) {
    const AllocationLimit limit(allocations);
    if (attempt(limit)) return allocations;
  }
  ADD_FAILURE() << "there is never enough memory";
  return kMost;
}

TEST(EmulatedLibraryMemory, RunsOutWithAStatusWhereverPlansAreMade) {
  configure({.sms = kSms});
  // Other tests may have made the plan before: what is remembered of the GPU is not asked for again.
  GemmDescriptor gemm;
  gemm.m = gemm.n = 200;
  gemm.k = 4096;
  const int needed = expect_out_of_memory([&](const AllocationLimit& limit) {
    GemmPlan plan;
    const Status status = plan.create(gemm);
    EXPECT_EQ(status.ok(), !limit.was_reached());
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::OutOfMemory) << status.message();
    return status.ok();
  });
  EXPECT_GT(needed, 10);
}

TEST(EmulatedLibraryMemory, RunsOutWithAStatusInC) {
  configure({.sms = kSms});
  hgemm_descriptor_t gemm = HGEMM_DESCRIPTOR_INIT;
  gemm.m = gemm.n = gemm.k = 128;
  const int needed = expect_out_of_memory([&](const AllocationLimit& limit) {
    auto* plan = reinterpret_cast<hgemm_plan_t*>(&gemm);
    const hgemm_status_t status = hgemm_plan_create(&plan, &gemm, nullptr);
    EXPECT_EQ(status == HGEMM_OK, !limit.was_reached());
    if (status == HGEMM_OK) {
      hgemm_plan_destroy(plan);
    } else {
      EXPECT_EQ(status, HGEMM_OUT_OF_MEMORY);
      EXPECT_EQ(plan, nullptr);
      EXPECT_STRNE(hgemm_last_error_message(), "");
    }
    return status == HGEMM_OK;
  });
  EXPECT_GT(needed, 10);
}

}  // namespace
}  // namespace hopper_gemm::emulator
