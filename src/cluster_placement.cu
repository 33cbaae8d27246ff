#include <cuda/std/cstdint>
#include <ptx/special_registers.cuh>

namespace hopper_gemm::cluster_placement {

// Long enough for all CTAs of a grid to run at the same time, so that no SM is counted twice.
constexpr cuda::std::uint64_t kStayNs = 50'000;

__global__ void write_smid_kernel(cuda::std::uint32_t* smid_of_cta) {
  if (threadIdx.x != 0) return;
  smid_of_cta[blockIdx.x] = ptx::smid();
  const cuda::std::uint64_t end = ptx::globaltimer() + kStayNs;
  while (ptx::globaltimer() < end) {
  }
}

}  // namespace hopper_gemm::cluster_placement

// Host side

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>

#include "cluster_placement.hpp"
#include "cuda_check.hpp"
#include "device_buffer.hpp"
#include "kernels/launch.hpp"

namespace hopper_gemm {
namespace {

using cluster_placement::write_smid_kernel;

constexpr int kMaxSms = 2 * ClusterPositions::kMaxClusters;
constexpr int kThreads = 32;
constexpr std::size_t kWholeSmBytes = std::size_t{128} << 10;  // two such CTAs do not fit on an SM

// Calls that a capturing stream forbids are allowed in this scope: they do not touch that stream.
class RelaxedCapture {
 public:
  RelaxedCapture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ~RelaxedCapture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// The SM of every CTA of a grid of as many clusters as fit.
Status look(int cluster_size, cudaStream_t stream, std::vector<std::uint32_t>* smid_of_cta) {
  if (cluster_size > 8) {
    HG_RETURN_IF_CUDA_ERROR(cudaFuncSetAttribute(reinterpret_cast<const void*>(write_smid_kernel),
                                                 cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  }
  int clusters = 0;
  HG_RETURN_IF_ERROR(
      max_active_clusters(write_smid_kernel, cluster_size, kThreads, kWholeSmBytes, &clusters));
  const std::size_t ctas = static_cast<std::size_t>(clusters) * static_cast<std::size_t>(cluster_size);
  DeviceBuffer<std::uint32_t> device;
  HG_RETURN_IF_ERROR(device.allocate(static_cast<std::int64_t>(ctas)));
  HG_RETURN_IF_ERROR(launch_cluster_kernel(write_smid_kernel, dim3(static_cast<unsigned>(ctas)), cluster_size,
                                           kThreads, kWholeSmBytes, stream, device.data()));
  smid_of_cta->resize(ctas);
  HG_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(smid_of_cta->data(), device.data(), ctas * sizeof(std::uint32_t),
                                          cudaMemcpyDeviceToHost, stream));
  HG_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream));
  for (const std::uint32_t smid : *smid_of_cta) {
    if (smid >= kMaxSms)
      return unsupported("the GPU has more SMs than the placement of clusters was made for");
  }
  return {};
}

Status look_for_placement(cudaStream_t stream, GpcOfCluster* placement) {
  std::vector<int> gpc_of_sm(kMaxSms);
  std::iota(gpc_of_sm.begin(), gpc_of_sm.end(), 0);
  std::vector<std::uint32_t> smid_of_cta;
  // From the largest cluster there is to the size of the kernels' own, whose order is kept.
  for (const int cluster_size : {16, 8, 4, 2}) {
    const Status status = look(cluster_size, stream, &smid_of_cta);
    if (status.code() == StatusCode::Unsupported && cluster_size > 2)
      continue;  // a MIG slice may be too small
    HG_RETURN_IF_ERROR(status);
    for (std::size_t cta = 0; cta < smid_of_cta.size(); ++cta) {
      const int first = gpc_of_sm[smid_of_cta[cta - cta % static_cast<std::size_t>(cluster_size)]];
      const int other = gpc_of_sm[smid_of_cta[cta]];
      std::replace(gpc_of_sm.begin(), gpc_of_sm.end(), other, first);
    }
  }
  placement->clear();
  for (std::size_t cta = 0; cta < smid_of_cta.size(); cta += 2)
    placement->push_back(gpc_of_sm[smid_of_cta[cta]]);
  return {};
}

}  // namespace

Status find_cluster_placement(GpcOfCluster* placement) {
  static std::mutex mutex;
  static std::map<int, GpcOfCluster> placement_of_device;
  const std::lock_guard<std::mutex> lock(mutex);
  int device = 0;
  HG_RETURN_IF_CUDA_ERROR(cudaGetDevice(&device));
  const auto known = placement_of_device.find(device);
  if (known != placement_of_device.end()) {
    *placement = known->second;
    return {};
  }
  const RelaxedCapture relaxed;
  cudaStream_t stream = nullptr;
  HG_RETURN_IF_CUDA_ERROR(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const Status status = look_for_placement(stream, placement);
  const cudaError_t destroyed = cudaStreamDestroy(stream);
  HG_RETURN_IF_ERROR(status);
  HG_RETURN_IF_CUDA_ERROR(destroyed);
  placement_of_device.emplace(device, *placement);
  return {};
}

ClusterPositions positions_by_gpc(std::span<const int> placement, int num_clusters) {
  const auto count = static_cast<std::size_t>(num_clusters);
  const auto placed = placement.first(std::min(count, placement.size()));
  std::map<int, int> clusters_of_gpc;
  for (const int gpc : placed) ++clusters_of_gpc[gpc];
  std::vector<std::size_t> order(placed.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    const int gpc_x = placed[x];
    const int gpc_y = placed[y];
    const int size_x = clusters_of_gpc.at(gpc_x);
    const int size_y = clusters_of_gpc.at(gpc_y);
    return size_x != size_y ? size_x > size_y : gpc_x < gpc_y;
  });
  ClusterPositions positions{};
  for (std::size_t i = 0; i < order.size(); ++i) positions.position[order[i]] = static_cast<std::uint8_t>(i);
  for (std::size_t i = placed.size(); i < count; ++i) positions.position[i] = static_cast<std::uint8_t>(i);
  return positions;
}

}  // namespace hopper_gemm
