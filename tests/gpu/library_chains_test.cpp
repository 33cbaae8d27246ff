// GEMMs that follow each other at once, each of which reads what the one before has written. Programmatic dependent
// launch lets them overlap, and griddepcontrol.wait is all that orders their memory accesses.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "common/cuda_check.hpp"
#include "common/device_buffer.hpp"
#include "hopper_gemm/gemm.hpp"
#include "library_on_gpu.hpp"
#include "require_hopper.hpp"
#include "tests/library_gemm.hpp"
#include "verify/fill.hpp"

namespace hopper_gemm {
namespace {

/// The operand of a GEMM that the one before it has written. TMA reads A. Ordinary loads, which go through L1, read C and
/// the bias.
enum class Carrier { A, C, Bias };

struct Link {
  std::vector<std::string> configs;  ///< in turn
  int rows = 1032;                   ///< of D
  Layout layout_of_w = Layout::RowMajor;
  Activation activation = Activation::Relu;
  Carrier carrier = Carrier::A;
};

/// A chain of GEMMs D = activation(alpha · A · W + …). By A: D of one is A of the next, and back into the first buffer. By
/// C: D = alpha · A · W + D, in place. By the bias: row 0 of D is the bias of the next.
class Chain {
 public:
  static constexpr int kExtent = 1032;
  static constexpr int kLength = 20;
  /// D begins 16 bytes behind a line of 128 bytes, and its rows have 2064 bytes: lines belong to several tiles.
  static constexpr std::int64_t kOffset = 8;

  Status prepare(const Link& link, bool programmatic_dependent_launch) {
    link_ = link;
    const auto make = [](DeviceBuffer<std::uint16_t>& buffer, int rows, std::uint64_t seed) -> Status {
      HG_RETURN_IF_ERROR(buffer.allocate(std::int64_t{rows} * kExtent));
      return fill_matrix(buffer.data(), DataType::BFloat16, rows, kExtent, kExtent, DataKind::Normal, 1, seed,
                         nullptr);
    };
    HG_RETURN_IF_ERROR(make(start_, link.rows, 1));
    HG_RETURN_IF_ERROR(make(weights_, kExtent, 2));
    HG_RETURN_IF_ERROR(make(constant_a_, link.rows, 3));
    for (DeviceBuffer<std::uint16_t>& buffer : buffers_) {
      HG_RETURN_IF_ERROR(buffer.allocate(start_.size() + kOffset));
    }
    HG_RETURN_IF_ERROR(wait_for(nullptr));
    HG_RETURN_IF_ERROR(make_plans(programmatic_dependent_launch, &plans_));
    HG_RETURN_IF_ERROR(make_plans(false, &serial_plans_));
    for (const GemmPlan& plan : plans_) {
      workspaces_.emplace_back();
      HG_RETURN_IF_ERROR(workspaces_.back().allocate(static_cast<std::int64_t>(plan.workspace_bytes())));
    }
    return {};
  }

  /// Puts the chain on the stream, by plans without programmatic dependent launch that are waited for one by one.
  Status run_link_by_link(cudaStream_t stream) { return run(serial_plans_, stream, true); }

  Status enqueue(cudaStream_t stream) { return run(plans_, stream, false); }

  std::vector<std::uint16_t> result() const {
    std::vector<std::uint16_t> values(static_cast<std::size_t>(start_.size()));
    static_assert(kLength % 2 == 0);
    EXPECT_EQ(cudaMemcpy(values.data(), d(0), start_.size_bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }

 private:
  std::uint16_t* d(int link) const { return buffers_[static_cast<std::size_t>(link % 2)].data() + kOffset; }

  GemmDescriptor descriptor() const {
    GemmDescriptor gemm;
    gemm.m = link_.rows;
    gemm.n = gemm.k = kExtent;
    gemm.b.order = link_.layout_of_w;
    gemm.activation = link_.activation;
    if (link_.carrier == Carrier::Bias) gemm.bias = Bias::PerColumn;
    return gemm;
  }

  Status make_plans(bool programmatic_dependent_launch, std::vector<GemmPlan>* plans) const {
    for (const std::string& config : link_.configs) {
      GemmOptions options = options_of(config);
      options.programmatic_dependent_launch = programmatic_dependent_launch;
      plans->emplace_back();
      HG_RETURN_IF_ERROR(plans->back().create(descriptor(), options));
    }
    return {};
  }

  /// So that values neither grow nor vanish.
  float alpha() const {
    if (link_.carrier != Carrier::A) return 0.01F;
    return link_.activation == Activation::Relu ? 0.044F : 0.031F;
  }

  Status run(const std::vector<GemmPlan>& plans, cudaStream_t stream, bool waits) {
    HG_RETURN_IF_CUDA_ERROR(
        cudaMemcpyAsync(d(0), start_.data(), start_.size_bytes(), cudaMemcpyDeviceToDevice, stream));
    for (int link = 0; link < kLength; ++link) {
      const std::size_t number = static_cast<std::size_t>(link) % plans.size();
      GemmOperands operands;
      operands.a = link_.carrier == Carrier::A ? d(link) : constant_a_.data();
      operands.b = weights_.data();
      operands.d = link_.carrier == Carrier::C ? d(0) : d(link + 1);
      if (link_.carrier == Carrier::C) operands.c = d(0);
      if (link_.carrier == Carrier::Bias) operands.bias = d(link);
      operands.alpha = alpha();
      operands.beta = link_.carrier == Carrier::C ? 1 : 0;
      operands.workspace = workspaces_[number].data();
      operands.workspace_bytes = workspaces_[number].size_bytes();
      HG_RETURN_IF_ERROR(plans[number].run(operands, stream));
      if (waits) HG_RETURN_IF_ERROR(wait_for(stream));
    }
    return {};
  }

  Link link_;
  DeviceBuffer<std::uint16_t> start_;
  DeviceBuffer<std::uint16_t> weights_;
  DeviceBuffer<std::uint16_t> constant_a_;
  std::array<DeviceBuffer<std::uint16_t>, 2> buffers_;
  std::vector<DeviceBuffer<std::byte>> workspaces_;
  std::vector<GemmPlan> plans_;
  std::vector<GemmPlan> serial_plans_;
};

class LibraryChains : public testing::TestWithParam<std::tuple<Link, bool>> {
 protected:
  static constexpr int kRuns = 50;

  void SetUp() override {
    HG_SKIP_WITHOUT_HOPPER();
    stream_.emplace();
    const auto& [link, programmatic_dependent_launch] = GetParam();
    const Status prepared = chain_.prepare(link, programmatic_dependent_launch);
    ASSERT_TRUE(prepared.ok()) << prepared.message();
    const Status serial = chain_.run_link_by_link(stream_->get());
    ASSERT_TRUE(serial.ok()) << serial.message();
    expected_ = chain_.result();
    ASSERT_TRUE(
        std::any_of(expected_.begin(), expected_.end(), [](std::uint16_t bits) { return bits != 0; }));
  }

  /// Runs the chain again and again, and compares each result with that of its links one by one.
  void expect_the_same(const std::function<Status()>& enqueue) {
    for (int run = 0; run < kRuns; ++run) {
      const Status enqueued = enqueue();
      ASSERT_TRUE(enqueued.ok()) << enqueued.message();
      const Status waited = wait_for(stream_->get());
      ASSERT_TRUE(waited.ok()) << waited.message();
      ASSERT_TRUE(chain_.result() == expected_) << "run " << run;
    }
  }

  Chain chain_;
  std::optional<Stream> stream_;  // not without a GPU
  std::vector<std::uint16_t> expected_;
};

TEST_P(LibraryChains, GiveFromAGraphWhatTheyGiveLinkByLink) {
  ASSERT_EQ(cudaStreamBeginCapture(stream_->get(), cudaStreamCaptureModeGlobal), cudaSuccess);
  const Status captured = chain_.enqueue(stream_->get());
  // A capture must be ended whatever happened in it.
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream_->get(), &graph);
  ASSERT_TRUE(captured.ok()) << captured.message();
  ASSERT_EQ(ended, cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  expect_the_same([&]() -> Status {
    HG_RETURN_IF_CUDA_ERROR(cudaGraphLaunch(executable, stream_->get()));
    return {};
  });
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_P(LibraryChains, GiveInAStreamWhatTheyGiveLinkByLink) {
  expect_the_same([&] { return chain_.enqueue(stream_->get()); });
}

std::string name_of(const testing::TestParamInfo<LibraryChains::ParamType>& info) {
  const auto& [link, overlaps] = info.param;
  std::string name = test_name(link.configs.front());
  if (link.configs.size() > 1) name += "_and_" + std::to_string(link.configs.size() - 1) + "_others";
  return name + "_" + std::to_string(link.rows) +
         (link.layout_of_w == Layout::ColumnMajor ? "_k_major" : "") +
         (overlaps ? "_overlapping" : "_one_by_one");
}

// Where W is K-major, launches that have a tile for each CTA and overlap bring the first stages to L2 before they wait.
// The last two never overlap.
INSTANTIATE_TEST_SUITE_P(
    All, LibraryChains,
    testing::Combine(
        testing::Values(
            Link{{"wgmma"}}, Link{{"cooperative_128x256_s4_c2x1"}}, Link{{"cooperative_64x128_w1_s8_k4"}},
            Link{{"cooperative_64x128_w1_s8_k8x2"}}, Link{{"mma_sync"}},
            Link{{"small_m_16x64x256_t_s5_k3"}, 16, Layout::ColumnMajor},
            Link{{"small_m_16x64x128_t_s5_k2"}, 31, Layout::ColumnMajor},
            Link{{"small_m_64x64x128_s6_k2"}, 64, Layout::ColumnMajor},
            Link{{"cooperative_64x64_w1_s12"}, 448, Layout::ColumnMajor, Activation::None},
            Link{{"cooperative_64x128_w1_s8_k4"}, 64, Layout::ColumnMajor},
            Link{{"cooperative_64x128_w1_s8_c2x1"}, 128, Layout::ColumnMajor, Activation::None},
            Link{{"pingpong_128x192+128_s5_c1x2"}, 1032, Layout::ColumnMajor, Activation::None},
            Link{{"cooperative_256x192+128_s4_c1x2"}, 1032, Layout::ColumnMajor, Activation::None}),
        testing::Bool()),
    name_of);

/// The cooperative schedule, split-K in a cluster and through the workspace, swap-AB for a small M, mma.sync, and all of
/// them in turn.
std::vector<Link> links_by(Carrier carrier) {
  const std::vector<std::string> large = {"cooperative_128x256_s4_c2x1", "cooperative_64x128_w1_s8_k4",
                                          "cooperative_64x128_w1_s8_k8x2", "mma_sync"};
  const std::vector<std::string> small = {"small_m_16x64x256_t_s5_k3", "cooperative_64x128_w1_s8_k4",
                                          "small_m_16x64x128_t_s5_k2", "mma_sync",
                                          "cooperative_64x128_w1_s8_k8x2"};
  std::vector<Link> links;
  const auto add = [&](std::vector<std::string> configs, int rows, Layout layout) {
    links.push_back({std::move(configs), rows, layout, Activation::None, carrier});
  };
  for (const std::string& config : large) add({config}, 1032, Layout::RowMajor);
  add({"wgmma"}, 1032, Layout::RowMajor);
  add({small.front()}, 16, Layout::ColumnMajor);
  add(large, 1032, Layout::ColumnMajor);
  add(small, 16, Layout::ColumnMajor);
  return links;
}

INSTANTIATE_TEST_SUITE_P(ByC, LibraryChains,
                         testing::Combine(testing::ValuesIn(links_by(Carrier::C)), testing::Bool()), name_of);
INSTANTIATE_TEST_SUITE_P(ByTheBias, LibraryChains,
                         testing::Combine(testing::ValuesIn(links_by(Carrier::Bias)), testing::Bool()),
                         name_of);

}  // namespace
}  // namespace hopper_gemm
