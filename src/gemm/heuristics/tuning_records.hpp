#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gemm/config.hpp"
#include "gemm/heuristics/loaded_files.hpp"
#include "gemm/heuristics/probed_rates.hpp"
#include "gemm/problem.hpp"

namespace hopper_gemm::library {

struct MeasuredTime {
  GemmConfig config;
  double us;
};

/// The last measured run of a shape and its layouts of A and B on a GPU.
struct MeasuredShape {
  std::string gpu;
  Device device;
  std::shared_ptr<const ProbedRates> rates;  ///< null if there are none
  Problem problem;
  std::vector<MeasuredTime> times;
};

/// Which of the records count.
struct RecordFilter {
  /// Leave out shapes whose residue tiles took longer before they were shifted to D's edge (profiles/experiments.md, 27).
  bool whole = false;
  double least_gflop = 0;  ///< leave out shapes of fewer operations, in units of 10^9
};

/// Such as "NVIDIA H200: 64x4096x4096, B row".
std::string name_of(const MeasuredShape& shape);

/// The number of clusters that an H100 or an H200 runs at a time, as cudaOccupancyMaxActiveClusters says.
int active_clusters_of_132_sms(const GemmConfig& config);

/// Reads files of `matmul tune best --csv`: the runs in burst mode of configurations that still exist. If several files
/// have a shape, the last run by date counts. Times of kernels that have changed since do not count, and neither does a
/// shape at which such a kernel was the fastest. probes: of the GPUs. Throws std::runtime_error.
std::vector<MeasuredShape> read_records(const std::vector<std::string>& paths, const RecordFilter& filter,
                                        const LoadedFiles<ProbedRates>& probes);

}  // namespace hopper_gemm::library
