// Every version of the ladder when it is launched again and again: what a launch leaves behind in shared
// memory, or does after its end, must not show in the next one's result; nor must a kernel that runs beside
// it. And shapes with fewer tiles than clusters, or an odd number of them.

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>

#include "benchmark/shapes.hpp"
#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
#include "common/device_buffer.hpp"
#include "common/gemm_args.hpp"
#include "expect_verified.hpp"
#include "gpu_test_support.cuh"
#include "registry/registry.hpp"
#include "require_hopper.hpp"
#include "verify/check.hpp"
#include "verify/fill.hpp"
#include "verify/grid_stride.cuh"

namespace hopper_gemm {
namespace {

constexpr GemmShape kStressShapes[] = {
    {1000, 776, 328},  // one tile a CTA or none, partial tiles
    {4096, 4096, 64},  // several tiles a CTA, of one K block each: epilogues follow each other at once
    {2049, 4099, 72},  // the same with partial tiles, the last of which TMA cannot store
};

constexpr int kSets = 4;  // of operands and outputs, which the launches go through in turn
constexpr int kRounds = 250;
constexpr int kLaunchesPerStream = 200;
constexpr double kTestSeconds = 120;  // for compute-sanitizer's sake far more than a test takes without it

/// Ends the process with a message if it lives longer than `seconds`. wait_with_watchdog() is not enough for
/// many launches: once about a thousand are pending the next one blocks, for ever if a kernel hangs.
class ProcessDeadline {
 public:
  explicit ProcessDeadline(double seconds)
      : thread_([seconds](const std::stop_token& stop) {
          std::mutex mutex;
          std::condition_variable_any stopped;
          std::unique_lock lock(mutex);
          const auto never = [] { return false; };
          stopped.wait_for(lock, stop, std::chrono::duration<double>(seconds), never);
          if (stop.stop_requested()) return;
          std::fprintf(stderr, "the test still ran after %g s: a kernel is taken to hang\n", seconds);
          std::_Exit(EXIT_FAILURE);
        }) {}

 private:
  std::jthread thread_;
};

/// Counts the elements of `d` that differ from the reference, and poisons all of them for the next launch.
__global__ void compare_and_poison_kernel(std::uint16_t* d, const std::uint16_t* reference, std::int64_t size,
                                          unsigned long long* differences) {
  unsigned long long count = 0;
  for (std::int64_t i = grid_stride_begin(); i < size; i += grid_stride()) {
    if (d[i] != reference[i]) ++count;
    d[i] = kPoison;
  }
  if (count != 0) atomicAdd(differences, count);
}

/// The operands of one kernel, an output, and what the kernel put there when it ran alone. Whether that is
/// right is another test, MatchesTheFp64Product, which takes these shapes too.
class LaunchSet {
 public:
  Status prepare(const KernelInfo& kernel, const GemmShape& shape, std::uint64_t seed) {
    const std::int64_t lda = padded_pitch(shape.k, 1);
    const std::int64_t ldb = padded_pitch(shape.k, 2);
    const std::int64_t ldd = padded_pitch(shape.n, 1);
    // As many rows behind D as the tallest tile could reach beyond it: they are compared too.
    constexpr std::int64_t kGuardRows = 256;
    HG_RETURN_IF_ERROR(a_.allocate(shape.m * lda));
    HG_RETURN_IF_ERROR(b_.allocate(shape.n * ldb));
    HG_RETURN_IF_ERROR(d_.allocate((shape.m + kGuardRows) * ldd));
    HG_RETURN_IF_ERROR(reference_.allocate(d_.size()));
    HG_RETURN_IF_ERROR(fill_matrix(a_.data(), DataType::BFloat16, shape.m, shape.k, lda, DataKind::Normal, 1,
                                   2 * seed, nullptr));
    HG_RETURN_IF_ERROR(fill_matrix(b_.data(), DataType::BFloat16, shape.n, shape.k, ldb, DataKind::Normal, 1,
                                   2 * seed + 1, nullptr));
    kernel_ = kernel;
    args_ = {.shape = shape,
             .a = a_.data(),
             .lda = lda,
             .b = b_.data(),
             .ldb = ldb,
             .d = reinterpret_cast<__nv_bfloat16*>(d_.data()),
             .ldd = ldd};
    HG_RETURN_IF_ERROR(poison());
    HG_RETURN_IF_ERROR(launch(nullptr));
    HG_RETURN_IF_CUDA_ERROR(
        cudaMemcpy(reference_.data(), d_.data(), d_.size_bytes(), cudaMemcpyDeviceToDevice));
    HG_RETURN_IF_ERROR(poison());
    // The streams of the tests do not wait for the default stream.
    HG_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(nullptr));
    return {};
  }

  Status launch(cudaStream_t stream) const { return kernel_.launch(args_, stream); }

  Status compare_and_poison(cudaStream_t stream, unsigned long long* differences) const {
    compare_and_poison_kernel<<<kGridStrideBlocks, kGridStrideThreads, 0, stream>>>(
        d_.data(), reference_.data(), d_.size(), differences);
    return cuda_status(cudaGetLastError(), "comparing with the reference");
  }

 private:
  static std::int64_t padded_pitch(std::int64_t row_elems, int padding_units) {
    const std::int64_t units = ceil_div(row_elems, std::int64_t{kTmaAlignmentElems});
    return (units + padding_units) * kTmaAlignmentElems;
  }

  Status poison() const {
    static_assert(kPoison == 0xFFFF);
    HG_RETURN_IF_CUDA_ERROR(cudaMemset(d_.data(), 0xFF, d_.size_bytes()));
    return {};
  }

  KernelInfo kernel_{};
  GemmArgs args_{};
  DeviceBuffer<__nv_bfloat16> a_;
  DeviceBuffer<__nv_bfloat16> b_;
  DeviceBuffer<std::uint16_t> d_;
  DeviceBuffer<std::uint16_t> reference_;
};

template <std::size_t kCount>
Status prepare_sets(const KernelInfo& kernel, const GemmShape& shape, std::array<LaunchSet, kCount>* sets) {
  std::uint64_t seed = 20260101;
  for (LaunchSet& set : *sets) HG_RETURN_IF_ERROR(set.prepare(kernel, shape, seed++));
  return {};
}

/// Does what `enqueue` puts on `stream` `times` times, all but the first from a graph, and waits. The host
/// may need longer for a launch than a small GEMM takes: from a graph one follows the other without a gap.
Status replay(cudaStream_t stream, int times, const std::function<Status()>& enqueue) {
  HG_RETURN_IF_ERROR(enqueue());  // not yet captured, as kernels are loaded on their first launch
  HG_RETURN_IF_CUDA_ERROR(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  const Status enqueued = enqueue();
  // A capture must be ended whatever happened in it.
  cudaGraph_t graph = nullptr;
  const Status captured = cuda_status(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  HG_RETURN_IF_ERROR(enqueued);
  HG_RETURN_IF_ERROR(captured);
  cudaGraphExec_t executable = nullptr;
  HG_RETURN_IF_CUDA_ERROR(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 1; i < times; ++i) HG_RETURN_IF_CUDA_ERROR(cudaGraphLaunch(executable, stream));
  HG_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream));
  HG_RETURN_IF_CUDA_ERROR(cudaGraphExecDestroy(executable));
  HG_RETURN_IF_CUDA_ERROR(cudaGraphDestroy(graph));
  return {};
}

class LadderStress : public testing::TestWithParam<KernelInfo> {};

// The launches of a round follow each other directly; then all their outputs are compared, and poisoned
// again, so that a launch that wrote nothing shows too.
TEST_P(LadderStress, BackToBackLaunchesAreBitwiseEqual) {
  HG_SKIP_WITHOUT_HOPPER();
  const ProcessDeadline deadline(kTestSeconds);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  for (const GemmShape& shape : kStressShapes) {
    SCOPED_TRACE(to_string(shape));
    std::array<LaunchSet, kSets> sets;
    const Status prepared = prepare_sets(GetParam(), shape, &sets);
    ASSERT_TRUE(prepared.ok()) << prepared.message();
    ManagedArray<unsigned long long> differences(1);
    ASSERT_NE(differences.data(), nullptr);
    const Status replayed = replay(stream, kRounds, [&]() -> Status {
      for (const LaunchSet& set : sets) HG_RETURN_IF_ERROR(set.launch(stream));
      for (const LaunchSet& set : sets) {
        HG_RETURN_IF_ERROR(set.compare_and_poison(stream, differences.data()));
      }
      return {};
    });
    ASSERT_TRUE(replayed.ok()) << replayed.message();
    EXPECT_EQ(differences[0], 0U) << "elements, over all " << kRounds * kSets << " launches";
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_P(LadderStress, TwoStreamsAtOnce) {
  HG_SKIP_WITHOUT_HOPPER();
  const ProcessDeadline deadline(kTestSeconds);
  std::array<cudaStream_t, 2> streams{};
  for (cudaStream_t& stream : streams) {
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  }
  for (const GemmShape& shape : kStressShapes) {
    SCOPED_TRACE(to_string(shape));
    std::array<LaunchSet, streams.size()> sets;
    const Status prepared = prepare_sets(GetParam(), shape, &sets);
    ASSERT_TRUE(prepared.ok()) << prepared.message();
    ManagedArray<unsigned long long> differences(streams.size());
    ASSERT_NE(differences.data(), nullptr);
    for (int launch = 0; launch < kLaunchesPerStream; ++launch) {
      for (std::size_t i = 0; i < streams.size(); ++i) {
        const Status launched = sets[i].launch(streams[i]);
        ASSERT_TRUE(launched.ok()) << launched.message();
        const Status compared = sets[i].compare_and_poison(streams[i], differences.data() + i);
        ASSERT_TRUE(compared.ok()) << compared.message();
      }
    }
    for (std::size_t i = 0; i < streams.size(); ++i) {
      ASSERT_EQ(cudaStreamSynchronize(streams[i]), cudaSuccess);
    }
    for (std::size_t i = 0; i < streams.size(); ++i) {
      EXPECT_EQ(differences[i], 0U) << "elements, over all launches on stream " << i;
    }
  }
  for (const cudaStream_t stream : streams) EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

INSTANTIATE_TEST_SUITE_P(AllVersions, LadderStress,
                         testing::ValuesIn(hopper_ladder().begin(), hopper_ladder().end()),
                         [](const testing::TestParamInfo<KernelInfo>& info) {
                           return std::string(info.param.name);
                         });

// Those that leave clusters, or half of one, without a tile: one tile, two and three in a column, and an odd
// number in a row, most with a K of 16 bytes. One that gives every cluster six or seven. And the shapes from
// above that kernels_test.cpp has not.
constexpr GemmShape kEdgeShapes[] = {
    {128, 256, 8},    {129, 256, 8},    {384, 256, 64},   {128, 33024, 8},
    {128, 102400, 8}, {4096, 4096, 64}, {2049, 4099, 72},
};

using EdgeParam = std::tuple<KernelInfo, GemmShape>;

class LadderEdgeShapes : public testing::TestWithParam<EdgeParam> {};

TEST_P(LadderEdgeShapes, MatchesTheFp64Product) {
  HG_SKIP_WITHOUT_HOPPER();
  const auto& [kernel, shape] = GetParam();
  expect_verified(kernel, {{shape}});
}

// For compute-sanitizer's racecheck, which crashes in kernels of cuBLAS.
TEST_P(LadderEdgeShapes, IsExactOnIntegersWithoutCublas) {
  HG_SKIP_WITHOUT_HOPPER();
  const auto& [kernel, shape] = GetParam();
  constexpr bool kIntegersOnly = true;
  expect_verified(kernel, {{shape}}, kIntegersOnly);
}

INSTANTIATE_TEST_SUITE_P(AllVersions, LadderEdgeShapes,
                         testing::Combine(testing::ValuesIn(hopper_ladder().begin(), hopper_ladder().end()),
                                          testing::ValuesIn(kEdgeShapes)),
                         [](const testing::TestParamInfo<EdgeParam>& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace hopper_gemm
