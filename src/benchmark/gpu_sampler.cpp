#include "benchmark/gpu_sampler.hpp"

#include <cuda_profiler_api.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "benchmark/sensor_log.hpp"
#include "benchmark/shapes.hpp"
#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
#include "common/watchdog.hpp"

namespace hopper_gemm {
namespace {

constexpr double kGraphMs = 4;

using Clock = std::chrono::steady_clock;

int times_to_fill(double wanted_ms, double each_ms, int most) {
  return static_cast<int>(std::clamp(std::round(wanted_ms / each_ms), 1.0, static_cast<double>(most)));
}

int replays_to_fill(double wanted_ms, double graph_ms) {
  constexpr int kMaxReplays = 500;
  return times_to_fill(wanted_ms, graph_ms, kMaxReplays);
}

}  // namespace

double hang_timeout_seconds(double flops, double launches) {
  constexpr double kGraceSeconds = 30;
  constexpr double kHopelessFlopsPerSecond = 1e12;
  return kGraceSeconds + launches * flops / kHopelessFlopsPerSecond;
}

int launches_per_graph(double ms_per_launch, int sets) {
  const int rotations = ceil_div(times_to_fill(kGraphMs, ms_per_launch, kMaxLaunchesPerGraph), sets);
  return std::min(rotations, kMaxLaunchesPerGraph / sets) * sets;
}

GpuSampler::GpuSampler(std::vector<GemmArgs> sets, cudaStream_t stream, const Nvml* nvml, int rest_ms)
    : sets_(std::move(sets)), stream_(stream), nvml_(nvml), rest_ms_(rest_ms) {}

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

Status GpuSampler::launch_over_sets(const Launch& launch, int count, int first) {
  for (int i = first; i < first + count; ++i) {
    HG_RETURN_IF_ERROR(launch(sets_[static_cast<std::size_t>(i) % sets_.size()], stream_));
  }
  return {};
}

Status GpuSampler::time(const std::function<Status()>& enqueue, double launches, double* elapsed_ms) {
  HG_RETURN_IF_CUDA_ERROR(cudaEventRecord(start_, stream_));
  HG_RETURN_IF_ERROR(enqueue());
  HG_RETURN_IF_CUDA_ERROR(cudaEventRecord(stop_, stream_));
  HG_RETURN_IF_ERROR(
      wait_with_watchdog(stream_, hang_timeout_seconds(flops_of(problem_of(sets_.front())), launches)));
  float elapsed = 0;
  HG_RETURN_IF_CUDA_ERROR(cudaEventElapsedTime(&elapsed, start_, stop_));
  *elapsed_ms = elapsed;
  return {};
}

Status GpuSampler::capture(const Launch& launch, int count, cudaGraphExec_t* graph_exec) {
  HG_RETURN_IF_CUDA_ERROR(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  const Status launched = launch_over_sets(launch, count);
  // A capture must always be ended. The launch's own error says more than the capture's.
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

Status GpuSampler::time_launch(const Launch& launch, double* ms) {
  HG_RETURN_IF_ERROR(create_events());
  double elapsed_ms = 0;
  HG_RETURN_IF_ERROR(time([&] { return launch_over_sets(launch, 1); }, 1, &elapsed_ms));
  constexpr int kMostToTime = 64;
  const int count = times_to_fill(kGraphMs, elapsed_ms, kMostToTime);
  HG_RETURN_IF_ERROR(time([&] { return launch_over_sets(launch, count); }, count, &elapsed_ms));
  *ms = elapsed_ms / count;
  return {};
}

Status GpuSampler::add(const Launch& launch) {
  double ms_per_launch = 0;
  HG_RETURN_IF_ERROR(time_launch(launch, &ms_per_launch));
  Contestant contestant{.graph = nullptr,
                        .launches = launches_per_graph(ms_per_launch, static_cast<int>(sets_.size())),
                        .graph_ms = 0};
  HG_RETURN_IF_ERROR(capture(launch, contestant.launches, &contestant.graph));
  contestants_.push_back(contestant);
  // If the host was slower than the GPU, the graph is shorter than intended, and samples replay it more often. The
  // first replay also pays for bringing the graph to the GPU.
  const auto replay_once = [&] { return replay(contestant, 1); };
  double elapsed_ms = 0;
  HG_RETURN_IF_ERROR(time(replay_once, contestant.launches, &elapsed_ms));
  return time(replay_once, contestant.launches, &contestants_.back().graph_ms);
}

Status GpuSampler::sample(std::size_t index, Mode mode, Sample* sample) {
  const Contestant& contestant = contestants_[index];
  const SampleTiming timing = sample_timing(mode, rest_ms_);
  const int warm_up_replays = replays_to_fill(timing.warm_up_ms, contestant.graph_ms);
  const int timed_replays = replays_to_fill(timing.timed_ms, contestant.graph_ms);

  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(timing.idle_ms));
  SensorLog log(nvml_);
  HG_RETURN_IF_ERROR(replay(contestant, warm_up_replays));
  const double launches = static_cast<double>(warm_up_replays + timed_replays) * contestant.launches;
  double elapsed_ms = 0;
  HG_RETURN_IF_ERROR(time([&] { return replay(contestant, timed_replays); }, launches, &elapsed_ms));
  const Clock::time_point end = Clock::now();
  const std::span<const SensorReading> readings = log.stop();

  sample->seconds = elapsed_ms / 1e3 / timed_replays / contestant.launches;
  const auto timed =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(elapsed_ms));
  sample->sm_clock_mhz = clock_within(readings, end - timed, end);
  // A burst ends before the energy counter has moved twice, and the counter includes the rest before the burst.
  if (mode == Mode::Sustained) sample->watts = mean_watts(readings);
  if (nvml_ != nullptr) sample->temperature_c = nvml_->temperature_celsius();
  return {};
}

Status GpuSampler::profile(const Launch& launch, Mode mode) {
  double ms = 0;
  HG_RETURN_IF_ERROR(time_launch(launch, &ms));
  const SampleTiming timing = sample_timing(mode, rest_ms_);
  const int warm_up = times_to_fill(timing.warm_up_ms, ms, kMaxLaunchesPerGraph);
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(timing.idle_ms));
  HG_RETURN_IF_ERROR(time([&] { return launch_over_sets(launch, warm_up); }, warm_up, &ms));
  HG_RETURN_IF_CUDA_ERROR(cudaProfilerStart());
  // An error of the launch says more than the errors that follow it. After a hang nothing may wait for the GPU.
  HG_RETURN_IF_ERROR(time([&] { return launch_over_sets(launch, 1, warm_up); }, 1, &ms));
  return cuda_status(cudaProfilerStop(), "cudaProfilerStop");
}

}  // namespace hopper_gemm
