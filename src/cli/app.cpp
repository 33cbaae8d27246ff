#include "cli/app.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/html_report.hpp"
#include "benchmark/operand_buffers.hpp"
#include "benchmark/operation.hpp"
#include "benchmark/other_library.hpp"
#include "benchmark/report.hpp"
#include "benchmark/shapes.hpp"
#include "benchmark/tuning.hpp"
#include "cli/emulated_run.hpp"
#include "cli/explain.hpp"
#include "cli/options.hpp"
#include "cli/output_file.hpp"
#include "cli/probe_run.hpp"
#include "cli/progress.hpp"
#include "cli/refusal.hpp"
#include "common/quoted_text.hpp"
#include "git_commit.hpp"

namespace hopper_gemm {
namespace {

constexpr std::string_view kBaselineIdea = "the faster of cublasGemmEx and the best cublasLt candidate";
constexpr std::string_view kBaselineFp32Idea =
    "the faster of cublasSgemm and the best cublasLt candidate, without TF32";
constexpr std::string_view kCeilingIdea = "issues only wgmma and never loads: the limit of the tensor cores";
constexpr std::string_view kCutlassIdea = "the best of a handful of CUTLASS 2.x configurations for sm_80";

/// The wgmma ceiling runs only on this compute capability.
constexpr ComputeCapability kHopper = {9, 0};
/// The GPUs for which the fills, the reference and the checks are compiled.
constexpr KernelTarget kProgram = {.compute_capability = {7, 5},
                                   .or_newer = true,
                                   .input_type = DataType::Float32,
                                   .b_layout = Layout::RowMajor};
/// The same target as the ampere ladder's, beside which CUTLASS is measured.
constexpr KernelTarget kCutlass = {.compute_capability = {8, 0},
                                   .or_newer = true,
                                   .input_type = DataType::BFloat16,
                                   .b_layout = Layout::ColumnMajor};
constexpr std::string_view kAmperePrefix = "ampere.";

std::string list_text(std::span<const KernelInfo> kernels, bool has_cutlass) {
  constexpr std::string_view kFormat = "{:<9} {:<20} {:<15} {:<5} {}\n";
  std::string text = fmt::format(kFormat, "version", "name", "needs", "type", "idea");
  text += fmt::format(kFormat, kBaselineVersion, kBaselineName, target_text(kProgram), "any", kBaselineIdea);
  for (const KernelInfo& kernel : kernels) {
    text += fmt::format(kFormat, kernel.version, kernel.name, target_text(kernel.target),
                        to_string(kernel.target.input_type), kernel.idea);
  }
  text += fmt::format(kFormat, kCeilingVersion, kCeilingName, sm_text(kHopper), to_string(DataType::BFloat16),
                      kCeilingIdea);
  if (has_cutlass) {
    text += fmt::format(kFormat, kCutlassVersion, kCutlassName, target_text(kCutlass),
                        to_string(kCutlass.input_type), kCutlassIdea);
  }
  return text;
}

bool is_asked_for(const Options& options, std::string_view gpu_version) {
  const auto& versions = options.gpu_versions;
  return std::find(versions.begin(), versions.end(), gpu_version) != versions.end();
}

/// Ok unless the user asked for CUTLASS and the program was built without it.
Status check_built_with_cutlass(const Options& options, Platform& platform) {
  if (!is_asked_for(options, kCutlassVersion) || platform.has_cutlass()) return {};
  return unsupported(
      "you asked for cutlass, but this program was built without it; type `./dev cutlass` to fetch it and "
      "build again, or build with -DHG_CUTLASS_ROOT= and the folder of your own CUTLASS");
}

/// Ok if this GPU can run at least one of the versions that the user asked for; otherwise the reason.
Status check_gpu(const Options& options, const DeviceInfo& device) {
  if (!runs_on(kProgram, device.compute_capability)) {
    return unsupported(fmt::format("this program needs an {} GPU, but {} is {}; run it on a newer one",
                                   target_text(kProgram), device.name, sm_text(device.compute_capability)));
  }
  const std::vector<KernelGroup> groups = group_kernels(options);
  const bool can_show_ceiling = std::any_of(groups.begin(), groups.end(), [&](const KernelGroup& group) {
    return has_ceiling(group.problem, device);
  });
  if (!can_show_ceiling && is_asked_for(options, kCeilingVersion)) {
    return unsupported(
        fmt::format("the ceiling needs an {} GPU (H100, H200, GH200) and bf16, but {} is {} and the type is "
                    "{}; leave ceiling out",
                    sm_text(kHopper), device.name, sm_text(device.compute_capability),
                    to_string(groups.front().problem.input_type)));
  }
  const bool can_show_cutlass = std::any_of(groups.begin(), groups.end(), [&](const KernelGroup& group) {
    return suits_cutlass(group.problem, device);
  });
  if (!can_show_cutlass && is_asked_for(options, kCutlassVersion)) {
    return unsupported(
        fmt::format("cutlass needs an {} GPU, bf16 or fp16, A row-major and B column-major, but {} is {}, "
                    "the type {}, A {} and B {}; leave cutlass out",
                    target_text(kCutlass), device.name, sm_text(device.compute_capability),
                    to_string(groups.front().problem.input_type), to_string(groups.front().problem.a_layout),
                    to_string(groups.front().problem.b_layout)));
  }
  Status first;
  for (const KernelInfo* kernel : options.kernels) {
    Status refusal = gpu_refusal(*kernel, device);
    if (refusal.ok()) return {};
    if (first.ok()) first = std::move(refusal);
  }
  return first;
}

/// Ok if this machine's GPU can run a kernel that the user asked for; otherwise the reason.
Status find_gpu(const Options& options, Platform& platform, DeviceInfo* device) {
  HG_RETURN_IF_ERROR(platform.query_device(device));
  HG_RETURN_IF_ERROR(check_gpu(options, *device));
  // Only the Hopper ladder is compiled for one architecture, and its kernels need tensor maps.
  const bool needs_tensor_maps =
      std::any_of(options.kernels.begin(), options.kernels.end(), [&](const KernelInfo* kernel) {
        return !kernel->target.or_newer && runs_on(kernel->target, device->compute_capability);
      });
  return needs_tensor_maps ? platform.check_tensor_map_support() : Status();
}

/// Adds the shape at which a session failed.
Status at_shape(const GemmShape& shape, const Status& status) {
  if (status.ok()) return status;
  const bool out_of_memory = status.code() == StatusCode::OutOfMemory;
  return {status.code(),
          fmt::format(
              "{}: {}{}", to_string(shape), status.message(),
              out_of_memory ? "; end other programs that hold GPU memory, or type a smaller --shape" : "")};
}

Status flush(std::ostream& out) {
  if (out.flush()) return {};
  return {StatusCode::InvalidArgument,
          "the standard output is full or closed, so part of the output is lost; send it to a terminal, or "
          "to a file on a disk with room"};
}

std::string typed_command(int argc, const char* const* argv) {
  std::string command = "matmul";
  for (int i = 1; i < argc; ++i) command += fmt::format(" {}", argv[i]);
  return command;
}

/// One run of the benchmark: it checks everything, then measures shape by shape.
class Run {
 public:
  Run(const Options& options, Platform& platform, DeviceInfo device, std::string command, std::ostream& out,
      Progress& progress)
      : options_(options), platform_(platform), out_(out), progress_(progress) {
    info_.device = std::move(device);
    info_.command = std::move(command);
    groups_ = group_kernels(options_);
  }

  /// Checks everything that needs no work of the GPU, so that nobody waits for an error.
  Status check() {
    HG_RETURN_IF_ERROR(find_output_file("--csv", options_.csv_path, &csv_));
    HG_RETURN_IF_ERROR(find_output_file("--json", options_.json_path, &json_));
    HG_RETURN_IF_ERROR(find_output_file("--html", options_.html_path, &html_));
    HG_RETURN_IF_ERROR(check_different_files("--csv", csv_, "--json", json_));
    HG_RETURN_IF_ERROR(check_different_files("--csv", csv_, "--html", html_));
    HG_RETURN_IF_ERROR(check_different_files("--json", json_, "--html", html_));
    if (!options_.emulator_options.empty()) {
      const std::string& option = options_.emulator_options.front();
      return invalid_argument(
          fmt::format("{} was given, but this runs on the GPU and only the emulator takes {}; type "
                      "--device emulator, or leave {} out",
                      option, option, option));
    }
    const DeviceInfo& device = info_.device;
    HG_RETURN_IF_ERROR(check_any_can_run(options_));
    HG_RETURN_IF_ERROR(read_configs());
    if (!options_.against_path.empty()) {
      HG_RETURN_IF_ERROR(OtherLibrary::load("--against", options_.against_path, &against_));
    }
    for (const KernelGroup& group : groups_) {
      for (const GemmShape& shape : group.shapes) {
        HG_RETURN_IF_ERROR(check_memory(shape, device, [&](const GemmShape& candidate) {
          return platform_.required_bytes(at(group.problem, candidate), device.l2_bytes, options_.verify);
        }));
      }
    }
    return {};
  }

  Status measure() {
    open_nvml();
    describe_run();
    progress_.clear();
    out_ << report_header(info_) << '\n' << table_titles(info_) << std::endl;
    for (const KernelGroup& group : groups_) {
      if (options_.operations != std::vector{Operation{}}) {
        const bool has_own_layout = options_.operations.front().b_layout.has_value();
        out_ << operation_text(group.problem)
             << (has_own_layout ? fmt::format(", B {}", to_string(group.problem.b_layout)) : "") << std::endl;
      }
      for (const GemmShape& shape : group.shapes) {
        if (!out_ && csv_.is_none() && json_.is_none() && html_.is_none()) {
          return {};  // nobody would see more results
        }
        HG_RETURN_IF_ERROR(measure_shape(group, shape));
        // The files are written after each shape, so that an interrupted run loses only its last shape. A failure
        // here repeats at the end, where it is reported. A pipe gets everything at the end.
        if (!csv_.is_stream()) static_cast<void>(write_csv());
        if (!json_.is_stream()) static_cast<void>(write_json());
        if (!html_.is_stream()) static_cast<void>(write_html());
      }
    }
    if (against_ != nullptr) out_ << '\n' << against_summary(rows_) << std::flush;
    return {};
  }

  /// Marks one launch for a profiler instead of measuring.
  Status profile() {
    describe_run();
    progress_.clear();
    out_ << report_header(info_) << std::endl;
    const KernelGroup& group = groups_.front();
    return measure_shape(group, group.shapes.front());
  }

  /// These write what was measured, even if it is only a part of what the user asked for.
  Status write_csv() const {
    if (csv_.is_none() || rows_.empty()) return {};
    return csv_.write(csv_report(info_, rows_));
  }
  Status write_json() const {
    if (json_.is_none() || rows_.empty()) return {};
    return json_.write(options_.tune ? tuned_json(info_, best_) : json_report(info_, rows_));
  }
  Status write_html() const {
    if (html_.is_none() || rows_.empty()) return {};
    return html_.write(html_report(info_, rows_));
  }

  /// Whether a kernel was wrong, hung or crashed.
  bool any_kernel_failed() const {
    return kernel_crashed_ || std::any_of(rows_.begin(), rows_.end(),
                                          [](const ResultRow& row) { return row.verdict == Verdict::Wrong; });
  }

 private:
  static GemmProblem at(GemmProblem problem, const GemmShape& shape) {
    problem.shape = shape;
    return problem;
  }

  Status refusal_of(const KernelInfo& kernel, const GemmProblem& problem) const {
    HG_RETURN_IF_ERROR(gpu_refusal(kernel, info_.device));
    return kernel_refusal(kernel, problem);
  }

  /// CUTLASS runs beside the ampere ladder, which is compared with it, and where the user asked for it.
  bool shows_cutlass(const KernelGroup& group) const {
    if (!platform_.has_cutlass() || !suits_cutlass(group.problem, info_.device)) return false;
    return is_asked_for(options_, kCutlassVersion) ||
           std::any_of(group.kernels.begin(), group.kernels.end(),
                       [](const KernelInfo* kernel) { return kernel->version.starts_with(kAmperePrefix); });
  }

  /// The other build runs beside version best.
  bool shows_against(const KernelGroup& group) const {
    return against_ != nullptr &&
           std::any_of(group.kernels.begin(), group.kernels.end(),
                       [](const KernelInfo* kernel) { return kernel->version == kLibraryVersion; });
  }

  /// Sets *config to the choice of the other build. If that build cannot run the problem, returns the reason.
  Status choose_against(const GemmProblem& problem, std::string* config) const {
    return against_->choose(placeholder_args(problem), config);
  }

  void open_nvml() {
    const Status opened = platform_.open_nvml(info_.device, &nvml_);
    if (!opened.ok()) progress_.note("matmul: clocks and power are left out: " + opened.message());
  }

  void describe_run() {
    info_.driver = nvml_ == nullptr ? "" : nvml_->driver_version().value_or("");
    info_.commit = HG_GIT_COMMIT;
    if (against_ != nullptr) {
      info_.against =
          fmt::format("{}, version {} of the library", one_line(against_->path()), against_->version());
    }
    info_.data = options_.data_name;
    info_.seed = options_.seed;
    info_.rounds = options_.rounds;
    info_.rest_ms = options_.rest_ms;
    info_.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  }

  SessionRequest request(const KernelGroup& group) const {
    SessionRequest request{.problem = group.problem,
                           .device = info_.device,
                           .kernels = {},
                           .data = options_.data,
                           .seed = options_.seed,
                           .nvml = nvml_.get(),
                           .cutlass = shows_cutlass(group) && cutlass_refusal(group.problem).ok(),
                           .verify = options_.verify,
                           .baselines = options_.baselines,
                           .rest_ms = options_.rest_ms};
    for (const KernelInfo* kernel : group.kernels) {
      if (!refusal_of(*kernel, group.problem).ok()) continue;
      const std::vector<std::string> configs = configs_of(*kernel, group.problem);
      if (configs.empty()) {
        request.kernels.push_back(
            {std::string(kernel->version), choice_of(*kernel, group.problem), kernel->launch});
      }
      for (const std::string& config : configs) {
        request.kernels.push_back(
            {std::string(kernel->version), config,
             [tuning = kernel->tuning, config](const GemmArgs& args, cudaStream_t stream) {
               return tuning->launch(config, args, stream);
             }});
      }
    }
    if (shows_against(group)) add_against(group.problem, &request);
    return request;
  }

  void add_against(const GemmProblem& problem, SessionRequest* request) const {
    std::string config;
    if (!choose_against(problem, &config).ok()) return;
    request->kernels.push_back({std::string(kAgainstVersion), config,
                                [library = against_.get()](const GemmArgs& args, cudaStream_t stream) {
                                  return library->launch(args, stream);
                                }});
  }

  /// The configuration that the kernel chooses here. Empty if the kernel does not say, or if it cannot choose one; its
  /// launch then says why.
  static std::string choice_of(const KernelInfo& kernel, const GemmProblem& problem) {
    KernelChoice choice;
    if (kernel.choose == nullptr || !kernel.choose(placeholder_args(problem), &choice).ok()) return "";
    return choice.config;
  }

  /// The configurations that the user asked for. Empty: the kernel chooses.
  std::vector<std::string> configs_of(const KernelInfo& kernel, const GemmProblem& problem) const {
    if (options_.tune) return kernel.tuning->configs(placeholder_args(problem));
    std::vector<std::string> configs;
    for (const TunedConfig& tuned : tuned_) {
      if (tuned.version == kernel.version && tuned.type == problem.input_type &&
          tuned.a_layout == problem.a_layout && tuned.b_layout == problem.b_layout &&
          tuned.shape == problem.shape && tuned.operation == operation_of(problem)) {
        configs.push_back(tuned.config);
      }
    }
    return configs;
  }

  /// Reads --config. Each configuration must be one that its kernel has, and this run must use at least one.
  Status read_configs() {
    const std::string& path = options_.config_path;
    if (path.empty()) return {};
    // Reading a pipe that nobody writes to would wait forever.
    std::error_code error;
    const bool is_file = std::filesystem::is_regular_file(path, error);
    std::ifstream file(is_file ? path : "");
    std::string text;
    std::getline(file, text, '\0');
    if (!file.is_open() || file.bad()) {
      const std::string reason = error ? error.message() : is_file ? "" : "it is not a regular file";
      return invalid_argument(
          fmt::format("--config cannot read '{}'{}{}; type the name of a file that `./matmul tune` wrote by "
                      "--json",
                      path, reason.empty() ? "" : ": ", reason));
    }
    HG_RETURN_IF_ERROR(parse_tuned_json(path, text, &tuned_));
    bool used = false;
    for (const KernelGroup& group : groups_) {
      for (const KernelInfo* kernel : group.kernels) {
        for (const GemmShape& shape : group.shapes) {
          for (const std::string& config : configs_of(*kernel, at(group.problem, shape))) {
            HG_RETURN_IF_ERROR(check_config(path, *kernel, config));
            used = true;
          }
        }
      }
    }
    if (used) return {};
    return invalid_argument(
        fmt::format("'{}' holds no configuration for any version, type and shape of this run; type `./matmul "
                    "tune` with the same --shape first, or leave --config out",
                    path));
  }

  static Status check_config(const std::string& path, const KernelInfo& kernel, const std::string& config) {
    if (kernel.tuning != nullptr && kernel.tuning->has_config(config)) return {};
    return invalid_argument(fmt::format(
        "'{}' asks for {} of kernel {} ({}), which is not compiled for it; type `./matmul tune {}` to see "
        "the configurations that are",
        path, excerpt(config), kernel.version, kernel.name, kernel.version));
  }

  Status measure_shape(const KernelGroup& of_all_shapes, const GemmShape& shape) {
    const KernelGroup group = {at(of_all_shapes.problem, shape), of_all_shapes.kernels, {shape}};
    progress_.step(fmt::format("{}: filling the operands{}", to_string(shape),
                               options_.baselines ? " and choosing among cublasLt's candidates" : ""));
    std::unique_ptr<Session> session;
    Status status = at_shape(shape, platform_.open_session(request(group), &session));
    const bool opened = status.ok();
    if (opened) status = use_session(group, *session);
    const bool hangs = status.code() == StatusCode::Timeout;
    // A CUDA error while a session is opened comes from the machine and not from a kernel.
    kernel_crashed_ = hangs || (opened && status.code() == StatusCode::CudaError);
    // The destructor would wait for the kernel that hangs, see run_matmul.
    if (hangs) static_cast<void>(session.release());
    return status;
  }

  Status use_session(const KernelGroup& group, Session& session) {
    const GemmShape& shape = group.problem.shape;
    std::vector<ContestantVerdict> verdicts(session.contestants().size());
    if (options_.verify) {
      progress_.step(fmt::format("{}: verifying", to_string(shape)));
      HG_RETURN_IF_ERROR(at_shape(shape, session.verify(&verdicts)));
    }
    std::vector<std::size_t> sound;
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      if (verdicts[i].verdict != Verdict::Wrong && verdicts[i].verdict != Verdict::Refused)
        sound.push_back(i);
    }
    if (options_.profile) return profile_contestant(group, session, verdicts, sound);
    HG_RETURN_IF_ERROR(session.prepare(sound));
    for (const Mode mode : options_.modes)
      HG_RETURN_IF_ERROR(measure_mode(group, mode, session, verdicts, sound));
    return {};
  }

  Status profile_contestant(const KernelGroup& group, Session& session,
                            const std::vector<ContestantVerdict>& verdicts,
                            const std::vector<std::size_t>& sound) {
    const std::string_view version =
        group.kernels.empty() ? options_.gpu_versions.front() : group.kernels.front()->version;
    const auto is_of_version = [&](std::size_t i) { return session.contestants()[i].version == version; };
    // The last contestant of the version. For cuBLAS that is the best candidate of cublasLt, if there is one.
    const auto marked = std::find_if(sound.rbegin(), sound.rend(), is_of_version);
    if (marked == sound.rend()) {
      std::vector<ResultRow> rows = empty_rows(group, options_.modes.front());
      std::erase_if(rows, [&](const ResultRow& row) { return row.version != version; });
      for (ResultRow& row : rows) {
        fill_in(session.contestants(), verdicts, std::vector<std::optional<Measurement>>(verdicts.size()),
                &row);
      }
      out_ << table_titles(info_) << '\n';
      print(rows);
      rows_ = std::move(rows);
      if (any_kernel_failed()) return {};
      return unsupported(fmt::format("matmul could mark no launch of version {} at {}: {}", version,
                                     to_string(group.problem.shape), rows_.front().note));
    }
    const SessionContestant& contestant = session.contestants()[*marked];
    HG_RETURN_IF_ERROR(session.profile(*marked, options_.modes.front()));
    progress_.clear();
    out_ << fmt::format("marked one launch of version {}{}{} at {}, after the warm-up of a {} sample\n",
                        contestant.version, contestant.variant.empty() ? "" : ", ", contestant.variant,
                        to_string(group.problem.shape), to_string(options_.modes.front()));
    return {};
  }

  Status measure_mode(const KernelGroup& group, Mode mode, Session& session,
                      const std::vector<ContestantVerdict>& verdicts, const std::vector<std::size_t>& sound) {
    const std::string where = fmt::format("{} {}", to_string(group.problem.shape), to_string(mode));
    progress_.step(
        fmt::format("{}: measuring, {} rounds of {} contestants", where, options_.rounds, sound.size()));
    const auto show_sample = [&](int round, std::size_t contestant) {
      const SessionContestant& now = session.contestants()[contestant];
      progress_.detail(fmt::format("{}: round {} of {}, {} {}", where, round + 1, options_.rounds,
                                   now.version, now.variant));
    };
    std::vector<Measurement> measurements;
    const std::uint64_t order_seed = options_.seed + rows_.size();  // other orders at every shape and mode
    HG_RETURN_IF_ERROR(
        run_rounds(sound, mode, options_.rounds, order_seed, session, show_sample, &measurements));
    std::vector<std::optional<Measurement>> of_contestant(verdicts.size());
    for (std::size_t i = 0; i < sound.size(); ++i) of_contestant[sound[i]] = std::move(measurements[i]);

    std::vector<ResultRow> rows = empty_rows(group, mode);
    for (ResultRow& row : rows) fill_in(session.contestants(), verdicts, of_contestant, &row);
    relate_to_baselines(rows);
    if (options_.tune) rank(group, rows);
    print(rows);
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    return {};
  }

  /// The rows of one shape and mode. `note` holds the reason why a version cannot run; it is empty if it can.
  std::vector<ResultRow> empty_rows(const KernelGroup& group, Mode mode) const {
    std::vector<ResultRow> rows;
    const auto add = [&](std::string_view version, std::string_view name, std::string_view idea,
                         const Status& refusal, const std::string& variant = "") {
      ResultRow row;
      row.version = version;
      row.name = name;
      row.idea = idea;
      row.variant = variant;
      row.type = group.problem.input_type;
      row.a_layout = group.problem.a_layout;
      row.b_layout = group.problem.b_layout;
      row.output_type = group.problem.output_type;
      row.bias = group.problem.bias;
      row.activation = group.problem.activation;
      row.gated = group.problem.gated;
      row.beta = group.problem.beta;
      row.batch_count = group.problem.batch_count;
      row.shape = group.problem.shape;
      row.mode = mode;
      row.note = refusal.message();
      rows.push_back(std::move(row));
    };
    const bool single = group.problem.input_type == DataType::Float32;
    // If there is a contestant, its result replaces this reason.
    const Status no_baseline =
        is_product_alone(group.problem) ? Status() : unsupported("cublasLt does not fuse this operation");
    if (options_.baselines) {
      add(kBaselineVersion, kBaselineName, single ? kBaselineFp32Idea : kBaselineIdea, no_baseline);
    }
    for (const KernelInfo* kernel : group.kernels) {
      const Status refusal = refusal_of(*kernel, group.problem);
      const std::vector<std::string> configs = configs_of(*kernel, group.problem);
      if (configs.empty() || !refusal.ok()) add(kernel->version, kernel->name, kernel->idea, refusal);
      if (!refusal.ok()) continue;
      for (const std::string& config : configs) {
        add(kernel->version, kernel->name, kernel->idea, {}, config);
      }
    }
    if (shows_against(group)) {
      std::string config;
      add(kAgainstVersion, kAgainstName, info_.against, choose_against(group.problem, &config));
    }
    if (options_.baselines && has_ceiling(group.problem, info_.device)) {
      add(kCeilingVersion, kCeilingName, kCeilingIdea, {});
    }
    if (shows_cutlass(group)) {
      add(kCutlassVersion, kCutlassName, kCutlassIdea, cutlass_refusal(group.problem));
    }
    return rows;
  }

  /// Puts the fastest first. In the mode that chooses, also keeps it for the file.
  void rank(const KernelGroup& group, std::span<ResultRow> rows) {
    std::stable_sort(rows.begin(), rows.end(), [](const ResultRow& x, const ResultRow& y) {
      return x.tflops().value_or(0) > y.tflops().value_or(0);
    });
    if (rows.front().mode != options_.modes.front()) return;
    for (const KernelInfo* kernel : group.kernels) {
      const auto best = std::find_if(rows.begin(), rows.end(), [&](const ResultRow& row) {
        return row.version == kernel->version && row.measurement.has_value();
      });
      if (best == rows.end()) continue;
      best->note += "; the best";
      keep_best({best->version, best->type, best->a_layout, best->b_layout, best->shape, best->variant,
                 *best->tflops(), operation_of(group.problem)});
    }
  }

  /// A problem may come several times, from two suites for example. The fastest measurement counts.
  void keep_best(TunedConfig tuned) {
    const auto same_problem = [&](const TunedConfig& other) {
      TunedConfig same = other;
      same.config = tuned.config;
      same.tflops = tuned.tflops;
      return same == tuned;
    };
    const auto known = std::find_if(best_.begin(), best_.end(), same_problem);
    if (known == best_.end()) {
      best_.push_back(std::move(tuned));
    } else if (known->tflops < tuned.tflops) {
      *known = std::move(tuned);
    }
  }

  /// Gives a row the result of its version's contestant, or of the fastest one if it has several. The row also names
  /// the contestants that are wrong.
  static void fill_in(std::span<const SessionContestant> contestants,
                      const std::vector<ContestantVerdict>& verdicts,
                      const std::vector<std::optional<Measurement>>& measurements, ResultRow* row) {
    const auto seconds = [&](std::size_t i) {
      return measurements[i] ? measurements[i]->seconds.median : std::numeric_limits<double>::infinity();
    };
    const auto note = [&](std::size_t i) {
      const bool both = !contestants[i].variant.empty() && !verdicts[i].detail.empty();
      return contestants[i].variant + (both ? ": " : "") + verdicts[i].detail;
    };
    std::optional<std::size_t> kept;
    const auto is_of_row = [&](std::size_t i) {
      return contestants[i].version == row->version &&
             (row->variant.empty() || contestants[i].variant == row->variant);
    };
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      if (is_of_row(i) && (!kept || seconds(i) < seconds(*kept))) kept = i;
    }
    if (!kept) return;
    row->flops = contestants[*kept].flops;
    row->measurement = measurements[*kept];
    row->verdict = verdicts[*kept].verdict;
    row->note = note(*kept);
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      if (is_of_row(i) && i != *kept && verdicts[i].verdict == Verdict::Wrong)
        row->note += "; WRONG: " + note(i);
    }
    row->variant = contestants[*kept].variant;
  }

  void print(std::span<const ResultRow> rows) {
    progress_.clear();
    for (const ResultRow& row : rows) out_ << table_line(info_, row) << '\n';
    out_.flush();
  }

  Options options_;
  Platform& platform_;
  std::ostream& out_;
  Progress& progress_;
  RunInfo info_;
  std::vector<KernelGroup> groups_;
  std::vector<TunedConfig> tuned_;  // from --config
  std::vector<TunedConfig> best_;   // of tune
  std::unique_ptr<Nvml> nvml_;
  std::unique_ptr<OtherLibrary> against_;
  OutputFile csv_;
  OutputFile json_;
  OutputFile html_;
  std::vector<ResultRow> rows_;
  bool kernel_crashed_ = false;  // or hung
};

int report(const Status& error, Progress& progress) {
  progress.note("matmul: " + one_line(error.message()));
  return kExitCannotRun;
}

int run_on_gpu(const Options& options, Platform& platform, const DeviceInfo& device, std::string command,
               std::ostream& out, Progress& progress) {
  Run run(options, platform, device, std::move(command), out, progress);
  if (const Status checked = run.check(); !checked.ok()) return report(checked, progress);
  // All of these run, so that what was measured is written even if measuring ended early.
  const std::array outcomes = {options.profile ? run.profile() : run.measure(), run.write_csv(),
                               run.write_json(), run.write_html(), flush(out)};
  int exit_status = kExitOk;
  for (const Status& outcome : outcomes) {
    if (!outcome.ok()) exit_status = report(outcome, progress);
  }
  return run.any_kernel_failed() ? kExitWrongKernel : exit_status;
}

/// `reason`: why this runs on the emulator although the user did not ask for it. Empty if the user did.
int run_on_emulator(const Options& options, Platform& platform, const std::string& reason, std::ostream& out,
                    Progress& progress) {
  EmulatedRun run(options, reason, out, progress);
  if (const Status checked = run.check(platform.emulated_kernels()); !checked.ok()) {
    return report(checked, progress);
  }
  if (!reason.empty()) {
    progress.note(fmt::format(
        "matmul: {}, so the same kernels run on the emulator, which verifies them and gives no speeds",
        one_line(reason)));
  }
  const std::array outcomes = {run.verify(), flush(out)};
  int exit_status = kExitOk;
  for (const Status& outcome : outcomes) {
    if (!outcome.ok()) exit_status = report(outcome, progress);
  }
  return run.any_kernel_failed() ? kExitWrongKernel : exit_status;
}

int run_probe(const Options& options, Platform& platform, std::string command, std::ostream& out,
              Progress& progress) {
  ProbeRun run(options, platform, std::move(command), out, progress);
  if (const Status checked = run.check(); !checked.ok()) return report(checked, progress);
  const std::array outcomes = {run.measure(), run.write_csv(), run.write_json(), flush(out)};
  int exit_status = kExitOk;
  for (const Status& outcome : outcomes) {
    if (!outcome.ok()) exit_status = report(outcome, progress);
  }
  return run.any_kernel_failed() ? kExitWrongKernel : exit_status;
}

}  // namespace

namespace {

int run_checked(int argc, const char* const* argv, Platform& platform, std::ostream& out,
                Progress& progress) {
  const auto fail = [&progress](const Status& status) { return report(status, progress); };
  Options options;
  if (const Status parsed = parse_options(argc, argv, platform.kernels(), &options); !parsed.ok())
    return fail(parsed);
  if (options.action == Options::Action::Explain) {
    for (const Status& outcome : {explain(options, platform, out), flush(out)}) {
      if (!outcome.ok()) return fail(outcome);
    }
    return kExitOk;
  }
  if (options.action == Options::Action::Probe) {
    return run_probe(options, platform, typed_command(argc, argv), out, progress);
  }
  if (options.action != Options::Action::Run) {
    const bool list = options.action == Options::Action::List;
    out << (list ? list_text(platform.kernels(), platform.has_cutlass()) : options.text);
    const Status shown = flush(out);
    return shown.ok() ? kExitOk : fail(shown);
  }
  if (const Status built = check_built_with_cutlass(options, platform); !built.ok()) return fail(built);
  if (const Status known = check_environment(options.kernels); !known.ok()) return fail(known);
  DeviceInfo device;
  std::string reason;  // why the emulator runs, if the user did not ask for it
  if (options.device != Options::Device::Emulator) {
    const Status found = find_gpu(options, platform, &device);
    if (!found.ok() && options.device == Options::Device::Gpu) return fail(found);
    if (!found.ok()) reason = finding_of(found);
    if (found.ok()) {
      if (const Status usable = check_files(options.kernels, options.tune); !usable.ok()) return fail(usable);
      return run_on_gpu(options, platform, device, typed_command(argc, argv), out, progress);
    }
  }
  return run_on_emulator(options, platform, reason, out, progress);
}

}  // namespace

int run_matmul(int argc, const char* const* argv, Platform& platform, std::ostream& out, std::ostream& err,
               bool err_is_terminal) {
  Progress progress(err, err_is_terminal);
  try {
    return run_checked(argc, argv, platform, out, progress);
  } catch (const std::bad_alloc&) {
    return report(out_of_memory(out_of_host_memory_text()), progress);
  } catch (const std::exception& error) {
    return report({StatusCode::InvalidArgument, fmt::format("this cannot be done ({})", error.what())},
                  progress);
  }
}

}  // namespace hopper_gemm
