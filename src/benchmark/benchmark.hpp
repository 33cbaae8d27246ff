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

/// A graph of launches holds at most this many: more would take longer to build than to measure, and much
/// memory.
inline constexpr int kMaxLaunchesPerGraph = 4096;

/// How long a sample lasts. A GPU's clock falls within milliseconds of full load, so the two differ by 10 to
/// 20 %.
enum class Mode {
  Burst,     ///< what a GEMM between other work reaches
  Sustained  ///< what back-to-back GEMMs reach under the power cap
};

/// "burst" or "sustained".
std::string_view to_string(Mode mode);

/// The lengths of a sample's parts, in milliseconds. The GPU idles first where the contestant before must not
/// be felt: its power controller remembers a few tens of milliseconds, and a burst that follows another
/// without a pause runs at the sustained clock. The warm-up runs right before the timed part, by the same
/// contestant: the heat and the clock that it starts from are its own.
struct SampleTiming {
  double idle_ms;
  double warm_up_ms;
  double timed_ms;
};

/// 50 ms idle and 4 + 4 ms in burst, 150 + 150 ms without a pause in sustained mode.
SampleTiming sample_timing(Mode mode);

/// One reading of one contestant. The optional values are empty without NVML.
struct Sample {
  double seconds = 0;                   ///< per launch
  std::optional<double> sm_clock_mhz;   ///< in the middle of the timed part
  std::optional<double> temperature_c;  ///< right after it
  std::optional<double> watts;          ///< mean over warm-up and timed part; sustained mode only
};

/// Takes samples. The benchmark's loop sees contestants as numbers only, so that it can be tested without a
/// GPU.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual Status sample(std::size_t contestant, Mode mode, Sample* sample) = 0;
};

/// What the samples of one contestant in one mode come to: medians over the rounds.
struct Measurement {
  Summary seconds{};
  std::vector<double> samples_seconds;  ///< in the order they were taken
  std::optional<double> sm_clock_mhz;
  std::optional<double> temperature_c;
  std::optional<double> watts;
};

/// Needs one sample at least. A reading that some samples lack is summed up over those that have it.
Measurement aggregate(std::span<const Sample> samples);

/// 0 to count - 1 in random order: the same order for the same state of `generator` on every platform, which
/// std::shuffle does not promise.
std::vector<std::size_t> random_order(std::size_t count, std::mt19937_64& generator);

/// Called before each sample with the round, from 0, and the contestant.
using SampleObserver = std::function<void(int round, std::size_t contestant)>;

/// Takes `rounds` samples of every contestant. Each round visits all of them in a fresh random order:
/// contestants that follow one another at a fixed distance inherit each other's heat, which has moved results
/// by 9 %. Returns one Measurement per entry of `contestants`, in that order.
Status run_rounds(std::span<const std::size_t> contestants, Mode mode, int rounds, std::uint64_t seed,
                  Sampler& sampler, const SampleObserver& observer, std::vector<Measurement>* measurements);

/// The index of the measurement with the smallest median; needs one at least.
std::size_t best_by_median(std::span<const Measurement> measurements);

}  // namespace hopper_gemm
