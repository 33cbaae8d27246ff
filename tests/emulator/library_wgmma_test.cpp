// The library's back end wgmma on the emulated GPU: whatever configuration, operands and schedule, D is exact
// and nothing else is written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/ceil_div.hpp"
#include "device/cluster_placement.hpp"
#include "emulated_memory.hpp"
#include "emulator/emulator.hpp"
#include "fresh_seed.hpp"
#include "gemm/config_name.hpp"
#include "gemm/epilogue/reduce_partials.hpp"
#include "gemm/heuristics/candidates.hpp"
#include "gemm/heuristics/cost_model.hpp"
#include "gemm/heuristics/probed_rates.hpp"
#include "gemm/heuristics/tuned.hpp"
#include "gemm/host/backend.hpp"
#include "gemm/host/kernel_launcher.hpp"
#include "gemm/instances/cooperative_configs.hpp"
#include "gemm/instances/small_m_configs.hpp"
#include "gemm/scheduler/list_starts.hpp"
#include "tests/library_gemm.hpp"

namespace hopper_gemm::emulator {
namespace {

using library::all_configs;
using library::cluster_size;
using library::Device;
using library::Epilogues;
using library::GemmConfig;
using library::KernelConfig;
using library::Majors;
using library::name_of;
using library::OperandMajor;
using library::PreparedGemm;
using library::Schedule;
using library::wgmma_backend;
using library::workspace_bytes;

constexpr OperandMajor kMajors[] = {OperandMajor::K, OperandMajor::MN};
constexpr DataType kTypes[] = {DataType::BFloat16, DataType::Float16, DataType::Float32};
constexpr std::uint64_t kSeeds[] = {1};

struct Case {
  GemmConfig config;
  LibraryProblem problem;
  int sms;
};

std::string test_name(const Case& test) {
  return hopper_gemm::test_name(name_of(test.config)) + "_on_" + std::to_string(test.sms) + "_" +
         test_name(test.problem);
}

void PrintTo(const Case& test, std::ostream* out) { *out << test_name(test); }

/// What the back end remembers of a GPU it remembers by its number: each size has one of its own, none that of the GPU
/// that plans are made for.
Device device_of(int sms) {
  return {.id = sms, .major = 9, .minor = 0, .sm_count = sms, .max_shared_bytes = 227 << 10};
}

/// Goes through layouts and input types in step with `number`.
LibraryProblem product(GemmShape shape, int number) {
  LibraryProblem problem{.shape = shape};
  problem.major_a = kMajors[number % 2];
  problem.major_b = kMajors[number / 2 % 2];
  problem.input_type = kTypes[(number + number / 4) % 2];
  problem.a = {.gap = number % 3 * 8};
  problem.b = {.gap = number % 5 * 8};
  return problem;
}

/// What the plain kernels are for: a multiple of 8 columns, which are the sums and nothing else.
LibraryProblem plain(GemmShape shape, int number) {
  LibraryProblem problem = product(shape, number);
  problem.shape.n = (shape.n + 7) / 8 * 8;
  problem.output_type = kTypes[number % 2];
  problem.alpha = number % 3 == 0 ? -2 : 1;
  return problem;
}

/// What takes the general ones: every epilogue, and a D that TMA stores, stores in part or does not.
LibraryProblem general(GemmShape shape, int number) {
  LibraryProblem problem = product(shape, number);
  problem.output_type = kTypes[number % 3];
  problem.bias = static_cast<Bias>(number / 3 % 3);
  problem.bias_type = kTypes[number / 2 % 3];
  problem.bias_offset = number % 2;
  problem.activation = static_cast<Activation>(number % 7 < 5 ? number % 7 : 0);
  problem.alpha = number % 5 < 3 ? 1 : 2;
  problem.beta = number % 7 < 3 ? 0.0F : -2.0F;
  problem.in_place = number % 11 < 4;
  problem.c = {.offset = number % 3, .remainder = number / 3 % 2};
  // Of the first of three cases TMA stores whole tiles.
  problem.d = {.offset = number % 3 == 1 ? 1 : 0, .remainder = number % 3 == 2 ? 3 : 0};
  return problem;
}

/// Cooperative kernels of one tile N that compute alpha · A·B alone.
bool is_alpha_only(const KernelConfig& kernel) {
  return kernel.epilogues == Epilogues::AlphaOnly && kernel.narrow_n == 0;
}

/// The same with an A that is K-major and a B of any layout.
bool takes_any_b(const KernelConfig& kernel) {
  return is_alpha_only(kernel) && kernel.majors == Majors::KMajorA;
}

bool shares_k_by_workspace_alone(const GemmConfig& config) {
  return config.split_k == 1 && config.workspace_split_k > 1;
}

/// Whether configs_in_some_clusters() has a cooperative kernel of one tile N in three clusters instead of one.
bool is_in_three_clusters(const KernelConfig& kernel) {
  constexpr int kFewElems = 64 * 128;
  return kernel.block_m * kernel.block_n <= kFewElems;
}

/// All configurations but those of cases_of_parts(), except that each cooperative kernel of one tile N is here in one of its
/// clusters, and with a small tile in three. All clusters run the same code, and each of them is here with some kernel.
std::vector<GemmConfig> configs_in_some_clusters() {
  constexpr int kMostElems = 256 * 256;
  std::vector<GemmConfig> kept;
  std::vector<std::vector<GemmConfig>> by_kernel;
  for (const GemmConfig& config : all_configs()) {
    const KernelConfig& kernel = config.kernel;
    if (shares_k_by_workspace_alone(config)) continue;
    if (kernel.schedule != Schedule::Cooperative || kernel.narrow_n != 0 || config.split_k > 1) {
      kept.push_back(config);
      continue;
    }
    if (cluster_size(kernel) * kernel.block_m * kernel.block_n > kMostElems) continue;
    const auto same = std::find_if(by_kernel.begin(), by_kernel.end(), [&](const auto& configs) {
      return library::without_cluster(configs.front().kernel) == library::without_cluster(kernel);
    });
    if (same == by_kernel.end()) {
      by_kernel.push_back({config});
    } else {
      same->push_back(config);
    }
  }
  std::size_t number = 0;
  for (const std::vector<GemmConfig>& configs : by_kernel) {
    const std::size_t wanted = is_in_three_clusters(configs.front().kernel) ? 3 : 1;
    const std::size_t taken = std::min(configs.size(), wanted);
    for (std::size_t i = 0; i < taken; ++i) {
      kept.push_back(configs[(number + i * configs.size() / taken) % configs.size()]);
    }
    ++number;
  }
  return kept;
}

/// Each tile by all layouts, plain and general; clusters that reach below and beside D, and such that end with it; more
/// blocks of K than stages; tiles that follow each other in a cluster, and one for each. The clusters of a tile share the
/// layouts, and so do the columns of a tile for small M.
std::vector<Case> cases_of_tiles() {
  std::vector<Case> cases;
  int number = 0;
  int config_number = 0;
  for (const GemmConfig& config : configs_in_some_clusters()) {
    const KernelConfig& kernel = config.kernel;
    if (config.split_k != 1 || is_alpha_only(kernel)) continue;
    ++config_number;
    const bool has_other_clusters = kernel.narrow_n == 0 && is_in_three_clusters(kernel);
    const int sharers = kernel.schedule == Schedule::SmallM ? 4 : has_other_clusters ? 2 : 1;
    for (int layout = 0; layout < 4; ++layout) {
      ++number;
      if (layout % sharers != config_number % sharers) continue;
      const bool is_chosen = layout / sharers == number / 4 % 4 / sharers;
      const int k = is_chosen ? kernel.stages * kernel.block_k + 75 : 75;
      const GemmShape shape = {kernel.block_m * kernel.cluster_m + 5, kernel.block_n * kernel.cluster_n + 3,
                               k};
      const int clusters = number % 2 == 0 ? 2 : 4;
      cases.push_back({config, plain(shape, number), clusters * cluster_size(config)});
      cases.push_back({config, general(shape, number), (6 - clusters) * cluster_size(config)});
      if (!is_chosen) continue;
      LibraryProblem ending = general({shape.m + 3, shape.n + 5, 75}, number);
      ending.beta = 0;
      ending.batch_count = 1 + number % 3 % 2;
      cases.push_back({config, ending, clusters * cluster_size(config)});
    }
  }
  return cases;
}

/// What kernels compute that have no other epilogue than alpha, each by all ways to end with D or beyond it, in
/// batches and several for each cluster, and with more blocks of K than stages; a beta that is there at times.
std::vector<Case> cases_of_alpha_only() {
  std::vector<Case> cases;
  int number = 0;
  for (const GemmConfig& config : configs_in_some_clusters()) {
    const KernelConfig& kernel = config.kernel;
    if (!is_alpha_only(kernel) || takes_any_b(kernel)) continue;
    const int m = kernel.block_m * kernel.cluster_m;
    const int n = kernel.block_n * kernel.cluster_n;
    for (const GemmShape& shape :
         {GemmShape{m + 5, n + 8, 75}, GemmShape{kernel.block_m, kernel.block_n, 128},
          GemmShape{kernel.block_m - 3, kernel.block_n - 8, 8},
          GemmShape{m + kernel.block_m, n + 24, (kernel.stages + 1) * kernel.block_k + 11}}) {
      ++number;
      LibraryProblem problem = plain(shape, number);
      problem.major_a = problem.major_b = OperandMajor::K;
      cases.push_back({config, problem, (2 + number % 2) * cluster_size(config)});
      if (number / 2 % 2 == 0) continue;
      problem.batch_count = 2;
      problem.b.shared = number % 2 == 1;
      cases.push_back({config, problem, 3 * cluster_size(config)});
      problem.beta = -2;
      if (number % 4 == 3) cases.push_back({config, problem, 4 * cluster_size(config)});
    }
    LibraryProblem along_n{.shape = {m + 5, n + 8, 75}, .major_b = OperandMajor::MN};
    cases.push_back({config, along_n, 2 * cluster_size(config)});
    cases.push_back({config, general({m + 5, n + 3, 75}, number), 2 * cluster_size(config)});
  }
  return cases;
}

/// What kernels compute that take any B, most of them with swap-AB: clusters that reach beyond D, several tiles for each
/// cluster, in batches, and more blocks of K than stages, with either layout of B. The first one with swap-AB also has
/// what they leave to others: a beta, and an A that is not K-major.
std::vector<Case> cases_of_any_b() {
  std::vector<Case> cases;
  int number = 0;
  bool is_first = true;
  for (const GemmConfig& config : configs_in_some_clusters()) {
    const KernelConfig& kernel = config.kernel;
    if (!takes_any_b(kernel) || config.split_k > 1) continue;
    const int m = kernel.block_m * kernel.cluster_m;
    const int n = kernel.block_n * kernel.cluster_n;
    const auto add = [&](const GemmShape& shape, int batch_count, int clusters) {
      LibraryProblem problem = plain(shape, ++number);
      problem.major_a = OperandMajor::K;
      problem.major_b = kMajors[number / 2 % 2];
      problem.batch_count = batch_count;
      cases.push_back({config, problem, clusters * cluster_size(config)});
    };
    add({m + 5, n + 8, 75}, 1, 2 + number % 3);
    add({kernel.block_m - 3, kernel.block_n - 8, (kernel.stages + 1) * kernel.block_k + 11}, 2, 1);
    if (!kernel.swap_ab || !std::exchange(is_first, false)) continue;
    add({3 * m - 7, n, 72}, 2, 1);
    LibraryProblem problem{.shape = {m, n, 72}, .beta = -2};
    cases.push_back({config, problem, cluster_size(config)});
    problem = {.shape = {m, n, 72}, .major_a = OperandMajor::MN};
    cases.push_back({config, problem, cluster_size(config)});
  }
  return cases;
}

/// What the kernels with a mixed tile N compute, and what they leave to another: tiles of both widths in
/// one cluster, one block of K and more than stages, D that ends within a tile, each by all layouts; a beta that is
/// there at times; what is not plain.
std::vector<Case> cases_of_mixed_n() {
  std::vector<Case> cases;
  for (const GemmConfig& config : configs_in_some_clusters()) {
    if (config.kernel.narrow_n == 0) continue;
    constexpr GemmShape kShapes[] = {{17, 40, 72}, {264, 256, 8}, {520, 776, 328}, {300, 1032, 64}};
    int of_k_major = 0;
    for (const GemmShape& shape : kShapes) {
      LibraryProblem problem{.shape = shape};
      problem.a = {.gap = 8};
      problem.d = {.gap = 16};
      const auto add = [&](int clusters) {
        problem.input_type = problem.output_type = kTypes[of_k_major++ % 2];
        cases.push_back({config, problem, clusters * cluster_size(config)});
      };
      add(1);
      problem.alpha = -2;
      add(3);
      problem.beta = -2;
      add(1);
    }
    // But for that of the loop above.
    for (int layout = 1; layout < 4; ++layout) {
      int number = layout;
      for (const GemmShape& shape : kShapes) {
        LibraryProblem problem{.shape = shape};
        problem.major_a = kMajors[layout % 2];
        problem.major_b = kMajors[layout / 2];
        problem.input_type = problem.output_type = kTypes[number % 2];
        problem.a = {.gap = 8};
        problem.alpha = number % 3 == 0 ? -2 : 1;
        cases.push_back({config, problem, (number / 2 % 2 == 0 ? 1 : 3) * cluster_size(config)});
        ++number;
      }
    }
    LibraryProblem ragged{.shape = {264, 257, 72}};
    cases.push_back({config, ragged, cluster_size(config)});
    // Of which the last rows of tiles reach beyond theirs, not into the next one's.
    LibraryProblem batched{.shape = {264, 776, 72}, .batch_count = 3};
    cases.push_back({config, batched, 3 * cluster_size(config)});
    if (config.kernel.epilogues == Epilogues::AlphaOnly) continue;
    // D that TMA stores, stores but for its last columns, and leaves to another kernel; both widths, several tiles
    // behind each other, and more K blocks than stages.
    for (int number = 0; number < 24; ++number) {
      LibraryProblem problem = general(
          {number % 3 == 0 ? 520 : 140, number % 2 == 0 ? 520 : 779, number % 5 == 0 ? 328 : 72}, number);
      if (config.kernel.majors != Majors::Any) problem.major_b = OperandMajor::K;
      if (number % 4 != 0) problem.beta = 0;
      if (number % 6 != 0) problem.d = {.remainder = 0};
      cases.push_back({config, problem, (1 + number % 2 * 2) * cluster_size(config)});
      if (number % 3 != 1) continue;
      problem.batch_count = 2 + number % 2;
      problem.a.shared = number % 4 == 1;
      problem.b.shared = number % 4 == 2;
      problem.bias_shared = number % 5 == 1;
      cases.push_back({config, problem, (3 - number % 2 * 2) * cluster_size(config)});
      if (config.kernel.epilogues != Epilogues::All) continue;
      // A C that TMA loads, and of each fourth case one that it does not.
      problem.beta = number % 2 == 0 ? 1 : -2;
      problem.output_type = kTypes[number % 4 == 3 ? 2 : number / 2 % 2];
      problem.in_place = number % 5 < 2;
      problem.c = {.remainder = 0, .gap = 8};
      problem.c.shared = number % 5 == 2;
      problem.d = {.remainder = 0};
      cases.push_back({config, problem, (1 + number % 2 * 2) * cluster_size(config)});
    }
  }
  return cases;
}

/// What a kernel for small M computes: every epilogue, one row and more than a tile has, splits and batches, K
/// blocks that come one by one or by stages; and what it leaves to another, more rows than it is for and operands
/// that are not K-major. Each configuration takes two of the four numbers of rows, or one if its kernel has more columns.
std::vector<Case> cases_of_small_m() {
  std::vector<Case> cases;
  int number = 0;
  int config_number = 0;
  for (const GemmConfig& config : configs_in_some_clusters()) {
    if (config.kernel.schedule != Schedule::SmallM) continue;
    ++config_number;
    const int few_rows = config_number % 2 == 0 ? 1 : 9;
    const bool has_all_columns = config.kernel.block_n == stage_lines_n(config.kernel);
    for (const int rows : {few_rows, config.kernel.block_m + (config_number / 2 % 2 == 0 ? 0 : 13)}) {
      ++number;
      if (!has_all_columns && (rows == few_rows) != (config_number % 3 == 0)) continue;
      const int k_blocks = config.split_k + number % 3 * config.kernel.stages;
      LibraryProblem problem = general(
          {rows, number % 4 == 0 ? 192 : 131, k_blocks * config.kernel.block_k - number % 2 * 40}, number);
      problem.major_a = problem.major_b = OperandMajor::K;
      problem.batch_count = 1 + number % 2;
      problem.a.shared = number % 5 == 1;
      problem.b.shared = number % 5 == 2;
      cases.push_back({config, problem, 2 * cluster_size(config)});
    }
    if (!has_all_columns && config_number % 3 == 0) continue;
    // Stages that come whole to the plain kernel, of a K that is not shared more than the ring has.
    const int stages =
        config.split_k == 1 ? config.kernel.stages + 1 : config.split_k + number % config.split_k;
    LibraryProblem whole = plain({config.kernel.block_m + 5, 136, stages * config.kernel.block_k}, number);
    whole.major_a = whole.major_b = OperandMajor::K;
    whole.output_type = whole.input_type;
    cases.push_back({config, whole, 2 * cluster_size(config)});
  }
  constexpr KernelConfig kSmallest = library::kSmallMConfigs.front();
  LibraryProblem more_rows{.shape = {2 * kSmallest.block_m + 1, 72, 72}};
  cases.push_back({{.kernel = kSmallest}, more_rows, 2});
  LibraryProblem along_m{.shape = {8, 72, 72}, .major_a = OperandMajor::MN};
  cases.push_back({{.kernel = kSmallest}, along_m, 2});
  return cases;
}

/// Shared operands and such that lie behind each other, in all combinations.
std::vector<Case> cases_of_batches() {
  std::vector<Case> cases;
  int number = 0;
  for (const GemmConfig& config : configs_in_some_clusters()) {
    const KernelConfig& kernel = config.kernel;
    const bool uses_workspace = config.workspace_split_k == 2 && config.split_k == 4;
    // Kernels that take any B, but K-major A alone, leave these epilogues to others.
    if ((config.split_k > 2 && !uses_workspace) || kernel.block_n > 192 || takes_any_b(kernel)) continue;
    ++number;
    const int k = uses_workspace ? 17 * 64 + 11 : std::max(139, config.split_k * kernel.block_k);
    LibraryProblem problem = general({kernel.block_m - 3, kernel.block_n * kernel.cluster_n - 5, k}, number);
    problem.batch_count = 3;
    problem.a.shared = number % 2 == 1;
    problem.b.shared = number / 2 % 2 == 1;
    problem.c.shared = number / 4 % 2 == 1 && !problem.in_place;
    problem.bias_shared = number % 3 == 1;
    cases.push_back({config, problem, 2 * cluster_size(config)});
  }
  return cases;
}

/// Of more, K would be so long that the emulator takes minutes.
constexpr int kMostClusters = 4;

/// K that the CTAs of a cluster, or of several, share evenly, unevenly, and with a last block that is cut
/// short; small M. Plain and general ones alternate.
std::vector<Case> cases_of_splits() {
  std::vector<Case> cases;
  int number = 0;
  for (const GemmConfig& config : configs_in_some_clusters()) {
    if (config.split_k == 1 || config.workspace_split_k > kMostClusters) continue;
    const KernelConfig& kernel = config.kernel;
    const int ctas = config.split_k * config.workspace_split_k;
    ++number;
    const int k_blocks = number % 3 == 0 ? ctas : ctas * 2 + number % ctas;
    const GemmShape shape = {number % 4 < 2 ? kernel.block_m + 21 : 37,
                             number % 5 < 2 ? kernel.block_n + 8 : kernel.block_n - 29,
                             k_blocks * kernel.block_k - number / 2 % 2 * 51};
    LibraryProblem problem = number % 2 == 0 ? plain(shape, number / 2) : general(shape, number / 2);
    if (is_alpha_only(kernel)) {
      problem = plain(shape, number);
      problem.major_a = OperandMajor::K;
    }
    cases.push_back({config, problem, 2 * cluster_size(config)});
  }
  // The last cluster is behind K's end: the others have 5 blocks each.
  for (const GemmConfig& config : configs_in_some_clusters()) {
    if (name_of(config) != "cooperative_64x64_w1_s12_k4x7") continue;
    cases.push_back({config, general({70, 62, 29 * 64}, 1), cluster_size(config)});
  }
  return cases;
}

/// Parts of K that go through the workspace from single CTAs and from clusters that share loads. Each kernel has them in one
/// cluster and in another number of parts than the kernel before it, with every epilogue, in batches, and with several
/// tiles for each cluster.
std::vector<Case> cases_of_parts() {
  std::vector<Case> cases;
  std::vector<std::vector<GemmConfig>> by_kernel;
  for (const GemmConfig& config : all_configs()) {
    if (!shares_k_by_workspace_alone(config) || config.workspace_split_k > kMostClusters) continue;
    const KernelConfig kernel = library::without_cluster(config.kernel);
    if (by_kernel.empty() || library::without_cluster(by_kernel.back().front().kernel) != kernel) {
      by_kernel.emplace_back();
    }
    by_kernel.back().push_back(config);
  }
  int number = 0;
  for (const std::vector<GemmConfig>& configs : by_kernel) {
    ++number;
    const GemmConfig& config = configs[static_cast<std::size_t>(number) * 4 % configs.size()];
    const KernelConfig& kernel = config.kernel;
    const int k_blocks = config.workspace_split_k * 2 - number % 2;
    const GemmShape shape = {kernel.block_m * kernel.cluster_m + (number % 3 == 0 ? 0 : 5),
                             kernel.block_n * kernel.cluster_n - (number % 4 == 0 ? 0 : 11),
                             k_blocks * kernel.block_k - number % 5 * 8};
    LibraryProblem problem = general(shape, number);
    if (!takes_mn_major_a(kernel.majors)) problem.major_a = OperandMajor::K;
    if (!takes_mn_major_b(kernel.majors)) problem.major_b = OperandMajor::K;
    problem.batch_count = 1 + number % 2;
    problem.a.shared = number % 4 == 1;
    problem.b.shared = number % 4 == 3;
    cases.push_back({config, problem, (1 + number % 3) * cluster_size(config)});
  }
  return cases;
}

/// Auxiliary outputs and gates: of every configuration once, but of large clusters that share K only with the smallest
/// tiles; and of those with a mixed tile N with all that goes along with them, an output that TMA cannot store among
/// it.
std::vector<Case> cases_of_outputs() {
  std::vector<Case> cases;
  int number = 0;
  for (const GemmConfig& config : configs_in_some_clusters()) {
    const KernelConfig& kernel = config.kernel;
    if (kernel.epilogues == Epilogues::AlphaOnly || config.workspace_split_k > kMostClusters) continue;
    const bool is_mixed = kernel.narrow_n != 0;
    const int ctas = config.split_k * config.workspace_split_k;
    if (ctas > 2 && kernel.block_m * kernel.block_n > 64 * 64) continue;
    for (int i = 0; i < (is_mixed ? 18 : 1); ++i) {
      ++number;
      const int rows = kernel.schedule == Schedule::SmallM ? kernel.block_m - 1 : kernel.block_m + 5;
      LibraryProblem problem =
          general({rows, kernel.block_n * kernel.cluster_n + number % 3 * 131 + 3,
                   std::max(number % 2 == 0 ? 75 : (kernel.stages + 1) * 64, ctas * kernel.block_k)},
                  number);
      if (kernel.schedule == Schedule::SmallM || kernel.majors != Majors::Any) {
        problem.major_a = problem.major_b = OperandMajor::K;
      }
      problem.batch_count = 1 + number / 2 % 2;
      problem.aux = {.gap = number % 4 * 8};
      if (number % 5 != 0) problem.d = {.remainder = 0};
      if (number % 5 == 1) problem.aux.offset = 1;
      if (is_mixed && number % 4 != 3) problem.beta = 0;
      problem.c = {.gap = 8};
      cases.push_back({config, with_outputs(problem, 1 + number % (kOutputs - 1)),
                       (1 + number % 2 * 2) * cluster_size(config)});
    }
  }
  return cases;
}

/// NaN and infinities, which the zeros that TMA fills in must not multiply.
std::vector<Case> cases_of_special_values() {
  std::vector<Case> cases;
  int number = 0;
  for (const GemmConfig& config : configs_in_some_clusters()) {
    const KernelConfig& kernel = config.kernel;
    const int ctas = config.split_k * config.workspace_split_k;
    if (ctas % 3 != 1 || kernel.block_m > 64 || config.workspace_split_k > kMostClusters ||
        takes_any_b(kernel)) {
      continue;
    }
    ++number;
    LibraryProblem problem = general({70, 133, ctas * kernel.block_k - 21}, number);
    problem.activation = number % 2 == 0 ? Activation::Relu : Activation::None;
    problem.values = OperandValues::Special;
    cases.push_back({config, problem, 2 * cluster_size(config)});
  }
  return cases;
}

/// Lines so far apart that elements of one tile are more than 2^32 apart: of A, and of C and a D that TMA
/// stores or does not.
std::vector<Case> cases_of_huge_pitches() {
  constexpr std::int64_t kGap = (std::int64_t{1} << 27) - 256;
  constexpr int kLines = 40;
  std::vector<Case> cases;
  for (const GemmConfig& config : configs_in_some_clusters()) {
    const KernelConfig& kernel = config.kernel;
    if (kernel.block_m != 64 || kernel.block_n != 64 || kernel.schedule == Schedule::SmallM ||
        config.split_k > 2)
      continue;
    const auto add = [&](const LibraryProblem& problem) {
      cases.push_back({config, problem, 2 * cluster_size(config)});
    };
    add({.shape = {kLines, 9, 72}, .a = {.gap = kGap}});
    add({.shape = {9, kLines, 72}, .b = {.gap = kGap}});
    add({.shape = {72, 9, kLines + 64}, .major_a = OperandMajor::MN, .a = {.gap = kGap / 2}});
    for (const int offset : {0, 1}) {
      add({.shape = {kLines, 72, 139}, .d = {.offset = offset, .gap = kGap}});
      add({.shape = {kLines / 2, 72, 139},
           .c = {.gap = kGap},
           .d = {.offset = offset, .gap = 2 * kGap},
           .beta = -2});
    }
  }
  return cases;
}

class EmulatedLibraryWgmma : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    gemm_ = std::make_unique<LibraryGemm>(GetParam().problem, emulated_memory());
    configure({.sms = GetParam().sms});
    const Device device = device_of(GetParam().sms);
    const library::Problem problem = gemm_->problem();
    const Status implemented = wgmma_backend().can_implement(problem, device);
    ASSERT_TRUE(implemented.ok()) << implemented.message();
    const Status preparation =
        wgmma_backend().prepare(problem, device, name_of(GetParam().config), &prepared_);
    ASSERT_TRUE(preparation.ok()) << preparation.message();
    EXPECT_EQ(prepared_->config(), name_of(GetParam().config));
    workspace_bytes_ = prepared_->workspace_bytes();
    // Another configuration computes what this one cannot.
    if (library::can_compute(GetParam().config, problem)) {
      EXPECT_EQ(workspace_bytes_, workspace_bytes(problem.args, GetParam().config));
    }
    if (workspace_bytes_ != 0) workspace_ = allocate(workspace_bytes_);
  }

  void expect_right(std::uint64_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    gemm_->reset();
    constexpr int kNan = 0xFF;
    if (workspace_ != nullptr) std::memset(workspace_, kNan, workspace_bytes_);
    configure({.seed = seed, .sms = GetParam().sms});
    const Status launch = prepared_->launch(gemm_->args(), workspace_, nullptr);
    ASSERT_TRUE(launch.ok()) << launch.message() << '\n' << last_report();
    ASSERT_EQ(gemm_->fault(), "");
  }

  std::unique_ptr<LibraryGemm> gemm_;
  std::unique_ptr<const PreparedGemm> prepared_;
  std::size_t workspace_bytes_ = 0;
  void* workspace_ = nullptr;
};

TEST_P(EmulatedLibraryWgmma, IsExactAndCleanWhateverTheSchedule) {
  for (const std::uint64_t seed : with_fresh_seeds(kSeeds)) expect_right(seed);
}

std::string name_of_param(const testing::TestParamInfo<Case>& param) {
  return std::to_string(param.index) + "_" + test_name(param.param);
}

INSTANTIATE_TEST_SUITE_P(Tiles, EmulatedLibraryWgmma, testing::ValuesIn(cases_of_tiles()), name_of_param);
INSTANTIATE_TEST_SUITE_P(FewRows, EmulatedLibraryWgmma, testing::ValuesIn(cases_of_small_m()), name_of_param);
INSTANTIATE_TEST_SUITE_P(PlainTiles, EmulatedLibraryWgmma, testing::ValuesIn(cases_of_alpha_only()),
                         name_of_param);
INSTANTIATE_TEST_SUITE_P(TilesWithAnyB, EmulatedLibraryWgmma, testing::ValuesIn(cases_of_any_b()),
                         name_of_param);
INSTANTIATE_TEST_SUITE_P(TwoWidths, EmulatedLibraryWgmma, testing::ValuesIn(cases_of_mixed_n()),
                         name_of_param);
INSTANTIATE_TEST_SUITE_P(Batches, EmulatedLibraryWgmma, testing::ValuesIn(cases_of_batches()), name_of_param);
INSTANTIATE_TEST_SUITE_P(Splits, EmulatedLibraryWgmma, testing::ValuesIn(cases_of_splits()), name_of_param);
INSTANTIATE_TEST_SUITE_P(Parts, EmulatedLibraryWgmma, testing::ValuesIn(cases_of_parts()), name_of_param);
INSTANTIATE_TEST_SUITE_P(Outputs, EmulatedLibraryWgmma, testing::ValuesIn(cases_of_outputs()), name_of_param);
INSTANTIATE_TEST_SUITE_P(SpecialValues, EmulatedLibraryWgmma, testing::ValuesIn(cases_of_special_values()),
                         name_of_param);
INSTANTIATE_TEST_SUITE_P(HugePitches, EmulatedLibraryWgmma, testing::ValuesIn(cases_of_huge_pitches()),
                         name_of_param);

std::vector<Case> cases_of_sums() {
  std::vector<Case> cases;
  int number = 0;
  for (const GemmConfig& config : all_configs()) {
    if (config.split_k == 1 || config.workspace_split_k > 2) continue;
    ++number;
    const GemmShape shape = {config.kernel.block_m / 2 + 5, config.kernel.block_n,
                             config.split_k * config.workspace_split_k * config.kernel.block_k + 40};
    const bool is_plain = number % 2 == 0 || is_alpha_only(config.kernel);
    LibraryProblem problem = is_plain ? plain(shape, number / 2) : general(shape, number / 2);
    if (config.kernel.schedule == Schedule::SmallM) problem.major_a = problem.major_b = OperandMajor::K;
    if (is_alpha_only(config.kernel)) problem.major_a = OperandMajor::K;
    problem.values = OperandValues::Uniform;
    // In bf16 most differences round away.
    problem.output_type = is_plain ? DataType::Float16 : DataType::Float32;
    cases.push_back({config, problem, cluster_size(config)});
  }
  return cases;
}

class EmulatedLibrarySplits : public EmulatedLibraryWgmma {};

TEST_P(EmulatedLibrarySplits, AddUpInTheSameOrderWhateverTheSchedule) {
  expect_right(1);
  const std::vector<std::byte> first = gemm_->bytes_of_outputs();
  expect_right(fresh_seed());
  EXPECT_EQ(gemm_->bytes_of_outputs(), first);
}

INSTANTIATE_TEST_SUITE_P(Sums, EmulatedLibrarySplits, testing::ValuesIn(cases_of_sums()), name_of_param);

TEST(EmulatedLibraryWgmmaChoice, NamesAllThatCanBeChosen) {
  std::vector<std::string> names;
  for (const GemmConfig& config : all_configs()) names.push_back(name_of(config));
  EXPECT_EQ(wgmma_backend().configs(), names);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

/// A small D with a K that is long enough for all SMs. A is MN-major: a kernel for small M would do without the
/// workspace.
library::Problem problem_of_long_k(std::size_t workspace_limit_bytes) {
  library::Problem problem{.args = {},
                           .alignments = {.a = 16, .b = 16, .c = 16, .d = 16},
                           .programmatic_dependent_launch = false,
                           .workspace_limit_bytes = workspace_limit_bytes};
  problem.args.shape = {60, 61, 65536};
  problem.args.batch_count = 1;
  problem.args.a = {nullptr, OperandMajor::MN, 64, 0};
  problem.args.b = {nullptr, OperandMajor::K, 65536, 0};
  problem.args.epilogue.ldd = 64;
  return problem;
}

// The kernel loads eight partials at a time. What is in the padding of their rows, and around D, must not matter.
TEST(EmulatedReducePartials, AddsAnyNumberOfPartialsInTheOrderOfK) {
  constexpr int kBatches = 2;
  constexpr float kLarge = 1 << 24;  // the ulp is 2, so that the order of the sums shows
  for (const GemmShape shape : {GemmShape{1, 1, 1}, GemmShape{17, 5, 1}, GemmShape{33, 16, 1}}) {
    const std::int64_t ld = library::partials_ld(shape);
    const std::int64_t elems = shape.m * ld;
    for (const int count : {1, 2, 7, 8, 9, 17}) {
      SCOPED_TRACE(testing::Message() << shape.m << "x" << shape.n << ", " << count << " partials");
      const Allocate memory = emulated_memory();
      const std::size_t matrices = kBatches * static_cast<std::size_t>(count);
      auto* const partials =
          static_cast<float*>(memory(matrices * static_cast<std::size_t>(elems) * sizeof(float)));
      auto* const d = static_cast<float*>(memory(kBatches * static_cast<std::size_t>(shape.m) *
                                                 static_cast<std::size_t>(shape.n) * sizeof(float)));
      const auto partial = [&](int matrix, int row, int column) {
        const int value = (matrix * 7 + row * 3 + column) % 5;
        return matrix % 3 == 1 ? kLarge : matrix % 3 == 2 ? -kLarge : static_cast<float>(value);
      };
      for (int matrix = 0; matrix < kBatches * count; ++matrix) {
        for (int row = 0; row < shape.m; ++row) {
          for (int column = 0; column < ld; ++column) {
            partials[matrix * elems + row * ld + column] =
                column < shape.n ? partial(matrix, row, column) : std::numeric_limits<float>::quiet_NaN();
          }
        }
      }
      GemmEpilogue epilogue;
      epilogue.d = d;
      epilogue.ldd = shape.n;
      epilogue.d_batch_stride = std::int64_t{shape.m} * shape.n;
      epilogue.output_type = DataType::Float32;
      configure({.seed = 1, .sms = 4});
      const Status launch = library::launch_reduce_partials(
          {.data = partials, .leading_dimension = ld, .stride = elems, .count = count}, epilogue, shape,
          kBatches, false, nullptr);
      ASSERT_TRUE(launch.ok()) << launch.message();
      ASSERT_STREQ(last_report(), "");
      for (int batch = 0; batch < kBatches; ++batch) {
        for (int row = 0; row < shape.m; ++row) {
          for (int column = 0; column < shape.n; ++column) {
            float sum = 0;
            for (int number = 0; number < count; ++number)
              sum += partial(batch * count + number, row, column);
            ASSERT_EQ(d[(batch * shape.m + row) * shape.n + column], sum)
                << batch << " " << row << " " << column;
          }
        }
      }
    }
  }
}

// The second product's A is the first one's D, and the third one's launch overwrites that D.
TEST(EmulatedLibraryWgmmaOverlap, LaunchesWaitForWhatTheOneAheadReadsAndWrites) {
  constexpr int kSms = 16;
  const std::pair<const char*, int> cases[] = {
      {"cooperative_128x128_s6", 136},         {"cooperative_64x64_w1_s12_c2x2", 136},
      {"cooperative_128x128_s6_k2", 136},      {"cooperative_128x128_s6_k8x2", 1032},
      {"small_m_16x32x128_t_s5_k2", 264},      {"pingpong_128x192+128_s5_c1x2", 392},
      {"cooperative_256x192+128_s4_c1x2", 392}};
  for (const auto& [config, extent] : cases) {
    for (const std::uint64_t seed : with_fresh_seeds(kSeeds)) {
      SCOPED_TRACE(std::string(config) + ", seed " + std::to_string(seed));
      const LibraryGemm gemm({.shape = {37, extent, extent}, .programmatic_dependent_launch = true},
                             emulated_memory());
      configure({.seed = seed, .sms = kSms});
      std::unique_ptr<const PreparedGemm> prepared;
      const Status preparation = wgmma_backend().prepare(gemm.problem(), device_of(kSms), config, &prepared);
      ASSERT_TRUE(preparation.ok()) << preparation.message();
      void* const workspace = allocate(std::max<std::size_t>(1, prepared->workspace_bytes()));
      const auto& epilogue = gemm.args().epilogue;
      library::KernelArgs second = gemm.args();
      second.a.data = epilogue.d;
      second.a.leading_dimension = epilogue.ldd;
      second.epilogue.d = allocate(static_cast<std::size_t>(37 * epilogue.ldd) * sizeof(std::uint16_t));
      for (const library::KernelArgs& args : {gemm.args(), second, gemm.args()}) {
        const Status launch = prepared->launch(args, workspace, nullptr);
        ASSERT_TRUE(launch.ok()) << launch.message();
      }
      ASSERT_STREQ(last_report(), "");  // ends what still runs
      EXPECT_EQ(gemm.fault(), "");
    }
  }
}

// The emulated GPCs have clusters 0, 2 and 6; 1, 4 and 7; 3 and 5.
TEST(EmulatedLibraryWgmmaOrder, GivesTheClustersOfAGpcPlacesSideBySide) {
  const ClusterPositions positions = LastingClusterPositions(8).get();
  EXPECT_THAT(std::vector<int>(positions.position, positions.position + 8),
              testing::ElementsAre(0, 3, 1, 6, 4, 7, 2, 5));
  // Two rows of four tiles, row by row. The numbers count column by column.
  constexpr TileGrid kGrid = {2, 4};
  const auto starts = library::starts_at(positions, 8, 1, library::starts_in_order(kGrid, 1, 1, true));
  std::vector<int> numbers;
  for (int cluster = 0; cluster < 8; ++cluster) {
    const auto tile = library::ClusterStarts::unpacked(starts.start[cluster]);
    numbers.push_back(tile.n * kGrid.m + tile.m);
  }
  EXPECT_THAT(numbers, testing::ElementsAre(0, 6, 2, 5, 1, 7, 4, 3));
}

// The estimates choose it only for launches that take too long here.
TEST(EmulatedLibraryWgmmaOrder, ClustersTakeTheTilesOfTheirGpc) {
  constexpr int kSms = 16;
  const std::pair<const char*, GemmShape> cases[] = {{"cooperative_128x64_s8", {600, 190, 136}},
                                                     {"cooperative_64x64_w1_s12", {290, 130, 136}},
                                                     {"cooperative_128x128_s6_c2x1", {300, 500, 136}},
                                                     {"cooperative_128x128_s6_c1x2", {500, 300, 136}}};
  int number = 0;
  for (const auto& [name, shape] : cases) {
    const GemmConfig config = library::find_config(name).value();
    for (const bool overlaps : {false, true}) {
      for (const std::uint64_t seed : kSeeds) {
        SCOPED_TRACE(std::string(name) + ", seed " + std::to_string(seed));
        LibraryProblem product = general(shape, number++);
        product.programmatic_dependent_launch = overlaps;
        const LibraryGemm gemm(product, emulated_memory());
        configure({.seed = seed, .sms = kSms});
        const library::Problem problem = gemm.problem();
        std::unique_ptr<const library::KernelLauncher> launcher;
        const Status made =
            library::cooperative::kFamily.make_launcher({.problem = problem,
                                                         .config = config,
                                                         .active_clusters = kSms / cluster_size(config),
                                                         .overlaps = overlaps,
                                                         .by_gpc = true},
                                                        &launcher);
        ASSERT_TRUE(made.ok()) << made.message();
        const Status launch =
            launcher->launch(gemm.args(), gemm.args().epilogue, library::EpilogueKind::General, nullptr);
        ASSERT_TRUE(launch.ok()) << launch.message();
        ASSERT_STREQ(last_report(), "");
        EXPECT_EQ(gemm.fault(), "");
      }
    }
  }
}

TEST(EmulatedLibraryWgmmaChoice, SlicesALongKAsFarAsTheWorkspaceGoes) {
  constexpr int kSms = 132;
  constexpr std::size_t kBytesOfASlice = std::size_t{60} * 64 * sizeof(float);
  configure({.sms = kSms});
  const auto workspace_within = [](std::size_t limit) {
    std::unique_ptr<const PreparedGemm> prepared;
    const Status status = wgmma_backend().prepare(problem_of_long_k(limit), device_of(kSms), "", &prepared);
    EXPECT_TRUE(status.ok()) << status.message();
    return status.ok() ? prepared->workspace_bytes() : 0;
  };
  EXPECT_EQ(workspace_within(0), 0U);
  EXPECT_EQ(workspace_within(2 * kBytesOfASlice - 1), 0U);
  EXPECT_EQ(workspace_within(2 * kBytesOfASlice), 2 * kBytesOfASlice);
  EXPECT_EQ(workspace_within(3 * kBytesOfASlice), 3 * kBytesOfASlice);
  EXPECT_GE(workspace_within(100 * kBytesOfASlice), 10 * kBytesOfASlice);
}

TEST(EmulatedLibraryWgmmaChoice, SaysWhyAConfigurationCannotSplitK) {
  constexpr int kSms = 132;
  configure({.sms = kSms});
  const auto refusal = [](const library::Problem& problem) {
    std::unique_ptr<const PreparedGemm> prepared;
    const Status status =
        wgmma_backend().prepare(problem, device_of(kSms), "cooperative_64x64_w1_s12_k8x10", &prepared);
    EXPECT_EQ(status.code(), StatusCode::Unsupported);
    return status.message();
  };
  EXPECT_THAT(refusal(problem_of_long_k(0)),
              testing::HasSubstr("its partials take a workspace of 153600 bytes, but the limit is 0"));
  library::Problem problem = problem_of_long_k(kWorkspaceLimitBytes);
  problem.args.shape.k = 31 * 64;
  EXPECT_THAT(refusal(problem), testing::HasSubstr("K has 31 blocks of 64, fewer than the CTAs"));
  problem.args.shape = {4097, 4096, 65536};
  EXPECT_THAT(refusal(problem), testing::HasSubstr("D has more than 2^24 elements"));
}

TEST(EmulatedLibraryWgmmaChoice, LeavesWhatAKernelCannotDoToOneForWhichTheGpuHasRoom) {
  const char* const config = "cooperative_128x144_s5";
  const std::pair<LibraryProblem, const char*> cases[] = {
      {{.shape = {133, 152, 75}, .beta = -2}, "where beta is not 0:\n  cooperative_"},
      {{.shape = {133, 152, 75}, .major_b = OperandMajor::MN}, "cannot compute this problem"}};
  for (const auto& [library_problem, reason] : cases) {
    // Of one SM there are no clusters.
    for (const int sms : {1, 4}) {
      SCOPED_TRACE(test_name(library_problem) + " on " + std::to_string(sms));
      configure({.seed = 1, .sms = sms});
      const Allocate memory = emulated_memory();
      LibraryGemm gemm(library_problem, memory);
      LibraryProblem problem_without_c = library_problem;
      problem_without_c.beta = 0;
      LibraryGemm without_c(problem_without_c, memory);
      std::unique_ptr<const PreparedGemm> prepared;
      const Status status = wgmma_backend().prepare(gemm.problem(), device_of(sms), config, &prepared);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(prepared->config(), config);
      EXPECT_THAT(prepared->explain(), testing::HasSubstr(reason));
      // beta is a launch's, and one plan computes both.
      for (LibraryGemm* const run : {&gemm, &without_c, &gemm}) {
        run->reset();
        const Status launch = prepared->launch(run->args(), nullptr, nullptr);
        ASSERT_TRUE(launch.ok()) << launch.message() << '\n' << last_report();
        EXPECT_EQ(run->fault(), "");
      }
    }
  }
}

TEST(EmulatedLibraryWgmmaChoice, TakesTheBestOfAScheduleThatIsAskedFor) {
  configure({.sms = 4});
  const LibraryGemm gemm({.shape = {133, 152, 75}}, emulated_memory());
  const LibraryGemm decode({.shape = {5, 152, 75}}, emulated_memory());
  std::unique_ptr<const PreparedGemm> prepared;
  for (const std::string name : {"cooperative", "pingpong", "small_m"}) {
    const LibraryGemm& asked = name == "small_m" ? decode : gemm;
    const Status status = wgmma_backend().prepare(asked.problem(), device_of(4), name, &prepared);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_THAT(prepared->config(), testing::StartsWith(name + "_"));
  }
  const Status refused = wgmma_backend().prepare(gemm.problem(), device_of(4), "small_m", &prepared);
  EXPECT_EQ(refused.code(), StatusCode::Unsupported);
  EXPECT_EQ(refused.message(), "no kernel of the schedule small_m can compute this problem");
}

TEST(EmulatedLibraryWgmmaChoice, RefusesClustersForWhichTheGpuHasNoRoom) {
  configure({.sms = 1});
  const LibraryGemm gemm({.shape = {133, 152, 75}}, emulated_memory());
  for (const char* const name : {"cooperative_128x208_s4_c2x1", "cooperative_256x192+128_s4_c1x2"}) {
    std::unique_ptr<const PreparedGemm> prepared;
    const Status status = wgmma_backend().prepare(gemm.problem(), device_of(1), name, &prepared);
    EXPECT_EQ(status.code(), StatusCode::Unsupported);
    EXPECT_EQ(status.message(), std::string(name) + ": the GPU cannot run a cluster of so many CTAs");
  }
}

/// Of fewer than 64 rows a kernel for small M, with stages of one block.
GemmConfig one_consumer(int block_m, int block_n, int stages, int cluster_n = 1, int split_k = 1) {
  constexpr int kWgmmaM = 64;
  KernelConfig kernel = block_m < kWgmmaM
                            ? library::small_m_config(block_m, block_n, library::kBlockK, stages)
                            : library::cooperative::config(1, block_m, block_n, stages);
  kernel.cluster_n = cluster_n;
  return {.kernel = kernel, .split_k = split_k};
}

TEST(WgmmaEstimate, OverlapsLaunchesThatAreShortOrFillTheGpu) {
  constexpr int kPlaces = 132;
  const auto overlaps = [](GemmShape shape, const GemmConfig& config) {
    library::KernelArgs args{};
    args.shape = shape;
    args.batch_count = 1;
    args.a = args.b = {nullptr, OperandMajor::K, shape.k, 0};
    return library::estimate(args, config, [](const GemmConfig&) { return kPlaces; }).overlaps;
  };
  const auto tile = [](int block_m, int block_n, int stages, int cluster_n, int split = 1) {
    return one_consumer(block_m, block_n, stages, cluster_n, split);
  };
  EXPECT_TRUE(overlaps({16, 132 * 256, 4096}, tile(64, 256, 5, 1)));
  EXPECT_FALSE(overlaps({16, 112 * 256, 4096}, tile(64, 256, 5, 1)));
  // Two waves of 132 CTAs, and two of 99.
  EXPECT_TRUE(overlaps({16, 264 * 256, 4096}, tile(64, 256, 5, 1)));
  EXPECT_FALSE(overlaps({16, 198 * 256, 4096}, tile(64, 256, 5, 1)));
  // Short ones that memory limits: room for all in a short and in a longer one, for some, for nearly none, two waves.
  EXPECT_TRUE(overlaps({16, 66 * 256, 512}, tile(64, 256, 5, 1)));
  EXPECT_FALSE(overlaps({16, 66 * 256, 1536}, tile(64, 256, 5, 1)));
  EXPECT_FALSE(overlaps({16, 67 * 256, 1024}, tile(64, 256, 5, 1)));
  EXPECT_FALSE(overlaps({16, 105 * 256, 1024}, tile(64, 256, 5, 1)));
  EXPECT_TRUE(overlaps({16, 106 * 256, 1024}, tile(64, 256, 5, 1)));
  EXPECT_TRUE(overlaps({16, 140 * 256, 512}, tile(64, 256, 5, 1)));
  // Memory does not limit these: short, long.
  EXPECT_TRUE(overlaps({16, 67 * 256, 128}, tile(64, 256, 5, 1)));
  EXPECT_TRUE(overlaps({9 * 64, 11 * 256, 16384}, tile(64, 256, 5, 1)));
  // Those for small M: a third of the room, half of it for a short and a longer time, more of it, nearly all, two waves.
  EXPECT_TRUE(overlaps({16, 40 * 64, 16384}, tile(16, 64, 20, 1)));
  EXPECT_TRUE(overlaps({16, 66 * 64, 4096}, tile(16, 64, 20, 1)));
  EXPECT_FALSE(overlaps({16, 66 * 64, 16384}, tile(16, 64, 20, 1)));
  EXPECT_FALSE(overlaps({16, 72 * 64, 4096}, tile(16, 64, 20, 1)));
  EXPECT_TRUE(overlaps({16, 116 * 64, 16384}, tile(16, 64, 20, 1)));
  EXPECT_TRUE(overlaps({16, 200 * 64, 16384}, tile(16, 64, 20, 1)));
  // Those that share SMs: a third, half of the room for a very short time, more of it, all of it, two long waves.
  EXPECT_TRUE(overlaps({16, 40 * 64, 4096}, tile(16, 64, 7, 1)));
  EXPECT_TRUE(overlaps({16, 66 * 64, 512}, tile(16, 64, 7, 1)));
  EXPECT_FALSE(overlaps({16, 100 * 64, 4096}, tile(16, 64, 7, 1)));
  EXPECT_TRUE(overlaps({16, 132 * 64, 65536}, tile(16, 64, 7, 1)));
  EXPECT_FALSE(overlaps({16, 40960, 4096}, tile(16, 64, 7, 1)));
  // Short clusters of two that fill SMs: memory limits them, it does not, room for all.
  EXPECT_FALSE(overlaps({16, 80 * 128, 1024}, tile(64, 64, 12, 2)));
  EXPECT_TRUE(overlaps({16, 80 * 128, 128}, tile(64, 64, 12, 2)));
  EXPECT_TRUE(overlaps({16, 66 * 128, 1024}, tile(64, 64, 12, 2)));
  EXPECT_FALSE(overlaps({16, 66 * 128, 3072}, tile(64, 64, 12, 2)));
  // Short, many, few, many that take long, few, several tiles each.
  EXPECT_TRUE(overlaps({64, 60 * 128, 128}, tile(64, 64, 12, 2)));
  EXPECT_TRUE(overlaps({64, 120 * 128, 4096}, tile(64, 64, 12, 2)));
  EXPECT_FALSE(overlaps({64, 60 * 128, 8192}, tile(64, 64, 12, 2)));
  EXPECT_TRUE(overlaps({64, 120 * 128, 65536}, tile(64, 64, 12, 2)));
  EXPECT_FALSE(overlaps({64, 60 * 128, 65536}, tile(64, 64, 12, 2)));
  EXPECT_FALSE(overlaps({64, 240 * 128, 128}, tile(64, 64, 12, 2)));
  // Those that share SMs, with room beside them or without.
  EXPECT_TRUE(overlaps({1, 66 * 64, 4096}, tile(16, 64, 7, 1, 2)));
  EXPECT_FALSE(overlaps({1, 67 * 64, 4096}, tile(16, 64, 7, 1, 2)));
  EXPECT_FALSE(overlaps({1, 105 * 64, 4096}, tile(16, 64, 7, 1, 2)));
  EXPECT_TRUE(overlaps({1, 120 * 64, 4096}, tile(16, 64, 7, 1, 2)));
  // Larger ones: room for all, for some, for none; the same where they share SMs.
  EXPECT_TRUE(overlaps({1, 66 * 64, 4096}, tile(16, 64, 20, 1, 3)));
  EXPECT_FALSE(overlaps({1, 67 * 64, 4096}, tile(16, 64, 20, 1, 3)));
  EXPECT_TRUE(overlaps({1, 120 * 64, 4096}, tile(16, 64, 20, 1, 3)));
  EXPECT_FALSE(overlaps({1, 120 * 64, 262144}, tile(16, 64, 20, 1, 3)));
  EXPECT_FALSE(overlaps({1, 133 * 64, 4096}, tile(16, 64, 20, 1, 3)));
  EXPECT_TRUE(overlaps({1, 66 * 64, 4096}, tile(16, 64, 7, 1, 3)));
  EXPECT_FALSE(overlaps({1, 67 * 64, 4096}, tile(16, 64, 7, 1, 3)));
  EXPECT_TRUE(overlaps({1, 120 * 64, 128}, tile(16, 64, 7, 1, 3)));
  EXPECT_FALSE(overlaps({1, 120 * 64, 16384}, tile(16, 64, 7, 1, 3)));
}

TEST(WgmmaChoice, GivesAMixedTileNEachLayoutButPartsOfSwizzleAtoms) {
  for (const GemmConfig& config : all_configs()) {
    if (config.kernel.narrow_n == 0) continue;
    for (const OperandMajor a : kMajors) {
      for (const OperandMajor b : kMajors) {
        library::Problem problem{};
        problem.alignments = {.a = 16, .b = 16, .c = 16, .d = 16};
        problem.args.shape = {512, 512, 512};
        problem.args.batch_count = 1;
        problem.args.a = {nullptr, a, 512, 0};
        problem.args.b = {nullptr, b, 512, 0};
        problem.args.epilogue.ldd = 512;
        EXPECT_EQ(library::can_compute(config.kernel, problem),
                  b == OperandMajor::K || config.kernel.majors == Majors::Any)
            << name_of(config);
      }
    }
  }
}

TEST(WgmmaChoice, LeavesMoreCtasThanALaunchHasToAnotherKernel) {
  const KernelConfig& kernel = library::kSmallMConfigs.front();
  library::Problem problem{};
  problem.args.a = problem.args.b = {nullptr, OperandMajor::K, 64, 0};
  problem.args.shape = {kernel.block_m + 1, 8, 64};
  problem.args.batch_count = 1;
  EXPECT_TRUE(library::can_compute(kernel, problem));
  problem.args.batch_count = 1 << 27;
  EXPECT_FALSE(library::can_compute(kernel, problem)) << "2^27 batches of 2 tiles, each in up to 8 parts";
}

TEST(WgmmaPrefetch, BringsWhatMemoryCanWhileALaunchWaits) {
  const auto stages = [](GemmShape shape, const GemmConfig& config, int batches = 1,
                         OperandMajor major_b = OperandMajor::K) {
    library::KernelArgs args{};
    args.shape = shape;
    args.batch_count = batches;
    args.a = {nullptr, OperandMajor::K, shape.k, 0};
    args.b = {nullptr, major_b, shape.k, 0};
    return library::prefetched_stages(args, config);
  };
  const GemmConfig config = one_consumer(64, 128, 8);
  EXPECT_EQ(stages({1024, 1024, 1024}, config), 8) << "all of them";
  EXPECT_EQ(stages({128, 7168, 2048}, config), 6) << "6 MB, of 0.93 a block";
  EXPECT_EQ(stages({128, 7168, 2048}, {.kernel = config.kernel, .split_k = 4}), 1)
      << "of 3.7 MB for the CTAs of a cluster";
  EXPECT_EQ(stages({128, 1'000'000, 2048}, config), 1);
  EXPECT_EQ(stages({128, 7168, 2048}, config, 2), 0);
  EXPECT_EQ(stages({128, 7168, 2048}, config, 1, OperandMajor::MN), 0);
  EXPECT_EQ(stages({1, 256, 65536}, {.kernel = config.kernel, .split_k = 8, .workspace_split_k = 7}), 0);
  EXPECT_EQ(stages({1, 4096, 4096}, one_consumer(16, 64, 7)), 5) << "3 MB, of 0.52 a stage";
  EXPECT_EQ(stages({1, 4096, 4096}, {.kernel = library::small_m_config(16, 64, 128, 5)}), 2);
}

TEST(WgmmaLoads, EndWithAKMajorOperand) {
  using library::loaded_lines;
  const library::OperandArgs k_major = {nullptr, OperandMajor::K, 64, 0};
  const library::OperandArgs mn_major = {nullptr, OperandMajor::MN, 64, 0};
  EXPECT_EQ(loaded_lines(k_major, 1, 64, 1), 8);
  EXPECT_EQ(loaded_lines(k_major, 17, 64, 1), 24);
  EXPECT_EQ(loaded_lines(k_major, 57, 64, 1), 64);
  EXPECT_EQ(loaded_lines(k_major, 1000, 64, 1), 64);
  // Of each sharer's box.
  EXPECT_EQ(loaded_lines(k_major, 17, 128, 2), 48);
  EXPECT_EQ(loaded_lines(k_major, 70, 128, 2), 128);
  EXPECT_EQ(loaded_lines(mn_major, 1, 64, 1), 64);
}

TEST(WgmmaLoads, AreEvenPartsOfRowsThatAreAnOddNumberOfGroups) {
  const auto kernel = [](const char* name) { return library::find_config(name).value().kernel; };
  EXPECT_EQ(library::loaded_lines_m(kernel("cooperative_136x128_t_s6_c4x1")), 136);
  EXPECT_EQ(library::loaded_lines_m(kernel("cooperative_136x128_t_s6_c2x2")), 144);
  EXPECT_EQ(library::loaded_lines_m(kernel("cooperative_152x256_t_s4_c2x4")), 160);
  EXPECT_EQ(library::stage_lines_m(kernel("cooperative_136x128_t_s6")), 144);
  EXPECT_EQ(library::stage_lines_m(kernel("cooperative_144x128_t_s5")), 144);
  // Four parts of 40 rows would need a stage of 160.
  EXPECT_FALSE(library::find_config("cooperative_136x128_t_s6_c1x4"));
}

TEST(WgmmaEstimate, LaysTilesByGpcWhereL2IsTheLimitOrNoClusterShares) {
  constexpr int kSms = 132;
  const auto estimate_of = [](GemmShape shape, const char* name) {
    library::KernelArgs args{};
    args.shape = shape;
    args.batch_count = 1;
    args.a = args.b = {nullptr, OperandMajor::K, shape.k, 0};
    return library::estimate(args, library::find_config(name).value(),
                             [](const GemmConfig& config) { return kSms / cluster_size(config); });
  };
  const auto by_gpc = [&](GemmShape shape, const char* name) { return estimate_of(shape, name).by_gpc; };
  EXPECT_TRUE(by_gpc({945, 1664, 24576}, "cooperative_96x128_t_s6_c2x1"));
  EXPECT_TRUE(by_gpc({512, 2048, 8192}, "cooperative_128x64_s8_c1x2"));
  EXPECT_TRUE(by_gpc({1643, 1152, 5632}, "cooperative_128x128_s6"));
  EXPECT_TRUE(by_gpc({1024, 2048, 5632}, "cooperative_128x128_s6"));
  // Pairs lie where they should only on an empty GPU.
  EXPECT_FALSE(estimate_of({945, 1664, 24576}, "cooperative_96x128_t_s6_c2x1").overlaps);
  EXPECT_TRUE(estimate_of({1024, 2048, 5632}, "cooperative_128x128_s6").overlaps);
  // Short; tensor cores are the limit; no other cluster loads the same B, or no other CTA; a larger cluster; split-K; two
  // waves.
  EXPECT_FALSE(by_gpc({945, 1664, 1024}, "cooperative_96x128_t_s6_c2x1"));
  EXPECT_FALSE(by_gpc({799, 4112, 9088}, "cooperative_160x192_wn_t_s4_c2x1"));
  EXPECT_FALSE(by_gpc({64, 8192, 8192}, "cooperative_64x128_w1_s8_c1x2"));
  EXPECT_FALSE(by_gpc({64, 8192, 8192}, "cooperative_64x64_w1_s12"));
  EXPECT_FALSE(by_gpc({1024, 2048, 8192}, "cooperative_128x128_s6_c2x2"));
  EXPECT_FALSE(by_gpc({1024, 1024, 16384}, "cooperative_128x128_s6_k2"));
  EXPECT_FALSE(by_gpc({1643, 2304, 5632}, "cooperative_128x128_s6"));
}

TEST(WgmmaEstimate, SaysWhatLimitsAConfiguration) {
  const auto estimate_of = [](GemmShape shape, const char* name) {
    library::KernelArgs args{};
    args.shape = shape;
    args.batch_count = 1;
    args.a = args.b = {nullptr, OperandMajor::K, shape.k, 0};
    const GemmConfig config = library::find_config(name).value();
    return library::estimate(args, config, [&](const GemmConfig&) { return 132 / cluster_size(config); });
  };
  using library::Limit;
  EXPECT_EQ(estimate_of({8192, 8192, 8192}, "cooperative_256x192+128_s4_c1x2").limit, Limit::TensorCores);
  EXPECT_EQ(estimate_of({512, 2112, 8192}, "cooperative_64x128_w1_s8").limit, Limit::L2);
  EXPECT_EQ(estimate_of({1, 8192, 8192}, "small_m_16x64x128_t_s5").limit, Limit::Memory);
  EXPECT_EQ(estimate_of({256, 256, 4096}, "cooperative_64x64_w1_s12").limit, Limit::Latency);
  EXPECT_EQ(estimate_of({64, 64, 64}, "cooperative_64x64_w1_s12").limit, Limit::Overhead);
  EXPECT_EQ(estimate_of({1024, 2048, 64}, "cooperative_160x256_t_s4").limit, Limit::Stores);
  // Two tiles of 64 columns for each of 66 SMs, and one for the others.
  const library::Estimate two_waves = estimate_of({64, 64 * 198, 4096}, "cooperative_64x64_w1_s12");
  EXPECT_EQ(two_waves.waves, 2);
  EXPECT_DOUBLE_EQ(two_waves.last_wave, 0.5);
}

TEST(WgmmaEstimate, KnowsTheMemoryOfTheGpu) {
  library::KernelArgs args{};
  args.shape = {1, 8192, 8192};
  args.batch_count = 1;
  args.a = args.b = {nullptr, OperandMajor::K, 8192, 0};
  const auto time_on = [&](double bytes_per_us) {
    const library::Device device{.id = 0,
                                 .major = 9,
                                 .minor = 0,
                                 .sm_count = 132,
                                 .max_shared_bytes = 227 << 10,
                                 .memory_bytes_per_us = bytes_per_us};
    return library::estimate(
               args, library::find_config("small_m_16x64x128_t_s5").value(),
               [](const GemmConfig&) { return 132; }, library::cost_model_of(device, nullptr))
        .time_us;
  };
  const double bytes = 2.0 * 8192 * 8192;
  EXPECT_GT(time_on(library::kH100MemoryBytesPerUs), bytes / library::kH100MemoryBytesPerUs);
  EXPECT_GT(time_on(library::kH100MemoryBytesPerUs), 1.25 * time_on(library::kH200MemoryBytesPerUs));
}

TEST(WgmmaEstimate, KnowsTheClockOfTheGpuOrItsProbe) {
  library::Device device{.id = 0, .major = 9, .minor = 0, .sm_count = 132, .max_shared_bytes = 227 << 10};
  const library::ProbedRates* probed = nullptr;
  const auto model = [&] { return library::cost_model_of(device, probed); };
  const library::CostModel whole = model();
  device.sm_clock_mhz /= 2;
  using Model = library::CostModel;
  for (double Model::*const rate :
       {&Model::sm_flops_per_us, &Model::sm_bytes_per_us, &Model::sm_lines_per_us, &Model::store_elems_per_us,
        &Model::pingpong_store_elems_per_us, &Model::reduce_elems_per_us}) {
    EXPECT_DOUBLE_EQ(model().*rate, whole.*rate / 2);
  }
  for (double Model::*const time :
       {&Model::cluster_us, &Model::large_cluster_us, &Model::block_us, &Model::mn_major_block_us,
        &Model::small_m_latency_us, &Model::reduce_us, &Model::mn_major_peer_us}) {
    EXPECT_DOUBLE_EQ(model().*time, whole.*time * 2);
  }
  EXPECT_DOUBLE_EQ(model().cooperative_exposed.c, whole.cooperative_exposed.c * 2);
  for (double Model::*const other : {&Model::l2_bytes_per_us, &Model::memory_peak, &Model::launch_us,
                                     &Model::small_m_sm_bytes_per_us, &Model::workspace_us}) {
    EXPECT_DOUBLE_EQ(model().*other, whole.*other);
  }
  library::ProbedRates rates{};
  probed = &rates;
  // What profiles/h200/probe.json has, but for tensor cores of half the speed.
  rates.l2_bytes_per_us = 11472039;
  rates.sm_flops_per_us = 7186666.0 / 2;
  EXPECT_DOUBLE_EQ(model().block_us, whole.block_us * 2) << "the file does not name a clock";
  rates.sm_clock_mhz = 1980;
  constexpr double kRounding = 0.01;
  EXPECT_NEAR(model().sm_flops_per_us / whole.sm_flops_per_us, 0.5, kRounding);
  EXPECT_NEAR(model().l2_bytes_per_us / whole.l2_bytes_per_us, 1.07, kRounding);
  EXPECT_DOUBLE_EQ(model().block_us, whole.block_us) << "the file names the clock at which it was measured";
  EXPECT_EQ(model().memory_peak, whole.memory_peak);
}

int parts_of_k(const GemmConfig& config) { return config.split_k * config.workspace_split_k; }
int elems_of_tile(const GemmConfig& config) { return config.kernel.block_m * config.kernel.block_n; }

/// A Hopper with so many SMs, in GPCs that are as alike as can be.
library::ActiveClusters active_clusters_of(int sms) {
  return [sms](const GemmConfig& config) {
    constexpr int kGpcs = 8;
    constexpr int kSmsOfTpc = 2;
    const int size = cluster_size(config);
    const int tpcs = sms / kSmsOfTpc;
    int clusters = 0;
    for (int gpc = 0; gpc < kGpcs; ++gpc)
      clusters += (tpcs / kGpcs + (gpc < tpcs % kGpcs)) * kSmsOfTpc / size;
    return clusters;
  };
}

// Lower bounds keep most candidates from being estimated. A bound above an estimate would lose a candidate.
TEST(WgmmaEstimate, RanksTheFastestAsItRanksAll) {
  constexpr int kProblems = 300;
  constexpr double kMostTimesTheFastest = 1.3;
  std::mt19937_64 random(fresh_seed());
  const auto one_of = [&](const auto&... values) {
    const std::array all = {values...};
    return all[random() % all.size()];
  };
  const auto dimension = [&](double most) {
    return static_cast<int>(std::exp(std::uniform_real_distribution<>(0, std::log(most))(random)));
  };
  for (int i = 0; i < kProblems; ++i) {
    const GemmShape shape = {dimension(16384), 8 * dimension(4096), 8 * dimension(4096)};
    library::Problem problem{};
    problem.args.shape = shape;
    problem.args.batch_count = one_of(1, 1, 1, 7);
    problem.args.a = {nullptr, one_of(OperandMajor::K, OperandMajor::MN), shape.k, 0};
    problem.args.b = {nullptr, one_of(OperandMajor::K, OperandMajor::MN), shape.k, 0};
    problem.args.epilogue.ldd = problem.args.epilogue.ldc = shape.n;
    problem.args.epilogue.beta = one_of(0.0F, 1.0F);
    problem.args.epilogue.output_type = one_of(DataType::BFloat16, DataType::Float32);
    problem.alignments = {.a = 16, .b = 16, .c = 16, .d = 16};
    problem.workspace_limit_bytes = one_of(std::size_t{0}, std::size_t{64} << 20);
    library::Device device{};
    device.memory_bytes_per_us = one_of(library::kH100MemoryBytesPerUs, library::kH200MemoryBytesPerUs);
    device.sm_clock_mhz = one_of(1200.0, library::kSxmSmClockMhz);
    const library::CostModel model = library::cost_model_of(device, nullptr);
    const library::ActiveClusters active_clusters = active_clusters_of(one_of(78, 114, 132));

    const std::vector<library::Estimate> all = library::ranked(problem, active_clusters, model);
    const std::vector<library::Estimate> fastest =
        library::ranked(problem, active_clusters, model, kMostTimesTheFastest);
    ASSERT_FALSE(fastest.empty());
    ASSERT_LE(fastest.size(), all.size());
    for (std::size_t rank = 0; rank < fastest.size(); ++rank) {
      ASSERT_EQ(fastest[rank].config, all[rank].config)
          << shape.m << 'x' << shape.n << 'x' << shape.k << ": " << name_of(fastest[rank].config) << " and "
          << name_of(all[rank].config);
    }
    if (fastest.size() < all.size()) {
      ASSERT_GT(all[fastest.size()].time_us, kMostTimesTheFastest * all.front().time_us);
    }
  }
}

/// The share of all SMs' time in which they compute elements of D, if each wave takes as long as a tile.
double busy_share(const GemmConfig& config, GemmShape shape, const library::ActiveClusters& active_clusters,
                  int sms) {
  const KernelConfig& kernel = config.kernel;
  const int rows = ceil_div(shape.m, kernel.block_m);
  const int columns = ceil_div(shape.n, kernel.block_n);
  const int clusters =
      ceil_div(rows, kernel.cluster_m) * ceil_div(columns, kernel.cluster_n) * config.workspace_split_k;
  const int waves = ceil_div(clusters, active_clusters(config));
  const double inside = 1.0 * shape.m / (rows * kernel.block_m) * shape.n / (columns * kernel.block_n);
  return inside * rows * columns * parts_of_k(config) / (1.0 * waves * sms);
}

// The tables and the fit are of GPUs with 132 SMs.
TEST(WgmmaChoice, KeepsTheSmsOfEveryHopperBusy) {
  constexpr double kMostIdle = 0.15;
  int choices = 0;
  for (const int sms : {78, 80, 112, 114, 132, 144}) {
    const library::ActiveClusters active_clusters = active_clusters_of(sms);
    for (const int m : {384, 1000, 1536, 2048, 3000, 4096, 6144}) {
      for (const int n : {768, 1280, 2304, 4096, 5120}) {
        const GemmShape shape = {m, n, 4096};
        library::Problem problem{};
        problem.args.shape = shape;
        problem.args.batch_count = 1;
        problem.args.epilogue = {.ldd = n, .alpha = 1};
        problem.args.a = problem.args.b = {nullptr, OperandMajor::K, shape.k, 0};
        problem.alignments = {.a = 16, .b = 16, .c = 16, .d = 16};
        const std::vector<library::Estimate> estimates = library::ranked(problem, active_clusters, {});
        ASSERT_FALSE(estimates.empty());
        const GemmConfig& chosen = estimates.front().config;
        if (chosen.kernel.narrow_n != 0) continue;  // its tiles have two sizes
        ++choices;
        const double busy = busy_share(chosen, shape, active_clusters, sms);
        for (const library::Estimate& estimate : estimates) {
          // Small tiles and more parts of K keep more SMs busy, but with more loads and more exchange of partials.
          const GemmConfig& other = estimate.config;
          const bool is_small = 4 * elems_of_tile(other) < 3 * elems_of_tile(chosen);
          if (other.kernel.narrow_n != 0 || is_small || parts_of_k(other) > parts_of_k(chosen)) continue;
          EXPECT_LE(busy_share(other, shape, active_clusters, sms), busy + kMostIdle)
              << sms << " SMs, " << m << 'x' << n << ": " << name_of(chosen) << " and " << name_of(other);
        }
      }
    }
  }
  EXPECT_GT(choices, 100);
}

TEST(WgmmaTuned, NamesConfigurationsThatThereAre) {
  const std::vector<std::string> configs = library::wgmma_backend().configs();
  for (const library::TunedTable& table : library::tuned_tables()) {
    EXPECT_FALSE(table.problems.empty()) << table.gpu;
    for (const library::TunedProblem& problem : table.problems) {
      EXPECT_NE(std::find(configs.begin(), configs.end(), problem.config), configs.end()) << problem.config;
    }
  }
}

TEST(WgmmaTuned, HoldsForItsShapeLayoutsAndGpuAlone) {
  for (const library::TunedTable& table : library::tuned_tables()) {
    const library::TunedProblem& tuned = table.problems.front();
    library::KernelArgs args{};
    args.shape = tuned.shape;
    args.batch_count = 1;
    args.a.major = library::OperandMajor::K;
    args.b.major = tuned.b_major;
    const library::Device own{.id = 0,
                              .major = 9,
                              .minor = 0,
                              .sm_count = table.sm_count,
                              .max_shared_bytes = 227 << 10,
                              .memory_bytes_per_us = table.memory_bytes_per_us};
    EXPECT_EQ(library::tuned_choice(args, own).config, tuned.config);
    EXPECT_EQ(library::tuned_choice(args, own).gpu, table.gpu);
    library::Device other = own;
    other.sm_count = 114;
    EXPECT_EQ(library::tuned_choice(args, other).config, "");
    other = own;
    other.memory_bytes_per_us *= 0.5;
    EXPECT_EQ(library::tuned_choice(args, other).config, "");
    ++args.shape.m;
    EXPECT_EQ(library::tuned_choice(args, own).config, "");
  }
}

}  // namespace
}  // namespace hopper_gemm::emulator
