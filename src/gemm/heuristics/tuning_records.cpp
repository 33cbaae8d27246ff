#include "gemm/heuristics/tuning_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "gemm/config_name.hpp"
#include "gemm/heuristics/candidates.hpp"
#include "gemm/heuristics/cost_model.hpp"

namespace hopper_gemm::library {
namespace {

/// A bf16 product of matrices without gaps.
Problem problem_of(const GemmShape& shape, OperandMajor a_major, OperandMajor b_major) {
  Problem problem{.args = {},
                  .alignments = {.a = 16, .b = 16, .c = 16, .d = 16},
                  .programmatic_dependent_launch = true,
                  .workspace_limit_bytes = std::size_t{64} << 20};
  problem.args.input_type = DataType::BFloat16;
  problem.args.shape = shape;
  problem.args.batch_count = 1;
  problem.args.a = {nullptr, a_major, a_major == OperandMajor::K ? shape.k : shape.m, 0};
  problem.args.b = {nullptr, b_major, b_major == OperandMajor::K ? shape.k : shape.n, 0};
  problem.args.epilogue.ldd = shape.n;
  return problem;
}

/// The fields of a line of RFC 4180, without line breaks and quotes.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (const char c : line) {
    // A quote within a quoted field is doubled. The first ends the field and the second begins it again; neither is
    // kept.
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

/// Whether the shape's tiles end with D, or extend past its edge by much. Tiles that extended past it took longer
/// before the library shifted them back to the edge.
bool has_whole_tiles(const GemmShape& shape) {
  const auto is_whole = [](int extent) { return extent <= kBlockK || extent % 16 != 8; };
  return is_whole(shape.m) && is_whole(shape.n);
}

/// The peak of its memory, in bytes per microsecond, by what the driver says of its clock and its bus.
double memory_peak_of(const std::string& gpu) {
  if (gpu == "NVIDIA H200") return kH200MemoryBytesPerUs;
  if (gpu == "NVIDIA H100 80GB HBM3") return kH100MemoryBytesPerUs;
  throw std::runtime_error(fmt::format("the memory's rate of a GPU '{}' is not known", gpu));
}

/// Whether the record is from before experiment 54 (profiles/experiments.md), and of a launch that does not overlap since. Until
/// then all launches for small M overlapped. date: of the record.
bool is_of_another_launch(const std::string& date, const KernelArgs& args, const GemmConfig& config) {
  constexpr const char* kSince = "2026-11-29T01:25:02Z";
  return date < kSince && config.kernel.schedule == Schedule::SmallM && cluster_size(config) == 1 &&
         !estimate(args, config, active_clusters_of_132_sms).overlaps;
}

/// Whether the record is from before experiment 60, and of a kernel whose loop over K has become shorter with it.
bool is_of_another_loop(const std::string& date, const KernelConfig& kernel) {
  constexpr const char* kSince = "2026-11-29T15:29:11Z";
  return date < kSince && kernel.consumers == 1;
}

/// A run of a shape.
struct Run {
  std::vector<MeasuredTime> times;
  double least_us_of_others =
      std::numeric_limits<double>::infinity();  ///< of what launches or loops otherwise today

  /// Whether the fastest configuration of the run is among the times.
  bool has_best() const {
    return std::any_of(times.begin(), times.end(),
                       [&](const MeasuredTime& time) { return time.us <= least_us_of_others; });
  }
};

}  // namespace

std::string name_of(const MeasuredShape& shape) {
  const KernelArgs& args = shape.problem.args;
  return fmt::format("{}: {}x{}x{}{}{}", shape.gpu, args.shape.m, args.shape.n, args.shape.k,
                     args.a.major == OperandMajor::MN ? ", A col" : "",
                     args.b.major == OperandMajor::MN ? ", B row" : "");
}

int active_clusters_of_132_sms(const GemmConfig& config) {
  // One line for each number of CTAs that an SM has shared memory for.
  constexpr int kOfSize[][8] = {{132, 66, 39, 30, 22, 17, 15, 15},
                                {264, 132, 79, 62, 47, 39, 32, 30},
                                {396, 198, 124, 92, 69, 62, 47, 45},
                                {528, 264, 163, 124, 94, 79, 69, 62}};
  const int ctas = config.kernel.schedule == Schedule::SmallM ? small_m_ctas_that_fit(config.kernel) : 1;
  return kOfSize[std::clamp(ctas, 1, 4) - 1][cluster_size(config) - 1];
}

std::vector<MeasuredShape> read_records(const std::vector<std::string>& paths, const RecordFilter& filter,
                                        const LoadedFiles<ProbedRates>& probes) {
  std::map<std::string, GemmConfig> configs;
  for (const GemmConfig& config : all_configs()) configs[name_of(config)] = config;
  // The keys are the GPU, shape and layouts, then the date.
  std::map<std::tuple<std::string, int, int, int, OperandMajor, OperandMajor>, std::map<std::string, Run>>
      runs;
  for (const std::string& path : paths) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) throw std::runtime_error(path + ": there is no such file, or it is empty");
    const std::vector<std::string> header = fields_of(line);
    const auto column = [&](const char* name) {
      const auto found = std::find(header.begin(), header.end(), name);
      if (found == header.end())
        throw std::runtime_error(fmt::format("{}: there is no column {}", path, name));
      return static_cast<std::size_t>(found - header.begin());
    };
    const std::size_t version = column("version");
    const std::size_t mode = column("mode");
    const std::size_t time = column("time_median_us");
    const std::size_t config = column("config");
    const std::size_t date = column("date");
    const std::size_t gpu = column("gpu");
    // A file in which every A is row-major may have no column for A's layout.
    const bool names_a = std::find(header.begin(), header.end(), "a") != header.end();
    const std::size_t layout_a = names_a ? column("a") : 0;
    const std::size_t layout_b = column("b");
    const std::size_t extents[] = {column("m"), column("n"), column("k")};
    for (int number = 2; std::getline(file, line); ++number) {
      const std::vector<std::string> fields = fields_of(line);
      if (fields.size() != header.size()) {
        throw std::runtime_error(fmt::format("{}:{}: {} fields, but the header has {}", path, number,
                                             fields.size(), header.size()));
      }
      const auto found = configs.find(fields[config]);
      if (fields[version] != "best" || fields[mode] != "burst" || fields[time].empty() ||
          found == configs.end()) {
        continue;
      }
      try {
        const auto extent = [&](int of) { return std::stoi(fields[extents[of]]); };
        const GemmShape shape = {extent(0), extent(1), extent(2)};
        if (2e-9 * shape.m * shape.n * shape.k < filter.least_gflop ||
            (filter.whole && !has_whole_tiles(shape)))
          continue;
        const OperandMajor a_major =
            names_a && fields[layout_a] == "col" ? OperandMajor::MN : OperandMajor::K;
        const OperandMajor b_major = fields[layout_b] == "row" ? OperandMajor::MN : OperandMajor::K;
        const Problem problem = problem_of(shape, a_major, b_major);
        if (!can_compute(found->second, problem)) continue;
        Run& run = runs[{fields[gpu], shape.m, shape.n, shape.k, a_major, b_major}][fields[date]];
        const double us = std::stod(fields[time]);
        if (is_of_another_launch(fields[date], problem.args, found->second) ||
            is_of_another_loop(fields[date], found->second.kernel)) {
          run.least_us_of_others = std::min(run.least_us_of_others, us);
        } else {
          run.times.push_back({found->second, us});
        }
      } catch (const std::logic_error&) {
        throw std::runtime_error(fmt::format("{}:{}: an extent or the time is not a number", path, number));
      }
    }
  }
  std::vector<MeasuredShape> shapes;
  for (const auto& [key, of_shape] : runs) {
    const auto& [gpu, m, n, k, a_major, b_major] = key;
    const Run& last = of_shape.rbegin()->second;
    if (!last.has_best()) continue;
    Device device{};
    device.sm_count = 132;
    device.memory_bytes_per_us = memory_peak_of(gpu);
    const auto rates = probes.measured_on(device);
    shapes.push_back({gpu, device, rates.empty() ? nullptr : rates.front(),
                      problem_of({m, n, k}, a_major, b_major), last.times});
  }
  if (shapes.empty())
    throw std::runtime_error("there is no row of version best with a configuration of wgmma in burst mode");
  return shapes;
}

}  // namespace hopper_gemm::library
