#include "device/cluster_placement.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <thread>

#include "measured_placement.hpp"
#include "require_hopper.hpp"

namespace hopper_gemm {
namespace {

void expect_plausible(const GpcOfCluster& placement) {
  int sms = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  EXPECT_GE(placement.size(), 1U);
  EXPECT_LE(static_cast<int>(placement.size()), sms / 2);
  std::map<int, std::size_t> clusters_of_gpc;
  for (const int gpc : placement) ++clusters_of_gpc[gpc];
  // Nothing seen of GPCs would leave every cluster alone in its own. A GPC of Hopper has at most nine pairs of SMs,
  // and most have eight or more.
  EXPECT_LE(2 * clusters_of_gpc.size(), placement.size());
  for (const auto& [gpc, clusters] : clusters_of_gpc) EXPECT_LE(clusters, 9U) << "GPC " << gpc;
}

TEST(ClusterPlacement, SeesSeveralClustersInAGpc) {
  HG_SKIP_WITHOUT_HOPPER();
  GpcOfCluster placement;
  const Status measured = measure_patiently(&placement);
  ASSERT_TRUE(measured.ok()) << measured.message();
  expect_plausible(placement);
}

TEST(ClusterPlacement, IsKnownAfterTheFirstCall) {
  HG_SKIP_WITHOUT_HOPPER();
  std::span<const int> first = known_cluster_placement();
  for (int tries = 0; tries < 1000 && first.empty(); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    first = known_cluster_placement();
  }
  if (first.empty()) GTEST_SKIP() << "the GPU was busy for all of the attempts that are made";
  EXPECT_EQ(known_cluster_placement().data(), first.data());
}

class ClusterPlacementCapture : public testing::TestWithParam<cudaStreamCaptureMode> {};

TEST_P(ClusterPlacementCapture, MayBeMeasuredWhileAStreamCaptures) {
  HG_SKIP_WITHOUT_HOPPER();
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, GetParam()), cudaSuccess);
  GpcOfCluster placement;
  const Status measured = measure_patiently(&placement);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  ASSERT_TRUE(measured.ok()) << measured.message();
  expect_plausible(placement);
}

std::string mode_name(const testing::TestParamInfo<cudaStreamCaptureMode>& mode) {
  switch (mode.param) {
    case cudaStreamCaptureModeGlobal: return "Global";
    case cudaStreamCaptureModeThreadLocal: return "ThreadLocal";
    case cudaStreamCaptureModeRelaxed: return "Relaxed";
  }
  return "Unknown";
}

INSTANTIATE_TEST_SUITE_P(Modes, ClusterPlacementCapture,
                         testing::Values(cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                         cudaStreamCaptureModeRelaxed),
                         mode_name);

}  // namespace
}  // namespace hopper_gemm
