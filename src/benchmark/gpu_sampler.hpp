#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.hpp"
#include "benchmark/nvml.hpp"
#include "common/gemm_args.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Enqueues one GEMM on the stream and returns without waiting.
using Launch = std::function<Status(const GemmArgs&, cudaStream_t)>;

/// Seconds after which `launches` launches of `flops` floating-point operations each are taken to hang. This is half a
/// minute, and the time that they take at a hundredth of the speed of the slowest kernel of the ladder.
double hang_timeout_seconds(double flops, double launches);

/// How many launches of `ms_per_launch` a graph holds: 4 ms of them, but at most kMaxLaunchesPerGraph. They make whole
/// rotations over the `sets` operand sets, so that a replay continues where the one before ended.
int launches_per_graph(double ms_per_launch, int sets);

/// Samples contestants on the GPU.
///
/// A contestant's launches (see launches_per_graph) are captured into a CUDA graph once and replayed. The time of a
/// launch is then the GPU's alone, even if a GEMM is shorter than the microseconds that the host takes to launch it.
/// Events around the replays take the time.
class GpuSampler : public Sampler {
 public:
  /// `sets`: operands to rotate over; `stream` and `nvml` (nullptr: no readings) must outlive the sampler; `rest_ms`: see
  /// sample_timing().
  GpuSampler(std::vector<GemmArgs> sets, cudaStream_t stream, const Nvml* nvml, int rest_ms = kBurstRestMs);
  ~GpuSampler() override;
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  /// Runs `launch` to see how long it takes, then captures it. Contestants are numbered from 0 in the order in which
  /// they were added successfully. If a launch fails, returns its Status.
  Status add(const Launch& launch);

  Status sample(std::size_t contestant, Mode mode, Sample* sample) override;

  /// Rests and warms up as a sample of `mode` does, waits, and runs `launch` once between cudaProfilerStart and
  /// cudaProfilerStop, on the operands that have been unused for longest. Profilers
  /// can then look at this launch alone (`ncu --profile-from-start off`).
  Status profile(const Launch& launch, Mode mode);

 private:
  struct Contestant {
    cudaGraphExec_t graph;
    int launches;     // per replay
    double graph_ms;  // per replay, a first estimate
  };

  Status create_events();
  /// Calls `enqueue` between two events, waits, and measures the time between the events on the GPU. `launches`: how
  /// many launches the stream then holds, for the watchdog.
  Status time(const std::function<Status()>& enqueue, double launches, double* elapsed_ms);
  /// Milliseconds of one launch. It is not the first one, which also pays for loading the kernel.
  Status time_launch(const Launch& launch, double* ms);
  Status capture(const Launch& launch, int count, cudaGraphExec_t* graph);
  /// Launches `count` times, each time on the next set, from set `first` on.
  Status launch_over_sets(const Launch& launch, int count, int first = 0);
  Status replay(const Contestant& contestant, int replays);

  std::vector<GemmArgs> sets_;
  cudaStream_t stream_;
  const Nvml* nvml_;
  int rest_ms_;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
  std::vector<Contestant> contestants_;
};

}  // namespace hopper_gemm
