#include "cli/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <random>
#include <string_view>

#include "benchmark/platform.hpp"
#include "benchmark/shapes.hpp"

#ifndef HG_VERSION
#define HG_VERSION "unknown"
#endif

namespace hopper_gemm {
namespace {

constexpr GemmShape kDefaultShape = {8192, 8192, 8192};

constexpr std::string_view kFooter =
    R"(Versions: list shows them all. 0 is cuBLAS, the better of cublasGemmEx and the fastest of 32 cublasLt candidates;
numbers are the ladder; ceiling is wgmma without any loads, the speed of light on this GPU at this moment; ranges are
written 4-8; all is everything. 0 and ceiling are always measured too, for the percentages.

Method: every version is first verified against an fp64 product. Then all take turns in random order, several rounds;
a sample is 50 ms of rest, 4 ms of warm-up and 4 ms timed (burst), or 150 ms and 150 ms (sustained). Launches are captured into CUDA
graphs of about 4 ms and replayed, so that the time to launch from the host does not enter. Operands rotate over at
least three times the L2 cache. Clock and power come from NVML, power in sustained mode only.

Exit status: 0 all went well; 1 a kernel was wrong, hung or crashed; 2 bad input, or a machine that cannot run it.
)";

/// The command line as text, before it is understood.
struct RawOptions {
  std::vector<std::string> versions;
  std::vector<std::string> sizes;
  std::vector<std::string> shapes;
  std::vector<std::string> suites;
  std::string mode = "burst";
  std::string data = "normal";
  std::string rounds = "7";
  std::string seed;
  bool no_verify = false;
  std::string csv_path;
  std::string json_path;
};

void declare(CLI::App& app, RawOptions& raw) {
  app.set_version_flag("--version", "matmul (hopper-gemm) " HG_VERSION);
  app.add_option("kernel_version", raw.versions, "list, 0, a number, a range such as 4-8, ceiling or all")
      ->type_name("");
  const auto add_repeatable = [&app](const char* name, const char* value, std::vector<std::string>& values,
                                     const char* help) {
    app.add_option(name, values, help)->allow_extra_args(false)->type_name(value);
  };
  add_repeatable("--size", "N", raw.sizes, "the shape NxNxN (default: 8192); repeatable");
  add_repeatable("--shape", "MxNxK", raw.shapes, "any shape; repeatable");
  add_repeatable("--suite", "NAME", raw.suites, "a set of shapes: squares, llm or ragged; repeatable");
  const auto add = [&app](const char* name, const char* value, std::string& text, const char* help) {
    app.add_option(name, text, help)->type_name(value);
  };
  add("--mode", "NAME", raw.mode, "burst, sustained or both (default: burst)");
  add("--data", "NAME", raw.data,
      "normal, uniform or integers, which run faster than real data (default: normal)");
  add("--rounds", "N", raw.rounds, "samples of each version, 1 to 1000 (default: 7)");
  add("--seed", "N", raw.seed,
      "of the inputs and of the order of measurement (default: random, and printed)");
  app.add_flag("--no-verify", raw.no_verify, "measure without verifying first");
  add("--csv", "FILE", raw.csv_path, "write the results to this file too");
  add("--json", "FILE", raw.json_path, "the same as JSON, with every sample");
  app.footer(std::string(kFooter));
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string range_text(std::span<const KernelInfo> ladder) {
  return ladder.size() < 2 ? std::string(ladder.front().version)
                           : fmt::format("{}-{}", ladder.front().version, ladder.back().version);
}

Status unknown_version(const std::string& asked, std::span<const KernelInfo> ladder) {
  return invalid_argument(
      fmt::format("there is no kernel version '{}', only 0, {}, ceiling and all; type `matmul list` to see "
                  "what each one is",
                  asked, range_text(ladder)));
}

/// The versions asked for, as flags: the order in which they are typed does not matter.
class Selection {
 public:
  explicit Selection(std::span<const KernelInfo> ladder) : ladder_(ladder), selected_(ladder.size()) {}

  Status add(const std::string& version) {
    if (version == "all") {
      baseline_ = ceiling_ = true;
      std::fill(selected_.begin(), selected_.end(), true);
      return {};
    }
    if (version == kCeilingVersion) {
      ceiling_ = true;
      return {};
    }
    const std::size_t dash = version.find('-');
    if (dash == std::string::npos) return add_range(version, version, version);
    return add_range(version.substr(0, dash), version.substr(dash + 1), version);
  }

  void store(Options* options) const {
    options->baseline = baseline_;
    options->ceiling = ceiling_;
    for (std::size_t i = 0; i < ladder_.size(); ++i) {
      if (selected_[i]) options->kernels.push_back(&ladder_[i]);
    }
  }

 private:
  // Positions count from 0 for the baseline, then along the ladder; -1 for what is not there.
  std::ptrdiff_t position(const std::string& version) const {
    if (version == kBaselineVersion) return 0;
    const auto found = std::find_if(ladder_.begin(), ladder_.end(),
                                    [&](const KernelInfo& kernel) { return kernel.version == version; });
    return found == ladder_.end() ? -1 : found - ladder_.begin() + 1;
  }

  Status add_range(const std::string& first, const std::string& last, const std::string& asked) {
    const std::ptrdiff_t begin = position(first);
    const std::ptrdiff_t end = position(last);
    if (begin < 0 || end < 0) return unknown_version(asked, ladder_);
    if (end < begin) {
      return invalid_argument(fmt::format("the range '{}' runs backwards; type {}-{}", asked, last, first));
    }
    if (begin == 0) baseline_ = true;
    for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(begin, 1); i <= end; ++i) {
      selected_[static_cast<std::size_t>(i - 1)] = true;
    }
    return {};
  }

  std::span<const KernelInfo> ladder_;
  std::vector<bool> selected_;
  bool baseline_ = false;
  bool ceiling_ = false;
};

Status read_versions(const std::vector<std::string>& versions, std::span<const KernelInfo> ladder,
                     Options* options) {
  if (versions.empty()) {
    return invalid_argument(
        "no kernel version was given; type `matmul list` to see the versions, or `matmul all` to run them");
  }
  if (versions.front() == "list" && versions.size() == 1) {
    options->action = Options::Action::List;
    return {};
  }
  Selection selection(ladder);
  for (const std::string& version : versions) {
    if (version == "list") {
      return invalid_argument("list was given together with versions to run; type `matmul list` alone");
    }
    HG_RETURN_IF_ERROR(selection.add(version));
  }
  selection.store(options);
  return {};
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
  if (shapes->empty()) add(kDefaultShape);
  return {};
}

Status read_mode(const std::string& name, std::vector<Mode>* modes) {
  if (name == "burst" || name == "both") modes->push_back(Mode::Burst);
  if (name == "sustained" || name == "both") modes->push_back(Mode::Sustained);
  if (!modes->empty()) return {};
  return invalid_argument(
      fmt::format("--mode got '{}', but the modes are burst, sustained and both; type one of these", name));
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

Status read_numbers(const RawOptions& raw, Options* options) {
  constexpr std::uint64_t kMostRounds = 1000;
  std::uint64_t rounds = 0;
  HG_RETURN_IF_ERROR(parse_number("--rounds", "the number of samples", raw.rounds, 1, kMostRounds, &rounds));
  options->rounds = static_cast<int>(rounds);
  if (raw.seed.empty()) {
    options->seed = std::random_device{}();
    return {};
  }
  return parse_number("--seed", "the seed", raw.seed, 0, std::numeric_limits<std::uint32_t>::max(),
                      &options->seed);
}

}  // namespace

Status parse_options(int argc, const char* const* argv, std::span<const KernelInfo> ladder,
                     Options* options) {
  CLI::App app("Verifies and measures bf16 GEMM kernels for NVIDIA Hopper: D[M,N] = A[M,K] * B[N,K]^T.",
               "matmul");
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
    return invalid_argument(
        fmt::format("the command line cannot be read ({}); type `matmul --help` to see the options",
                    one_line(error.what())));
  }
  HG_RETURN_IF_ERROR(read_versions(raw.versions, ladder, options));
  HG_RETURN_IF_ERROR(read_shapes(raw, &options->shapes));
  HG_RETURN_IF_ERROR(read_mode(raw.mode, &options->modes));
  HG_RETURN_IF_ERROR(read_data(raw.data, options));
  HG_RETURN_IF_ERROR(read_numbers(raw, options));
  options->verify = !raw.no_verify;
  options->csv_path = raw.csv_path;
  options->json_path = raw.json_path;
  if (!raw.csv_path.empty() && raw.csv_path == raw.json_path) {
    return invalid_argument(
        fmt::format("--csv and --json both name '{}'; type two different files", raw.csv_path));
  }
  return {};
}

}  // namespace hopper_gemm
