#include "cluster_placement.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "require_hopper.hpp"

namespace hopper_gemm {
namespace {

TEST(ClusterPlacement, FindsGpcsAndKeepsThem) {
  HG_SKIP_WITHOUT_HOPPER();
  GpcOfCluster placement;
  const Status found = find_cluster_placement(&placement);
  ASSERT_TRUE(found.ok()) << found.message();
  int sms = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  EXPECT_GE(static_cast<int>(placement.size()), 1);
  EXPECT_LE(static_cast<int>(placement.size()), sms / 2);
  // A GPC of Hopper has at most nine pairs of SMs.
  std::map<int, int> clusters_of_gpc;
  for (const int gpc : placement) ++clusters_of_gpc[gpc];
  for (const auto& [gpc, clusters] : clusters_of_gpc) EXPECT_LE(clusters, 9) << "GPC " << gpc;

  GpcOfCluster again;
  ASSERT_TRUE(find_cluster_placement(&again).ok());
  EXPECT_EQ(again, placement);
}

TEST(ClusterPlacement, MayBeAskedForWhileAStreamCaptures) {
  HG_SKIP_WITHOUT_HOPPER();
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  GpcOfCluster placement;
  const Status found = find_cluster_placement(&placement);
  EXPECT_TRUE(found.ok()) << found.message();
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
}  // namespace hopper_gemm
