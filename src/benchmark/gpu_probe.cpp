#include "benchmark/gpu_probe.hpp"

#include <cuda_bf16.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "benchmark/benchmark.hpp"
#include "benchmark/cuda_stream.hpp"
#include "benchmark/gpu_sampler.hpp"
#include "benchmark/probe_kernels.hpp"
#include "common/cuda_check.hpp"
#include "common/device_buffer.hpp"
#include "common/watchdog.hpp"
#include "ladder/hopper/wgmma_ceiling.hpp"
#include "verify/fill.hpp"

namespace hopper_gemm {
namespace {

using probe::ChaseResult;
using probe::kChunkBytes;

constexpr ComputeCapability kOldest = {8, 0};
constexpr ComputeCapability kHopper = {9, 0};

constexpr double kTimeoutSeconds = 30;

/// The lines that single CTAs of a chain's kernel walk through, for one quantity.
constexpr std::size_t kChainLines = 2048;
/// Neighbours, so that they fall into different sets of L1. Line 0 belongs to the chain of pages.
constexpr std::uint32_t kL1Lines = 255;
/// The chain of shared memory: all words but one, so that a walk of many steps does not end where it begins.
constexpr std::uint32_t kSharedChainWords = probe::kSharedWords - 1;
constexpr int kL1Steps = 1 << 14;
constexpr int kSharedSteps = 1 << 15;
/// How often the single lines are timed. The median of a line counts.
constexpr int kTimings = 5;

/// L2 does not hold more than a small part of so many bytes. They fit even small GPUs.
constexpr std::int64_t kMostMemoryBytes = std::int64_t{1} << 30;
/// Memory for everything beside the two buffers for the bandwidth of memory.
constexpr std::int64_t kOtherBytes = std::int64_t{256} << 20;
/// A share of L2 that fits one of two partitions, even if a partition keeps copies of what belongs to the other.
constexpr int kL2Share = 4;

constexpr int kSharedReadIterations = 2048;
constexpr std::uint32_t kSharedReadWord = 3;
constexpr int kFmaIterations = 400;
constexpr int kMmaIterations = 512;
constexpr int kCheckIterations = 4;
/// The accumulators alternate between two values, so that no FMA gets the same operands as the one before.
constexpr probe::FmaCoefficients kTimedFma = {.start = 0.0007F, .multiplier = -1.0F, .addend = 1.3717F};
constexpr probe::FmaCoefficients kCheckFma = {.start = 0.0F, .multiplier = 1.0F, .addend = 1.0F};
/// The ceiling issues the multiplications of this GEMM.
constexpr GemmShape kWgmmaShape = {8192, 8192, 8192};

/// The sum of the words of data that launch_write() has written.
std::uint32_t pattern_sum(std::int64_t bytes) { return static_cast<std::uint32_t>(bytes / 8); }

/// What is measured by one kind of sample. A sample gives a reading of each quantity.
struct Unit {
  std::string_view what;
  std::vector<ProbeQuantity> quantities;
  /// Appends the readings. If a kernel computed a wrong result, says so in *fault instead.
  std::function<Status(std::vector<ProbeReading>* readings, std::string* fault)> sample;
};

/// A chain through lines, and where its walk begins.
struct Chain {
  std::uint32_t first = 0;
  int steps = 0;
};

class GpuProbe {
 public:
  GpuProbe(const ProbeRequest& request, ProbeReport* report) : request_(request), report_(*report) {}

  Status run() {
    for (int i = 0; i < kNumProbeQuantities; ++i) {
      report_.rows.push_back({.quantity = static_cast<ProbeQuantity>(i), .readings = {}, .note = ""});
    }
    HG_RETURN_IF_ERROR(allocate());
    HG_RETURN_IF_ERROR(probe::launch_write(memory_.data(), memory_.size(), stream_ctas(), stream_.get()));
    HG_RETURN_IF_ERROR(probe::launch_write(l2_data_.data(), l2_data_.size(), stream_ctas(), stream_.get()));
    HG_RETURN_IF_ERROR(wait());
    sampler_.emplace(std::vector<GemmArgs>(1), stream_.get(), request_.nvml);
    HG_RETURN_IF_ERROR(add_shared_latency());
    HG_RETURN_IF_ERROR(add_chains());
    HG_RETURN_IF_ERROR(add_bandwidths());
    HG_RETURN_IF_ERROR(add_fma());
    HG_RETURN_IF_ERROR(add_mma());
    HG_RETURN_IF_ERROR(add_wgmma());
    HG_RETURN_IF_ERROR(add_launch());
    return measure();
  }

 private:
  const DeviceInfo& device() const { return request_.device; }
  int sms() const { return device().sm_count; }
  int stream_ctas() const { return sms() * probe::kStreamCtasPerSm; }
  ProbeRow& row(ProbeQuantity quantity) { return report_.rows[static_cast<std::size_t>(quantity)]; }

  void fail(const Unit& unit, const std::string& fault) {
    for (const ProbeQuantity quantity : unit.quantities) {
      row(quantity).readings.clear();
      row(quantity).is_wrong = true;
      row(quantity).note = fault;
    }
  }

  Status measure() {
    std::mt19937_64 generator(request_.seed);
    std::vector<bool> failed(units_.size());
    for (int round = 0; round < request_.rounds; ++round) {
      for (const std::size_t i : random_order(units_.size(), generator)) {
        const Unit& unit = units_[i];
        if (failed[i]) continue;
        if (request_.observer) request_.observer(round, unit.what);
        std::vector<ProbeReading> readings;
        std::string fault;
        HG_RETURN_IF_ERROR(unit.sample(&readings, &fault));
        if (!fault.empty()) {
          fail(unit, fault);
          failed[i] = true;
          continue;
        }
        for (std::size_t j = 0; j < readings.size(); ++j) {
          row(unit.quantities[j]).readings.push_back(readings[j]);
        }
      }
    }
    return {};
  }

  Status wait() { return wait_with_watchdog(stream_.get(), kTimeoutSeconds); }

  template <typename T>
  Status read_back(const DeviceBuffer<T>& buffer, std::size_t count, std::vector<T>* values) {
    values->resize(count);
    HG_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(values->data(), buffer.data(), count * sizeof(T),
                                            cudaMemcpyDeviceToHost, stream_.get()));
    return wait();
  }

  /// The buffer must have been allocated for as many values.
  template <typename T>
  Status upload(const std::vector<T>& values, const DeviceBuffer<T>& buffer) {
    HG_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(buffer.data(), values.data(), values.size() * sizeof(T),
                                            cudaMemcpyHostToDevice, stream_.get()));
    return wait();
  }

  Status allocate() {
    const std::int64_t room = (device().free_bytes - kOtherBytes) / 2;
    // Each CTA moves as many chunks as the others, so that none of them works longer.
    const std::int64_t wave_bytes = kChunkBytes * stream_ctas();
    const std::int64_t memory_bytes = std::min(kMostMemoryBytes, room) / wave_bytes * wave_bytes;
    const std::int64_t least_bytes = 4 * device().l2_bytes;
    if (memory_bytes < least_bytes) {
      return out_of_memory(fmt::format(
          "probe needs {} MB of GPU memory, but only {} MB are free; end other programs that hold GPU memory",
          (2 * least_bytes + kOtherBytes) / 1000000, device().free_bytes / 1000000));
    }
    const std::int64_t l2_bytes =
        std::max(device().l2_bytes / kL2Share / kChunkBytes, std::int64_t{1}) * kChunkBytes;
    const std::int64_t most_sums = std::max(
        {std::int64_t{stream_ctas()} * probe::kSumsPerCta, std::int64_t{sms()} * probe::kSharedReadThreads,
         std::int64_t{sms()} * probe::kFmaThreads, std::int64_t{sms()} * probe::kMmaThreads});
    HG_RETURN_IF_ERROR(stream_.create());
    HG_RETURN_IF_ERROR(lines_.allocate(std::int64_t{probe::kNumLines} * probe::kLineBytes));
    HG_RETURN_IF_ERROR(next_.allocate(probe::kNumLines));
    HG_RETURN_IF_ERROR(shared_next_.allocate(probe::kSharedWords));
    HG_RETURN_IF_ERROR(line_cycles_.allocate(probe::kNumTimedLines));
    HG_RETURN_IF_ERROR(chase_result_.allocate(1));
    HG_RETURN_IF_ERROR(memory_.allocate(memory_bytes));
    HG_RETURN_IF_ERROR(other_memory_.allocate(memory_bytes));
    HG_RETURN_IF_ERROR(l2_data_.allocate(l2_bytes));
    HG_RETURN_IF_ERROR(sums_.allocate(most_sums));
    HG_RETURN_IF_ERROR(float_sums_.allocate(most_sums));
    HG_RETURN_IF_ERROR(cta_cycles_.allocate(sms()));
    HG_RETURN_IF_ERROR(coefficients_.allocate(1));
    return mma_operands_.allocate(probe::kMmaOperandElems);
  }

  // --- Latencies ---

  /// Reads 4 ms or more, so that the clock is up and L2 holds none of the lines.
  Status flush() {
    constexpr int kReads = 12;
    for (int i = 0; i < kReads; ++i) {
      HG_RETURN_IF_ERROR(probe::launch_read(memory_.data(), memory_.size(), probe::ReadPattern::Share,
                                            stream_ctas(), sums_.data(), stream_.get()));
    }
    return {};
  }

  Status link_lines() { return probe::launch_link_lines(lines_.data(), next_.data(), sms(), stream_.get()); }

  /// Enqueues by `launch`, which gets a cleared result, and reads that.
  Status run_chase(const std::function<Status(ChaseResult*)>& launch, ChaseResult* result) {
    HG_RETURN_IF_CUDA_ERROR(
        cudaMemsetAsync(chase_result_.data(), 0, chase_result_.size_bytes(), stream_.get()));
    HG_RETURN_IF_ERROR(launch(chase_result_.data()));
    std::vector<ChaseResult> results;
    HG_RETURN_IF_ERROR(read_back(chase_result_, 1, &results));
    *result = results.front();
    if (result->claimed != 0) return {};
    return unsupported(
        fmt::format("no CTA of a grid ran on SM {}; end other programs that use this GPU", sm_));
  }

  static ProbeReading latency_of(const ChaseResult& result, int steps) {
    ProbeReading reading{.value = static_cast<double>(result.cycles) / steps};
    if (result.ns == 0) return reading;
    reading.other_value = static_cast<double>(result.ns) / steps;
    reading.sm_clock_mhz = static_cast<double>(result.cycles) / static_cast<double>(result.ns) * 1e3;
    return reading;
  }

  /// Walks along a chain of lines and appends the latency of a step.
  Status sample_chain(const probe::Chase& chase, std::vector<ProbeReading>* readings, std::string* fault) {
    ChaseResult result{};
    HG_RETURN_IF_ERROR(run_chase(
        [&](ChaseResult* target) {
          return probe::launch_chase(lines_.data(), chase, sm_, sms(), target, stream_.get());
        },
        &result));
    const std::uint64_t offset = result.end - reinterpret_cast<std::uint64_t>(lines_.data());
    const std::uint32_t expected = end_of_walk(links_, chase.first, chase.steps);
    if (offset != std::uint64_t{expected} * probe::kLineBytes) {
      *fault =
          fmt::format("the walk through the lines ended at byte {} and not at line {}", offset, expected);
    }
    readings->push_back(latency_of(result, chase.steps));
    return {};
  }

  Status add_shared_latency() {
    std::vector<std::uint32_t> words(kSharedChainWords);
    std::iota(words.begin(), words.end(), 0U);
    std::vector<std::uint32_t> next(probe::kSharedWords);
    link_cycle(words, request_.seed, next);
    const std::uint32_t end = end_of_walk(next, 0, kSharedSteps) * 4;
    for (std::uint32_t& word : next) word *= 4;
    HG_RETURN_IF_ERROR(upload(next, shared_next_));
    units_.push_back(
        {"the latency of shared memory",
         {ProbeQuantity::SharedLatency},
         [this, end](std::vector<ProbeReading>* readings, std::string* fault) {
           HG_RETURN_IF_ERROR(flush());
           ChaseResult result{};
           HG_RETURN_IF_ERROR(run_chase(
               [&](ChaseResult* target) {
                 return probe::launch_chase_shared(shared_next_.data(), kSharedSteps, target, stream_.get());
               },
               &result));
           if (result.end != end) {
             *fault = fmt::format("the walk through shared memory ended at byte {} and not at {}", result.end,
                                  end);
           }
           readings->push_back(latency_of(result, kSharedSteps));
           return Status();
         }});
    return {};
  }

  /// Whether no other chain uses the line.
  static bool is_free(std::uint32_t line) { return line > kL1Lines && line % probe::kLinesPerPage != 0; }

  static std::uint32_t spread_line(std::uint32_t index) {
    return index * probe::kTimedLineFactor % probe::kNumLines;
  }

  /// The medians of the latency of each timed line: of the first reads after all SMs wrote the lines, and of reads by
  /// the next kernel on the same SM. Also chooses the SM on which all chains run.
  Status time_lines(std::vector<double>* first_reads, std::vector<double>* again) {
    std::vector<std::vector<double>> samples[2];
    for (auto& of_line : samples) of_line.resize(probe::kNumTimedLines);
    for (int timing = 0; timing < kTimings; ++timing) {
      HG_RETURN_IF_ERROR(flush());
      HG_RETURN_IF_ERROR(link_lines());
      for (auto& of_line : samples) {
        ChaseResult result{};
        HG_RETURN_IF_ERROR(run_chase(
            [&](ChaseResult* target) {
              return probe::launch_time_lines(lines_.data(), sm_, sms(), line_cycles_.data(), target,
                                              stream_.get());
            },
            &result));
        sm_ = static_cast<int>(result.sm);
        std::vector<std::uint16_t> cycles;
        HG_RETURN_IF_ERROR(read_back(line_cycles_, probe::kNumTimedLines, &cycles));
        for (std::size_t i = 0; i < cycles.size(); ++i) of_line[i].push_back(cycles[i]);
      }
    }
    for (const auto& of_line : samples[0]) first_reads->push_back(median(of_line).value_or(0));
    for (const auto& of_line : samples[1]) again->push_back(median(of_line).value_or(0));
    return {};
  }

  /// Links at most kChainLines of the lines to a chain. The walk does not return to the beginning.
  Chain make_chain(std::vector<std::uint32_t> lines, std::uint64_t seed) {
    const std::size_t steps =
        std::min(lines.size() - 1, kChainLines) / probe::kChaseUnroll * probe::kChaseUnroll;
    lines.resize(steps + 1);
    return {link_cycle(lines, seed, links_).front(), static_cast<int>(steps)};
  }

  Status add_chains() {
    links_.resize(probe::kNumLines);
    std::iota(links_.begin(), links_.end(), 0U);
    std::vector<std::uint32_t> pages;
    pages.reserve(probe::kNumPages);
    for (std::uint32_t page = 0; page < probe::kNumPages; ++page)
      pages.push_back(page * probe::kLinesPerPage);
    const std::uint32_t first_page = link_cycle(pages, request_.seed, links_).front();
    HG_RETURN_IF_ERROR(upload(links_, next_));
    std::vector<double> first_reads;
    std::vector<double> again;
    HG_RETURN_IF_ERROR(time_lines(&first_reads, &again));

    constexpr double kBinCycles = 8;
    report_.l2_lines.first_reads = histogram_of(first_reads, kBinCycles);
    report_.l2_lines.again = histogram_of(again, kBinCycles);
    const std::optional<LatencyGroups> groups = split_latencies(first_reads);
    std::vector<std::uint32_t> near;
    std::vector<std::uint32_t> far;
    std::vector<std::uint32_t> of_memory;
    for (std::uint32_t i = 0; i < probe::kNumTimedLines; ++i) {
      const std::uint32_t line = spread_line(i);
      const bool is_far = groups && first_reads[i] > groups->boundary;
      if (is_free(line)) (is_far ? far : near).push_back(line);
    }
    for (std::uint32_t i = probe::kNumTimedLines; of_memory.size() <= kChainLines; ++i) {
      if (is_free(spread_line(i))) of_memory.push_back(spread_line(i));
    }
    report_.l2_lines.near = static_cast<int>(near.size());
    report_.l2_lines.far = static_cast<int>(far.size());

    std::vector<std::uint32_t> l1(kL1Lines);
    std::iota(l1.begin(), l1.end(), 1U);
    const std::uint32_t first_of_l1 = link_cycle(l1, request_.seed, links_).front();
    const probe::Chase l1_chase = {first_of_l1, kL1Lines, first_of_l1, kL1Steps};
    const auto after_pages = [&](const Chain& chain) {
      return probe::Chase{first_page, probe::kNumPages, chain.first, chain.steps};
    };
    const probe::Chase near_chase = after_pages(make_chain(near, request_.seed));
    const probe::Chase memory_chase = after_pages(make_chain(of_memory, request_.seed));
    units_.push_back({"the latency of L1",
                      {ProbeQuantity::L1Latency},
                      [this, l1_chase](std::vector<ProbeReading>* readings, std::string* fault) {
                        HG_RETURN_IF_ERROR(flush());
                        HG_RETURN_IF_ERROR(link_lines());
                        return sample_chain(l1_chase, readings, fault);
                      }});
    add_l2_chain("the latency of L2, near partition", ProbeQuantity::L2NearLatency,
                 ProbeQuantity::L2NearAgainLatency, near_chase);
    if (groups) {
      add_l2_chain("the latency of L2, far partition", ProbeQuantity::L2FarLatency,
                   ProbeQuantity::L2FarAgainLatency, after_pages(make_chain(far, request_.seed)));
    } else {
      for (const auto quantity : {ProbeQuantity::L2FarLatency, ProbeQuantity::L2FarAgainLatency}) {
        row(quantity).note = "all lines are alike";
      }
    }
    units_.push_back({"the latency of memory",
                      {ProbeQuantity::MemoryLatency},
                      [this, memory_chase](std::vector<ProbeReading>* readings, std::string* fault) {
                        HG_RETURN_IF_ERROR(link_lines());
                        HG_RETURN_IF_ERROR(flush());
                        return sample_chain(memory_chase, readings, fault);
                      }});
    return upload(links_, next_);
  }

  void add_l2_chain(std::string_view what, ProbeQuantity first_read, ProbeQuantity again,
                    const probe::Chase& chase) {
    units_.push_back(
        {what, {first_read, again}, [this, chase](std::vector<ProbeReading>* readings, std::string* fault) {
           HG_RETURN_IF_ERROR(flush());
           HG_RETURN_IF_ERROR(link_lines());
           HG_RETURN_IF_ERROR(sample_chain(chase, readings, fault));
           return sample_chain(chase, readings, fault);
         }});
  }

  // --- Bandwidths and rates ---

  using Enqueue = std::function<Status(cudaStream_t)>;
  using Check = std::function<Status(std::string* fault)>;
  using ToReading = std::function<ProbeReading(const Sample&)>;

  /// Adds a unit that GpuSampler times. `prepare` runs before each sample and may be empty; `check` runs after it.
  Status add_timed(std::string_view what, ProbeQuantity quantity, const Enqueue& enqueue,
                   const ToReading& to_reading, const Check& check, const Enqueue& prepare = nullptr) {
    HG_RETURN_IF_ERROR(
        sampler_->add([enqueue](const GemmArgs&, cudaStream_t stream) { return enqueue(stream); }));
    units_.push_back({what,
                      {quantity},
                      [this, index = num_timed_++, to_reading, check, prepare](
                          std::vector<ProbeReading>* readings, std::string* fault) {
                        if (prepare) HG_RETURN_IF_ERROR(prepare(stream_.get()));
                        Sample sample;
                        HG_RETURN_IF_ERROR(sampler_->sample(index, Mode::Burst, &sample));
                        if (check) HG_RETURN_IF_ERROR(check(fault));
                        readings->push_back(to_reading(sample));
                        return Status();
                      }});
    return {};
  }

  /// work / clock / sms, for a rate of `work` each second. Empty without a clock.
  static std::optional<double> per_cycle(double work_per_second, const Sample& sample, int sms) {
    if (!sample.sm_clock_mhz || *sample.sm_clock_mhz <= 0) return std::nullopt;
    return work_per_second / (*sample.sm_clock_mhz * 1e6) / sms;
  }

  ToReading work_reading(double work, double unit, int sms) const {
    return [=](const Sample& sample) {
      const double per_second = work / sample.seconds;
      return ProbeReading{.value = per_second / unit,
                          .other_value = per_cycle(per_second, sample, sms),
                          .sm_clock_mhz = sample.sm_clock_mhz};
    };
  }

  ToReading memory_reading(double bytes) const {
    const double peak = device().memory_bytes_per_us * 1e6;
    return [=](const Sample& sample) {
      const double per_second = bytes / sample.seconds;
      return ProbeReading{.value = per_second / 1e12,
                          .other_value = peak > 0 ? std::optional(per_second / peak * 100) : std::nullopt,
                          .sm_clock_mhz = sample.sm_clock_mhz};
    };
  }

  /// Compares the sum that launch_read() left behind.
  Status check_sums(int ctas, std::uint32_t expected, std::string* fault) {
    std::vector<std::uint32_t> sums;
    HG_RETURN_IF_ERROR(read_back(sums_, static_cast<std::size_t>(ctas * probe::kSumsPerCta), &sums));
    const std::uint32_t sum = std::accumulate(sums.begin(), sums.end(), 0U);
    if (sum != expected)
      *fault = fmt::format("the words that were read add up to {} and not to {}", sum, expected);
    return {};
  }

  /// Adds up the second buffer and compares.
  Status check_written(std::string* fault) {
    HG_RETURN_IF_ERROR(probe::launch_read(other_memory_.data(), other_memory_.size(),
                                          probe::ReadPattern::Share, stream_ctas(), sums_.data(),
                                          stream_.get()));
    return check_sums(stream_ctas(), pattern_sum(other_memory_.size()), fault);
  }

  Status add_bandwidths() {
    HG_RETURN_IF_ERROR(add_shared_bandwidth());
    const auto add_l2 = [this](std::string_view what, ProbeQuantity quantity, int ctas, int sms,
                               double unit) {
      return add_timed(
          what, quantity,
          [this, ctas](cudaStream_t stream) {
            return probe::launch_read(l2_data_.data(), l2_data_.size(), probe::ReadPattern::Everything, ctas,
                                      sums_.data(), stream);
          },
          work_reading(static_cast<double>(l2_data_.size()) * ctas, unit, sms),
          [this, ctas](std::string* fault) {
            return check_sums(ctas, pattern_sum(l2_data_.size()) * static_cast<std::uint32_t>(ctas), fault);
          });
    };
    HG_RETURN_IF_ERROR(add_l2("the bandwidth from L2 to one SM", ProbeQuantity::L2SmBandwidth, 1, 1, 1e9));
    HG_RETURN_IF_ERROR(add_l2("the bandwidth of L2", ProbeQuantity::L2Bandwidth, stream_ctas(), sms(), 1e12));
    const auto bytes = static_cast<double>(memory_.size());
    HG_RETURN_IF_ERROR(add_timed(
        "the bandwidth of memory, read", ProbeQuantity::MemoryReadBandwidth,
        [this](cudaStream_t stream) {
          return probe::launch_read(memory_.data(), memory_.size(), probe::ReadPattern::Share, stream_ctas(),
                                    sums_.data(), stream);
        },
        memory_reading(bytes),
        [this](std::string* fault) {
          return check_sums(stream_ctas(), pattern_sum(memory_.size()), fault);
        }));
    const auto clear = [this](cudaStream_t stream) {
      return cuda_status(cudaMemsetAsync(other_memory_.data(), 0, other_memory_.size_bytes(), stream),
                         "cudaMemsetAsync");
    };
    const auto check = [this](std::string* fault) { return check_written(fault); };
    HG_RETURN_IF_ERROR(add_timed(
        "the bandwidth of memory, write", ProbeQuantity::MemoryWriteBandwidth,
        [this](cudaStream_t stream) {
          return probe::launch_write(other_memory_.data(), other_memory_.size(), stream_ctas(), stream);
        },
        memory_reading(bytes), check, clear));
    return add_timed(
        "the bandwidth of memory, copy", ProbeQuantity::MemoryCopyBandwidth,
        [this](cudaStream_t stream) {
          return probe::launch_copy(memory_.data(), other_memory_.data(), memory_.size(), stream_ctas(),
                                    stream);
        },
        memory_reading(2 * bytes), check, clear);
  }

  Status add_shared_bandwidth() {
    constexpr double kBytes = static_cast<double>(probe::kSharedReadBytes) * kSharedReadIterations;
    // GpuSampler's time gives the rate of all SMs. The SMs' own clocks give the bytes per cycle, which check() keeps.
    return add_timed(
        "the bandwidth of shared memory", ProbeQuantity::SharedBandwidth,
        [this](cudaStream_t stream) {
          return probe::launch_read_shared(kSharedReadWord, kSharedReadIterations, sms(),
                                           device().shared_bytes_per_sm, cta_cycles_.data(), sums_.data(),
                                           stream);
        },
        [this](const Sample& sample) {
          return ProbeReading{.value = kBytes / shared_cycles_,
                              .other_value = kBytes * sms() / sample.seconds / 1e12,
                              .sm_clock_mhz = sample.sm_clock_mhz};
        },
        [this](std::string* fault) {
          std::vector<std::uint64_t> cycles;
          HG_RETURN_IF_ERROR(read_back(cta_cycles_, static_cast<std::size_t>(sms()), &cycles));
          const std::vector<double> values(cycles.begin(), cycles.end());
          shared_cycles_ = median(values).value_or(0);
          std::vector<std::uint32_t> sums;
          HG_RETURN_IF_ERROR(
              read_back(sums_, static_cast<std::size_t>(sms() * probe::kSharedReadThreads), &sums));
          constexpr std::uint32_t kExpected =
              4U * probe::kSharedReadLoads * kSharedReadIterations * kSharedReadWord;
          const auto right = std::count(sums.begin(), sums.end(), kExpected);
          if (right != static_cast<std::ptrdiff_t>(sums.size())) {
            *fault = fmt::format("the words of shared memory do not add up to {} in {} of {} threads",
                                 kExpected, static_cast<std::ptrdiff_t>(sums.size()) - right, sums.size());
          }
          return Status();
        });
  }

  /// Says in *fault if the sums of the threads are not what `expected` gives for each thread of a CTA.
  Status check_float_sums(int threads, double tolerance, const std::function<double(int)>& expected,
                          std::string* fault) {
    std::vector<float> sums;
    HG_RETURN_IF_ERROR(read_back(float_sums_, static_cast<std::size_t>(sms() * threads), &sums));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double wanted = expected(static_cast<int>(i) % threads);
      const double difference = std::abs(static_cast<double>(sums[i]) - wanted);
      // A NaN must fail, too.
      if (difference <= tolerance) continue;
      *fault = fmt::format("the accumulators of thread {} add up to {} and not to {}", i, sums[i], wanted);
      return {};
    }
    return {};
  }

  Status add_fma() {
    HG_RETURN_IF_ERROR(upload(std::vector{kCheckFma}, coefficients_));
    HG_RETURN_IF_ERROR(
        probe::launch_fma(coefficients_.data(), kCheckIterations, sms(), float_sums_.data(), stream_.get()));
    std::string wrong;
    constexpr double kCounted = 1.0 * probe::kFmaAccumulators * probe::kFmaUnroll * kCheckIterations;
    HG_RETURN_IF_ERROR(check_float_sums(
        probe::kFmaThreads, 0, [](int) { return kCounted; }, &wrong));
    HG_RETURN_IF_ERROR(upload(std::vector{kTimedFma}, coefficients_));
    return add_timed(
        "the rate of fp32 FMA", ProbeQuantity::Fp32Rate,
        [this](cudaStream_t stream) {
          return probe::launch_fma(coefficients_.data(), kFmaIterations, sms(), float_sums_.data(), stream);
        },
        work_reading(probe::fma_flops(kFmaIterations, sms()), 1e12, sms()),
        [this, wrong](std::string* fault) {
          *fault = wrong;
          if (!fault->empty()) return Status();
          constexpr double kTolerance = 1e-4;
          return check_float_sums(
              probe::kFmaThreads, kTolerance,
              [](int thread) {
                return static_cast<double>(kTimedFma.start) * thread * probe::kFmaAccumulators;
              },
              fault);
        });
  }

  Status add_mma() {
    const std::vector<__nv_bfloat16> ones(probe::kMmaOperandElems, __float2bfloat16(1.0F));
    HG_RETURN_IF_ERROR(upload(ones, mma_operands_));
    HG_RETURN_IF_ERROR(
        probe::launch_mma(mma_operands_.data(), kCheckIterations, sms(), float_sums_.data(), stream_.get()));
    std::string wrong;
    constexpr double kK = 16;
    constexpr double kCounted = kK * probe::kMmaAccumulators * probe::kMmaUnroll * kCheckIterations;
    HG_RETURN_IF_ERROR(check_float_sums(
        probe::kMmaThreads, 0, [](int) { return kCounted; }, &wrong));
    HG_RETURN_IF_ERROR(fill(mma_operands_));
    return add_timed(
        "the rate of mma.sync", ProbeQuantity::MmaSyncRate,
        [this](cudaStream_t stream) {
          return probe::launch_mma(mma_operands_.data(), kMmaIterations, sms(), float_sums_.data(), stream);
        },
        work_reading(probe::mma_flops(kMmaIterations, sms()), 1e12, sms()),
        [this, wrong](std::string* fault) {
          *fault = wrong;
          return fault->empty() ? check_finite(float_sums_, sms() * probe::kMmaThreads, fault) : Status();
        });
  }

  /// The tensor cores' speed depends on their data, because power limits it.
  Status fill(const DeviceBuffer<__nv_bfloat16>& operands) {
    return fill_matrix(operands.data(), DataType::BFloat16, 1, operands.size(), operands.size(),
                       DataKind::Normal, integer_density(operands.size()), request_.seed, stream_.get());
  }

  Status check_finite(const DeviceBuffer<float>& sums, int count, std::string* fault) {
    std::vector<float> values;
    HG_RETURN_IF_ERROR(read_back(sums, static_cast<std::size_t>(count), &values));
    const auto finite =
        std::count_if(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
    if (finite != count) *fault = fmt::format("{} of {} threads did not store a sum", count - finite, count);
    return {};
  }

  Status add_wgmma() {
    if (device().compute_capability != kHopper) {
      row(ProbeQuantity::WgmmaRate).note = "this GPU has no wgmma";
      return {};
    }
    const std::int64_t sink_elems = wgmma_ceiling_sink_elems(sms());
    HG_RETURN_IF_ERROR(wgmma_operands_.allocate(wgmma_ceiling_operand_elems()));
    HG_RETURN_IF_ERROR(fill(wgmma_operands_));
    HG_RETURN_IF_ERROR(wgmma_sink_.allocate(sink_elems));
    const auto poison = [this](cudaStream_t stream) {
      constexpr int kNanByte = 0xff;
      return cuda_status(cudaMemsetAsync(wgmma_sink_.data(), kNanByte, wgmma_sink_.size_bytes(), stream),
                         "cudaMemsetAsync");
    };
    return add_timed(
        "the rate of wgmma", ProbeQuantity::WgmmaRate,
        [this](cudaStream_t stream) {
          return launch_wgmma_ceiling(kWgmmaShape, sms(), wgmma_operands_.data(), wgmma_sink_.data(), stream);
        },
        work_reading(wgmma_ceiling_flops(kWgmmaShape), 1e12, sms()),
        [this](std::string* fault) {
          return check_finite(wgmma_sink_, static_cast<int>(wgmma_sink_.size()), fault);
        },
        poison);
  }

  Status add_launch() {
    return add_timed(
        "the time of an empty kernel", ProbeQuantity::EmptyLaunch,
        [this](cudaStream_t stream) { return probe::launch_empty(sms(), stream); },
        [](const Sample& sample) {
          return ProbeReading{.value = sample.seconds * 1e6, .sm_clock_mhz = sample.sm_clock_mhz};
        },
        nullptr);
  }

  ProbeRequest request_;
  ProbeReport& report_;
  CudaStream stream_;
  DeviceBuffer<char> lines_;
  DeviceBuffer<std::uint32_t> next_;  // the links of the lines
  DeviceBuffer<std::uint32_t> shared_next_;
  DeviceBuffer<std::uint16_t> line_cycles_;
  DeviceBuffer<ChaseResult> chase_result_;
  DeviceBuffer<char> memory_;
  DeviceBuffer<char> other_memory_;
  DeviceBuffer<char> l2_data_;
  DeviceBuffer<std::uint32_t> sums_;
  DeviceBuffer<float> float_sums_;
  DeviceBuffer<std::uint64_t> cta_cycles_;
  DeviceBuffer<probe::FmaCoefficients> coefficients_;
  DeviceBuffer<__nv_bfloat16> mma_operands_;
  DeviceBuffer<__nv_bfloat16> wgmma_operands_;
  DeviceBuffer<float> wgmma_sink_;
  std::vector<std::uint32_t> links_;  // the same as next_
  int sm_ = probe::kAnySm;            // on which chains run
  double shared_cycles_ = 0;          // of the last sample of shared memory's bandwidth
  std::vector<Unit> units_;
  std::size_t num_timed_ = 0;
  std::optional<GpuSampler> sampler_;  // last, so that its graphs are destroyed before what they refer to
};

}  // namespace

Status probe_gpu(const ProbeRequest& request, ProbeReport* report) {
  const DeviceInfo& device = request.device;
  if (device.compute_capability < kOldest) {
    return unsupported(fmt::format("probe needs an {} or newer GPU, but {} is {}; run it on a newer one",
                                   sm_text(kOldest), device.name, sm_text(device.compute_capability)));
  }
  auto gpu_probe = std::make_unique<GpuProbe>(request, report);
  const Status status = gpu_probe->run();
  // The destructor would wait for the kernel that hangs, see run_matmul.
  if (status.code() == StatusCode::Timeout) static_cast<void>(gpu_probe.release());
  return status;
}

}  // namespace hopper_gemm
