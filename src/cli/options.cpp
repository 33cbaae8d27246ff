#include "cli/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <string_view>

#include "benchmark/platform.hpp"
#include "benchmark/shapes.hpp"

namespace hopper_gemm {
namespace {

// Options that only a run on a GPU takes, and options that only the emulator takes.
constexpr const char* kGpuOptions[] = {"--mode",         "--rounds", "--no-verify", "--csv",   "--json",
                                       "--html",         "--config", "--profile",   "--out",   "--bias",
                                       "--activation",   "--gated",  "--beta",      "--batch", "--against",
                                       "--no-baselines", "--rest"};
constexpr const char* kEmulatorOptions[] = {"--seeds", "--trace"};
// Options that add an operation to the product.
constexpr const char* kOperationOptions[] = {"--out",   "--bias", "--activation",
                                             "--gated", "--beta", "--batch"};

// Lines have at most 79 characters and no indentation: newer versions of CLI11 wrap longer lines and drop
// indentation.
constexpr std::string_view kFooter =
    R"(Versions: list shows them all.
Plain numbers are the Hopper ladder. ampere.1 and simt.1 begin the other two.
4-8 and ampere.2-4 are ranges. hopper, ampere and simt are whole ladders. all
is every version.
best is the library, with the configuration that it chooses.
0 is cuBLAS: the faster of cublasGemmEx (for fp32 cublasSgemm, without TF32)
and the best of up to 32 cublasLt candidates. The candidates fuse the epilogue
that you ask for, as far as cublasLt can: a bias of each column, relu and
gelu_tanh, and C. An elementwise kernel computes every other epilogue.
ceiling issues only wgmma and never loads. Its speed is the limit of the tensor
cores on this GPU at this moment.
cutlass is the best of a handful of CUTLASS 2.x configurations for sm_80, if
the program was built with CUTLASS.
Every run also measures 0 and, for bf16 on Hopper, ceiling, because the
percentages relate to them. Versions of ampere also run beside cutlass.

tune measures every configuration of versions that have several, such as
ampere.6, and names the fastest. For best it measures the configurations with
the smallest estimated times.
explain says what best would run at each shape, and why. Without a GPU it says
so for the emulated one, with as many SMs as an H200 has.
probe measures the GPU itself: latencies and bandwidths of its memories, and
rates of its arithmetic. --json writes them for programs.
--against races another build of the library beside best, as version against.
It gives best's speed in % of that build's at each shape, and their geometric
mean.

Method on a GPU: matmul first verifies every version against an fp64 product.
Then all versions take turns in random order, for several rounds. A burst
sample is 50 ms of rest, 4 ms of warm-up and 4 ms timed. A sustained sample is
150 ms of warm-up and 150 ms timed. Launches are captured into CUDA graphs of
about 4 ms and replayed, so that the host's time to launch does not count.
Operands rotate over at least three times the L2 cache, or over 4096 sets,
because one graph holds no more launches. Clock and power come from NVML, power
in sustained mode only.

Emulator: the same kernels run on a Hopper GPU in software, on any CPU. It
checks small shapes for correctness and gives no speeds. Every seed is another
order of what may happen at the same time. The emulator reports deadlocks,
races for shared memory and accesses outside of it, with the line of source.
Integer results must be exact. Other results must match an fp64 product within
one rounding and the error of fp32 sums. A failure comes with the command that
repeats it, with --seeds 1 --seed S. Add --trace FILE to write its timeline for
ui.perfetto.dev or chrome://tracing. 0, ceiling and cutlass do not run there.

Exit status: 0 if all went well; 1 if a kernel was wrong, hung or crashed; 2 if
the input was bad, or this machine cannot run it.
)";

/// The command line as text, before it is understood.
struct RawOptions {
  std::vector<std::string> versions;
  std::vector<std::string> sizes;
  std::vector<std::string> shapes;
  std::vector<std::string> suites;
  std::string mode = "burst";
  std::string type;
  std::string a_layout;
  std::string b_layout;
  std::string output_type;
  std::string bias = "none";
  std::string activation = "none";
  bool gated = false;
  std::string beta = "0";
  std::string batch_count = "1";
  std::string data = "normal";
  std::string rounds = "7";
  std::string rest = "50";
  std::string seed;
  bool no_verify = false;
  bool no_baselines = false;
  std::string csv_path;
  std::string json_path;
  std::string html_path;
  std::string config_path;
  std::string against_path;
  bool profile = false;
  std::string device;
  std::string seeds;
  std::string count = "100";
  std::string trace_path;
};

constexpr std::string_view kTune = "tune";
constexpr std::string_view kExplain = "explain";
constexpr std::string_view kProbe = "probe";

// The options that explain takes, and those that probe takes.
constexpr std::string_view kExplainOptions[] = {"--size", "--shape", "--suite",  "--type",       "--a",
                                                "--b",    "--out",   "--bias",   "--activation", "--gated",
                                                "--beta", "--batch", "--device", "--seed",       "--count"};
constexpr std::string_view kProbeOptions[] = {"--device", "--rounds", "--seed", "--csv", "--json"};

// check_values() refuses an option that was given twice.
constexpr auto kOnce = CLI::MultiOptionPolicy::TakeLast;

void declare(CLI::App& app, RawOptions& raw) {
  app.allow_extras();  // see unknown_option
  app.set_version_flag("--version", "matmul (hopper-gemm) " HG_VERSION);
  app.add_option("kernel_version", raw.versions,
                 "list; explain; probe; or versions, such as 4,\n4-8, hopper, best or all; tune goes "
                 "before\nversions")
      ->type_name("");
  const auto add_repeatable = [&app](const char* name, const char* value, std::vector<std::string>& values,
                                     const char* help) {
    app.add_option(name, values, help)->allow_extra_args(false)->type_name(value);
  };
  add_repeatable(
      "--size", "N", raw.sizes,
      "the shape NxNxN; repeatable (default: 8192, for\nfp32 4096, on the emulator a few small shapes)");
  add_repeatable("--shape", "MxNxK", raw.shapes, "any shape; repeatable");
  add_repeatable(
      "--suite", "NAME", raw.suites,
      "many shapes: squares, llm, ragged, library,\nlong_k or ragged_k; repeatable. Four suites\n"
      "stand alone: epilogues (bias, ReLU, GELU, C,\nfp32 D), gated, batches, and random, which draws\n"
      "shapes and layouts of B from --seed");
  const auto add = [&app](const char* name, const char* value, std::string& text, const char* help) {
    app.add_option(name, text, help)->type_name(value)->multi_option_policy(kOnce);
  };
  add("--count", "N", raw.count, "shapes that --suite random draws, 1 to 1000\n(default: 100)");
  add("--device", "NAME", raw.device,
      "gpu or emulator (default: gpu if one can run what\nyou ask for, otherwise emulator)");
  add("--mode", "NAME", raw.mode, "burst, sustained or both (default: burst)");
  add("--type", "NAME", raw.type,
      "type of A, B and D: bf16, fp16 or fp32 (default:\neach kernel's own: fp32 for simt, otherwise bf16)");
  add("--a", "NAME", raw.a_layout,
      "layout of A in memory: row, [M, K] (default), or\ncol, [K, M], which the ladders do not take");
  add("--b", "NAME", raw.b_layout,
      "layout of B in memory: row, [K, N], or col,\n[N, K] (default: each kernel's own: row for "
      "fp32,\notherwise col)");
  add("--out", "NAME", raw.output_type,
      "best: type of C, D and the bias: bf16, fp16 or\nfp32 (default: A's type)");
  add("--bias", "NAME", raw.bias,
      "best: add one element to each row or column of D:\nrow, column or none (default: none)");
  add("--activation", "NAME", raw.activation,
      "best: apply it last: none (default), relu, gelu,\ngelu_tanh or silu");
  app.add_flag("--gated", raw.gated,
               "best: store activation(gate) * up; 8 columns of\nthe gate and 8 of up alternate along N")
      ->disable_flag_override();
  add("--beta", "X", raw.beta, "best: add X * C (default: 0)");
  add("--batch", "N", raw.batch_count,
      "best: compute N products, one behind the other in\nmemory (default: 1)");
  add("--data", "NAME", raw.data,
      "values of the operands: normal (default), uniform\n"
      "or integers (-1, 0 and 1), which run faster; the\n"
      "default of the emulator alternates integers and\nnormal");
  add("--rounds", "N", raw.rounds, "samples of each version, 1 to 1000 (default: 7)");
  add("--rest", "N", raw.rest,
      "ms of rest before a burst, 0 to 1000 (default:\n50); with less, power may lower the clock");
  add("--seed", "N", raw.seed,
      "seed of the inputs, of the measuring order and of\n--suite random; on the emulator, of the first\n"
      "schedule (default: random, and printed)");
  add("--seeds", "N", raw.seeds,
      "emulator: schedules for each version and shape,\n1 to 1000000 (default: 10)");
  add("--trace", "FILE", raw.trace_path, "emulator: write the timeline of one launch");
  app.add_flag("--no-verify", raw.no_verify, "measure without verifying first")->disable_flag_override();
  app.add_flag("--no-baselines", raw.no_baselines,
               "tune: measure neither cuBLAS nor the ceiling,\nwhich take most of the time")
      ->disable_flag_override();
  add("--csv", "FILE", raw.csv_path, "also write the results as CSV");
  add("--json", "FILE", raw.json_path,
      "also write the results as JSON, with all samples;\ntune writes the best configurations to a file\n"
      "that the library loads");
  add("--html", "FILE", raw.html_path, "also write the results as a page with charts");
  add("--config", "FILE", raw.config_path, "run the configurations that tune wrote to this\nfile by --json");
  add("--against", "FILE", raw.against_path,
      "best: also race another build of the library,\ngiven its libhopper_gemm.so");
  app.add_flag("--profile", raw.profile,
               "mark one launch of one version for ncu or nsys\n(cudaProfilerStart, cudaProfilerStop)")
      ->disable_flag_override();
  app.footer(std::string(kFooter));
}

/// "--csv" and so on, without the positional versions.
std::vector<const CLI::Option*> named_options(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return !option->get_lnames().empty(); });
}

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

Status unknown_option(const CLI::App& app, const std::string& asked) {
  std::string names;
  for (const CLI::Option* option : named_options(app)) {
    names += (names.empty() ? "" : ", ") + option->get_name();
  }
  return invalid_argument(fmt::format(
      "there is no option '{}', only {}; type `./matmul --help` to see what each one does", asked, names));
}

Status lacks_value(const CLI::Option& option, std::string_view got) {
  return invalid_argument(
      fmt::format("{} got {}, but it needs {}; type {} {}, or `./matmul --help` to see what "
                  "it takes",
                  option.get_name(), got, option.get_type_name(), option.get_name(), option.get_type_name()));
}

/// Puts a refusal of CLI11 into our words. CLI11's text begins with the option's name, without dashes if it is a flag.
Status refused_by_parser(const CLI::App& app, const std::string& text) {
  const std::string name = text.substr(0, text.find_first_of(": "));
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr) option = app.get_option_no_throw("--" + name);
  if (option == nullptr) {
    return invalid_argument(fmt::format(
        "the command line cannot be read ({}); type `./matmul --help` to see what is possible", text));
  }
  if (!is_flag(*option)) return lacks_value(*option, "nothing");
  return invalid_argument(fmt::format("{} got a value, but it takes none; type {} alone", option->get_name(),
                                      option->get_name()));
}

Status check_values(const CLI::App& app) {
  for (const CLI::Option* option : named_options(app)) {
    if (is_flag(*option)) continue;
    const std::vector<std::string> values = option->results();
    for (const std::string& value : values) {
      if (value.empty() || value.starts_with("--")) {
        return lacks_value(*option, fmt::format("'{}'", value));
      }
    }
    if (option->get_multi_option_policy() == kOnce && values.size() > 1) {
      return invalid_argument(fmt::format("{} was given {} times, but it takes one value; type it once",
                                          option->get_name(), values.size()));
    }
  }
  return {};
}

/// "ampere." for "ampere.3", and nothing for "3".
std::string_view prefix_of(std::string_view version) { return version.substr(0, version.rfind('.') + 1); }

bool ends_with_number(std::string_view version) {
  return !version.empty() && std::isdigit(static_cast<unsigned char>(version.back())) != 0;
}

/// The name of a kernel's ladder. The versions of the Hopper ladder are plain numbers.
std::string_view ladder_of(const KernelInfo& kernel) {
  if (!ends_with_number(kernel.version)) return kernel.version;
  const std::string_view prefix = prefix_of(kernel.version);
  return prefix.empty() ? "hopper" : prefix.substr(0, prefix.size() - 1);
}

/// The versions, then the ladders that have several: "1-11, ampere.1-6, best, hopper, ampere, ".
std::string versions_text(std::span<const KernelInfo> kernels) {
  std::string versions;
  std::string ladders;
  for (std::size_t first = 0; first < kernels.size();) {
    std::size_t last = first;
    while (last + 1 < kernels.size() && ladder_of(kernels[last + 1]) == ladder_of(kernels[first])) ++last;
    const std::string_view version = kernels[last].version;
    versions += fmt::format("{}, ", kernels[first].version);
    if (last > first) {
      versions.resize(versions.size() - 2);
      versions += fmt::format("-{}, ", version.substr(prefix_of(version).size()));
      ladders += fmt::format("{}, ", ladder_of(kernels[first]));
    }
    first = last + 1;
  }
  return versions + ladders;
}

Status unknown_version(const std::string& asked, std::span<const KernelInfo> kernels) {
  return invalid_argument(fmt::format(
      "there is no kernel version '{}', only 0, {}ceiling, cutlass and all; type `./matmul list` to see "
      "what each one is",
      asked, versions_text(kernels)));
}

/// The kernels that the user asked for, as flags, because the order in which they are typed does not matter. The
/// baseline and the ceiling always run, and CUTLASS runs with the ampere ladder.
class Selection {
 public:
  explicit Selection(std::span<const KernelInfo> kernels) : kernels_(kernels), selected_(kernels.size()) {}

  Status add(const std::string& version) {
    if (version == "all") {
      std::fill(selected_.begin(), selected_.end(), true);
      return {};
    }
    if (version == kCeilingVersion || version == kCutlassVersion) {
      gpu_versions_.push_back(version);
      return {};
    }
    if (add_ladder(version)) return {};
    const std::size_t dash = version.find('-');
    if (dash == std::string::npos) return add_range(version, version, version);
    const std::string first = version.substr(0, dash);
    std::string last = version.substr(dash + 1);
    if (!ends_with_number(first) || !ends_with_number(last)) return unknown_version(version, kernels_);
    if (prefix_of(last).empty()) last = std::string(prefix_of(first)) + last;
    if (prefix_of(last) != prefix_of(first)) return unknown_version(version, kernels_);
    return add_range(first, last, version);
  }

  void store(Options* options) const {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (selected_[i]) options->kernels.push_back(&kernels_[i]);
    }
    options->gpu_versions = gpu_versions_;
  }

 private:
  bool add_ladder(std::string_view name) {
    bool found = false;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (ladder_of(kernels_[i]) != name) continue;
      selected_[i] = true;
      found = true;
    }
    return found;
  }

  // The baseline has position 0, and the kernels of the registry follow. An unknown version has position -1.
  std::ptrdiff_t position(const std::string& version) const {
    if (version == kBaselineVersion) return 0;
    const auto found = std::find_if(kernels_.begin(), kernels_.end(),
                                    [&](const KernelInfo& kernel) { return kernel.version == version; });
    return found == kernels_.end() ? -1 : found - kernels_.begin() + 1;
  }

  Status add_range(const std::string& first, const std::string& last, const std::string& asked) {
    const std::ptrdiff_t begin = position(first);
    const std::ptrdiff_t end = position(last);
    if (begin < 0 || end < 0) return unknown_version(asked, kernels_);
    if (end == 0) gpu_versions_.push_back(asked);
    if (end < begin) {
      return invalid_argument(fmt::format("the range '{}' runs backwards; type {}-{}", asked, last, first));
    }
    for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(begin, 1); i <= end; ++i) {
      selected_[static_cast<std::size_t>(i - 1)] = true;
    }
    return {};
  }

  std::span<const KernelInfo> kernels_;
  std::vector<bool> selected_;
  std::vector<std::string> gpu_versions_;
};

/// Ok if `./matmul tune` can tune these versions.
Status check_tunable(std::span<const KernelInfo> kernels, const Options& options) {
  std::string tunable;
  for (const KernelInfo& kernel : kernels) {
    if (kernel.tuning != nullptr) tunable += fmt::format("{}{}", tunable.empty() ? "" : ", ", kernel.version);
  }
  std::vector<std::string> others = options.gpu_versions;
  for (const KernelInfo* kernel : options.kernels) {
    if (kernel->tuning == nullptr) others.emplace_back(kernel->version);
  }
  if (!others.empty()) {
    return invalid_argument(fmt::format(
        "tune was given version {}, which it cannot tune; type a version that has several configurations: {}",
        others.front(), tunable));
  }
  if (options.kernels.empty()) {
    return invalid_argument(fmt::format("tune was given no version; type for example `./matmul tune {}`",
                                        tunable.substr(0, tunable.find(','))));
  }
  return {};
}

/// Ok if only these options were given to `word`, which was typed without versions.
Status check_only_options(const CLI::App& app, std::string_view word,
                          std::span<const std::string_view> allowed) {
  for (const CLI::Option* option : named_options(app)) {
    const bool is_allowed = std::find(allowed.begin(), allowed.end(), option->get_name()) != allowed.end();
    if (option->count() == 0 || is_allowed) continue;
    return invalid_argument(fmt::format("{} was given together with {}, which takes only {}; leave {} out",
                                        option->get_name(), word, fmt::join(allowed, ", "),
                                        option->get_name()));
  }
  return {};
}

Status read_versions(const CLI::App& app, const std::vector<std::string>& versions,
                     std::span<const KernelInfo> kernels, Options* options) {
  if (versions.empty()) {
    return invalid_argument(
        "no kernel version was given; type `./matmul list` to see the versions, or `./matmul all` to run "
        "them");
  }
  if (versions.front() == "list" && versions.size() == 1) {
    for (const CLI::Option* option : named_options(app)) {
      if (option->count() == 0) continue;
      return invalid_argument(
          fmt::format("{} was given together with list, which takes no options; type `./matmul list` alone",
                      option->get_name()));
    }
    options->action = Options::Action::List;
    return {};
  }
  if (versions.front() == kExplain && versions.size() == 1) {
    options->action = Options::Action::Explain;
    return check_only_options(app, kExplain, kExplainOptions);
  }
  if (versions.front() == kProbe && versions.size() == 1) {
    options->action = Options::Action::Probe;
    return check_only_options(app, kProbe, kProbeOptions);
  }
  Selection selection(kernels);
  for (const std::string& version : versions) {
    if (version == kTune && &version == &versions.front()) {
      options->tune = true;
      continue;
    }
    if (version == "list") {
      return invalid_argument("list was given together with versions to run; type `./matmul list` alone");
    }
    if (version == kExplain) {
      return invalid_argument(
          "explain was given together with versions, but it explains only the choice of best; type `./matmul "
          "explain` and shapes");
    }
    if (version == kProbe) {
      return invalid_argument(
          "probe was given together with versions, but it measures the GPU itself; type `./matmul probe` "
          "without versions");
    }
    HG_RETURN_IF_ERROR(selection.add(version));
  }
  selection.store(options);
  return options->tune ? check_tunable(kernels, *options) : Status();
}

Status read_shapes(const RawOptions& raw, std::vector<GemmShape>* shapes) {
  const auto add = [shapes](const GemmShape& shape) {
    if (std::find(shapes->begin(), shapes->end(), shape) == shapes->end()) shapes->push_back(shape);
  };
  GemmShape shape{};
  for (const std::string& text : raw.sizes) {
    HG_RETURN_IF_ERROR(parse_size("--size", text, &shape));
    add(shape);
  }
  for (const std::string& text : raw.shapes) {
    HG_RETURN_IF_ERROR(parse_shape("--shape", text, &shape));
    add(shape);
  }
  for (const std::string& name : raw.suites) {
    std::vector<GemmShape> suite;
    HG_RETURN_IF_ERROR(find_suite(name, &suite));
    for (const GemmShape& member : suite) add(member);
  }
  return {};
}

Status read_device(const CLI::App& app, const RawOptions& raw, Options* options) {
  const auto given = [&app](const std::string& name) { return app.get_option(name)->count() > 0; };
  for (const char* name : kGpuOptions) {
    if (given(name)) options->gpu_options.emplace_back(name);
  }
  for (const char* name : kEmulatorOptions) {
    if (given(name)) options->emulator_options.emplace_back(name);
  }
  options->data_given = given("--data");
  if (raw.device.empty()) return {};
  if (raw.device == "gpu") {
    options->device = Options::Device::Gpu;
  } else if (raw.device == "emulator") {
    options->device = Options::Device::Emulator;
  } else {
    return invalid_argument(fmt::format(
        "--device got '{}', but the devices are gpu and emulator; type one of these", raw.device));
  }
  return {};
}

Status read_mode(const std::string& name, std::vector<Mode>* modes) {
  if (name == "burst" || name == "both") modes->push_back(Mode::Burst);
  if (name == "sustained" || name == "both") modes->push_back(Mode::Sustained);
  if (!modes->empty()) return {};
  return invalid_argument(
      fmt::format("--mode got '{}', but the modes are burst, sustained and both; type one of these", name));
}

Status read_type(std::string_view option, const std::string& name, std::optional<DataType>* type) {
  if (name.empty()) return {};
  for (const DataType candidate : {DataType::BFloat16, DataType::Float16, DataType::Float32}) {
    if (name == to_string(candidate)) *type = candidate;
  }
  if (*type) return {};
  return invalid_argument(
      fmt::format("{} got '{}', but the types are bf16, fp16 and fp32; type one of these", option, name));
}

Status read_layout(std::string_view option, const std::string& name, std::optional<Layout>* layout) {
  if (name.empty()) return {};
  *layout = layout_of_name(name);
  if (*layout) return {};
  return invalid_argument(
      fmt::format("{} got '{}', but the layouts are row and col; type one of these", option, name));
}

Status read_operation(const RawOptions& raw, Operation* operation) {
  HG_RETURN_IF_ERROR(read_type("--out", raw.output_type, &operation->output_type));
  const std::optional<Bias> bias = bias_of_name(raw.bias);
  if (!bias) {
    return invalid_argument(
        fmt::format("--bias got '{}', but the biases are none, row and column; type one of these", raw.bias));
  }
  operation->bias = *bias;
  const std::optional<Activation> activation = activation_of_name(raw.activation);
  if (!activation) {
    return invalid_argument(fmt::format(
        "--activation got '{}', but the activations are none, relu, gelu, gelu_tanh and silu; type "
        "one of these",
        raw.activation));
  }
  operation->activation = *activation;
  operation->gated = raw.gated;
  const char* const end = raw.beta.data() + raw.beta.size();
  const auto [stop, error] = std::from_chars(raw.beta.data(), end, operation->beta);
  constexpr NumberRule kBatches = {"--batch", "the number of batches", 1, 1 << 20, "64"};
  std::uint64_t batches = 0;
  HG_RETURN_IF_ERROR(parse_number(kBatches, raw.batch_count, &batches));
  operation->batch_count = static_cast<int>(batches);
  if (stop != end || error != std::errc{} || !std::isfinite(operation->beta)) {
    return invalid_argument(fmt::format(
        "--beta got '{}', which is not a number that fp32 can hold; type for example --beta 1", raw.beta));
  }
  return {};
}

/// Takes the operations of a suite that brings its own. Such a suite goes with no other shapes or operations.
Status read_operation_suite(const CLI::App& app, const RawOptions& raw, Options* options) {
  constexpr NumberRule kCount = {"--count", "the number of shapes", 1, 1000, "100"};
  std::uint64_t count = 0;
  HG_RETURN_IF_ERROR(parse_number(kCount, raw.count, &count));
  const bool draws_shapes = std::find(raw.suites.begin(), raw.suites.end(), kRandomSuite) != raw.suites.end();
  if (!draws_shapes && app.get_option("--count")->count() > 0) {
    return invalid_argument(fmt::format(
        "--count was given without --suite {0}, and only that suite draws shapes; type --suite {0}, or leave "
        "--count out",
        kRandomSuite));
  }
  for (const std::string& suite : raw.suites) {
    std::vector<Operation> operations = find_operations(suite, {options->seed, static_cast<int>(count)});
    if (operations.empty()) continue;
    const auto refuse = [&](std::string_view what) {
      return invalid_argument(fmt::format(
          "--suite {} was given together with {}, but this suite brings its own shapes and operations; leave "
          "one of the two out",
          suite, what));
    };
    if (raw.suites.size() > 1) return refuse("another suite");
    for (const char* name : {"--size", "--shape"}) {
      if (app.get_option(name)->count() > 0) return refuse(name);
    }
    for (const char* name : kOperationOptions) {
      if (app.get_option(name)->count() > 0) return refuse(name);
    }
    if (draws_shapes && app.get_option("--b")->count() > 0) return refuse("--b");
    options->operations = std::move(operations);
  }
  return {};
}

/// A tuning file has no entries with a C, because a plan does not know beta when it chooses.
Status check_tuned_operation(const Options& options) {
  const auto has_c = [](const Operation& operation) { return operation.beta != 0; };
  if (std::none_of(options.operations.begin(), options.operations.end(), has_c)) return {};
  if (options.tune && !options.json_path.empty()) {
    return invalid_argument(
        "--json was given together with tune and an operation that adds C, but the file cannot name beta, "
        "which the library does not know when it chooses; type --csv instead");
  }
  if (options.config_path.empty()) return {};
  return invalid_argument(
      "--config was given together with an operation that adds C, but such a file holds no configurations "
      "for that; leave one of the two out");
}

Status read_data(const std::string& name, Options* options) {
  options->data_name = name;
  if (name == "normal") {
    options->data = DataKind::Normal;
  } else if (name == "uniform") {
    options->data = DataKind::Uniform;
  } else if (name == "integers") {
    options->data = DataKind::Integers;
  } else {
    return invalid_argument(fmt::format(
        "--data got '{}', but the inputs are normal, uniform and integers; type one of these", name));
  }
  return {};
}

/// Ok if the options ask for one launch.
Status check_profile(const CLI::App& app, const Options& options) {
  constexpr std::string_view kExample = "type for example `./matmul 7 --profile --size 8192`";
  for (const char* name : {"--rounds", "--rest", "--csv", "--json", "--html", "--against"}) {
    if (app.get_option(name)->count() == 0) continue;
    return invalid_argument(fmt::format(
        "{} was given together with --profile, which measures nothing; leave {} out", name, name));
  }
  if (options.tune) {
    return invalid_argument(
        fmt::format("--profile was given together with tune, but it marks only one launch; {}", kExample));
  }
  const std::vector<std::string>& gpu_versions = options.gpu_versions;
  if (std::find(gpu_versions.begin(), gpu_versions.end(), kCutlassVersion) != gpu_versions.end()) {
    return invalid_argument(fmt::format(
        "--profile cannot mark a launch of cutlass, because cutlass is several kernels; {}", kExample));
  }
  const std::size_t versions = options.kernels.size() + gpu_versions.size();
  std::size_t shapes = 0;
  for (const Operation& operation : options.operations) {
    shapes +=
        std::max<std::size_t>(operation.shapes.empty() ? options.shapes.size() : operation.shapes.size(), 1);
  }
  if (versions == 1 && shapes == 1 && options.modes.size() == 1) return {};
  return invalid_argument(
      fmt::format("--profile marks one launch, but you asked for {} versions, {} shapes and {} modes; {}",
                  versions, shapes, options.modes.size(), kExample));
}

/// Ok if best runs, so that another build of the library can race it.
Status check_baselines(const Options& options) {
  if (options.baselines || options.tune) return {};
  return invalid_argument(fmt::format(
      "--no-baselines was given without tune, but only tune compares configurations alone; type for "
      "example `./matmul tune {} --no-baselines`, or leave --no-baselines out",
      kLibraryVersion));
}

Status check_against(const Options& options) {
  if (options.against_path.empty()) return {};
  if (options.tune) {
    return invalid_argument(
        "--against was given together with tune, but tune measures only the configurations of this build; "
        "leave one of the two out");
  }
  const bool runs_library =
      std::any_of(options.kernels.begin(), options.kernels.end(),
                  [](const KernelInfo* kernel) { return kernel->version == kLibraryVersion; });
  if (!runs_library) {
    return invalid_argument(
        fmt::format("--against races another build of the library with version {}, but you did not ask for "
                    "that; type for example `./matmul {} --against FILE`, or leave --against out",
                    kLibraryVersion, kLibraryVersion));
  }
  if (options.type != DataType::Float32) return {};
  return invalid_argument(
      "--against was given together with --type fp32, but the library multiplies bf16 and fp16; type one of "
      "these, or leave --against out");
}

Status read_numbers(const RawOptions& raw, Options* options) {
  constexpr NumberRule kRounds = {"--rounds", "the number of samples", 1, 1000, "7"};
  constexpr NumberRule kRest = {"--rest", "the rest before a burst in milliseconds", 0, 1000, "50"};
  constexpr NumberRule kSeed = {"--seed", "the seed", 0, std::numeric_limits<std::uint32_t>::max(), "42"};
  constexpr NumberRule kSeeds = {"--seeds", "the number of schedules", 1, 1000000, "10"};
  std::uint64_t rounds = 0;
  HG_RETURN_IF_ERROR(parse_number(kRounds, raw.rounds, &rounds));
  options->rounds = static_cast<int>(rounds);
  std::uint64_t rest_ms = 0;
  HG_RETURN_IF_ERROR(parse_number(kRest, raw.rest, &rest_ms));
  options->rest_ms = static_cast<int>(rest_ms);
  if (!raw.seeds.empty()) {
    std::uint64_t seeds = 0;
    HG_RETURN_IF_ERROR(parse_number(kSeeds, raw.seeds, &seeds));
    options->seeds = static_cast<int>(seeds);
  }
  if (raw.seed.empty()) {
    options->seed = std::random_device{}();
    return {};
  }
  return parse_number(kSeed, raw.seed, &options->seed);
}

}  // namespace

Status parse_options(int argc, const char* const* argv, std::span<const KernelInfo> kernels,
                     Options* options) {
  CLI::App app(
      "Verifies and measures GEMM kernels for NVIDIA GPUs, above all for Hopper.\nThey compute D[M,N] = "
      "A[M,K] * B[K,N], and best also a fused epilogue.",
      "./matmul");
  RawOptions raw;
  declare(app, raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    options->action = Options::Action::ShowText;
    options->text = app.help();
    return {};
  } catch (const CLI::CallForVersion& version) {
    options->action = Options::Action::ShowText;
    options->text = std::string(version.what()) + "\n";
    return {};
  } catch (const CLI::ParseError& error) {
    return refused_by_parser(app, error.what());
  }
  for (const std::string& argument : app.remaining()) {
    if (argument != "--") return unknown_option(app, argument);
  }
  HG_RETURN_IF_ERROR(check_values(app));
  HG_RETURN_IF_ERROR(read_versions(app, raw.versions, kernels, options));
  HG_RETURN_IF_ERROR(read_device(app, raw, options));
  HG_RETURN_IF_ERROR(read_shapes(raw, &options->shapes));
  HG_RETURN_IF_ERROR(read_mode(raw.mode, &options->modes));
  HG_RETURN_IF_ERROR(read_type("--type", raw.type, &options->type));
  HG_RETURN_IF_ERROR(read_layout("--a", raw.a_layout, &options->a_layout));
  HG_RETURN_IF_ERROR(read_layout("--b", raw.b_layout, &options->b_layout));
  HG_RETURN_IF_ERROR(read_operation(raw, &options->operations.front()));
  HG_RETURN_IF_ERROR(read_data(raw.data, options));
  HG_RETURN_IF_ERROR(read_numbers(raw, options));
  HG_RETURN_IF_ERROR(read_operation_suite(app, raw, options));
  options->profile = raw.profile;
  if (options->profile) HG_RETURN_IF_ERROR(check_profile(app, *options));
  options->verify = !raw.no_verify;
  options->baselines = !raw.no_baselines;
  HG_RETURN_IF_ERROR(check_baselines(*options));
  options->csv_path = raw.csv_path;
  options->json_path = raw.json_path;
  options->html_path = raw.html_path;
  options->config_path = raw.config_path;
  options->trace_path = raw.trace_path;
  options->against_path = raw.against_path;
  HG_RETURN_IF_ERROR(check_against(*options));
  return check_tuned_operation(*options);
}

}  // namespace hopper_gemm
