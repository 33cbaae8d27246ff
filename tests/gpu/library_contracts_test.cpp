// What the library promises of its neighbours, of captures and of contexts: gemm.hpp says it, and this holds it.

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/cuda_check.hpp"
#include "common/device_buffer.hpp"
#include "common/driver_entry_point.hpp"
#include "device/cluster_placement.hpp"
#include "hopper_gemm/gemm.hpp"
#include "library_on_gpu.hpp"
#include "measured_placement.hpp"
#include "neighbour_kernels.hpp"
#include "require_hopper.hpp"
#include "verify/fill.hpp"

namespace hopper_gemm {
namespace {

using Clock = std::chrono::steady_clock;

// --- Programmatic dependent launch -----------------------------------------------------------------------------------

/// A configuration of each kernel, and a shape that it computes.
struct KernelCase {
  std::string config;
  GemmShape shape;
};

/// The last one overlaps with the launches around it, if it may.
const std::vector<KernelCase> kKernels = {{"cooperative_128x256_s4_c2x1", {1032, 1032, 1032}},
                                          {"cooperative_64x128_w1_s8_k4", {1032, 1032, 1032}},
                                          {"cooperative_64x128_w1_s8_k8x2", {520, 264, 4104}},
                                          {"cooperative_256x192+128_s4_c1x2", {2048, 3072, 1024}},
                                          {"pingpong_128x192+128_s5_c1x2", {1032, 1032, 1032}},
                                          {"mma_sync", {1032, 1032, 1032}},
                                          {"small_m_16x64x256_t_s5_k3", {16, 1032, 1032}}};

class LibraryNeighbours : public testing::TestWithParam<KernelCase> {
 protected:
  Status prepare(bool programmatic_dependent_launch) {
    const GemmShape shape = GetParam().shape;
    const auto fill = [](DeviceBuffer<std::uint16_t>& buffer, int rows, int columns) -> Status {
      HG_RETURN_IF_ERROR(buffer.allocate(std::int64_t{rows} * columns));
      return fill_matrix(buffer.data(), DataType::BFloat16, rows, columns, columns, DataKind::Normal, 1,
                         static_cast<std::uint64_t>(rows), nullptr);
    };
    HG_RETURN_IF_ERROR(fill(a_, shape.m, shape.k));
    HG_RETURN_IF_ERROR(fill(b_, shape.n, shape.k));
    HG_RETURN_IF_ERROR(d_.allocate(std::int64_t{shape.m} * shape.n));
    HG_RETURN_IF_ERROR(copy_.allocate(d_.size()));
    GemmDescriptor gemm;
    gemm.m = shape.m;
    gemm.n = shape.n;
    gemm.k = shape.k;
    gemm.b.order = Layout::ColumnMajor;
    GemmOptions options = options_of(GetParam().config);
    options.programmatic_dependent_launch = programmatic_dependent_launch;
    HG_RETURN_IF_ERROR(plan_.create(gemm, options));
    operands_.a = a_.data();
    operands_.b = b_.data();
    operands_.d = d_.data();
    HG_RETURN_IF_ERROR(give_workspace(plan_, &workspace_, &operands_));
    return wait_for(nullptr);
  }

  std::vector<std::uint16_t> values_of(const DeviceBuffer<std::uint16_t>& buffer) const {
    std::vector<std::uint16_t> values(static_cast<std::size_t>(buffer.size()));
    EXPECT_EQ(cudaMemcpy(values.data(), buffer.data(), buffer.size_bytes(), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return values;
  }

  DeviceBuffer<std::uint16_t> a_;
  DeviceBuffer<std::uint16_t> b_;
  DeviceBuffer<std::uint16_t> d_;
  DeviceBuffer<std::uint16_t> copy_;
  DeviceBuffer<std::byte> workspace_;
  GemmOperands operands_;
  GemmPlan plan_;
};

TEST_P(LibraryNeighbours, NeedNotWaitWhereTheOptionIsOff) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr int kRuns = 50;
  const Status prepared = prepare(false);
  ASSERT_TRUE(prepared.ok()) << prepared.message();
  const Stream stream;
  for (int run = 0; run < kRuns; ++run) {
    ASSERT_EQ(cudaMemsetAsync(d_.data(), 0xFF, d_.size_bytes(), stream.get()), cudaSuccess);
    const Status launched = plan_.run(operands_, stream.get());
    ASSERT_TRUE(launched.ok()) << launched.message();
    ASSERT_EQ(launch_copy_that_does_not_wait(copy_.data(), d_.data(), static_cast<std::size_t>(d_.size()),
                                             stream.get()),
              cudaSuccess);
    const Status waited = wait_for(stream.get());
    ASSERT_TRUE(waited.ok()) << waited.message();
    ASSERT_TRUE(values_of(copy_) == values_of(d_)) << "run " << run << " was read before its end";
  }
}

#if CUDART_VERSION >= 13000
/// How many edges of the graph let a node start before the one ahead of it ends.
std::size_t programmatic_edges(cudaGraph_t graph) {
  std::size_t count = 0;
  EXPECT_EQ(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count), cudaSuccess);
  std::vector<cudaGraphNode_t> from(count);
  std::vector<cudaGraphNode_t> to(count);
  std::vector<cudaGraphEdgeData> edges(count);
  EXPECT_EQ(cudaGraphGetEdges(graph, from.data(), to.data(), edges.data(), &count), cudaSuccess);
  return static_cast<std::size_t>(std::count_if(
      edges.begin(), edges.end(),
      [](const cudaGraphEdgeData& edge) { return edge.type == cudaGraphDependencyTypeProgrammatic; }));
}

TEST_P(LibraryNeighbours, AreNoProgrammaticEdgesWhereTheOptionIsOff) {
  HG_SKIP_WITHOUT_HOPPER();
  for (const bool programmatic_dependent_launch : {false, true}) {
    const Status prepared = prepare(programmatic_dependent_launch);
    ASSERT_TRUE(prepared.ok()) << prepared.message();
    const Stream stream;
    ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal), cudaSuccess);
    Status captured;
    for (int run = 0; run < 3 && captured.ok(); ++run) captured = plan_.run(operands_, stream.get());
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaSuccess);
    ASSERT_TRUE(captured.ok()) << captured.message();
    const std::size_t edges = programmatic_edges(graph);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    // With the option on, the kernel that overlaps shows that the count sees such edges.
    const bool overlaps = programmatic_dependent_launch && GetParam().config == kKernels.back().config;
    if (overlaps || !programmatic_dependent_launch) {
      EXPECT_EQ(edges, overlaps ? 2U : 0U);
    }
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(Kernels, LibraryNeighbours, testing::ValuesIn(kKernels),
                         [](const auto& param) { return test_name(param.param.config); });

// --- Captures --------------------------------------------------------------------------------------------------------

/// D has a few tiles, and clusters share the long K through a workspace.
constexpr LibraryProblem kLongK = {.shape = {72, 136, 65536}};

/// A problem that is computed in a process that has done nothing with the GPU before.
struct FirstCall {
  const char* name;
  LibraryProblem problem;
};

std::vector<FirstCall> first_calls() {
  LibraryProblem unaligned{.shape = {133, 137, 131}};
  unaligned.a.remainder = 1;
  return {{"clusters", {.shape = {1024, 1024, 1024}}},
          {"few_rows", {.shape = {16, 512, 2048}}},
          {"workspace", kLongK},
          {"mma_sync", unaligned},
          {"no_product", {.shape = {64, 64, 0}, .bias = Bias::PerRow}},
          {"every_operation",
           {.shape = {300, 264, 520}, .bias = Bias::PerColumn, .activation = Activation::Relu, .beta = -2}}};
}

constexpr int kChildSucceeded = 3;

/// Says what is wrong and ends the process, or ends it by kChildSucceeded.
[[noreturn]] void end_child(const std::string& fault) {
  std::fprintf(stderr, "%s\n", fault.c_str());
  std::_Exit(fault.empty() ? kChildSucceeded : EXIT_FAILURE);
}

[[noreturn]] void capture_and_exit(const LibraryProblem& problem) {
  PoisonedMemory memory(kMemoryBytes);
  if (!memory.exists()) end_child("no memory");
  LibraryGemm library_gemm(problem, memory.allocate());
  const Stream stream;
  if (cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal) != cudaSuccess)
    end_child("no capture");
  const Status captured = gemm(library_gemm.descriptor({}), library_gemm.operands({}), stream.get());
  cudaGraph_t graph = nullptr;
  const Status ended = cuda_status(cudaStreamEndCapture(stream.get(), &graph), "cudaStreamEndCapture");
  if (!captured.ok() || !ended.ok()) end_child(captured.message() + "; " + ended.message());
  cudaGraphExec_t executable = nullptr;
  if (cudaGraphInstantiate(&executable, graph, 0) != cudaSuccess)
    end_child("the graph cannot be instantiated");
  for (int replay = 0; replay < 3; ++replay) {
    library_gemm.reset();
    if (cudaGraphLaunch(executable, stream.get()) != cudaSuccess) end_child("the graph cannot be launched");
    const Status waited = wait_for(stream.get());
    const std::string fault = waited.message() + library_gemm.fault();
    if (!fault.empty()) end_child(fault);
  }
  end_child("");
}

class LibraryCapturesDeathTest : public testing::TestWithParam<FirstCall> {};

// PyTorch captures in this mode: whatever thread makes a call that a capture forbids, the capture fails.
TEST_P(LibraryCapturesDeathTest, MayBeTheFirstThatAProcessDoes) {
  HG_SKIP_WITHOUT_HOPPER();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(capture_and_exit(GetParam().problem), testing::ExitedWithCode(kChildSucceeded), "");
}

INSTANTIATE_TEST_SUITE_P(Problems, LibraryCapturesDeathTest, testing::ValuesIn(first_calls()),
                         [](const auto& param) { return std::string(param.param.name); });

// --- A workspace of the library's own --------------------------------------------------------------------------------

/// Launches on one stream use the same memory behind each other, and launches on two streams must not.
TEST(LibraryWorkspace, IsTakenByEachRunOfEveryStream) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr int kRounds = 20;
  constexpr int kRunsPerRound = 5;
  const std::array<Stream, 2> streams;
  PoisonedMemory memory(2 * kMemoryBytes);
  ASSERT_TRUE(memory.exists());
  std::array<std::unique_ptr<LibraryGemm>, 2> gemms;
  for (auto& library_gemm : gemms) library_gemm = std::make_unique<LibraryGemm>(kLongK, memory.allocate());
  GemmPlan plan;
  ASSERT_TRUE(plan.create(gemms[0]->descriptor({})).ok());
  ASSERT_GT(plan.workspace_bytes(), 0U);
  for (int round = 0; round < kRounds; ++round) {
    for (auto& library_gemm : gemms) library_gemm->reset();
    for (int run = 0; run < kRunsPerRound; ++run) {
      for (std::size_t i = 0; i < streams.size(); ++i) {
        const Status launched = plan.run(gemms[i]->operands({}), streams[i].get());
        ASSERT_TRUE(launched.ok()) << launched.message();
      }
    }
    for (std::size_t i = 0; i < streams.size(); ++i) {
      ASSERT_EQ(wait_for(streams[i].get()).message(), "");
      ASSERT_EQ(gemms[i]->fault(), "");
    }
  }
}

// --- Contexts --------------------------------------------------------------------------------------------------------

/// The plan's result under the current context, on memory of that context.
std::string fault_under_current_context(const GemmPlan& plan, const LibraryProblem& problem) {
  PoisonedMemory memory(kMemoryBytes);
  if (!memory.exists()) return "no memory";
  LibraryGemm library_gemm(problem, memory.allocate());
  const Stream stream;
  const Status launched = plan.run(library_gemm.operands({}), stream.get());
  if (!launched.ok()) return launched.message();
  const Status waited = wait_for(stream.get());
  return waited.message() + library_gemm.fault();
}

Status create_plan(const LibraryProblem& problem, GemmPlan* plan) {
  PoisonedMemory memory(kMemoryBytes);
  const LibraryGemm library_gemm(problem, memory.allocate());
  return plan->create(library_gemm.descriptor({}));
}

/// A mixed tile N, which asks where clusters run, a general epilogue, a small M, and a workspace of the library's own.
const std::array<LibraryProblem, 4> kProblemsOfContexts = {
    LibraryProblem{.shape = {2048, 1536, 512}},
    LibraryProblem{.shape = {300, 264, 520}, .bias = Bias::PerColumn, .beta = -2},
    LibraryProblem{.shape = {16, 512, 2048}}, kLongK};

[[noreturn]] void reset_and_exit() {
  std::array<GemmPlan, kProblemsOfContexts.size()> plans;
  std::string fault;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Status created = create_plan(kProblemsOfContexts[i], &plans[i]);
    fault += created.message();
    if (created.ok()) fault += fault_under_current_context(plans[i], kProblemsOfContexts[i]);
  }
  for (int reset = 0; reset < 2; ++reset) {
    if (cudaDeviceReset() != cudaSuccess) end_child("cudaDeviceReset() failed");
    for (std::size_t i = 0; i < plans.size(); ++i) {
      fault += fault_under_current_context(plans[i], kProblemsOfContexts[i]);
      GemmPlan anew;
      const Status created = create_plan(kProblemsOfContexts[i], &anew);
      fault += created.message();
      if (created.ok()) fault += fault_under_current_context(anew, kProblemsOfContexts[i]);
    }
  }
  end_child(fault);
}

TEST(LibraryContextsDeathTest, MayBeResetBeneathAPlan) {
  HG_SKIP_WITHOUT_HOPPER();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(reset_and_exit(), testing::ExitedWithCode(kChildSucceeded), "");
}

#if CUDA_VERSION >= 12040
/// Makes another context current, or says why there is none.
class OtherContext {
 public:
  explicit OtherContext(unsigned sms) : fault_(make(sms)) {}
  const std::string& fault() const { return fault_; }
  unsigned sms() const { return sms_; }

 private:
  template <typename Function>
  static Function* find(const char* name) {
    return reinterpret_cast<Function*>(find_driver_function(name, 12040).function);
  }

  std::string make(unsigned sms) {
    const auto get_resource = find<decltype(cuDeviceGetDevResource)>("cuDeviceGetDevResource");
    const auto split = find<decltype(cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount");
    const auto describe = find<decltype(cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc");
    const auto create = find<decltype(cuGreenCtxCreate)>("cuGreenCtxCreate");
    const auto convert = find<decltype(cuCtxFromGreenCtx)>("cuCtxFromGreenCtx");
    const auto set_current = find<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent");
    if (get_resource == nullptr || split == nullptr || describe == nullptr || create == nullptr ||
        convert == nullptr || set_current == nullptr) {
      return "the driver has no green contexts";
    }
    CUdevResource all{};
    CUdevResource part{};
    CUdevResourceDesc description = nullptr;
    CUgreenCtx green = nullptr;
    CUcontext context = nullptr;
    unsigned groups = 1;
    if (get_resource(0, &all, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS ||
        split(&part, &groups, &all, nullptr, 0, sms) != CUDA_SUCCESS ||
        describe(&description, &part, 1) != CUDA_SUCCESS ||
        create(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM) != CUDA_SUCCESS ||
        convert(&context, green) != CUDA_SUCCESS || set_current(context) != CUDA_SUCCESS) {
      return "no green context could be made";
    }
    sms_ = part.sm.smCount;
    return "";
  }

  unsigned sms_ = 0;
  std::string fault_;
};

[[noreturn]] void enter_green_context_and_exit() {
  std::string fault;
  std::array<GemmPlan, kProblemsOfContexts.size()> plans;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    fault += create_plan(kProblemsOfContexts[i], &plans[i]).message();
  }
  const OtherContext green(48);
  if (!green.fault().empty()) end_child(green.fault());
  const std::string sms = " on " + std::to_string(green.sms()) + " SMs ";
  for (std::size_t i = 0; i < plans.size(); ++i) {
    fault += fault_under_current_context(plans[i], kProblemsOfContexts[i]);
    GemmPlan anew;
    const Status created = create_plan(kProblemsOfContexts[i], &anew);
    fault += created.message();
    if (!created.ok()) continue;
    if (anew.explain().find(sms) == std::string::npos) fault += "not sized" + sms + ": " + anew.explain();
    fault += fault_under_current_context(anew, kProblemsOfContexts[i]);
  }
  end_child(fault);
}

TEST(LibraryContextsDeathTest, MayBeGreen) {
  HG_SKIP_WITHOUT_HOPPER();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(enter_green_context_and_exit(), testing::ExitedWithCode(kChildSucceeded), "");
}
#endif

// --- A busy GPU ------------------------------------------------------------------------------------------------------

/// A kernel that holds so many SMs until it is released.
class Squatter {
 public:
  explicit Squatter(int sms) {
    EXPECT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&stop_), sizeof *stop_, cudaHostAllocMapped),
              cudaSuccess);
    *stop_ = 0;
    EXPECT_EQ(launch_kernel_that_stays(sms, stop_, stream_.get()), cudaSuccess);
    // Until it has begun.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ~Squatter() {
    *static_cast<volatile int*>(stop_) = 1;
    const Status waited = wait_for(stream_.get());
    EXPECT_TRUE(waited.ok()) << waited.message();
    cudaFreeHost(stop_);
  }
  Squatter(const Squatter&) = delete;
  Squatter& operator=(const Squatter&) = delete;

 private:
  int* stop_ = nullptr;
  Stream stream_;
};

std::string text_of(const GpcOfCluster& placement) {
  std::string text;
  for (const int gpc : placement) text += std::to_string(gpc) + " ";
  return text;
}

/// Whether two measurements of one GPU do not contradict each other. An SM pair that no larger cluster has taken counts as
/// a GPC of its own, and which those are may differ.
bool agree(const GpcOfCluster& x, const GpcOfCluster& y) {
  if (x.size() != y.size()) return false;
  const auto is_alone = [](const GpcOfCluster& placement, std::size_t cluster) {
    return std::count(placement.begin(), placement.end(), placement[cluster]) == 1;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if ((x[i] == x[j]) == (y[i] == y[j])) continue;
      if (!is_alone(x, i) && !is_alone(x, j) && !is_alone(y, i) && !is_alone(y, j)) return false;
    }
  }
  return true;
}

TEST(LibraryLargeShapesOfABusyGpu, HaveNoPlacementThatIsKept) {
  HG_SKIP_WITHOUT_HOPPER();
  GpcOfCluster idle;
  const Status measured = measure_patiently(&idle);
  ASSERT_TRUE(measured.ok()) << measured.message();
  int sms = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  for (const int held : {40, sms}) {
    SCOPED_TRACE(std::to_string(held) + " SMs are held");
    GpcOfCluster busy;
    {
      const Squatter squatter(held);
      const Clock::time_point start = Clock::now();
      EXPECT_FALSE(measure_cluster_placement(&busy).ok());
      EXPECT_FALSE(measure_cluster_placement(&busy).ok());
      EXPECT_LT(Clock::now() - start, std::chrono::milliseconds(500)) << "it waited for the other stream";
    }
    const Status again = measure_patiently(&busy);
    ASSERT_TRUE(again.ok()) << again.message();
    EXPECT_TRUE(agree(busy, idle)) << text_of(busy) << "after, before: " << text_of(idle);
  }
}

/// Makes positions in a process that knows no placement yet, while the GPU is busy, and asks for them when it is idle.
[[noreturn]] void place_after_a_busy_start_and_exit() {
  constexpr int kClusters = 48;
  const ClusterPositions in_order = positions_by_gpc({}, kClusters);
  const auto keeps_order = [&](const ClusterPositions& positions) {
    return std::equal(positions.position, positions.position + kClusters, in_order.position);
  };
  // This loads the kernel of the measurement, which would wait for the other stream. It keeps no placement.
  GpcOfCluster idle;
  std::string fault = measure_patiently(&idle).message();
  int sms = 0;
  if (cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0) != cudaSuccess) fault += "no device";
  std::optional<LastingClusterPositions> positions;
  {
    const Squatter squatter(sms);
    positions.emplace(kClusters);
    if (!keeps_order(positions->get())) fault += "a busy GPU told its placement, ";
  }
  for (int tries = 0; tries < 1000 && keeps_order(positions->get()); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (keeps_order(positions->get())) fault += "the placement never became known";
  end_child(fault);
}

TEST(LibraryLargeShapesOfABusyGpuDeathTest, LearnTheirPlacementLater) {
  HG_SKIP_WITHOUT_HOPPER();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(place_after_a_busy_start_and_exit(), testing::ExitedWithCode(kChildSucceeded), "");
}

TEST(LibraryLargeShapesOfABusyGpu, DoNotKeepPlansAndRunsWaiting) {
  HG_SKIP_WITHOUT_HOPPER();
  int sms = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  for (const LibraryProblem& problem : kProblemsOfContexts) {
    PoisonedMemory memory(kMemoryBytes);
    ASSERT_TRUE(memory.exists());
    LibraryGemm library_gemm(problem, memory.allocate());
    const GemmDescriptor descriptor = library_gemm.descriptor({});
    const GemmOperands operands = library_gemm.operands({});
    GemmPlan first;
    ASSERT_TRUE(first.create(descriptor).ok());  // loads the kernels, which may wait
    const Stream stream;
    {
      const Squatter squatter(sms);
      const Clock::time_point start = Clock::now();
      const Status computed = gemm(descriptor, operands, stream.get());
      EXPECT_TRUE(computed.ok()) << computed.message();
      EXPECT_LT(Clock::now() - start, std::chrono::milliseconds(500)) << "it waited for the other stream";
      EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady);
    }
    const Status waited = wait_for(stream.get());
    ASSERT_TRUE(waited.ok()) << waited.message();
    EXPECT_EQ(library_gemm.fault(), "");
  }
}

}  // namespace
}  // namespace hopper_gemm
