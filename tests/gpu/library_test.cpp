// The library on a GPU: every combination of layouts, types, epilogues and shapes, every configuration, and what only a
// GPU has: streams, graphs, kernels that overlap, time.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "benchmark/shapes.hpp"
#include "cuda_check.hpp"
#include "device_buffer.hpp"
#include "empty_kernel.hpp"
#include "expect_verified.hpp"
#include "hopper_gemm/gemm.hpp"
#include "library/backend.hpp"
#include "poisoned_memory.hpp"
#include "require_hopper.hpp"
#include "tests/library_gemm.hpp"
#include "tests/library_plans.hpp"
#include "verify/fill.hpp"
#include "verify/verify.hpp"
#include "watchdog.hpp"

namespace hopper_gemm {
namespace {

using library::OperandMajor;

constexpr double kTimeoutSeconds = 20;
constexpr std::size_t kMemoryBytes = std::size_t{64} << 20;

/// A kernel that never ends takes the whole process down with a message: no later CUDA call would return.
Status wait_for(cudaStream_t stream) {
  Status status = wait_with_watchdog(stream, kTimeoutSeconds);
  if (status.code() != StatusCode::Timeout) return status;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::_Exit(EXIT_FAILURE);
}

PlanTarget target_of(PoisonedMemory* memory, cudaStream_t stream = nullptr) {
  return {.allocate = memory->allocate(), .wait = [stream] { return wait_for(stream); }, .stream = stream};
}

/// A stream that waits for no other.
class Stream {
 public:
  Stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

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
  const std::vector<std::string> others = library::mma_backend().configs();
  configs.insert(configs.end(), others.begin(), others.end());
  return configs;
}

GemmOptions options_of(const std::string& config) {
  GemmOptions options;
  options.config = config;
  return options;
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
            return gemm(descriptor_of(args), operands, stream, options_of(config));
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
  expect_verified_plan(GetParam(), {.shape = {520, 776, 1096}});
  expect_verified_plan(GetParam(), {.shape = {200, 2051, 584},
                                    .input_type = DataType::Float16,
                                    .output_type = DataType::Float32,
                                    .b_layout = Layout::RowMajor,
                                    .alpha = 0.5F,
                                    .beta = -2});
}

// Sums that depend on their order, by kernels that follow each other at once.
TEST_P(LibraryConfigs, GiveEqualBitsOnEveryRun) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr int kRuns = 100;
  PoisonedMemory memory(kMemoryBytes);
  ASSERT_TRUE(memory.exists());
  for (const DataType type : {DataType::BFloat16, DataType::Float32}) {
    LibraryProblem problem{.shape = {133, 136, 600}, .output_type = type, .values = OperandValues::Uniform};
    problem.major_a = type == DataType::Float32 ? OperandMajor::MN : OperandMajor::K;
    problem.a.gap = 0;
    problem.batch_count = 2;
    const bool copies_less = GetParam().find("_copy") != std::string::npos;
    problem.b.remainder = copies_less ? 2 : 0;
    LibraryGemm gemm(problem, memory.allocate());
    GemmPlan plan;
    const Status created = plan.create(gemm.descriptor({}), options_of(GetParam()));
    ASSERT_TRUE(created.ok()) << created.message();
    std::vector<std::byte> first;
    for (int run = 0; run < kRuns; ++run) {
      const Status launched = plan.run(gemm.operands({}), nullptr);
      ASSERT_TRUE(launched.ok()) << launched.message();
      const Status waited = wait_for(nullptr);
      ASSERT_TRUE(waited.ok()) << waited.message();
      if (run == 0) {
        ASSERT_EQ(gemm.fault(), "");
        first = gemm.bytes_of_d();
      } else {
        ASSERT_TRUE(gemm.bytes_of_d() == first) << "run " << run;
      }
    }
    EXPECT_TRUE(memory.is_intact());
  }
}

INSTANTIATE_TEST_SUITE_P(All, LibraryConfigs, testing::ValuesIn(all_configs()),
                         [](const auto& param) { return param.param; });

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
                         testing::Combine(testing::Values("wgmma", "mma"), testing::ValuesIn(kLargeShapes)),
                         [](const auto& param) {
                           return std::get<0>(param.param) + "_" + to_string(std::get<1>(param.param));
                         });

// --- Threads, streams, graphs ----------------------------------------------------------------------------------------

// All threads share the plans; each has operands and a stream of its own.
TEST(LibraryPlans, RunOnEightStreamsFromEightThreads) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr int kThreads = 8;
  constexpr int kRuns = 50;
  constexpr std::size_t kThreadBytes = std::size_t{16} << 20;
  const LibraryProblem problem{
      .shape = {300, 264, 520}, .bias = Bias::PerColumn, .beta = -2, .in_place = true};
  const std::array configs = {"", "wgmma_128x256_s4_c2x1", "wgmma_64x128_s8_c1x1_k4", "mma"};
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
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const Stream stream;
      for (std::size_t run = 0; run < kRuns && faults[i].empty(); ++run) {
        gemms[i]->reset();
        const Status launched = plans[(i + run) % plans.size()].run(gemms[i]->operands({}), stream.get());
        const Status waited = wait_for(stream.get());
        faults[i] = launched.message() + waited.message() + gemms[i]->fault();
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

/// X := relu(X · W) again and again, from one of two buffers to the other: each GEMM reads what the one before has
/// written, and overwrites what that one has read.
class Chain {
 public:
  static constexpr int kExtent = 520;
  static constexpr int kLength = 20;

  Status prepare(const std::string& config, bool programmatic_dependent_launch) {
    constexpr std::int64_t kElems = std::int64_t{kExtent} * kExtent;
    for (DeviceBuffer<std::uint16_t>* buffer : {&start_, &weights_, &buffers_[0], &buffers_[1]}) {
      HG_RETURN_IF_ERROR(buffer->allocate(kElems));
    }
    const auto fill = [](DeviceBuffer<std::uint16_t>& buffer, std::uint64_t seed) {
      return fill_matrix(buffer.data(), DataType::BFloat16, kExtent, kExtent, kExtent, DataKind::Normal, 1,
                         seed, nullptr);
    };
    HG_RETURN_IF_ERROR(fill(start_, 1));
    HG_RETURN_IF_ERROR(fill(weights_, 2));
    HG_RETURN_IF_ERROR(wait_for(nullptr));
    GemmDescriptor gemm;
    gemm.m = gemm.n = gemm.k = kExtent;
    gemm.activation = Activation::Relu;
    GemmOptions options = options_of(config);
    options.programmatic_dependent_launch = programmatic_dependent_launch;
    return plan_.create(gemm, options);
  }

  /// Puts the chain on the stream. wait: after every link.
  Status enqueue(cudaStream_t stream, bool wait) {
    HG_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(buffers_[0].data(), start_.data(), start_.size_bytes(),
                                            cudaMemcpyDeviceToDevice, stream));
    for (std::size_t link = 0; link < kLength; ++link) {
      GemmOperands operands;
      operands.a = buffers_[link % 2].data();
      operands.b = weights_.data();
      operands.d = buffers_[(link + 1) % 2].data();
      operands.alpha = 0.0625F;  // so that values neither grow nor vanish
      HG_RETURN_IF_ERROR(plan_.run(operands, stream));
      if (wait) HG_RETURN_IF_ERROR(wait_for(stream));
    }
    return {};
  }

  std::vector<std::uint16_t> result() const {
    const DeviceBuffer<std::uint16_t>& last = buffers_[kLength % 2];
    std::vector<std::uint16_t> values(static_cast<std::size_t>(last.size()));
    EXPECT_EQ(cudaMemcpy(values.data(), last.data(), last.size_bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }

 private:
  DeviceBuffer<std::uint16_t> start_;
  DeviceBuffer<std::uint16_t> weights_;
  std::array<DeviceBuffer<std::uint16_t>, 2> buffers_;
  GemmPlan plan_;
};

class LibraryChains : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(LibraryChains, GiveFromAGraphWhatTheyGiveLinkByLink) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr int kReplays = 50;
  const auto& [config, programmatic_dependent_launch] = GetParam();
  Chain chain;
  const Stream stream;
  const Status prepared = chain.prepare(config, programmatic_dependent_launch);
  ASSERT_TRUE(prepared.ok()) << prepared.message();
  const Status serial = chain.enqueue(stream.get(), true);
  ASSERT_TRUE(serial.ok()) << serial.message();
  const std::vector<std::uint16_t> expected = chain.result();
  ASSERT_TRUE(std::any_of(expected.begin(), expected.end(), [](std::uint16_t bits) { return bits != 0; }));

  ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  const Status enqueued = chain.enqueue(stream.get(), false);
  // A capture must be ended whatever happened in it.
  cudaGraph_t graph = nullptr;
  const cudaError_t captured = cudaStreamEndCapture(stream.get(), &graph);
  ASSERT_TRUE(enqueued.ok()) << enqueued.message();
  ASSERT_EQ(captured, cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  for (int replay = 0; replay < kReplays; ++replay) {
    ASSERT_EQ(cudaGraphLaunch(executable, stream.get()), cudaSuccess);
    const Status waited = wait_for(stream.get());
    ASSERT_TRUE(waited.ok()) << waited.message();
    ASSERT_TRUE(chain.result() == expected) << "replay " << replay;
  }
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_P(LibraryChains, GiveInAStreamWhatTheyGiveLinkByLink) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr int kRuns = 20;
  const auto& [config, programmatic_dependent_launch] = GetParam();
  Chain chain;
  const Stream stream;
  const Status prepared = chain.prepare(config, programmatic_dependent_launch);
  ASSERT_TRUE(prepared.ok()) << prepared.message();
  const Status serial = chain.enqueue(stream.get(), true);
  ASSERT_TRUE(serial.ok()) << serial.message();
  const std::vector<std::uint16_t> expected = chain.result();
  for (int run = 0; run < kRuns; ++run) {
    const Status enqueued = chain.enqueue(stream.get(), false);
    ASSERT_TRUE(enqueued.ok()) << enqueued.message();
    const Status waited = wait_for(stream.get());
    ASSERT_TRUE(waited.ok()) << waited.message();
    ASSERT_TRUE(chain.result() == expected) << "run " << run;
  }
}

INSTANTIATE_TEST_SUITE_P(All, LibraryChains,
                         testing::Combine(testing::Values("wgmma", "wgmma_128x256_s4_c2x1",
                                                          "wgmma_64x128_s8_c1x1_k4", "mma"),
                                          testing::Bool()),
                         [](const auto& param) {
                           return std::get<0>(param.param) +
                                  (std::get<1>(param.param) ? "_overlapping" : "_one_by_one");
                         });

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

}  // namespace
}  // namespace hopper_gemm
