#include <cuda/std/cstdint>
#include <ptx/special_registers.cuh>

#include "hopper_gemm/cluster_positions.hpp"

namespace hopper_gemm::cluster_placement {

constexpr int kMaxSms = 2 * ClusterPositions::kMaxClusters;

// Long enough for all CTAs of a grid to run at the same time, so that no SM is counted twice.
constexpr cuda::std::uint64_t kStayNs = 50'000;

__device__ cuda::std::uint32_t smid_of_cta[kMaxSms];

__global__ void write_smid_kernel() {
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
#include "kernels/launch.hpp"

namespace hopper_gemm {
namespace {

using cluster_placement::kMaxSms;
using cluster_placement::write_smid_kernel;

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
  const int ctas = clusters * cluster_size;
  if (ctas > kMaxSms) return unsupported("the GPU has more SMs than positions of clusters are made for");
  HG_RETURN_IF_ERROR(launch_cluster_kernel(write_smid_kernel, dim3(static_cast<unsigned>(ctas)), cluster_size,
                                           kThreads, kWholeSmBytes, stream));
  smid_of_cta->resize(static_cast<std::size_t>(ctas));
  HG_RETURN_IF_CUDA_ERROR(cudaMemcpyFromSymbolAsync(smid_of_cta->data(), cluster_placement::smid_of_cta,
                                                    smid_of_cta->size() * sizeof(std::uint32_t), 0,
                                                    cudaMemcpyDeviceToHost, stream));
  HG_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream));
  for (const std::uint32_t smid : *smid_of_cta) {
    if (smid >= kMaxSms)
      return unsupported("the GPU numbers SMs beyond what positions of clusters are made for");
  }
  return {};
}

Status look_for_placement(cudaStream_t stream, GpcOfCluster* placement) {
  std::vector<int> gpc_of_sm(kMaxSms);
  std::iota(gpc_of_sm.begin(), gpc_of_sm.end(), 0);
  std::vector<std::uint32_t> smid_of_cta;
  // From the largest cluster there is, which few GPUs run, to the size of the kernels' own, whose order is kept.
  constexpr int kSmallest = 2;
  for (const int cluster_size : {16, 8, 4, kSmallest}) {
    const Status status = look(cluster_size, stream, &smid_of_cta);
    if (!status.ok() && cluster_size > kSmallest) continue;
    HG_RETURN_IF_ERROR(status);
    for (std::size_t cta = 0; cta < smid_of_cta.size(); ++cta) {
      const int first = gpc_of_sm[smid_of_cta[cta - cta % static_cast<std::size_t>(cluster_size)]];
      const int other = gpc_of_sm[smid_of_cta[cta]];
      std::replace(gpc_of_sm.begin(), gpc_of_sm.end(), other, first);
    }
  }
  placement->clear();
  std::map<int, int> number_of_gpc;
  for (std::size_t cta = 0; cta < smid_of_cta.size(); cta += kSmallest) {
    const auto next = static_cast<int>(number_of_gpc.size());
    placement->push_back(number_of_gpc.try_emplace(gpc_of_sm[smid_of_cta[cta]], next).first->second);
  }
  return {};
}

}  // namespace

Status measure_cluster_placement(GpcOfCluster* placement) {
  const RelaxedCapture relaxed;
  cudaStream_t stream = nullptr;
  HG_RETURN_IF_CUDA_ERROR(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const Status status = look_for_placement(stream, placement);
  const cudaError_t destroyed = cudaStreamDestroy(stream);
  HG_RETURN_IF_ERROR(status);
  HG_RETURN_IF_CUDA_ERROR(destroyed);
  return {};
}

std::span<const int> known_cluster_placement() {
  static std::mutex mutex;
  static std::map<int, GpcOfCluster> placement_of_device;
  const std::lock_guard<std::mutex> lock(mutex);
  int device = 0;
  if (!cuda_status(cudaGetDevice(&device), "cudaGetDevice").ok()) return {};
  const auto [known, is_new] = placement_of_device.try_emplace(device);
  if (is_new && !measure_cluster_placement(&known->second).ok()) known->second.clear();
  return known->second;
}

}  // namespace hopper_gemm
