// The library on a GPU: every combination of layouts, types, epilogues and shapes, every configuration, and what only a
// GPU has: streams, graphs, kernels that overlap, time.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "benchmark/shapes.hpp"
#include "common/cuda_check.hpp"
#include "common/device_buffer.hpp"
#include "common/watchdog.hpp"
#include "device/column_split.hpp"
#include "expect_verified.hpp"
#include "gemm/heuristics/candidates.hpp"
#include "gemm/host/backend.hpp"
#include "gemm/scheduler/mixed_n.hpp"
#include "hopper_gemm/gemm.hpp"
#include "library_on_gpu.hpp"
#include "neighbour_kernels.hpp"
#include "poisoned_memory.hpp"
#include "require_hopper.hpp"
#include "tests/library_gemm.hpp"
#include "tests/library_plans.hpp"
#include "verify/fill.hpp"
#include "verify/verify.hpp"

namespace hopper_gemm {
namespace {

using library::find_config;
using library::GemmConfig;
using library::KernelConfig;
using library::OperandMajor;
using library::Schedule;

// --- The complete product --------------------------------------------------------------------------------------------

using ProductParam = std::tuple<int, int, int>;  // layouts, input type, output type

class LibraryProduct : public testing::TestWithParam<ProductParam> {};

TEST_P(LibraryProduct, IsWhatTheDescriptorSays) {
  HG_SKIP_WITHOUT_HOPPER();
  PoisonedMemory memory(kMemoryBytes);
  ASSERT_TRUE(memory.exists());
  GridPoint point(kAxisCount);
  std::tie(point[kLayouts], point[kInputType], point[kOutputType]) = GetParam();
  std::mt19937 random(1);
  // Counts through the axes before kAlpha like the digits of a number, and draws those behind.
  std::size_t axis = 0;
  do {
    for (axis = kAlpha; axis < kAxisCount; ++axis) {
      point[axis] = static_cast<int>(random() % static_cast<unsigned>(choices_on(axis)));
    }
    const PlanCase plan_case = case_at(point);
    const std::string fault = fault_of(plan_case, target_of(&memory));
    ASSERT_TRUE(fault.empty()) << test_name(plan_case) << ": " << fault;
    ASSERT_TRUE(memory.is_intact()) << test_name(plan_case) << " wrote outside of its operands";
    for (axis = kBias; axis < kAlpha; ++axis) {
      if (++point[axis] < choices_on(axis)) break;
      point[axis] = 0;
    }
  } while (axis < kAlpha);
}

INSTANTIATE_TEST_SUITE_P(All, LibraryProduct,
                         testing::Combine(testing::Range(0, choices_on(kLayouts)),
                                          testing::Range(0, choices_on(kInputType)),
                                          testing::Range(0, choices_on(kOutputType))));

TEST(LibraryPlans, RefuseOperandsAndLeaveDAlone) {
  HG_SKIP_WITHOUT_HOPPER();
  PoisonedMemory memory(kMemoryBytes);
  ASSERT_TRUE(memory.exists());
  EXPECT_EQ(fault_of_refusals(target_of(&memory)), "");
  EXPECT_TRUE(memory.is_intact());
}

TEST(LibraryPlans, TakeOperandsInOtherPlaces) {
  HG_SKIP_WITHOUT_HOPPER();
  PoisonedMemory memory(kMemoryBytes);
  ASSERT_TRUE(memory.exists());
  EXPECT_EQ(fault_of_relocation(target_of(&memory)), "");
  EXPECT_TRUE(memory.is_intact());
}

TEST(LibraryFuzzer, FindsNothingNew) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr double kSeconds = 5;
  constexpr int kMaxExtent = 300;
  PoisonedMemory memory(kMemoryBytes);
  ASSERT_TRUE(memory.exists());
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(fuzz_seconds(kSeconds));
  const std::uint64_t first = first_fuzz_seed();
  std::cout << "the first seed is " << first << '\n';
  RecordProperty("first_seed", std::to_string(first));
  std::uint64_t seed = first;
  do {
    const std::string fault = fuzz(seed, kMaxExtent, target_of(&memory));
    ASSERT_TRUE(fault.empty()) << fault;
    ASSERT_TRUE(memory.is_intact()) << "seed " << seed << " wrote outside of its operands";
    ++seed;
  } while (std::chrono::steady_clock::now() < end);
  std::cout << seed - first << " problems\n";
}

// --- Every configuration ---------------------------------------------------------------------------------------------

std::vector<std::string> all_configs() {
  std::vector<std::string> configs = library::wgmma_backend().configs();
  const std::vector<std::string> others = library::mma_sync_backend().configs();
  configs.insert(configs.end(), others.begin(), others.end());
  return configs;
}

bool is_for_small_m(const std::string& name) {
  const std::optional<GemmConfig> config = find_config(name);
  return config.has_value() && config->kernel.schedule == Schedule::SmallM;
}

bool has_mixed_n(const std::string& name) {
  const std::optional<GemmConfig> config = find_config(name);
  return config.has_value() && config->kernel.narrow_n != 0;
}

/// `shape` or, of a configuration that needs more, with a K so long that each of its CTAs has a block of it;
/// with so few rows that a kernel for small M takes them, where it is one.
GemmShape fit(const std::string& name, GemmShape shape) {
  const std::optional<GemmConfig> config = find_config(name);
  if (!config.has_value()) return shape;
  const KernelConfig& kernel = config->kernel;
  shape.k = std::max(shape.k, config->split_k * config->workspace_split_k * kernel.block_k);
  if (kernel.schedule == Schedule::SmallM) {
    shape.m = std::min(shape.m, library::kMostSmallMTiles * kernel.block_m - 3);
  }
  return shape;
}

/// The descriptor of D = A·B as verify_targets() lays it out.
GemmDescriptor descriptor_of(const GemmArgs& args) {
  GemmDescriptor gemm;
  gemm.m = args.shape.m;
  gemm.n = args.shape.n;
  gemm.k = args.shape.k;
  gemm.input_type = args.input_type;
  gemm.output_type = args.output_type;
  gemm.a.leading_dimension = args.lda;
  gemm.b.order = args.b_layout;
  gemm.b.leading_dimension = args.ldb;
  gemm.c.leading_dimension = args.c == nullptr ? kPacked : args.ldc;
  gemm.d.leading_dimension = args.ldd;
  return gemm;
}

VerifyTarget verify_target(const std::string& config) {
  return {config, [config](const GemmArgs& args, cudaStream_t stream) -> Status {
            GemmOperands operands;
            operands.a = args.a;
            operands.b = args.b;
            operands.c = args.c;
            operands.d = args.d;
            operands.alpha = args.alpha;
            operands.beta = args.beta;
            GemmPlan plan;
            HG_RETURN_IF_ERROR(plan.create(descriptor_of(args), options_of(config)));
            DeviceBuffer<std::byte> workspace;
            HG_RETURN_IF_ERROR(give_workspace(plan, &workspace, &operands));
            // What frees the workspace waits for the kernels.
            return plan.run(operands, stream);
          }};
}

void expect_verified_plan(const std::string& config, const GemmProblem& problem) {
  SCOPED_TRACE(to_string(problem.shape));
  VerifyReport report;
  ASSERT_NO_FATAL_FAILURE(verify_launch(verify_target(config), {problem}, false, &report));
  EXPECT_TRUE(report.verified) << report.detail;
}

class LibraryConfigs : public testing::TestWithParam<std::string> {};

// Normal data too: within twice cuBLAS's worst error.
TEST_P(LibraryConfigs, MatchTheFp64Product) {
  HG_SKIP_WITHOUT_HOPPER();
  expect_verified_plan(GetParam(), {.shape = fit(GetParam(), {520, 776, 1096})});
  expect_verified_plan(GetParam(),
                       {.shape = fit(GetParam(), {200, 2051, 584}),
                        .input_type = DataType::Float16,
                        .output_type = DataType::Float32,
                        .b_layout = is_for_small_m(GetParam()) ? Layout::ColumnMajor : Layout::RowMajor,
                        .alpha = 0.5F,
                        .beta = -2});
  // Plain, as kernels are for which the one before was not.
  if (has_mixed_n(GetParam())) {
    expect_verified_plan(GetParam(), {.shape = {520, 776, 1096}, .b_layout = Layout::RowMajor});
  }
  // Stages that come whole, the last one but for a part.
  if (is_for_small_m(GetParam()))
    expect_verified_plan(GetParam(), {.shape = fit(GetParam(), {520, 776, 1088})});
}

// Sums that depend on their order, by kernels that follow each other at once.
TEST_P(LibraryConfigs, GiveEqualBitsOnEveryRun) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr int kRuns = 100;
  PoisonedMemory memory(kMemoryBytes);
  ASSERT_TRUE(memory.exists());
  for (const DataType type : {DataType::BFloat16, DataType::Float32}) {
    LibraryProblem problem{
        .shape = fit(GetParam(), {133, 136, 600}), .output_type = type, .values = OperandValues::Uniform};
    problem.major_a = type == DataType::Float32 ? OperandMajor::MN : OperandMajor::K;
    problem.a.gap = 0;
    problem.batch_count = 2;
    const bool copies_less = GetParam().find("_copy") != std::string::npos;
    problem.b.remainder = copies_less ? 2 : 0;
    LibraryGemm gemm(problem, memory.allocate());
    GemmPlan plan;
    const Status created = plan.create(gemm.descriptor({}), options_of(GetParam()));
    ASSERT_TRUE(created.ok()) << created.message();
    DeviceBuffer<std::byte> workspace;
    GemmOperands operands = gemm.operands({});
    ASSERT_TRUE(give_workspace(plan, &workspace, &operands).ok());
    std::vector<std::byte> first;
    for (int run = 0; run < kRuns; ++run) {
      const Status launched = plan.run(operands, nullptr);
      ASSERT_TRUE(launched.ok()) << launched.message();
      const Status waited = wait_for(nullptr);
      ASSERT_TRUE(waited.ok()) << waited.message();
      if (run == 0) {
        ASSERT_EQ(gemm.fault(), "");
        first = gemm.bytes_of_outputs();
      } else {
        ASSERT_TRUE(gemm.bytes_of_outputs() == first) << "run " << run;
      }
    }
    EXPECT_TRUE(memory.is_intact());
  }
}

INSTANTIATE_TEST_SUITE_P(All, LibraryConfigs, testing::ValuesIn(all_configs()),
                         [](const auto& param) { return test_name(param.param); });

// Of kernels that are compiled for each layout.
class LibraryLayouts
    : public testing::TestWithParam<std::tuple<std::string, OperandMajor, OperandMajor, DataType>> {};

TEST_P(LibraryLayouts, AreExactInIntegers) {
  HG_SKIP_WITHOUT_HOPPER();
  const auto& [config, major_a, major_b, type] = GetParam();
  // Tiles of both widths for 66 clusters, and K that ends within a block; one tile in part.
  constexpr GemmShape kBothWidths = {4968, 1544, 328};
  const KernelConfig kernel = find_config(config)->kernel;
  const ColumnSplit columns = split_columns(kBothWidths, library::wide_and_narrow(kernel, 1),
                                            library::k_blocks_of(kernel, kBothWidths.k), 66);
  ASSERT_GT(columns.wide_columns, 0);
  ASSERT_GT(columns.narrow_columns, 0);
  for (const GemmShape& shape : {kBothWidths, GemmShape{17, 40, 72}}) {
    PoisonedMemory memory(kMemoryBytes);
    ASSERT_TRUE(memory.exists());
    LibraryProblem problem{.shape = shape};
    problem.major_a = major_a;
    problem.major_b = major_b;
    problem.input_type = problem.output_type = type;
    LibraryGemm gemm(problem, memory.allocate());
    GemmPlan plan;
    const Status created = plan.create(gemm.descriptor({}), options_of(config));
    ASSERT_TRUE(created.ok()) << created.message();
    const bool is_left_to_another = plan.explain().find("cannot compute this problem") != std::string::npos;
    EXPECT_EQ(is_left_to_another, major_b == OperandMajor::MN && kernel.majors != library::Majors::Any);
    const Status launched = plan.run(gemm.operands({}), nullptr);
    ASSERT_TRUE(launched.ok()) << launched.message();
    const Status waited = wait_for(nullptr);
    ASSERT_TRUE(waited.ok()) << waited.message();
    EXPECT_EQ(gemm.fault(), "");
    EXPECT_TRUE(memory.is_intact());
  }
}

std::vector<std::string> configs_of_mixed_n() {
  std::vector<std::string> configs = all_configs();
  std::erase_if(configs, [](const std::string& config) { return !has_mixed_n(config); });
  return configs;
}

std::string name_of_layouts(const testing::TestParamInfo<LibraryLayouts::ParamType>& info) {
  const auto& [config, major_a, major_b, type] = info.param;
  const auto letters = [](OperandMajor major) { return major == OperandMajor::K ? "k" : "mn"; };
  return test_name(config) + "_a_" + letters(major_a) + "_b_" + letters(major_b) + "_" + to_string(type);
}

INSTANTIATE_TEST_SUITE_P(WithoutCublas, LibraryLayouts,
                         testing::Combine(testing::ValuesIn(configs_of_mixed_n()),
                                          testing::Values(OperandMajor::K, OperandMajor::MN),
                                          testing::Values(OperandMajor::K, OperandMajor::MN),
                                          testing::Values(DataType::BFloat16, DataType::Float16)),
                         name_of_layouts);

// Indices beyond 2^31 elements, in D and in A.
class LibraryLargeShapes : public testing::TestWithParam<std::tuple<std::string, GemmShape>> {};

TEST_P(LibraryLargeShapes, MatchTheFp64Product) {
  HG_SKIP_WITHOUT_HOPPER();
  const auto& [config, shape] = GetParam();
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
  const auto needed = static_cast<std::size_t>(verify_required_bytes({.shape = shape}));
  if (needed > free_bytes)
    GTEST_SKIP() << "needs " << needed << " bytes of GPU memory, free are " << free_bytes;
  expect_verified_plan(config, {.shape = shape});
}

constexpr GemmShape kLargeShapes[] = {{46400, 46400, 8}, {65544, 8, 32776}};

INSTANTIATE_TEST_SUITE_P(LargeShapes, LibraryLargeShapes,
                         testing::Combine(testing::Values("wgmma", "mma_sync"),
                                          testing::ValuesIn(kLargeShapes)),
                         [](const auto& param) {
                           return std::get<0>(param.param) + "_" + to_string(std::get<1>(param.param));
                         });

GemmDescriptor with_column_major_b(GemmShape shape) {
  GemmDescriptor gemm;
  gemm.m = shape.m;
  gemm.n = shape.n;
  gemm.k = shape.k;
  gemm.b.order = Layout::ColumnMajor;
  return gemm;
}

// A tile for each CTA or pair of CTAs, side by side in each GPC. One of the grids has a CTA more than tiles.
TEST(LibraryLargeShapesOfOneWave, MatchTheFp64Product) {
  HG_SKIP_WITHOUT_HOPPER();
  struct Case {
    const char* config;
    GemmShape shape;
  };
  for (const auto& [config, shape] : {Case{"cooperative_96x128_t_s6_c2x1", {945, 1664, 8192}},
                                      Case{"cooperative_128x64_s8_c1x2", {512, 2048, 8192}},
                                      Case{"cooperative_128x128_s6", {1643, 1152, 5632}}}) {
    SCOPED_TRACE(config);
    GemmPlan plan;
    const Status created = plan.create(with_column_major_b(shape), options_of(config));
    ASSERT_TRUE(created.ok()) << created.message();
    EXPECT_NE(plan.explain().find("neighbouring tiles in each GPC"), std::string::npos) << plan.explain();
    for (const Layout b_layout : {Layout::ColumnMajor, Layout::RowMajor}) {
      expect_verified_plan(config, {.shape = shape, .b_layout = b_layout});
    }
  }
}

// Clusters that keep pace, and then have narrow tiles or none.
TEST(LibraryLargeShapesOfWaves, MatchTheFp64Product) {
  HG_SKIP_WITHOUT_HOPPER();
  for (const Layout b_layout : {Layout::ColumnMajor, Layout::RowMajor}) {
    expect_verified_plan("cooperative_256x192+128_s4_c1x2",
                         {.shape = {6200, 8200, 33000}, .b_layout = b_layout});
  }
}

// Two replays of one graph count their steps in the same place, and few clusters of one run beside all of the other.
TEST(LibraryLargeShapesOfWaves, GiveTheSameFromGraphsAtTheSameTime) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr GemmShape kShape = {2048, 3072, 131072};
  constexpr int kRuns = 10;
  GemmPlan plan;
  const Status created =
      plan.create(with_column_major_b(kShape), options_of("cooperative_256x192+128_s4_c1x2"));
  ASSERT_TRUE(created.ok()) << created.message();
  DeviceBuffer<std::uint16_t> a;
  DeviceBuffer<std::uint16_t> b;
  DeviceBuffer<std::uint16_t> d;
  ASSERT_TRUE(a.allocate(std::int64_t{kShape.m} * kShape.k).ok());
  ASSERT_TRUE(b.allocate(std::int64_t{kShape.n} * kShape.k).ok());
  ASSERT_TRUE(d.allocate(std::int64_t{kShape.m} * kShape.n).ok());
  for (const auto& [buffer, rows] : {std::pair{&a, kShape.m}, std::pair{&b, kShape.n}}) {
    ASSERT_TRUE(fill_matrix(buffer->data(), DataType::BFloat16, rows, kShape.k, kShape.k, DataKind::Normal, 1,
                            static_cast<std::uint64_t>(rows), nullptr)
                    .ok());
  }
  ASSERT_TRUE(wait_for(nullptr).ok());
  GemmOperands operands;
  operands.a = a.data();
  operands.b = b.data();
  operands.d = d.data();

  std::array<Stream, 2> streams;
  ASSERT_EQ(cudaStreamBeginCapture(streams[0].get(), cudaStreamCaptureModeGlobal), cudaSuccess);
  const Status captured = plan.run(operands, streams[0].get());
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(streams[0].get(), &graph), cudaSuccess);
  ASSERT_TRUE(captured.ok()) << captured.message();
  std::size_t nodes = 0;
  ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  ASSERT_EQ(nodes, 2U) << "clusters that keep pace begin with a word that is cleared";
  std::array<cudaGraphExec_t, 2> executables{};
  for (cudaGraphExec_t& executable : executables) {
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  }

  const auto result = [&] {
    std::vector<std::uint16_t> values(static_cast<std::size_t>(d.size()));
    EXPECT_EQ(cudaMemcpy(values.data(), d.data(), d.size_bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  };
  const Status serial = plan.run(operands, streams[0].get());
  ASSERT_TRUE(serial.ok()) << serial.message();
  ASSERT_TRUE(wait_for(streams[0].get()).ok());
  const std::vector<std::uint16_t> expected = result();
  ASSERT_TRUE(std::any_of(expected.begin(), expected.end(), [](std::uint16_t bits) { return bits != 0; }));
  ASSERT_EQ(cudaMemset(d.data(), 0xff, d.size_bytes()), cudaSuccess);
  for (int run = 0; run < kRuns; ++run) {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      ASSERT_EQ(cudaGraphLaunch(executables[i], streams[i].get()), cudaSuccess);
    }
  }
  for (Stream& stream : streams) {
    const Status waited = wait_for(stream.get());
    ASSERT_TRUE(waited.ok()) << waited.message();
  }
  EXPECT_TRUE(result() == expected);
  for (cudaGraphExec_t executable : executables) {
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  }
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

// --- Threads, streams, graphs ----------------------------------------------------------------------------------------

// All threads share the plans; each has operands and a stream of its own.
TEST(LibraryPlans, RunOnEightStreamsFromEightThreads) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr int kThreads = 8;
  constexpr int kRuns = 50;
  constexpr std::size_t kThreadBytes = std::size_t{16} << 20;
  const LibraryProblem problem{
      .shape = {300, 264, 1032}, .bias = Bias::PerColumn, .beta = -2, .in_place = true};
  const std::array configs = {"", "cooperative_128x256_s4_c2x1", "cooperative_64x128_w1_s8_k4",
                              "cooperative_128x64_s8_k8x2", "mma_sync"};
  std::vector<std::unique_ptr<PoisonedMemory>> memories;
  std::vector<std::unique_ptr<LibraryGemm>> gemms;
  for (int i = 0; i < kThreads; ++i) {
    memories.push_back(std::make_unique<PoisonedMemory>(kThreadBytes));
    ASSERT_TRUE(memories.back()->exists());
    gemms.push_back(std::make_unique<LibraryGemm>(problem, memories.back()->allocate()));
  }
  std::vector<GemmPlan> plans(configs.size());
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const Status created = plans[i].create(gemms[0]->descriptor({}), options_of(configs[i]));
    ASSERT_TRUE(created.ok()) << created.message();
  }
  std::vector<std::string> faults(kThreads);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const Stream stream;
      for (std::size_t run = 0; run < kRuns && faults[i].empty(); ++run) {
        gemms[i]->reset();
        const GemmPlan& plan = plans[(i + run) % plans.size()];
        DeviceBuffer<std::byte> workspace;
        GemmOperands operands = gemms[i]->operands({});
        faults[i] = give_workspace(plan, &workspace, &operands).message();
        const Status launched = plan.run(operands, stream.get());
        const Status waited = wait_for(stream.get());
        faults[i] += launched.message() + waited.message() + gemms[i]->fault();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < kThreads; ++i) {
    EXPECT_EQ(faults[i], "") << "thread " << i;
    EXPECT_TRUE(memories[i]->is_intact()) << "thread " << i;
  }
}

// Plans that are made while others are, too: what back ends remember of the GPU is shared.
TEST(LibraryPlans, AreMadeByEightThreadsAtOnce) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr int kThreads = 8;
  std::vector<std::string> chosen(kThreads);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&chosen, i] {
      GemmDescriptor gemm;
      gemm.m = gemm.n = gemm.k = 1024;
      GemmPlan plan;
      const Status created = plan.create(gemm);
      chosen[i] = created.ok() ? plan.config() : created.message();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& config : chosen) EXPECT_EQ(config, chosen[0]);
}

// --- Errors ----------------------------------------------------------------------------------------------------------

/// Runs a plan on an A that is no memory, and says what comes of it. Its CUDA context is of no use afterwards.
[[noreturn]] void run_on_bad_pointer_and_exit(const std::string& config) {
  DeviceBuffer<std::uint16_t> memory;
  GemmDescriptor gemm;
  gemm.m = gemm.n = gemm.k = 128;
  GemmPlan plan;
  GemmOperands operands;
  if (memory.allocate(2 * 128 * 128).ok() && plan.create(gemm, options_of(config)).ok()) {
    operands.a = std::bit_cast<const void*>(std::uintptr_t{1} << 20);
    operands.b = memory.data();
    operands.d = memory.data() + 128 * 128;
    const Status first = plan.run(operands, nullptr);
    const Status waited = wait_for(nullptr);
    operands.a = operands.b;
    const Status next = plan.run(operands, nullptr);
    std::fprintf(stderr, "run '%s', wait '%s', the next run '%s'\n", first.message().c_str(),
                 waited.message().c_str(), next.message().c_str());
  }
  std::_Exit(3);
}

class LibraryPointersDeathTest : public testing::TestWithParam<std::string> {};

// The GPU alone knows which addresses are its own. What it says must come out, and nothing hang.
TEST_P(LibraryPointersDeathTest, ThatAreNoMemoryFailTheStreamAndTheNextRun) {
  HG_SKIP_WITHOUT_HOPPER();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_on_bad_pointer_and_exit(GetParam()), testing::ExitedWithCode(3),
              "run '', wait '.*cudaErrorIllegal.*', the next run '.*(cudaErrorIllegal|CUresult 700)");
}

INSTANTIATE_TEST_SUITE_P(All, LibraryPointersDeathTest, testing::Values("wgmma", "mma_sync"),
                         [](const auto& param) { return param.param; });

/// Takes the GPU's memory but for about so many bytes.
std::vector<DeviceBuffer<std::byte>> take_memory_but(std::int64_t bytes_left) {
  std::vector<DeviceBuffer<std::byte>> blocks;
  for (std::int64_t bytes = std::int64_t{1} << 36; bytes >= bytes_left / 2;) {
    DeviceBuffer<std::byte> block;
    if (block.allocate(bytes).ok()) {
      blocks.push_back(std::move(block));
    } else {
      bytes /= 2;
    }
  }
  if (!blocks.empty()) blocks.pop_back();
  return blocks;
}

// By its name it is run where no others run beside it, which it would leave no memory. Kernels' code and what
// the driver needs for launches take some.
TEST(LibraryLargeShapesOfOthers, LeaveLittleMemoryAndEveryConfigurationRuns) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr std::int64_t kBytesLeft = std::int64_t{512} << 20;
  PoisonedMemory memory(kMemoryBytes);
  ASSERT_TRUE(memory.exists());
  LibraryGemm gemm({.shape = {133, 136, 7800}}, memory.allocate());
  const std::vector<DeviceBuffer<std::byte>> taken = take_memory_but(kBytesLeft);
  ASSERT_FALSE(taken.empty());
  for (const std::string& config : all_configs()) {
    SCOPED_TRACE(config);
    GemmPlan plan;
    const Status created = plan.create(gemm.descriptor({}), options_of(config));
    if (created.code() == StatusCode::Unsupported) continue;
    ASSERT_TRUE(created.ok()) << created.message();
    GemmOperands operands = gemm.operands({});
    DeviceBuffer<std::byte> workspace;
    ASSERT_TRUE(give_workspace(plan, &workspace, &operands).ok());
    gemm.reset();
    const Status run = plan.run(operands, nullptr);
    ASSERT_TRUE(run.ok()) << run.message();
    const Status waited = wait_for(nullptr);
    ASSERT_TRUE(waited.ok()) << waited.message();
    ASSERT_EQ(gemm.fault(), "");
  }
}

// --- What it costs ---------------------------------------------------------------------------------------------------

/// The median of the times that the host is in `launch`; negative if one fails.
double median_us(const std::function<bool()>& launch, cudaStream_t stream) {
  using Clock = std::chrono::steady_clock;
  using Microseconds = std::chrono::duration<double, std::micro>;
  constexpr int kRuns = 4000;
  // So few that no run has to wait for room in the queue of launches.
  constexpr int kRunsInFlight = 100;
  std::vector<double> times_us;
  for (int run = 0; run < kRuns; ++run) {
    const Clock::time_point start = Clock::now();
    const bool launched = launch();
    times_us.push_back(Microseconds(Clock::now() - start).count());
    if (!launched) return -1;
    if (run % kRunsInFlight == 0 && !wait_for(stream).ok()) return -1;
  }
  if (!wait_for(stream).ok()) return -1;
  std::nth_element(times_us.begin(), times_us.begin() + kRuns / 2, times_us.end());
  return times_us[kRuns / 2];
}

// A launch of nothing takes a host two to four microseconds: what the library adds to that is its own.
TEST(LibraryOverhead, OfARunIsSmallBesideThatOfALaunch) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr double kMostUs = 1.5;
  PoisonedMemory memory(kMemoryBytes);
  ASSERT_TRUE(memory.exists());
  const LibraryGemm gemm({.shape = {128, 128, 128}}, memory.allocate());
  const Stream stream;
  GemmPlan plan;
  const Status created = plan.create(gemm.descriptor({}));
  ASSERT_TRUE(created.ok()) << created.message();
  const GemmOperands operands = gemm.operands({});
  const double empty_us =
      median_us([&] { return launch_empty_kernel(stream.get()) == cudaSuccess; }, stream.get());
  const double run_us = median_us([&] { return plan.run(operands, stream.get()).ok(); }, stream.get());
  ASSERT_GT(empty_us, 0);
  ASSERT_GT(run_us, 0);
  ASSERT_EQ(gemm.fault(), "");
  std::cout << "run() takes " << run_us << " us, the launch of an empty kernel " << empty_us << " us, "
            << plan.config() << '\n';
  RecordProperty("run_us", std::to_string(run_us));
  RecordProperty("empty_us", std::to_string(empty_us));
  EXPECT_LT(run_us - empty_us, kMostUs);
}

/// The median of the times that the GPU takes for a run; negative if one fails.
double median_gpu_us(const GemmPlan& plan, const GemmOperands& operands) {
  constexpr int kRuns = 31;
  const Stream stream;
  cudaEvent_t start = nullptr;
  cudaEvent_t end = nullptr;
  if (cudaEventCreate(&start) != cudaSuccess || cudaEventCreate(&end) != cudaSuccess) return -1;
  std::vector<float> times_ms;
  for (int run = 0; run < kRuns; ++run) {
    cudaEventRecord(start, stream.get());
    const Status launched = plan.run(operands, stream.get());
    cudaEventRecord(end, stream.get());
    float time_ms = 0;
    if (!launched.ok() || !wait_for(stream.get()).ok() ||
        cudaEventElapsedTime(&time_ms, start, end) != cudaSuccess) {
      return -1;
    }
    times_ms.push_back(time_ms);
  }
  cudaEventDestroy(start);
  cudaEventDestroy(end);
  std::nth_element(times_ms.begin(), times_ms.begin() + kRuns / 2, times_ms.end());
  return times_ms[kRuns / 2] * 1000.0;
}

// Tiles wait for it: where K is shorter, or there is more to compute, it weighs more.
TEST(LibraryOverhead, OfFusedWorkStaysBelowAThirdOfTheGemm) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr int kExtent = 4096;
  constexpr std::int64_t kElems = std::int64_t{kExtent} * kExtent;
  std::array<DeviceBuffer<std::uint16_t>, 4> matrices;
  DeviceBuffer<std::uint16_t> bias;
  for (DeviceBuffer<std::uint16_t>& matrix : matrices) {
    ASSERT_TRUE(matrix.allocate(kElems).ok());
    ASSERT_TRUE(fill_matrix(matrix.data(), DataType::BFloat16, kExtent, kExtent, kExtent, DataKind::Normal, 1,
                            1, nullptr)
                    .ok());
  }
  ASSERT_TRUE(bias.allocate(kExtent).ok());
  ASSERT_EQ(cudaMemset(bias.data(), 0, bias.size_bytes()), cudaSuccess);
  const auto time_us = [&](Bias bias_kind, Activation activation, float beta) {
    GemmDescriptor gemm;
    gemm.m = gemm.n = gemm.k = kExtent;
    gemm.b.transposed = true;
    gemm.bias = bias_kind;
    gemm.activation = activation;
    GemmPlan plan;
    if (!plan.create(gemm).ok()) return -1.0;
    GemmOperands operands;
    operands.a = matrices[0].data();
    operands.b = matrices[1].data();
    operands.c = beta == 0 ? nullptr : matrices[2].data();
    operands.d = matrices[3].data();
    operands.bias = bias_kind == Bias::None ? nullptr : bias.data();
    operands.beta = beta;
    return median_gpu_us(plan, operands);
  };
  const double plain_us = time_us(Bias::None, Activation::None, 0);
  const double relu_us = time_us(Bias::None, Activation::Relu, 0);
  const double bias_us = time_us(Bias::PerColumn, Activation::None, 0);
  const double gelu_us = time_us(Bias::PerColumn, Activation::GeluTanh, 0);
  const double residual_us = time_us(Bias::PerColumn, Activation::Relu, 1);
  std::cout << "4096x4096x4096: plain " << plain_us << " us, with ReLU " << relu_us << " us, a bias "
            << bias_us << " us, and GELU " << gelu_us << " us, or ReLU and C " << residual_us << " us\n";
  ASSERT_GT(plain_us, 0);
  for (const double time : {relu_us, bias_us, gelu_us, residual_us}) {
    ASSERT_GT(time, 0);
    EXPECT_LT(time - plain_us, plain_us / 3);
  }
}

}  // namespace
}  // namespace hopper_gemm
