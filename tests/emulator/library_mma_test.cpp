// The library's back end mma on the emulated GPU: whatever the operands, D is exact and nothing else is written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "emulated_memory.hpp"
#include "emulator/emulator.hpp"
#include "gemm/host/backend.hpp"
#include "tests/library_gemm.hpp"

namespace hopper_gemm::emulator {
namespace {

using library::Backend;
using library::Device;
using library::mma_sync_backend;
using library::OperandMajor;
using library::PreparedGemm;
using library::Problem;
using testing::HasSubstr;

constexpr int kSms = 4;
constexpr Device kHopper = {.id = 0, .major = 9, .minor = 0, .sm_count = kSms, .max_shared_bytes = 227 << 10};
constexpr Device kAda = {.id = 0, .major = 8, .minor = 9, .sm_count = kSms, .max_shared_bytes = 99 << 10};

constexpr OperandMajor kMajors[] = {OperandMajor::K, OperandMajor::MN};
constexpr DataType kTypes[] = {DataType::BFloat16, DataType::Float16, DataType::Float32};

struct Case {
  std::string config;  ///< the back end's own choice if empty
  LibraryProblem problem;
};

std::string test_name(const Case& test) {
  return (test.config.empty() ? "" : test.config.substr(4) + "_") + test_name(test.problem);
}

void PrintTo(const Case& test, std::ostream* out) { *out << test_name(test); }

/// Problems that go through types, layouts and epilogues in step with `number`, so that a few of them have every pair.
LibraryProblem varied(GemmShape shape, int number) {
  LibraryProblem problem{.shape = shape};
  problem.input_type = kTypes[number % 2];
  problem.output_type = kTypes[number % 3];
  problem.bias_type = kTypes[number / 2 % 3];
  problem.bias = static_cast<Bias>(number % 3);
  problem.bias_offset = number % 2;
  problem.activation = number % 4 == 1 ? Activation::Relu : Activation::None;
  problem.alpha = number % 5 < 3 ? 1 : 2;
  problem.beta = number % 7 < 4 ? 0.0F : -2.0F;
  problem.in_place = number % 2 == 1;
  problem.c = {.offset = number % 3, .remainder = number / 3 % 2};
  problem.d = {.offset = number / 2 % 3, .remainder = number % 2};
  return problem;
}

/// Every kernel, at partial tiles on both sides, more K blocks than stages, and a K block that is cut short.
std::vector<Case> cases_of_kernels() {
  struct KernelCase {
    const char* config;
    GemmShape shape;
    int offset;  // and remainder, of A and B
  };
  constexpr KernelCase kKernels[] = {
      {"mma_sync_256x128x64_s3", {261, 131, 203}, 0},    {"mma_sync_128x128x64_s3", {133, 131, 267}, 0},
      {"mma_sync_64x64x64_s4", {69, 131, 331}, 0},       {"mma_sync_64x64x32_s3_copy4", {69, 133, 139}, 2},
      {"mma_sync_64x64x32_s3_copy2", {133, 67, 139}, 1},
  };
  std::vector<Case> cases;
  int number = 0;
  for (const KernelCase& kernel : kKernels) {
    for (const DataType type : {DataType::BFloat16, DataType::Float16}) {
      for (const OperandMajor major_a : kMajors) {
        for (const OperandMajor major_b : kMajors) {
          LibraryProblem problem = varied(kernel.shape, ++number);
          problem.input_type = type;
          problem.major_a = major_a;
          problem.major_b = major_b;
          problem.a = {.offset = kernel.offset, .remainder = kernel.offset};
          problem.b = {.offset = kernel.offset, .remainder = kernel.offset, .gap = 16};
          cases.push_back({kernel.config, problem});
        }
      }
    }
  }
  return cases;
}

/// Shapes that no tile, chunk or vector divides, and where nothing is left or multiplied; rows that start anywhere.
std::vector<Case> cases_of_shapes() {
  constexpr GemmShape kShapes[] = {{1, 1, 1},   {1, 70, 40},  {70, 1, 33},  {17, 19, 23},
                                   {33, 35, 3}, {64, 64, 64}, {65, 66, 65}, {37, 41, 0}};
  struct Memories {
    OperandMemory a;
    OperandMemory b;
  };
  // The narrower of the two decides: by where it begins, or by where its lines do.
  const Memories kMemories[] = {{{}, {}},
                                {{.offset = 2}, {.remainder = 4}},
                                {{}, {.remainder = 2}},
                                {{.offset = 1}, {}},
                                {{.remainder = 2}, {.remainder = 3}}};
  std::vector<Case> cases;
  int number = 0;
  for (const GemmShape& shape : kShapes) {
    for (const Memories& memories : kMemories) {
      for (const OperandMajor major_a : kMajors) {
        for (const OperandMajor major_b : kMajors) {
          LibraryProblem problem = varied(shape, ++number);
          problem.major_a = major_a;
          problem.major_b = major_b;
          problem.a = memories.a;
          problem.b = memories.b;
          cases.push_back({"", problem});
        }
      }
    }
  }
  return cases;
}

/// What is multiplied by zero is NaN, and so is a C that nobody may read.
std::vector<Case> cases_of_zeros() {
  std::vector<Case> cases;
  int number = 0;
  for (const float alpha : {0.0F, std::numeric_limits<float>::quiet_NaN()}) {
    for (const float beta : {0.0F, -2.0F}) {
      for (const bool in_place : {false, true}) {
        for (const int remainder : {0, 1}) {
          // Without products alpha counts for nothing, whatever it is.
          LibraryProblem problem = varied({37, 41, alpha == 0 ? 40 : 0}, ++number);
          problem.alpha = alpha;
          problem.beta = beta;
          problem.in_place = in_place;
          problem.a.remainder = remainder;
          cases.push_back({"", problem});
        }
      }
    }
  }
  return cases;
}

std::vector<Case> cases_of_batches() {
  std::vector<Case> cases;
  int number = 0;
  for (const int remainder : {0, 2, 1}) {
    for (const OperandMajor major : kMajors) {
      for (int shared = 0; shared < 8; ++shared) {
        LibraryProblem problem = varied({67, 70, 45}, ++number);
        problem.batch_count = 3;
        problem.major_a = major;
        problem.major_b = kMajors[number / 2 % 2];
        problem.a = {.remainder = remainder, .shared = shared % 2 == 1};
        problem.b = {.shared = shared / 2 % 2 == 1};
        problem.c.shared = number % 3 == 0 && !problem.in_place;
        problem.bias_shared = shared / 4 == 1;
        cases.push_back({"", problem});
      }
    }
  }
  return cases;
}

/// Products of about the size at which the functions bend.
std::vector<Case> cases_of_activations() {
  std::vector<Case> cases;
  int number = 0;
  for (const Activation activation :
       {Activation::Relu, Activation::Gelu, Activation::GeluTanh, Activation::Silu}) {
    for (const DataType type : kTypes) {
      for (const Bias bias : {Bias::None, Bias::PerRow, Bias::PerColumn}) {
        LibraryProblem problem = varied({66, 70, 64}, ++number);
        problem.output_type = type;
        problem.activation = activation;
        problem.bias = bias;
        problem.alpha = 0.125F;
        cases.push_back({"", problem});
      }
    }
  }
  return cases;
}

/// Auxiliary outputs and gates, with all that goes along with them.
std::vector<Case> cases_of_outputs() {
  std::vector<Case> cases;
  int number = 0;
  for (const char* const config :
       {"mma_sync_256x128x64_s3", "mma_sync_128x128x64_s3", "mma_sync_64x64x64_s4", ""}) {
    for (int outputs = 1; outputs < kOutputs; ++outputs) {
      for (const Activation activation : {Activation::None, Activation::Relu, Activation::GeluTanh}) {
        LibraryProblem problem = varied({69, 135, 75}, ++number);
        problem.activation = activation;
        problem.batch_count = 1 + number % 2;
        problem.aux = {.offset = number % 3, .remainder = number / 2 % 2};
        cases.push_back({config, with_outputs(problem, outputs)});
      }
    }
  }
  return cases;
}

/// Lines so far apart that elements of one tile are more than 2^32 apart.
std::vector<Case> cases_of_huge_pitches() {
  constexpr std::int64_t kGap = (std::int64_t{1} << 27) - 256;
  constexpr int kLines = 40;
  std::vector<Case> cases;
  for (const OperandMajor major : kMajors) {
    const auto add = [&](const char* config, int lines, const OperandMemory& memory) {
      LibraryProblem problem{.shape = {9, 9, 9}};
      (major == OperandMajor::K ? problem.shape.m : problem.shape.k) = lines;
      problem.major_a = major;
      problem.a = memory;
      cases.push_back({config, problem});
    };
    add("mma_sync_64x64x64_s4", kLines, {.gap = kGap});
    add("mma_sync_64x64x32_s3_copy4", kLines, {.remainder = 2, .gap = kGap});
    add("mma_sync_64x64x32_s3_copy2", kLines, {.remainder = 1, .gap = kGap});
    // Aligned, but more than 16-byte copies count.
    add("", kLines / 4, {.gap = 4 * kGap});
  }
  LibraryProblem problem = varied({kLines / 2, 9, 9}, 4);
  problem.beta = -2;
  problem.c.gap = kGap;
  problem.d.gap = 2 * kGap;
  cases.push_back({"", problem});
  return cases;
}

class EmulatedLibraryMma : public testing::TestWithParam<Case> {};

TEST_P(EmulatedLibraryMma, IsExactAndClean) {
  const Case& test = GetParam();
  LibraryGemm gemm(test.problem, emulated_memory());
  configure({.seed = 1, .sms = kSms});
  std::unique_ptr<const PreparedGemm> prepared;
  const Status preparation = mma_sync_backend().prepare(gemm.problem(), kHopper, test.config, &prepared);
  ASSERT_TRUE(preparation.ok()) << preparation.message();
  EXPECT_EQ(prepared->workspace_bytes(), 0U);
  const Status launch = prepared->launch(gemm.args(), nullptr, nullptr);
  ASSERT_TRUE(launch.ok()) << launch.message() << '\n' << last_report();
  EXPECT_EQ(gemm.fault(), "") << prepared->explain();
}

std::string name_of_param(const testing::TestParamInfo<Case>& param) {
  return std::to_string(param.index) + "_" + test_name(param.param);
}

INSTANTIATE_TEST_SUITE_P(Kernels, EmulatedLibraryMma, testing::ValuesIn(cases_of_kernels()), name_of_param);
INSTANTIATE_TEST_SUITE_P(Shapes, EmulatedLibraryMma, testing::ValuesIn(cases_of_shapes()), name_of_param);
INSTANTIATE_TEST_SUITE_P(Zeros, EmulatedLibraryMma, testing::ValuesIn(cases_of_zeros()), name_of_param);
INSTANTIATE_TEST_SUITE_P(Batches, EmulatedLibraryMma, testing::ValuesIn(cases_of_batches()), name_of_param);
INSTANTIATE_TEST_SUITE_P(Outputs, EmulatedLibraryMma, testing::ValuesIn(cases_of_outputs()), name_of_param);
INSTANTIATE_TEST_SUITE_P(Activations, EmulatedLibraryMma, testing::ValuesIn(cases_of_activations()),
                         name_of_param);
INSTANTIATE_TEST_SUITE_P(HugePitches, EmulatedLibraryMma, testing::ValuesIn(cases_of_huge_pitches()),
                         name_of_param);

// What is chosen, for operands that need not be there.

class LibraryMmaChoice : public testing::Test {
 protected:
  void SetUp() override { configure({}); }
};

Problem problem_of(GemmShape shape) {
  Problem problem{};
  problem.alignments = {16, 16, 16, 16};
  problem.args.shape = shape;
  problem.args.batch_count = 1;
  const std::int64_t pitch = (std::int64_t{shape.k} + 7) / 8 * 8;
  problem.args.a = {nullptr, OperandMajor::K, pitch, 0};
  problem.args.b = {nullptr, OperandMajor::K, pitch, 0};
  return problem;
}

std::string chosen(const Problem& problem, Device device) {
  std::unique_ptr<const PreparedGemm> prepared;
  const Status status = mma_sync_backend().prepare(problem, device, "", &prepared);
  return status.ok() ? prepared->config() : status.message();
}

TEST_F(LibraryMmaChoice, IsTheLargestTileThatFillsTheGpu) {
  const Device h200 = {.id = 0, .major = 9, .minor = 0, .sm_count = 132, .max_shared_bytes = 227 << 10};
  const Device ada = {.id = 0, .major = 8, .minor = 9, .sm_count = 128, .max_shared_bytes = 99 << 10};
  EXPECT_EQ(chosen(problem_of({8192, 8192, 8192}), h200), "mma_sync_256x128x64_s3");
  EXPECT_EQ(chosen(problem_of({8192, 8192, 8192}), ada), "mma_sync_128x128x64_s3");
  EXPECT_EQ(chosen(problem_of({512, 512, 512}), h200), "mma_sync_64x64x64_s4");
  Problem batches = problem_of({512, 512, 512});
  batches.args.batch_count = 1024;
  EXPECT_EQ(chosen(batches, h200), "mma_sync_256x128x64_s3");
}

TEST_F(LibraryMmaChoice, CopiesWhatAllLinesOfAllBatchesAllow) {
  const auto narrowed = [](const auto& change) {
    Problem problem = problem_of({512, 512, 512});
    change(&problem);
    return chosen(problem, kHopper);
  };
  const auto* const pairs = "mma_sync_64x64x32_s3_copy4";
  const auto* const singles = "mma_sync_64x64x32_s3_copy2";
  EXPECT_THAT(narrowed([](Problem*) {}), testing::Not(HasSubstr("copy")));
  EXPECT_EQ(narrowed([](Problem* problem) { problem->alignments.a = 8; }), pairs);
  EXPECT_EQ(narrowed([](Problem* problem) { problem->alignments.b = 2; }), singles);
  EXPECT_EQ(narrowed([](Problem* problem) { problem->args.a.leading_dimension += 4; }), pairs);
  EXPECT_EQ(narrowed([](Problem* problem) { problem->args.b.leading_dimension += 3; }), singles);
  // More than 16-byte copies count, in 32 bits, of the 256 lines that a tile may have.
  constexpr std::int64_t kMostCounted = (std::int64_t{1} << 27) - 8;
  EXPECT_THAT(narrowed([](Problem* problem) { problem->args.a.leading_dimension = kMostCounted; }),
              testing::Not(HasSubstr("copy")));
  EXPECT_EQ(narrowed([](Problem* problem) { problem->args.a.leading_dimension = kMostCounted + 8; }), pairs);
  // Of one batch nobody looks at the stride.
  EXPECT_THAT(narrowed([](Problem* problem) { problem->args.a.batch_stride = 3; }),
              testing::Not(HasSubstr("copy")));
  EXPECT_EQ(narrowed([](Problem* problem) {
              problem->args.batch_count = 2;
              problem->args.a.batch_stride = 3;
            }),
            singles);
  // C and D are stored by chunks where they can be, by elements elsewhere.
  EXPECT_EQ(narrowed([](Problem* problem) { problem->alignments.d = 2; }), narrowed([](Problem*) {}));
  // Neither A nor B is read.
  Problem empty = problem_of({512, 512, 0});
  empty.alignments = {2, 2, 2, 2};
  EXPECT_THAT(chosen(empty, kHopper), testing::Not(HasSubstr("copy")));
}

TEST_F(LibraryMmaChoice, RunsAnyConfigurationThatTheProblemAllows) {
  const Backend& backend = mma_sync_backend();
  EXPECT_THAT(backend.configs(),
              testing::ElementsAre("mma_sync_256x128x64_s3", "mma_sync_128x128x64_s3", "mma_sync_64x64x64_s4",
                                   "mma_sync_64x64x32_s3_copy4", "mma_sync_64x64x32_s3_copy2"));
  std::unique_ptr<const PreparedGemm> prepared;
  for (const std::string& config : backend.configs()) {
    EXPECT_TRUE(config.starts_with(std::string(backend.name) + "_"));
    ASSERT_TRUE(backend.prepare(problem_of({70, 70, 70}), kHopper, config, &prepared).ok()) << config;
    EXPECT_EQ(prepared->config(), config);
    EXPECT_THAT(prepared->explain(), HasSubstr(config));
  }
  EXPECT_EQ(backend.prepare(problem_of({70, 70, 70}), kHopper, "mma_sync_1x1x1_s1", &prepared).code(),
            StatusCode::InvalidArgument);
  Problem narrow = problem_of({70, 70, 70});
  narrow.alignments.a = 4;
  EXPECT_EQ(backend.prepare(narrow, kHopper, "mma_sync_64x64x64_s4", &prepared).code(),
            StatusCode::Unsupported);
  EXPECT_TRUE(backend.prepare(narrow, kHopper, "mma_sync_64x64x32_s3_copy4", &prepared).ok());
  EXPECT_TRUE(backend.prepare(narrow, kHopper, "mma_sync_64x64x32_s3_copy2", &prepared).ok());
  EXPECT_EQ(backend.prepare(problem_of({70, 70, 70}), kAda, "mma_sync_256x128x64_s3", &prepared).code(),
            StatusCode::Unsupported);
}

TEST_F(LibraryMmaChoice, AllButTheLargestTileFitEveryGpu) {
  configure({.compute_capability = {8, 9}});
  const std::vector<std::string> configs = mma_sync_backend().configs();
  std::unique_ptr<const PreparedGemm> prepared;
  for (auto config = std::next(configs.begin()); config != configs.end(); ++config) {
    const Status status = mma_sync_backend().prepare(problem_of({70, 70, 70}), kAda, *config, &prepared);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST_F(LibraryMmaChoice, RefusesWhatNoLaunchOrGpuTakes) {
  const auto refusal = [](const Problem& problem, const Device& device) {
    return mma_sync_backend().can_implement(problem, device);
  };
  const Problem small = problem_of({70, 70, 70});
  EXPECT_TRUE(refusal(small, kAda).ok());
  Device turing = kAda;
  turing.major = 7;
  turing.minor = 5;
  EXPECT_EQ(refusal(small, turing).code(), StatusCode::Unsupported);
  Problem fp32 = small;
  fp32.args.input_type = DataType::Float32;
  EXPECT_EQ(refusal(fp32, kHopper).code(), StatusCode::Unsupported);
  // 2^31 tiles of 64x64, but fewer larger ones; then too many of any.
  Problem large = problem_of({1 << 21, 1 << 22, 8});
  EXPECT_EQ(chosen(large, kHopper), "mma_sync_256x128x64_s3");
  large.args.batch_count = 8;
  EXPECT_EQ(refusal(large, kHopper).code(), StatusCode::Unsupported);
  constexpr int kMost = std::numeric_limits<int>::max() - 256;
  Problem largest = problem_of({kMost, kMost, kMost});
  largest.args.batch_count = std::numeric_limits<int>::max();
  EXPECT_EQ(refusal(largest, kHopper).code(), StatusCode::Unsupported);
}

}  // namespace
}  // namespace hopper_gemm::emulator
