#include "benchmark/gpu_sampler.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "benchmark/sensor_log.hpp"
#include "benchmark/shapes.hpp"
#include "cuda_check.hpp"
#include "watchdog.hpp"

namespace hopper_gemm {
namespace {

constexpr double kGraphMs = 4;
constexpr int kMaxLaunchesPerGraph = 4096;

using Clock = std::chrono::steady_clock;

int times_to_fill(double wanted_ms, double each_ms, int most) {
  return static_cast<int>(std::clamp(std::round(wanted_ms / each_ms), 1.0, static_cast<double>(most)));
}

int replays_to_fill(double wanted_ms, double graph_ms) {
  constexpr int kMaxReplays = 100000;
  return times_to_fill(wanted_ms, graph_ms, kMaxReplays);
}

}  // namespace

double hang_timeout_seconds(double flops, double launches) {
  constexpr double kGraceSeconds = 30;
  constexpr double kHopelessFlopsPerSecond = 1e12;
  return kGraceSeconds + launches * flops / kHopelessFlopsPerSecond;
}

GpuSampler::GpuSampler(std::vector<GemmArgs> sets, cudaStream_t stream, const Nvml* nvml)
    : sets_(std::move(sets)), stream_(stream), nvml_(nvml) {}

GpuSampler::~GpuSampler() {
  for (const Contestant& contestant : contestants_) cudaGraphExecDestroy(contestant.graph);
  if (start_ != nullptr) cudaEventDestroy(start_);
  if (stop_ != nullptr) cudaEventDestroy(stop_);
}

Status GpuSampler::create_events() {
  if (start_ == nullptr) HG_RETURN_IF_CUDA_ERROR(cudaEventCreate(&start_));
  if (stop_ == nullptr) HG_RETURN_IF_CUDA_ERROR(cudaEventCreate(&stop_));
  return {};
}

Status GpuSampler::wait(double launches) {
  return wait_with_watchdog(stream_, hang_timeout_seconds(gemm_flops(sets_.front().shape), launches));
}

Status GpuSampler::launch_over_sets(const Launch& launch, int count) {
  for (int i = 0; i < count; ++i) {
    HG_RETURN_IF_ERROR(launch(sets_[static_cast<std::size_t>(i) % sets_.size()], stream_));
  }
  return {};
}

Status GpuSampler::time_launches(const Launch& launch, int count, double* ms_per_launch) {
  HG_RETURN_IF_CUDA_ERROR(cudaEventRecord(start_, stream_));
  HG_RETURN_IF_ERROR(launch_over_sets(launch, count));
  HG_RETURN_IF_CUDA_ERROR(cudaEventRecord(stop_, stream_));
  HG_RETURN_IF_ERROR(wait(count));
  float elapsed_ms = 0;
  HG_RETURN_IF_CUDA_ERROR(cudaEventElapsedTime(&elapsed_ms, start_, stop_));
  *ms_per_launch = double{elapsed_ms} / count;
  return {};
}

Status GpuSampler::capture(const Launch& launch, int count, cudaGraphExec_t* graph_exec) {
  HG_RETURN_IF_CUDA_ERROR(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  const Status launched = launch_over_sets(launch, count);
  // A capture must be ended whatever happened in it; the launch's own error says more than the capture's.
  cudaGraph_t graph = nullptr;
  Status status = cuda_status(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
  if (!launched.ok()) status = launched;
  if (status.ok()) status = cuda_status(cudaGraphInstantiate(graph_exec, graph, 0), "cudaGraphInstantiate");
  if (graph != nullptr) cudaGraphDestroy(graph);
  return status;
}

Status GpuSampler::replay(const Contestant& contestant, int replays) {
  for (int i = 0; i < replays; ++i) HG_RETURN_IF_CUDA_ERROR(cudaGraphLaunch(contestant.graph, stream_));
  return {};
}

Status GpuSampler::time_replays(const Contestant& contestant, int replays, double* elapsed_ms) {
  HG_RETURN_IF_CUDA_ERROR(cudaEventRecord(start_, stream_));
  HG_RETURN_IF_ERROR(replay(contestant, replays));
  HG_RETURN_IF_CUDA_ERROR(cudaEventRecord(stop_, stream_));
  HG_RETURN_IF_ERROR(wait(double{1} * replays * contestant.launches));
  float elapsed = 0;
  HG_RETURN_IF_CUDA_ERROR(cudaEventElapsedTime(&elapsed, start_, stop_));
  *elapsed_ms = elapsed;
  return {};
}

Status GpuSampler::add(const Launch& launch) {
  HG_RETURN_IF_ERROR(create_events());
  double ms_per_launch = 0;
  // The first launch also pays for loading the kernel; it only says how many make a meaningful second look.
  HG_RETURN_IF_ERROR(time_launches(launch, 1, &ms_per_launch));
  constexpr int kMostToTime = 64;
  HG_RETURN_IF_ERROR(
      time_launches(launch, times_to_fill(kGraphMs, ms_per_launch, kMostToTime), &ms_per_launch));
  Contestant contestant{.graph = nullptr,
                        .launches = times_to_fill(kGraphMs, ms_per_launch, kMaxLaunchesPerGraph),
                        .graph_ms = 0};
  HG_RETURN_IF_ERROR(capture(launch, contestant.launches, &contestant.graph));
  contestants_.push_back(contestant);
  // Where the host was slower than the GPU, the graph is shorter than asked for: samples replay it more
  // often.
  HG_RETURN_IF_ERROR(time_replays(contestant, 1, &ms_per_launch));
  return time_replays(contestant, 1, &contestants_.back().graph_ms);
}

Status GpuSampler::sample(std::size_t index, Mode mode, Sample* sample) {
  const Contestant& contestant = contestants_[index];
  const SampleTiming timing = sample_timing(mode);
  const int warm_up_replays = replays_to_fill(timing.warm_up_ms, contestant.graph_ms);
  const int timed_replays = replays_to_fill(timing.timed_ms, contestant.graph_ms);

  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(timing.idle_ms));
  SensorLog log(nvml_);
  HG_RETURN_IF_ERROR(replay(contestant, warm_up_replays));
  HG_RETURN_IF_CUDA_ERROR(cudaEventRecord(start_, stream_));
  HG_RETURN_IF_ERROR(replay(contestant, timed_replays));
  HG_RETURN_IF_CUDA_ERROR(cudaEventRecord(stop_, stream_));
  HG_RETURN_IF_ERROR(wait(double{1} * (warm_up_replays + timed_replays) * contestant.launches));
  const Clock::time_point end = Clock::now();
  const std::span<const SensorReading> readings = log.stop();

  float elapsed_ms = 0;
  HG_RETURN_IF_CUDA_ERROR(cudaEventElapsedTime(&elapsed_ms, start_, stop_));
  sample->seconds = double{elapsed_ms} / 1e3 / timed_replays / contestant.launches;
  const auto timed =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<float, std::milli>(elapsed_ms));
  sample->sm_clock_mhz = clock_within(readings, end - timed, end);
  // A burst is over before the energy counter has moved twice, and what it shows includes the rest before.
  if (mode == Mode::Sustained) sample->watts = mean_watts(readings);
  if (nvml_ != nullptr) sample->temperature_c = nvml_->temperature_celsius();
  return {};
}

}  // namespace hopper_gemm
