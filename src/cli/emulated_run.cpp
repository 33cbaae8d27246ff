#include "cli/emulated_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <new>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "benchmark/report.hpp"
#include "benchmark/shapes.hpp"
#include "benchmark/statistics.hpp"
#include "common/ceil_div.hpp"
#include "common/gemm_args.hpp"
#include "common/matrix_lines.hpp"
#include "emulator/emulator.hpp"
#include "emulator/random.hpp"
#include "git_commit.hpp"
#include "registry/registry.hpp"
#include "verify/check.hpp"
#include "verify/element.cuh"
#include "verify/fill.hpp"
#include "verify/reference.hpp"
#include "verify/verify.hpp"

namespace hopper_gemm {
namespace {

constexpr int kDefaultSeeds = 10;

// They have residue tiles on every side, tails of K, numbers of tiles that are no multiple of a cluster, and more tiles
// than CTAs.
constexpr GemmShape kDefaultShapes[] = {{256, 256, 256}, {200, 264, 72}, {129, 257, 136}, {520, 776, 328}};

// The same for kernels that multiply one element at a time. Such a multiplication costs the emulator as much as an
// instruction of a tensor core.
constexpr GemmShape kDefaultFp32Shapes[] = {{128, 128, 64}, {67, 129, 40}, {129, 70, 33}};

// Persistent kernels launch a CTA for each SM. There are only a few, so that each CTA computes several tiles.
constexpr int kSms[] = {2, 4, 6};

// The most multiply-adds of a launch, in whole tiles. They take some ten seconds. The limit also bounds the memory to
// less than 1 GB, because a whole tile has a K of at least 64.
struct SizeLimit {
  double multiply_adds;
  int largest_square;
};
constexpr SizeLimit kTensorCoreLimit = {0x1p31, 1280};
constexpr SizeLimit kFp32Limit = {0x1p25, 256};

// Guarded rows in front of D, more than the tallest tile has. The allocation ends behind D, and the emulator reports
// who writes there.
constexpr std::int64_t kGuardRows = 256;

constexpr int kUnitBytes = sizeof(std::uint16_t);  // of GuardedOutput

// The size of the references that are kept, so that not every version computes those of the same seeds again.
constexpr std::size_t kMostCachedBytes = std::size_t{256} << 20;

double multiply_adds(const GemmShape& shape) {
  const auto padded = [](int extent, int block) {
    return static_cast<double>(ceil_div(std::int64_t{extent}, std::int64_t{block}) * block);
  };
  return padded(shape.m, 128) * padded(shape.n, 256) * padded(shape.k, 64);
}

Status check_size(const GemmShape& shape, DataType type) {
  const SizeLimit& limit = type == DataType::Float32 ? kFp32Limit : kTensorCoreLimit;
  if (multiply_adds(shape) <= limit.multiply_adds) return {};
  return unsupported(fmt::format(
      "the emulator would take too long for {} in {}, which is {:.1e} multiply-adds in whole tiles "
      "of 128x256x64, and it takes shapes of up to {:.1e}; type --size {} or less, or a "
      "--shape as small",
      to_string(shape), to_string(type), multiply_adds(shape), limit.multiply_adds, limit.largest_square));
}

// The elements up to the last one. The last line has no padding, so that an access beyond it leaves the allocation.
std::int64_t matrix_elems(const MatrixLines& matrix, std::int64_t ld) {
  return (matrix.lines - 1) * ld + matrix.elems;
}

std::string_view name_of(DataKind kind) {
  switch (kind) {
    case DataKind::Normal: return "normal";
    case DataKind::Uniform: return "uniform";
    case DataKind::Integers: return "integer";
  }
  return "";
}

float draw(DataKind kind, double density, emulator::Random& random) {
  constexpr double kUnit = 0x1p-53;
  const auto uniform = [&random] {
    return (static_cast<double>(random.next() >> 11) + 1) * kUnit;
  };  // in (0, 1]
  switch (kind) {
    case DataKind::Normal: {
      const double radius = std::sqrt(-2 * std::log(uniform()));
      return static_cast<float>(radius * std::cos(2 * std::numbers::pi * uniform()));
    }
    case DataKind::Uniform: return static_cast<float>(2 * uniform() - 1);
    case DataKind::Integers: {
      if (uniform() > density) return 0;
      return random.below(2) == 0 ? -1.0F : 1.0F;
    }
  }
  return 0;
}

/// Fills a matrix, and its padding with NaN. Returns the largest absolute value.
double fill(void* data, DataType type, const MatrixLines& matrix, std::int64_t ld, DataKind kind,
            double density, std::uint64_t seed) {
  emulator::Random random(seed);
  double largest = 0;
  for (std::int64_t line = 0; line < matrix.lines; ++line) {
    for (std::int64_t i = 0; i < matrix.elems; ++i) {
      store_element(data, type, line * ld + i, draw(kind, density, random));
      largest = std::max(largest, std::fabs(load_element(data, type, line * ld + i)));
    }
    if (line + 1 == matrix.lines) break;
    for (std::int64_t i = matrix.elems; i < ld; ++i) {
      store_element(data, type, line * ld + i, std::numeric_limits<float>::quiet_NaN());
    }
  }
  return largest;
}

/// Calls visit(index, is_guard) for every element of the allocation.
template <typename Visit>
void for_each_element(const GuardedOutput& output, Visit visit) {
  for (std::int64_t index = 0; index < output.size; ++index) {
    const std::int64_t i = index - output.offset;
    visit(index, i < 0 || i >= output.m * output.ldd || i % output.ldd >= output.n);
  }
}

void poison(const GuardedOutput& output) {
  for_each_element(output, [&](std::int64_t index, bool is_guard) {
    output.allocation[index] = is_guard ? kGuard : kPoison;
  });
}

/// Says what was written outside of D; empty if nothing was. unit_count: 16-bit units of an element.
std::string guard_fault(const GuardedOutput& output, std::int64_t unit_count) {
  std::int64_t touched = 0;
  std::int64_t first = 0;
  for_each_element(output, [&](std::int64_t index, bool is_guard) {
    if (!is_guard || output.allocation[index] == kGuard) return;
    if (touched++ == 0) first = index - output.offset;
  });
  if (touched == 0) return "";
  return fmt::format("{} elements outside of D were overwritten, the first {}", ceil_div(touched, unit_count),
                     first < 0 ? fmt::format("{} elements in front of it", ceil_div(-first, unit_count))
                               : fmt::format("in the padding of row {}, in column {}", first / output.ldd,
                                             first % output.ldd / unit_count));
}

/// The emulator's own report if there is one. The Status quotes it in the middle of a call of the runtime.
std::string launch_fault(const Status& status) {
  const std::string report = emulator::last_report();
  return !report.empty() && status.message().find(report) != std::string::npos ? report : status.message();
}

std::string table_row(std::string_view version, std::string_view shape, std::string_view seeds,
                      std::string_view result, std::string_view steps, std::string_view seconds,
                      std::string_view note) {
  std::string line = fmt::format("{:<22} {:<15} {:>7}  {:<8} {:>10} {:>8}  {}", version, shape, seeds, result,
                                 steps, seconds, note);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string indented(const std::string& text) {
  std::string lines = "    ";
  for (const char c : text) lines += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return lines + '\n';
}

}  // namespace

/// A, B, D and the reference of one problem, in the emulator's memory. There may be only one of these at a time,
/// because its destructor frees all of the emulator's memory.
class EmulatedRun::Operands {
 public:
  /// Throws std::bad_alloc.
  explicit Operands(const GemmProblem& problem)
      : problem_(problem),
        lda_(padded_pitch(lines_of_a(problem).elems, 1)),
        ldb_(padded_pitch(lines_of_b(problem).elems, 2)),
        ldd_(padded_pitch(lines_of_d(problem).elems, 1)) {
    const auto allocate = [](std::int64_t elems, DataType type) {
      return emulator::allocate(static_cast<std::size_t>(elems * size_of(type)));
    };
    workspace_ = emulator::allocate(kWorkspaceBytes);
    a_ = allocate(matrix_elems(lines_of_a(problem), lda_), problem.input_type);
    b_ = allocate(matrix_elems(lines_of_b(problem), ldb_), problem.input_type);
    const std::int64_t units = size_of(problem.output_type) / kUnitBytes;
    const std::int64_t offset = kGuardRows * ldd_;
    const std::int64_t size = offset + matrix_elems(lines_of_d(problem), ldd_);
    output_ = {static_cast<std::uint16_t*>(allocate(size, problem.output_type)),
               size * units,
               offset * units,
               problem.shape.m,
               problem.shape.n * units,
               ldd_ * units};
  }
  ~Operands() { emulator::free_all(); }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  const GemmProblem& problem() const { return problem_; }

  GemmArgs args() const {
    GemmArgs args = args_of(problem_, a_, lda_, b_, ldb_, output_.allocation + output_.offset, ldd_);
    args.workspace = workspace_;
    args.workspace_bytes = kWorkspaceBytes;
    return args;
  }

  void prepare(DataKind kind, std::uint64_t seed) {
    const int k = problem_.shape.k;
    const double density = integer_density(k);
    const auto fill_input = [&](void* data, const MatrixLines& matrix, std::int64_t ld,
                                std::uint64_t own_seed) {
      return fill(data, problem_.input_type, matrix, ld, kind, density, own_seed);
    };
    const double a_largest = fill_input(a_, lines_of_a(problem_), lda_, seed * 2);
    const double b_largest = fill_input(b_, lines_of_b(problem_), ldb_, seed * 2 + 1);
    poison(output_);
    rule_ = {};
    if (kind != DataKind::Integers) {
      // A sum in fp32 has K roundings, in whatever order. Each is at most 2^-24 of a sum of products, which stays below
      // eight standard deviations or one product. The slack is twice that, because tensor cores truncate.
      const double largest_sum = std::max(8 * std::sqrt(k), a_largest * b_largest);
      rule_ = {CheckRule::Kind::Bounded, 2 * k * 0x1p-24 * largest_sum};
    }
    find_reference(seed);
  }

  /// Says what is wrong with D; empty if nothing is.
  std::string fault() const {
    std::string fault = guard_fault(output_, size_of(problem_.output_type) / kUnitBytes);
    if (!fault.empty()) return fault;
    const GemmArgs args = this->args();
    const auto [m, n, k] = problem_.shape;
    const CheckResult result =
        check_host({args.d, args.ldd, reference_->data(), m, n, problem_.output_type}, rule_);
    return result.ok() ? "" : describe(result, problem_.shape.m, problem_.shape.n);
  }

 private:
  void find_reference(std::uint64_t seed) {
    if (const auto known = cache_.find(seed); known != cache_.end()) {
      reference_ = &known->second;
      return;
    }
    const auto [m, n, k] = problem_.shape;
    const std::size_t elems = static_cast<std::size_t>(m) * static_cast<std::size_t>(n);
    const bool has_room = (cache_.size() + 1) * elems * sizeof(double) <= kMostCachedBytes;
    reference_ = has_room ? &cache_[seed] : &uncached_;
    reference_->resize(elems);
    reference_gemm_host(args(), reference_->data());
  }

  GemmProblem problem_;
  std::int64_t lda_;
  std::int64_t ldb_;
  std::int64_t ldd_;
  void* workspace_ = nullptr;
  void* a_ = nullptr;
  void* b_ = nullptr;
  GuardedOutput output_{};
  CheckRule rule_;
  std::map<std::uint64_t, std::vector<double>> cache_;  // by seed
  std::vector<double> uncached_;
  std::vector<double>* reference_ = nullptr;
};

/// The result of one version at one shape.
struct EmulatedRun::Outcome {
  int seeds = 0;  // that were run
  std::vector<double> steps;
  double seconds = 0;
  bool launch_failed = false;  // the emulator stopped it; otherwise, with a fault, the result was wrong
  std::string fault;           // of the last seed; empty: verified
  std::uint64_t failing_seed = 0;
};

int EmulatedRun::num_seeds() const {
  if (options_.seeds > 0) return options_.seeds;
  return options_.trace_path.empty() ? kDefaultSeeds : 1;
}

// Seeds stay within the range of --seed.
std::uint64_t EmulatedRun::seed_at(int i) const {
  return static_cast<std::uint32_t>(options_.seed + static_cast<std::uint64_t>(i));
}

DataKind EmulatedRun::data_of(std::uint64_t seed) const {
  if (options_.data_given) return options_.data;
  return seed % 2 == 0 ? DataKind::Integers : DataKind::Normal;
}

std::span<const GemmShape> EmulatedRun::shapes_of(const KernelGroup& group) const {
  if (!options_.shapes.empty()) return options_.shapes;
  if (group.problem.input_type == DataType::Float32) return kDefaultFp32Shapes;
  return kDefaultShapes;
}

Status EmulatedRun::check(std::span<const KernelInfo> kernels) {
  HG_RETURN_IF_ERROR(check_arguments());
  for (const KernelInfo*& kernel : options_.kernels) {
    const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const KernelInfo& emulated) {
      return emulated.version == kernel->version;
    });
    if (found == kernels.end()) {
      return unsupported(
          fmt::format("version {} is not compiled for the emulator; leave it out", kernel->version));
    }
    kernel = &*found;
  }
  HG_RETURN_IF_ERROR(check_trace());
  for (const KernelGroup& group : group_kernels(options_)) {
    for (const GemmShape& shape : shapes_of(group)) {
      HG_RETURN_IF_ERROR(check_size(shape, group.problem.input_type));
    }
  }
  return check_any_can_run(options_);
}

Status EmulatedRun::check_arguments() const {
  const std::string why = reason_.empty() ? "" : fmt::format(", since {}", reason_);
  if (options_.tune) {
    return invalid_argument(fmt::format(
        "tune measures speed, but this runs on the emulator{}; leave tune out, so that matmul verifies {}",
        why, options_.kernels.front()->version));
  }
  if (!options_.gpu_versions.empty()) {
    return invalid_argument(
        fmt::format("version {} is no kernel of a ladder and runs on a GPU only, but this runs on "
                    "the emulator{}; type one that `./matmul list` shows between 0 and ceiling, or all",
                    options_.gpu_versions.front(), why));
  }
  if (!options_.gpu_options.empty()) {
    const std::string& option = options_.gpu_options.front();
    return invalid_argument(
        fmt::format("{} was given, but this runs on the emulator{}, which always verifies and gives no "
                    "speeds; leave {} out, or type --device gpu on a machine with an sm_90 GPU",
                    option, why, option));
  }
  return {};
}

Status EmulatedRun::check_trace() {
  if (options_.trace_path.empty()) return {};
  if (options_.kernels.size() != 1 || options_.shapes.size() != 1) {
    return invalid_argument(fmt::format(
        "--trace writes the timeline of one version at one shape, but you asked for {} versions at {} "
        "shapes; type for example `./matmul {} --device emulator --shape {} --trace FILE`",
        options_.kernels.size(), options_.shapes.size(), options_.kernels.front()->version,
        to_string(options_.shapes.empty() ? kDefaultShapes[0] : options_.shapes.front())));
  }
  if (num_seeds() != 1) {
    return invalid_argument(fmt::format(
        "--trace writes the timeline of one launch, but --seeds asks for {}; type --seeds 1", num_seeds()));
  }
  return OutputFile::find("--trace", options_.trace_path, &trace_file_);
}

std::string EmulatedRun::header() const {
  return fmt::format(
      "device  an emulated sm_90 GPU, which verifies and gives no speeds\n"
      "commit  {}\n"
      "inputs  {}, {} {} {}\n\n",
      HG_GIT_COMMIT, options_.data_given ? options_.data_name : "integers and normal in turn", num_seeds(),
      num_seeds() == 1 ? "seed:" : "seeds from", options_.seed);
}

Status EmulatedRun::verify() {
  progress_.clear();
  out_ << header() << table_row("version", "shape MxNxK", "seeds", "result", "steps", "seconds", "")
       << std::flush;
  for (KernelGroup& group : group_kernels(options_)) {
    for (const GemmShape& shape : shapes_of(group)) {
      if (!out_) return {};  // nobody would see more results
      group.problem.shape = shape;
      HG_RETURN_IF_ERROR(verify_group(group));
    }
  }
  return {};
}

Status EmulatedRun::verify_group(const KernelGroup& group) {
  const GemmShape& shape = group.problem.shape;
  try {
    Operands operands(group.problem);
    for (const KernelInfo* kernel : group.kernels) {
      if (const Status refusal = kernel_refusal(*kernel, group.problem); !refusal.ok()) {
        progress_.clear();
        out_ << table_row(fmt::format("{} {}", kernel->version, kernel->name), to_string(shape), "-", "-",
                          "-", "-", refusal.message())
             << std::flush;
        continue;
      }
      const Outcome outcome = verify_kernel(*kernel, operands);
      any_kernel_failed_ = any_kernel_failed_ || !outcome.fault.empty();
      print(*kernel, shape, outcome);
      if (!trace_file_.is_none()) HG_RETURN_IF_ERROR(trace_file_.write(emulator::trace_json()));
    }
  } catch (const std::bad_alloc&) {
    return out_of_memory(fmt::format("{}: {}", to_string(shape), out_of_host_memory_text()));
  }
  return {};
}

EmulatedRun::Outcome EmulatedRun::verify_kernel(const KernelInfo& kernel, Operands& operands) {
  using Clock = std::chrono::steady_clock;
  const std::string where = fmt::format("{} {}", kernel.version, to_string(operands.problem().shape));
  progress_.step(
      fmt::format("{}: verifying with {} {}", where, num_seeds(), num_seeds() == 1 ? "seed" : "seeds"));
  Outcome outcome;
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < num_seeds() && outcome.fault.empty(); ++i) {
    const std::uint64_t seed = seed_at(i);
    progress_.detail(fmt::format("{}: seed {} ({} of {})", where, seed, i + 1, num_seeds()));
    outcome.fault = run_once(kernel, operands, seed, &outcome);
    outcome.failing_seed = seed;
    ++outcome.seeds;
  }
  outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return outcome;
}

/// Says what went wrong; empty if nothing did.
std::string EmulatedRun::run_once(const KernelInfo& kernel, Operands& operands, std::uint64_t seed,
                                  Outcome* outcome) {
  const DataKind data = data_of(seed);
  operands.prepare(data, seed);
  emulator::configure({.seed = seed, .sms = kSms[seed % std::size(kSms)], .traces = !trace_file_.is_none()});
  const Status launched = kernel.launch(operands.args(), nullptr);
  outcome->steps.push_back(static_cast<double>(emulator::steps()));
  // A launch that lets the next begin may fail after its call.
  const std::string report = emulator::last_report();
  outcome->launch_failed = !launched.ok() || !report.empty();
  if (!launched.ok()) return launch_fault(launched);
  if (!report.empty()) return report;
  const std::string fault = operands.fault();
  if (fault.empty()) return "";
  return fmt::format("{} (seed {}, {} data)", fault, seed, name_of(data));
}

void EmulatedRun::print(const KernelInfo& kernel, const GemmShape& shape, const Outcome& outcome) {
  progress_.clear();
  const bool failed = !outcome.fault.empty();
  const std::string_view result = !failed ? "verified" : outcome.launch_failed ? "FAILED" : "WRONG";
  out_ << table_row(fmt::format("{} {}", kernel.version, kernel.name), to_string(shape),
                    fmt::format("{}", outcome.seeds), result,
                    fmt::format("{:.0f}", median(outcome.steps).value_or(0)),
                    fmt::format("{:.2f}", outcome.seconds), "");
  if (failed) {
    out_ << indented(outcome.fault)
         << indented(
                fmt::format("again: {}./matmul {} --device emulator --shape {} --seeds 1 --seed {}{}{}{}{}",
                            environment_of(kernel), kernel.version, to_string(shape), outcome.failing_seed,
                            options_.data_given ? " --data " + options_.data_name : "",
                            options_.type ? fmt::format(" --type {}", to_string(*options_.type)) : "",
                            options_.a_layout ? fmt::format(" --a {}", to_string(*options_.a_layout)) : "",
                            options_.b_layout ? fmt::format(" --b {}", to_string(*options_.b_layout)) : ""));
  }
  out_ << std::flush;
}

}  // namespace hopper_gemm
