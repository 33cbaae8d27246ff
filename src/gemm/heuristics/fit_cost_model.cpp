// Compares the library's cost model with measured times, and fits its coefficients to them. The search is random and
// starts from today's coefficients. It improves the choices first and the estimated times second. It prints what it
// found; a person rounds that and enters it in CostModel.

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gemm/config_name.hpp"
#include "gemm/heuristics/candidates.hpp"
#include "gemm/heuristics/cost_model.hpp"
#include "gemm/heuristics/probe_file.hpp"
#include "gemm/heuristics/probed_rates.hpp"

namespace hopper_gemm::library {
namespace {

constexpr const char* kDescription =
    R"(Compares the library's estimates with measured times, and fits the coefficients of the cost model.

Prints how much slower the configurations are that the model chooses than the best measured ones, the coefficients, how
far the estimates of each configuration are off, and the chosen and the best configuration for every shape. Enter the
coefficients that you believe in CostModel (src/gemm/heuristics/cost_model.hpp).)";

struct Coefficient {
  const char* name;
  double CostModel::*member;
};

constexpr Coefficient kCoefficients[] = {
    {"launch_us", &CostModel::launch_us},
    {"overlap_us", &CostModel::overlap_us},
    {"cta_overlap_us", &CostModel::cta_overlap_us},
    {"side_by_side_us", &CostModel::side_by_side_us},
    {"fill_us", &CostModel::fill_us},
    {"cluster_us", &CostModel::cluster_us},
    {"large_cluster_us", &CostModel::large_cluster_us},
    {"block_us", &CostModel::block_us},
    {"mn_major_block_us", &CostModel::mn_major_block_us},
    {"small_m_latency_us", &CostModel::small_m_latency_us},
    {"sm_flops_per_us", &CostModel::sm_flops_per_us},
    {"byte_us", &CostModel::byte_us},
    {"slowness_64_columns", &CostModel::slowness_64_columns},
    {"slowness_one_consumer", &CostModel::slowness_one_consumer},
    {"slowness_one_consumer_swapped", &CostModel::slowness_one_consumer_swapped},
    {"slowness_small_tiles", &CostModel::slowness_small_tiles},
    {"slowness_small_tiles_by_gpc", &CostModel::slowness_small_tiles_by_gpc},
    {"sm_bytes_per_us", &CostModel::sm_bytes_per_us},
    {"small_m_sm_bytes_per_us", &CostModel::small_m_sm_bytes_per_us},
    {"small_m_sharing", &CostModel::small_m_sharing},
    {"sm_lines_per_us", &CostModel::sm_lines_per_us},
    {"l2_bytes_per_us", &CostModel::l2_bytes_per_us},
    {"l2_sharers", &CostModel::l2_sharers},
    {"l2_sharers_of_splits", &CostModel::l2_sharers_of_splits},
    {"l2_sharers_pairs_by_gpc", &CostModel::l2_sharers_pairs_by_gpc},
    {"l2_sharers_ctas_by_gpc", &CostModel::l2_sharers_ctas_by_gpc},
    {"memory_share", &CostModel::memory_share},
    {"cluster_memory_share", &CostModel::cluster_memory_share},
    {"split_memory_share", &CostModel::split_memory_share},
    {"store_elems_per_us", &CostModel::store_elems_per_us},
    {"mixed_n_exposed_store", &CostModel::mixed_n_exposed_store},
    {"pingpong_exposed_store", &CostModel::pingpong_exposed_store},
    {"pingpong_store_elems_per_us", &CostModel::pingpong_store_elems_per_us},
    {"reduce_us", &CostModel::reduce_us},
    {"mn_major_peer_us", &CostModel::mn_major_peer_us},
    {"reduce_elems_per_us", &CostModel::reduce_elems_per_us},
    {"workspace_us", &CostModel::workspace_us},
    {"workspace_cluster_us", &CostModel::workspace_cluster_us},
    {"workspace_bytes_per_us", &CostModel::workspace_bytes_per_us},
};

/// Configurations that take so many times as long as the best are left out: their estimates need not be right.
constexpr double kWorthFitting = 1.6;

struct Time {
  GemmConfig config;
  double us;
};

/// The last measured run of a shape and its layouts of A and B on a GPU.
struct Shape {
  std::string gpu;
  Device device;
  std::shared_ptr<const ProbedRates> rates;
  Problem problem;
  std::vector<Time> times;
};

std::string name_of(const Shape& shape) {
  const KernelArgs& args = shape.problem.args;
  return fmt::format("{}: {}x{}x{}{}{}", shape.gpu, args.shape.m, args.shape.n, args.shape.k,
                     args.a.major == OperandMajor::MN ? ", A col" : "",
                     args.b.major == OperandMajor::MN ? ", B row" : "");
}

/// The number of clusters that an H100 or an H200 runs at a time, as cudaOccupancyMaxActiveClusters says for CTAs that
/// fill an SM. Several CTAs of a kernel for small M may share one.
int active_clusters_of_132_sms(const GemmConfig& config) {
  constexpr int kOfSize[] = {0, 132, 66, 39, 30, 22, 17, 15, 15};
  const int clusters = kOfSize[cluster_size(config)];
  if (config.kernel.schedule != Schedule::SmallM) return clusters;
  return clusters * small_m_ctas_that_fit(config.kernel);
}

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

/// Reads files of `matmul tune best --csv`: the runs in burst mode of configurations that still exist. Throws
/// std::runtime_error.
std::vector<Shape> read_shapes(const std::vector<std::string>& paths, bool whole, double least_gflop) {
  std::map<std::string, GemmConfig> configs;
  for (const GemmConfig& config : all_configs()) configs[name_of(config)] = config;
  // The keys are the GPU, shape and layouts, then the date.
  std::map<std::tuple<std::string, int, int, int, OperandMajor, OperandMajor>,
           std::map<std::string, std::vector<Time>>>
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
        if (2e-9 * shape.m * shape.n * shape.k < least_gflop || (whole && !has_whole_tiles(shape))) continue;
        const OperandMajor a_major =
            names_a && fields[layout_a] == "col" ? OperandMajor::MN : OperandMajor::K;
        const OperandMajor b_major = fields[layout_b] == "row" ? OperandMajor::MN : OperandMajor::K;
        const Problem problem = problem_of(shape, a_major, b_major);
        if (!can_compute(found->second, problem)) continue;
        if (is_of_another_launch(fields[date], problem.args, found->second)) continue;
        runs[{fields[gpu], shape.m, shape.n, shape.k, a_major, b_major}][fields[date]].push_back(
            {found->second, std::stod(fields[time])});
      } catch (const std::logic_error&) {
        throw std::runtime_error(fmt::format("{}:{}: an extent or the time is not a number", path, number));
      }
    }
  }
  std::vector<Shape> shapes;
  for (const auto& [key, of_shape] : runs) {
    const auto& [gpu, m, n, k, a_major, b_major] = key;
    Device device{};
    device.sm_count = 132;
    device.memory_bytes_per_us = memory_peak_of(gpu);
    shapes.push_back({gpu, device, probed_rates_of(device), problem_of({m, n, k}, a_major, b_major),
                      of_shape.rbegin()->second});
  }
  if (shapes.empty())
    throw std::runtime_error("there is no row of version best with a configuration of wgmma in burst mode");
  return shapes;
}

double estimate_us(const Shape& shape, const Time& time, const CostModel& model) {
  static const ActiveClusters active_clusters = active_clusters_of_132_sms;
  return estimate(shape.problem.args, time.config, active_clusters,
                  cost_model_of(shape.device, shape.rates.get(), model))
      .time_us;
}

const Time& best_of(const Shape& shape) {
  return *std::min_element(shape.times.begin(), shape.times.end(),
                           [](const Time& x, const Time& y) { return x.us < y.us; });
}

/// The quality of a model over all shapes.
struct Score {
  double choices = 1;  ///< time of the choice over time of the best, geometric mean
  double worst = 1;    ///< the largest such ratio
  double error = 0;    ///< of the estimated times, mean of |ln(estimated / measured)|

  /// The search minimises this. It weighs the worst choice and the errors of the times beside the mean of the choices.
  double total() const { return choices + 0.1 * (worst - 1) + 0.5 * error; }
};

/// chosen: receives the model's choice for each shape, unless it is null.
Score score_of(const std::vector<Shape>& shapes, const CostModel& model,
               std::vector<const Time*>* chosen = nullptr) {
  Score score;
  double sum_of_logs = 0;
  int num_errors = 0;
  for (const Shape& shape : shapes) {
    const double best_us = best_of(shape).us;
    const Time* taken = nullptr;
    double least_us = 0;
    for (const Time& time : shape.times) {
      const double us = estimate_us(shape, time, model);
      if (taken == nullptr || us < least_us) {
        taken = &time;
        least_us = us;
      }
      if (time.us >= kWorthFitting * best_us) continue;
      score.error += std::abs(std::log(us / time.us));
      ++num_errors;
    }
    sum_of_logs += std::log(taken->us / best_us);
    score.worst = std::max(score.worst, taken->us / best_us);
    if (chosen != nullptr) chosen->push_back(taken);
  }
  score.choices = std::exp(sum_of_logs / static_cast<double>(shapes.size()));
  score.error /= num_errors;
  return score;
}

CostModel fit(const std::vector<Shape>& shapes, int steps, unsigned seed) {
  constexpr double kStep = 0.1;
  std::mt19937 generator(seed);
  std::normal_distribution<double> step(0, kStep);
  CostModel model;
  double best = score_of(shapes, model).total();
  for (int i = 0; i < steps; ++i) {
    CostModel candidate = model;
    for (auto changes = 1 + generator() % 2; changes > 0; --changes) {
      candidate.*kCoefficients[generator() % std::size(kCoefficients)].member *= std::exp(step(generator));
    }
    const double total = score_of(shapes, candidate).total();
    if (total >= best) continue;
    best = total;
    model = candidate;
  }
  return model;
}

/// Prints for each configuration the ratio of estimated to measured times, and the number of shapes.
void print_configurations(const std::vector<Shape>& shapes, const CostModel& model) {
  std::map<std::string, std::pair<double, int>> sums_of_logs;
  for (const Shape& shape : shapes) {
    const double best_us = best_of(shape).us;
    for (const Time& time : shape.times) {
      if (time.us >= kWorthFitting * best_us) continue;
      auto& [sum, count] = sums_of_logs[name_of(time.config)];
      sum += std::log(estimate_us(shape, time, model) / time.us);
      ++count;
    }
  }
  for (const auto& [name, of_name] : sums_of_logs) {
    const auto& [sum, count] = of_name;
    fmt::print("  {}: {:.3f} of the time, {} shapes\n", name, std::exp(sum / count), count);
  }
}

std::string text_of(const Score& score) {
  return fmt::format(
      "the choices run {:.3f} times as long as the best, the worst choice {:.3f} times; the estimates are "
      "off by {:.1f} %",
      score.choices, score.worst, 100 * score.error);
}

int run(int argc, char** argv) {
  CLI::App app(kDescription);
  int steps = 0;
  unsigned seed = 1;
  bool whole = false;
  double least_gflop = 0;
  double most = 0;
  double worst = 0;
  std::vector<std::string> paths;
  std::vector<std::string> probes;
  app.add_option("--steps", steps, "Number of steps of the search; 4000 take a second or two")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", seed, "Seed of the search");
  app.add_flag(
      "--whole", whole,
      "Leave out shapes with more than 64 rows or columns that are 8 more than a multiple of 16: residue "
      "tiles took longer before they were shifted to D's edge (profiles/experiments.md, 27)");
  app.add_option("--least-gflop", least_gflop, "Leave out shapes of fewer operations, in units of 10^9");
  app.add_option("--most", most,
                 "Fail if today's choices take more than this many times as long as the best, on average");
  app.add_option("--worst", worst,
                 "Fail if one of today's choices takes more than this many times as long as the best");
  app.add_option(
         "--probe", probes,
         "Files that `matmul probe --json` wrote: scale the model to their rates, as the library does")
      ->allow_extra_args(false);
  app.add_option(
         "csv", paths,
         "Files that `matmul tune best --csv` wrote; if several have a shape, the last run by date counts")
      ->required();
  CLI11_PARSE(app, argc, argv);

  for (const std::string& path : probes) {
    std::shared_ptr<const ProbedRates> rates;
    const Status status = read_probe_file(path, &rates);
    if (!status.ok()) throw std::runtime_error(status.message());
    loaded_probes().add(rates);
  }
  const std::vector<Shape> shapes = read_shapes(paths, whole, least_gflop);
  const Score today = score_of(shapes, {});
  fmt::print("{} shapes: {}\n", shapes.size(), text_of(today));
  const CostModel model = fit(shapes, steps, seed);
  std::vector<const Time*> chosen;
  const Score fitted = score_of(shapes, model, &chosen);
  if (steps > 0) fmt::print("fitted: {}\n", text_of(fitted));
  for (const Coefficient& coefficient : kCoefficients) {
    fmt::print("  {} = {:.3g}\n", coefficient.name, model.*coefficient.member);
  }
  print_configurations(shapes, model);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Time& best = best_of(shapes[i]);
    fmt::print("{}: {} {:.2f} us, estimated {:.2f}; best {} {:.2f} us, estimated {:.2f}\n",
               name_of(shapes[i]), name_of(chosen[i]->config), chosen[i]->us,
               estimate_us(shapes[i], *chosen[i], model), name_of(best.config), best.us,
               estimate_us(shapes[i], best, model));
  }
  if (most != 0 && today.choices > most) {
    fmt::print(std::cerr, "the choices run {:.3f} times as long as the best, but only {:.3f} is allowed\n",
               today.choices, most);
    return 1;
  }
  if (worst != 0 && today.worst > worst) {
    fmt::print(std::cerr,
               "the worst choice runs {:.3f} times as long as the best, but only {:.3f} is allowed\n",
               today.worst, worst);
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace hopper_gemm::library

int main(int argc, char** argv) {
  try {
    return hopper_gemm::library::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(std::cerr, "fit_cost_model: {}\n", error.what());
    return 2;
  }
}
