#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "benchmark/statistics.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// The most launches that a graph holds. More would take longer to build than to measure, and much memory.
inline constexpr int kMaxLaunchesPerGraph = 4096;

/// How long a sample lasts. The two modes differ by 10 to 20 %, because a GPU's clock falls within milliseconds of full
/// load.
enum class Mode {
  Burst,     ///< the speed of a GEMM between other work
  Sustained  ///< the speed of back-to-back GEMMs under the power cap
};

/// "burst" or "sustained".
std::string_view to_string(Mode mode);

/// The lengths of a sample's parts, in milliseconds. In burst mode the GPU idles first, so that the contestant before
/// does not matter: the power controller remembers a few tens of milliseconds, and a burst that follows another without
/// a pause runs at the sustained clock. The same contestant runs the warm-up right before the timed part, so that the
/// heat and the clock at the start are its own.
struct SampleTiming {
  double idle_ms;
  double warm_up_ms;
  double timed_ms;
};

/// How long the GPU idles before a burst, unless somebody asks for another time.
inline constexpr int kBurstRestMs = 50;

/// rest_ms idle and 4 + 4 ms in burst, 150 + 150 ms without a pause in sustained mode.
SampleTiming sample_timing(Mode mode, int rest_ms = kBurstRestMs);

/// One sample of one contestant. The optional values are empty without NVML.
struct Sample {
  double seconds = 0;                   ///< per launch
  std::optional<double> sm_clock_mhz;   ///< in the middle of the timed part
  std::optional<double> temperature_c;  ///< right after the timed part
  std::optional<double> watts;          ///< mean over warm-up and timed part; sustained mode only
};

/// Takes samples. Contestants are mere numbers for the benchmark's loop, so that tests can run it without a GPU.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual Status sample(std::size_t contestant, Mode mode, Sample* sample) = 0;
};

/// The medians over the samples of one contestant in one mode.
struct Measurement {
  Summary seconds{};
  std::vector<double> samples_seconds;  ///< in the order they were taken
  std::optional<double> sm_clock_mhz;
  std::optional<double> temperature_c;
  std::optional<double> watts;
};

/// Needs at least one sample. If some samples lack a reading, its median is that of the others.
Measurement aggregate(std::span<const Sample> samples);

/// 0 to count - 1 in random order. The same state of `generator` gives the same order on every platform, which
/// std::shuffle does not promise.
std::vector<std::size_t> random_order(std::size_t count, std::mt19937_64& generator);

/// Called before each sample with the round, from 0, and the contestant.
using SampleObserver = std::function<void(int round, std::size_t contestant)>;

/// Takes `rounds` samples of every contestant. Each round visits all of them in a fresh random order, because in a
/// fixed order each would always inherit the heat of the same contestant before it, which has moved results by 9 %.
/// Returns one Measurement per entry of `contestants`, in that order.
Status run_rounds(std::span<const std::size_t> contestants, Mode mode, int rounds, std::uint64_t seed,
                  Sampler& sampler, const SampleObserver& observer, std::vector<Measurement>* measurements);

/// The index of the measurement with the smallest median. Needs at least one measurement.
std::size_t best_by_median(std::span<const Measurement> measurements);

}  // namespace hopper_gemm
