#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/device_info.hpp"
#include "benchmark/nvml.hpp"
#include "benchmark/statistics.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// What `matmul probe` measures, in the order of its table.
enum class ProbeQuantity {
  SharedLatency,
  L1Latency,
  L2NearLatency,
  L2NearAgainLatency,
  L2FarLatency,
  L2FarAgainLatency,
  MemoryLatency,
  SharedBandwidth,
  L2SmBandwidth,
  L2Bandwidth,
  MemoryReadBandwidth,
  MemoryWriteBandwidth,
  MemoryCopyBandwidth,
  Fp32Rate,
  MmaSyncRate,
  WgmmaRate,
  EmptyLaunch,
};
inline constexpr int kNumProbeQuantities = static_cast<int>(ProbeQuantity::EmptyLaunch) + 1;

/// How files and the table name a quantity.
struct ProbeNames {
  std::string_view name;        ///< "l2_near_latency"
  std::string_view title;       ///< "latency of L2, near partition"
  std::string_view unit;        ///< of a reading's value
  std::string_view other_unit;  ///< of a reading's other_value; empty: it has none
};
const ProbeNames& names_of(ProbeQuantity quantity);

/// One measurement. The optional values are empty if the GPU does not tell its clock.
struct ProbeReading {
  double value = 0;
  std::optional<double> other_value = {};   ///< the same in the other unit
  std::optional<double> sm_clock_mhz = {};  ///< during the measurement
};

/// A quantity with one reading for each round.
struct ProbeRow {
  ProbeQuantity quantity{};
  std::vector<ProbeReading> readings;
  std::string note;       ///< why there are no readings, or what was wrong
  bool is_wrong = false;  ///< a kernel computed a wrong result; readings are then empty

  std::optional<Summary> value() const;  ///< median, least and most
  std::optional<double> other_value() const;
  std::optional<double> sm_clock_mhz() const;
};

/// How many lines have which latency.
struct LatencyHistogram {
  double first_cycles = 0;  ///< where the first bin begins
  double bin_cycles = 0;
  std::vector<int> lines;  ///< of each bin
};

/// What the latencies of single lines say about L2.
struct L2Lines {
  int near = 0;                  ///< lines of the near partition; all lines if the latencies are of one group
  int far = 0;                   ///< lines of the far partition
  LatencyHistogram first_reads;  ///< after other SMs wrote the lines
  LatencyHistogram again;        ///< when the same SM reads the lines again
};

struct ProbeReport {
  std::vector<ProbeRow> rows;  ///< in the order of the quantities
  L2Lines l2_lines;

  bool any_wrong() const;
};

/// Called before each sample with the round, from 0, and what is measured.
using ProbeObserver = std::function<void(int round, std::string_view what)>;

struct ProbeRequest {
  DeviceInfo device;
  int rounds = 1;
  std::uint64_t seed = 0;
  const Nvml* nvml = nullptr;  ///< nullptr: no clocks of bandwidths and rates
  ProbeObserver observer;
};

/// Two groups of latencies.
struct LatencyGroups {
  double near_mean;
  double far_mean;
  double boundary;  ///< latencies below it are near
};

/// Finds two groups of latencies. The boundary is where the squared distances from the groups' means are the least. The
/// hundredth with the smallest and the hundredth with the largest values do not count, because a few loads wait for
/// something else. Empty: there are not two groups. A group has at least a tenth of the values, and between two groups is
/// a gap: less than a tenth of the values lie in the middle third of the distance between the means.
std::optional<LatencyGroups> split_latencies(std::span<const double> values);

/// The histogram of the values with bins of `bin_cycles`. Values above the 99th percentile count in the last bin. Empty
/// for no values.
LatencyHistogram histogram_of(std::span<const double> values, double bin_cycles);

/// Links `lines` to a cycle in random order: next[i] is the number of the line that follows line i. `lines` are numbers
/// below next.size(), each once. Returns the order, which begins at the first line to walk from. The same seed gives the
/// same cycle.
std::vector<std::uint32_t> link_cycle(std::span<const std::uint32_t> lines, std::uint64_t seed,
                                      std::span<std::uint32_t> next);

/// Where a walk of `steps` steps from line `first` ends.
std::uint32_t end_of_walk(std::span<const std::uint32_t> next, std::uint32_t first, std::int64_t steps);

}  // namespace hopper_gemm
