// Compares the library's cost model with measured times, and fits its coefficients to them. A fit begins at today's
// coefficients. It first makes the errors of the estimated times small, and then searches at random for better choices. It
// prints what it found; a person rounds that and enters it in CostModel.

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <glob.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gemm/config_name.hpp"
#include "gemm/heuristics/cost_model.hpp"
#include "gemm/heuristics/loaded_files.hpp"
#include "gemm/heuristics/probe_file.hpp"
#include "gemm/heuristics/probed_rates.hpp"
#include "gemm/heuristics/tuning_records.hpp"

namespace hopper_gemm::library {
namespace {

constexpr const char* kDescription =
    R"(Compares the library's estimates with measured times, and fits the coefficients of the cost model.

Prints for each set of records how much slower the configurations are that the model chooses than the best measured
ones, and the chosen and the best configuration for every shape; then the coefficients, and how far the estimates of
each configuration are off. Enter the coefficients that you believe in CostModel
(src/gemm/heuristics/cost_model.hpp).)";

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
    {"next_tile_us", &CostModel::next_tile_us},
    {"next_wave_us", &CostModel::next_wave_us},
    {"cluster_us", &CostModel::cluster_us},
    {"large_cluster_us", &CostModel::large_cluster_us},
    {"block_us", &CostModel::block_us},
    {"mn_major_block_us", &CostModel::mn_major_block_us},
    {"one_consumer_block", &CostModel::one_consumer_block},
    {"small_m_latency_us", &CostModel::small_m_latency_us},
    {"sm_flops_per_us", &CostModel::sm_flops_per_us},
    {"byte_us", &CostModel::byte_us},
    {"long_byte_us", &CostModel::long_byte_us},
    {"slowness_64_columns", &CostModel::slowness_64_columns},
    {"slowness_one_consumer", &CostModel::slowness_one_consumer},
    {"slowness_one_consumer_swapped", &CostModel::slowness_one_consumer_swapped},
    {"slowness_small_tiles", &CostModel::slowness_small_tiles},
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
    {"ragged_row_bytes", &CostModel::ragged_row_bytes},
    {"cluster_memory_share", &CostModel::cluster_memory_share},
    {"split_memory_share", &CostModel::split_memory_share},
    {"store_elems_per_us", &CostModel::store_elems_per_us},
    {"ragged_store", &CostModel::ragged_store},
    {"slowness_plain_store", &CostModel::slowness_plain_store},
    {"mixed_n_exposed_store", &CostModel::mixed_n_exposed_store},
    {"pingpong_exposed_store", &CostModel::pingpong_exposed_store},
    {"pingpong_store_elems_per_us", &CostModel::pingpong_store_elems_per_us},
    {"reduce_us", &CostModel::reduce_us},
    {"mn_major_peer_us", &CostModel::mn_major_peer_us},
    {"reduce_elems_per_us", &CostModel::reduce_elems_per_us},
    {"workspace_us", &CostModel::workspace_us},
    {"workspace_part_us", &CostModel::workspace_part_us},
    {"workspace_cluster_us", &CostModel::workspace_cluster_us},
    {"workspace_bytes_per_us", &CostModel::workspace_bytes_per_us},
};

/// Configurations that take so many times as long as the best are left out: their estimates need not be right.
constexpr double kWorthFitting = 1.6;

/// Records that are judged together.
struct RecordSet {
  std::string name;
  std::vector<MeasuredShape> shapes;
  double most;   ///< how many times as long as the best the choices may take, as a geometric mean
  double worst;  ///< and one of them
};

/// The estimated times of the configurations of a shape.
class Estimates {
 public:
  Estimates(const MeasuredShape& shape, const CostModel& model)
      : args_(shape.problem.args), model_(cost_model_of(shape.device, shape.rates.get(), model)) {}

  double us(const MeasuredTime& time) const {
    static const ActiveClusters active_clusters = active_clusters_of_132_sms;
    return estimate(args_, time.config, active_clusters, model_).time_us;
  }

 private:
  const KernelArgs& args_;
  CostModel model_;
};

const MeasuredTime& best_of(const MeasuredShape& shape) {
  return *std::min_element(shape.times.begin(), shape.times.end(),
                           [](const MeasuredTime& x, const MeasuredTime& y) { return x.us < y.us; });
}

/// The quality of a model over the shapes of a set.
struct Score {
  double choices = 1;  ///< time of the choice over time of the best, geometric mean
  double worst = 1;    ///< the largest such ratio
  double likely = 1;   ///< what `choices` is on average if all estimates are off by a percent or so
  double error = 0;    ///< of the estimated times, mean of |ln(estimated / measured)|
};

/// chosen: receives the model's choice for each shape, unless it is null.
Score score_of(const std::vector<MeasuredShape>& shapes, const CostModel& model,
               std::vector<const MeasuredTime*>* chosen = nullptr) {
  constexpr double kOffBy = 0.01;
  Score score;
  double sum_of_logs = 0;
  double sum_of_likely_logs = 0;
  int num_errors = 0;
  std::vector<double> estimated_us;
  for (const MeasuredShape& shape : shapes) {
    const Estimates estimates(shape, model);
    const double best_us = best_of(shape).us;
    estimated_us.clear();
    for (const MeasuredTime& time : shape.times) {
      const double us = estimates.us(time);
      estimated_us.push_back(us);
      if (time.us >= kWorthFitting * best_us) continue;
      score.error += std::abs(std::log(us / time.us));
      ++num_errors;
    }
    const auto least = std::min_element(estimated_us.begin(), estimated_us.end());
    const MeasuredTime& taken = shape.times[static_cast<std::size_t>(least - estimated_us.begin())];
    double sum_of_weights = 0;
    double sum_of_times = 0;
    for (std::size_t i = 0; i < estimated_us.size(); ++i) {
      const double weight = std::exp((1 - estimated_us[i] / *least) / kOffBy);
      sum_of_weights += weight;
      sum_of_times += weight * shape.times[i].us;
    }
    sum_of_logs += std::log(taken.us / best_us);
    sum_of_likely_logs += std::log(sum_of_times / sum_of_weights / best_us);
    score.worst = std::max(score.worst, taken.us / best_us);
    if (chosen != nullptr) chosen->push_back(&taken);
  }
  score.choices = std::exp(sum_of_logs / static_cast<double>(shapes.size()));
  score.likely = std::exp(sum_of_likely_logs / static_cast<double>(shapes.size()));
  score.error /= num_errors;
  return score;
}

/// What the search for better choices makes small. It weighs the likely choices most, so that they do not depend on the last digit of
/// a coefficient, and what is beyond a set's bounds more.
double cost_of(const std::vector<RecordSet>& sets, const CostModel& model) {
  double cost = 0;
  for (const RecordSet& set : sets) {
    const Score score = score_of(set.shapes, model);
    cost += score.likely + 0.3 * score.error + std::max(0.0, score.choices - set.most) +
            std::max(0.0, score.worst - set.worst);
  }
  return cost;
}

using Vector = std::vector<double>;

/// Calls visit(time, estimated_us, best_us) for all times whose estimates need to be right.
template <typename Visit>
void for_each_estimate(const std::vector<RecordSet>& sets, const CostModel& model, const Visit& visit) {
  for (const RecordSet& set : sets) {
    for (const MeasuredShape& shape : set.shapes) {
      const Estimates estimates(shape, model);
      const double best_us = best_of(shape).us;
      for (const MeasuredTime& time : shape.times) {
        if (time.us < kWorthFitting * best_us) visit(time, estimates.us(time), best_us);
      }
    }
  }
}

/// The logarithms of estimated over measured times, each multiplied by its weight: the faster a configuration is among those
/// of its shape, the more it counts.
Vector weighted_errors(const std::vector<RecordSet>& sets, const CostModel& model) {
  constexpr double kDecay = 0.25;
  Vector errors;
  for_each_estimate(sets, model, [&](const MeasuredTime& time, double estimated_us, double best_us) {
    const double weight = std::exp((1 - time.us / best_us) / (2 * kDecay));
    errors.push_back(weight * std::log(estimated_us / time.us));
  });
  return errors;
}

/// The model whose coefficients are exp(logs) times those of `base`.
CostModel scaled(const CostModel& base, const Vector& logs) {
  CostModel model = base;
  for (std::size_t i = 0; i < logs.size(); ++i) model.*kCoefficients[i].member *= std::exp(logs[i]);
  return model;
}

/// Solves matrix · x = right, for a matrix that is symmetric and positive definite, by Cholesky's decomposition.
Vector solve(std::vector<Vector> matrix, Vector right) {
  const std::size_t n = right.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) {
      for (std::size_t i = j; i < n; ++i) matrix[i][j] -= matrix[i][k] * matrix[j][k];
    }
    const double root = std::sqrt(matrix[j][j]);
    for (std::size_t i = j; i < n; ++i) matrix[i][j] /= root;
    for (std::size_t k = 0; k < j; ++k) right[j] -= matrix[j][k] * right[k];
    right[j] /= root;
  }
  for (std::size_t j = n; j-- > 0;) {
    for (std::size_t i = j + 1; i < n; ++i) right[j] -= matrix[i][j] * right[i];
    right[j] /= matrix[j][j];
  }
  return right;
}

/// What fit_times() makes small: the sum of a loss that grows linearly beyond kLossScale, and a pull towards the base.
constexpr double kLossScale = 0.02;
constexpr double kStiffness = 0.1;

double loss_of(const std::vector<RecordSet>& sets, const CostModel& base, const Vector& logs) {
  double loss = 0;
  for (const double log : logs) loss += kStiffness * log * log / 2;
  for (const double error : weighted_errors(sets, scaled(base, logs))) {
    loss += kLossScale * kLossScale * (std::sqrt(1 + error * error / (kLossScale * kLossScale)) - 1);
  }
  return loss;
}

/// The Gauss-Newton step from `logs` towards a smaller loss.
Vector gauss_newton_step(const std::vector<RecordSet>& sets, const CostModel& base, const Vector& logs) {
  constexpr double kDifference = 0.02;
  const std::size_t n = logs.size();
  const Vector errors = weighted_errors(sets, scaled(base, logs));
  std::vector<Vector> slopes;
  slopes.reserve(n);
  for (std::size_t j = 0; j < n; ++j) {
    Vector moved = logs;
    moved[j] += kDifference;
    slopes.push_back(weighted_errors(sets, scaled(base, moved)));
    for (std::size_t i = 0; i < errors.size(); ++i) slopes[j][i] = (slopes[j][i] - errors[i]) / kDifference;
  }
  std::vector<Vector> matrix(n, Vector(n));
  Vector right(n);
  for (std::size_t j = 0; j < n; ++j) {
    matrix[j][j] = kStiffness;
    right[j] = -kStiffness * logs[j];
  }
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double weight = 1 / std::sqrt(1 + errors[i] * errors[i] / (kLossScale * kLossScale));
    for (std::size_t j = 0; j < n; ++j) {
      const double weighted = weight * slopes[j][i];
      right[j] -= weighted * errors[i];
      for (std::size_t k = 0; k <= j; ++k) matrix[j][k] += weighted * slopes[k][i];
    }
  }
  return solve(matrix, right);
}

/// Fits the estimated times. A coefficient that no time depends on stays as it is.
CostModel fit_times(const std::vector<RecordSet>& sets, const CostModel& base) {
  constexpr int kSteps = 20;
  constexpr int kHalvings = 5;
  Vector logs(std::size(kCoefficients));
  double least = loss_of(sets, base, logs);
  for (int step = 0; step < kSteps; ++step) {
    const Vector change = gauss_newton_step(sets, base, logs);
    Vector next;
    double loss = least;
    for (int halving = 0; halving < kHalvings && loss >= least; ++halving) {
      next = logs;
      for (std::size_t j = 0; j < next.size(); ++j) next[j] += std::ldexp(change[j], -halving);
      loss = loss_of(sets, base, next);
    }
    if (loss >= least) break;
    logs = next;
    least = loss;
  }
  return scaled(base, logs);
}

/// Improves the choices, by random steps that lower cost_of(). They begin at today's model, or at the one with the fitted times if
/// that is better.
CostModel fit(const std::vector<RecordSet>& sets, const CostModel& today, int steps, unsigned seed) {
  constexpr double kSmallStep = 0.015;
  constexpr double kLargeStep = 0.08;
  std::mt19937 generator(seed);
  CostModel model = today;
  double least = cost_of(sets, model);
  const CostModel with_fitted_times = fit_times(sets, today);
  const double cost_with_fitted_times = cost_of(sets, with_fitted_times);
  if (cost_with_fitted_times < least) {
    least = cost_with_fitted_times;
    model = with_fitted_times;
  }
  for (int i = 0; i < steps; ++i) {
    std::normal_distribution<double> step(0, i % 3 == 0 ? kLargeStep : kSmallStep);
    CostModel candidate = model;
    for (auto changes = 1 + generator() % 3; changes > 0; --changes) {
      candidate.*kCoefficients[generator() % std::size(kCoefficients)].member *= std::exp(step(generator));
    }
    const double cost = cost_of(sets, candidate);
    if (cost >= least) continue;
    least = cost;
    model = candidate;
  }
  return model;
}

/// Prints for each configuration the ratio of estimated to measured times, and the number of shapes.
void print_configurations(const std::vector<RecordSet>& sets, const CostModel& model) {
  std::map<std::string, std::pair<double, int>> sums_of_logs;
  for_each_estimate(sets, model, [&](const MeasuredTime& time, double estimated_us, double) {
    auto& [sum, count] = sums_of_logs[name_of(time.config)];
    sum += std::log(estimated_us / time.us);
    ++count;
  });
  for (const auto& [name, of_name] : sums_of_logs) {
    const auto& [sum, count] = of_name;
    fmt::print("  {}: {:.3f} of the time, {} shapes\n", name, std::exp(sum / count), count);
  }
}

/// Prints the scores of today's and of the fitted model, and the choices of the fitted one.
void print_choices(const RecordSet& set, const CostModel& today, const CostModel& fitted) {
  const auto text_of = [](const Score& score) {
    return fmt::format(
        "the choices run {:.4f} times as long as the best, the worst choice {:.3f} times, and choices about "
        "as likely {:.4f} times; the estimates are off by {:.1f} %",
        score.choices, score.worst, score.likely, 100 * score.error);
  };
  std::vector<const MeasuredTime*> chosen;
  const Score score = score_of(set.shapes, fitted, &chosen);
  fmt::print("{}, {} shapes: {}\n", set.name, set.shapes.size(), text_of(score_of(set.shapes, today)));
  fmt::print("fitted: {}\n", text_of(score));
  for (std::size_t i = 0; i < set.shapes.size(); ++i) {
    const MeasuredShape& shape = set.shapes[i];
    const MeasuredTime& best = best_of(shape);
    const Estimates estimates(shape, fitted);
    fmt::print("  {}: {} {:.2f} us, estimated {:.2f}; best {} {:.2f} us, estimated {:.2f}\n", name_of(shape),
               name_of(chosen[i]->config), chosen[i]->us, estimates.us(*chosen[i]), name_of(best.config),
               best.us, estimates.us(best));
  }
}

/// Whether the choices keep within the bounds of their set. If they do not, it says so.
bool is_good(const RecordSet& set, const CostModel& model) {
  const Score score = score_of(set.shapes, model);
  if (score.choices > set.most) {
    fmt::print(std::cerr,
               "{}: the choices run {:.4f} times as long as the best, but only {:.4f} is allowed\n", set.name,
               score.choices, set.most);
  }
  if (score.worst > set.worst) {
    fmt::print(std::cerr,
               "{}: the worst choice runs {:.4f} times as long as the best, but only {:.4f} is allowed\n",
               set.name, score.worst, set.worst);
  }
  return score.choices <= set.most && score.worst <= set.worst;
}

/// The files that match a pattern, in the order of their names. Throws std::runtime_error if there are none.
std::vector<std::string> matching(const std::string& pattern) {
  glob_t found;
  const int error = glob(pattern.c_str(), 0, nullptr, &found);
  const std::span<char*> paths(found.gl_pathv, error == 0 ? found.gl_pathc : 0);
  std::vector<std::string> matches(paths.begin(), paths.end());
  globfree(&found);
  if (matches.empty()) throw std::runtime_error(pattern + ": there is no such file");
  return matches;
}

/// Reads a file of sets, such as profiles/choices.json. Its paths begin in its folder. Throws std::exception.
std::vector<RecordSet> read_sets(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": there is no such file");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::vector<RecordSet> sets;
  for (const auto& object : nlohmann::json::parse(file)) {
    std::vector<std::string> records;
    for (const auto& pattern : object.at("records").get<std::vector<std::string>>()) {
      for (std::string& match : matching(folder / pattern)) records.push_back(std::move(match));
    }
    LoadedFiles<ProbedRates> probes;
    for (const auto& probe : object.value("probes", std::vector<std::string>())) {
      std::shared_ptr<const ProbedRates> rates;
      const Status status = read_probe_file(folder / probe, &rates);
      if (!status.ok()) throw std::runtime_error(status.message());
      probes.add(rates);
    }
    sets.push_back({object.at("name"), read_records(records, {.whole = object.value("whole", false)}, probes),
                    object.at("most"), object.at("worst")});
  }
  return sets;
}

int run(int argc, char** argv) {
  CLI::App app(kDescription);
  int steps = 0;
  unsigned seed = 1;
  RecordFilter filter;
  double most = std::numeric_limits<double>::infinity();
  double worst = std::numeric_limits<double>::infinity();
  std::vector<std::string> paths;
  std::string sets_path;
  app.add_option("--steps", steps,
                 "Fit the times, and then take so many random steps that improve the choices; 10000 take a "
                 "minute or two")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", seed, "Seed of the random steps");
  app.add_option("--sets", sets_path,
                 "Sets of records with their own bounds, such as profiles/choices.json; fail if today's "
                 "choices break one");
  app.add_flag(
      "--whole", filter.whole,
      "csv: leave out shapes with more than 64 rows or columns that are 8 more than a multiple of "
      "16: residue tiles took longer before they were shifted to D's edge (profiles/experiments.md, 27)");
  app.add_option("--least-gflop", filter.least_gflop,
                 "csv: leave out shapes of fewer operations, in units of 10^9");
  app.add_option(
      "--most", most,
      "csv: fail if today's choices take more than this many times as long as the best, on average");
  app.add_option("--worst", worst,
                 "csv: fail if one of today's choices takes more than this many times as long as the best");
  app.add_option(
      "csv", paths,
      "Files that `matmul tune best --csv` wrote; if several have a shape, the last run by date counts");
  CLI11_PARSE(app, argc, argv);

  std::vector<RecordSet> sets;
  if (!sets_path.empty()) sets = read_sets(sets_path);
  if (!paths.empty()) sets.push_back({"csv", read_records(paths, filter, {}), most, worst});
  if (sets.empty())
    throw std::runtime_error("there are no records; name a CSV file, or a file of sets by --sets");
  const CostModel today;
  const CostModel fitted = steps == 0 ? today : fit(sets, today, steps, seed);
  for (const RecordSet& set : sets) print_choices(set, today, fitted);
  for (const Coefficient& coefficient : kCoefficients) {
    fmt::print("  {} = {:.4g}\n", coefficient.name, fitted.*coefficient.member);
  }
  print_configurations(sets, fitted);
  const auto broken =
      std::count_if(sets.begin(), sets.end(), [&](const RecordSet& set) { return !is_good(set, today); });
  return broken == 0 ? 0 : 1;
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
