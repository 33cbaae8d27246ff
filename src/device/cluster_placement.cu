#include <cuda/std/cstdint>
#include <ptx/special_registers.cuh>

#include "device/cluster_positions.hpp"

namespace hopper_gemm::cluster_placement {

// A measurement launches the kernel once for each of these. It starts with the largest cluster, which few GPUs run. It
// ends with the size that the kernels use, twice, because only an idle GPU places both grids the same way.
constexpr int kClusterSizes[] = {16, 8, 4, 2, 2};
constexpr int kLaunches = sizeof kClusterSizes / sizeof kClusterSizes[0];
constexpr int kMaxSms = 2 * ClusterPositions::kMaxClusters;

// This is long enough for all CTAs of a grid to run at the same time. If an SM appears twice in a grid, other SMs were
// busy.
constexpr cuda::std::uint64_t kStayNs = 50'000;

__device__ cuda::std::uint32_t smid_of_cta[kLaunches][kMaxSms];

__global__ void write_smid_kernel(int launch) {
  if (threadIdx.x != 0) return;
  smid_of_cta[launch][blockIdx.x] = ptx::smid();
  const cuda::std::uint64_t end = ptx::globaltimer() + kStayNs;
  while (ptx::globaltimer() < end) {
  }
}

}  // namespace hopper_gemm::cluster_placement

// Host side

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "common/cuda_check.hpp"
#include "common/cuda_context.hpp"
#include "device/cluster_placement.hpp"
#include "device/launch.hpp"

namespace hopper_gemm {
namespace {

using cluster_placement::kClusterSizes;
using cluster_placement::kLaunches;
using cluster_placement::kMaxSms;
using cluster_placement::write_smid_kernel;

constexpr int kThreads = 32;
constexpr std::size_t kWholeSmBytes = std::size_t{128} << 10;  // two such CTAs do not fit on an SM

/// The launches of one measurement. They run in a stream of their own, and nothing here waits for them.
class Measurement {
 public:
  Measurement() = default;
  ~Measurement() {
    if (ended_ != nullptr) static_cast<void>(cudaEventDestroy(ended_));
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
  }
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  Status start() {
    HG_RETURN_IF_CUDA_ERROR(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    HG_RETURN_IF_CUDA_ERROR(cudaEventCreateWithFlags(&ended_, cudaEventDisableTiming));
    for (int launch = 0; launch < kLaunches; ++launch) {
      const Status status = enqueue(launch);
      // The GPU may not run clusters of every size.
      if (status.code() == StatusCode::Unsupported && launch < kLaunches - 2) continue;
      HG_RETURN_IF_ERROR(status);
    }
    HG_RETURN_IF_CUDA_ERROR(cudaEventRecord(ended_, stream_));
    return {};
  }

  Status poll(bool* has_ended) const {
    const cudaError_t error = cudaEventQuery(ended_);
    *has_ended = error == cudaSuccess;
    return error == cudaErrorNotReady ? Status() : cuda_status(error, "cudaEventQuery");
  }

  /// Reads the result. The measurement must have ended. Unsupported: other kernels ran on some of the SMs.
  Status read(GpcOfCluster* placement) const {
    std::array<std::array<std::uint32_t, kMaxSms>, kLaunches> smids;
    HG_RETURN_IF_CUDA_ERROR(cudaMemcpyFromSymbolAsync(smids.data(), cluster_placement::smid_of_cta,
                                                      sizeof smids, 0, cudaMemcpyDeviceToHost, stream_));
    HG_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream_));
    std::vector<int> gpc_of_sm(kMaxSms);
    std::iota(gpc_of_sm.begin(), gpc_of_sm.end(), 0);
    for (std::size_t launch = 0; launch < kLaunches; ++launch) {
      const std::span<const std::uint32_t> smid_of_cta(smids[launch].data(), num_ctas_[launch]);
      HG_RETURN_IF_ERROR(check_distinct(smid_of_cta));
      const auto size = static_cast<std::size_t>(kClusterSizes[launch]);
      for (std::size_t cta = 0; cta < smid_of_cta.size(); ++cta) {
        const int first = gpc_of_sm[smid_of_cta[cta - cta % size]];
        const int other = gpc_of_sm[smid_of_cta[cta]];
        std::replace(gpc_of_sm.begin(), gpc_of_sm.end(), other, first);
      }
    }
    const auto gpcs = [&](std::size_t launch) {
      constexpr std::size_t kClusterSize = 2;
      std::vector<int> gpc_of_cluster;
      for (std::size_t cta = 0; cta < num_ctas_[launch]; cta += kClusterSize) {
        gpc_of_cluster.push_back(gpc_of_sm[smids[launch][cta]]);
      }
      return gpc_of_cluster;
    };
    const std::vector<int> last = gpcs(kLaunches - 1);
    if (gpcs(kLaunches - 2) != last) return unsupported("the GPU placed two equal grids in different ways");
    std::map<int, int> number_of_gpc;
    for (const int gpc : last) {
      const auto next = static_cast<int>(number_of_gpc.size());
      placement->push_back(number_of_gpc.try_emplace(gpc, next).first->second);
    }
    return {};
  }

 private:
  Status enqueue(int launch) {
    const int cluster_size = kClusterSizes[launch];
    if (cluster_size > 8) {
      HG_RETURN_IF_CUDA_ERROR(cudaFuncSetAttribute(reinterpret_cast<const void*>(write_smid_kernel),
                                                   cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    }
    int clusters = 0;
    HG_RETURN_IF_ERROR(
        max_active_clusters(write_smid_kernel, cluster_size, kThreads, kWholeSmBytes, &clusters));
    const int ctas = clusters * cluster_size;
    if (ctas > kMaxSms) return unsupported("the GPU has more SMs than positions of clusters are made for");
    HG_RETURN_IF_ERROR(launch_cluster_kernel(write_smid_kernel, dim3(static_cast<unsigned>(ctas)),
                                             cluster_size, kThreads, kWholeSmBytes, stream_, launch));
    num_ctas_[static_cast<std::size_t>(launch)] = static_cast<std::size_t>(ctas);
    return {};
  }

  static Status check_distinct(std::span<const std::uint32_t> smid_of_cta) {
    std::array<bool, kMaxSms> is_taken{};
    for (const std::uint32_t smid : smid_of_cta) {
      if (smid >= kMaxSms)
        return unsupported("the GPU numbers SMs beyond what positions of clusters are made for");
      if (is_taken[smid]) return unsupported("the GPU ran other kernels beside those that look at it");
      is_taken[smid] = true;
    }
    return {};
  }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t ended_ = nullptr;
  std::array<std::size_t, kLaunches> num_ctas_{};  // 0: that size was not launched
};

/// What is known about a context.
struct Context {
  GpcOfCluster placement;
  std::unique_ptr<Measurement> running;
  int rejected = 0;              ///< attempts of calls that wait
  int rejected_of_launches = 0;  ///< of calls that do not
};

/// Guards all contexts: their measurements write to one place.
std::mutex mutex;

/// A context that was destroyed keeps its entry, because its handles cannot be freed any more.
Context& current() {
  static auto& contexts = *new std::map<std::uint64_t, Context>;
  return contexts[current_context_id()];
}

/// Polls the running measurement without waiting, or starts one and waits for it if there is patience. Leaves
/// `placement` empty if the kernels have not ended.
Status measure(Context& context, Patience patience, GpcOfCluster* placement) {
  using Clock = std::chrono::steady_clock;
  // An idle GPU takes 0.3 ms.
  constexpr auto kPatience = std::chrono::milliseconds(2);
  auto deadline = Clock::now();
  if (context.running == nullptr) {
    auto started = std::make_unique<Measurement>();
    HG_RETURN_IF_ERROR(started->start());
    context.running = std::move(started);
    if (patience == Patience::Some) deadline = Clock::now() + kPatience;
  }
  bool has_ended = false;
  do {
    const Status status = context.running->poll(&has_ended);
    if (!status.ok()) {
      context.running.reset();
      return status;
    }
  } while (!has_ended && Clock::now() < deadline);
  placement->clear();
  if (!has_ended) return {};
  const std::unique_ptr<Measurement> ended = std::move(context.running);
  return ended->read(placement);
}

}  // namespace

Status measure_cluster_placement(GpcOfCluster* placement) {
  const std::lock_guard<std::mutex> lock(mutex);
  const RelaxedCapture relaxed;
  HG_RETURN_IF_ERROR(measure(current(), Patience::Some, placement));
  return placement->empty() ? unsupported("the GPU is busy: ask again") : Status();
}

std::span<const int> known_cluster_placement(Patience patience) {
  constexpr int kMostRejected = 8;
  const std::lock_guard<std::mutex> lock(mutex);
  const RelaxedCapture relaxed;
  Context& context = current();
  int& rejected = patience == Patience::Some ? context.rejected : context.rejected_of_launches;
  if (context.placement.empty() && rejected < kMostRejected) {
    if (!measure(context, patience, &context.placement).ok()) ++rejected;
  }
  return context.placement;
}

}  // namespace hopper_gemm
