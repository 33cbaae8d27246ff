#include "cli/app.hpp"

#include <cuda_bf16.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/operand_buffers.hpp"
#include "benchmark/report.hpp"
#include "benchmark/shapes.hpp"
#include "cli/options.hpp"
#include "git_commit.hpp"

namespace hopper_gemm {
namespace {

constexpr ComputeCapability kHopper = {9, 0};
constexpr int kFirstBf16Major = 8;

constexpr std::string_view kBaselineIdea = "the better of cublasGemmEx and the fastest cublasLt candidate";
constexpr std::string_view kCeilingIdea =
    "wgmma from shared memory without any loads: the speed of light of the day";

/// What is going on, on stderr.
class Progress {
 public:
  Progress(std::ostream& err, bool terminal) : err_(err), terminal_(terminal) {}
  ~Progress() { clear(); }

  /// A step of the work: rewrites the line of a terminal, or is a line of its own.
  void step(const std::string& text) {
    if (terminal_) return detail(text);
    err_ << text << std::endl;
  }

  /// Progress within a step: shown on a terminal only.
  void detail(const std::string& text) {
    if (!terminal_) return;
    clear();
    constexpr std::size_t kLineLength = 79;  // a longer line would wrap, and could not be rewritten
    err_ << text.substr(0, kLineLength) << std::flush;
    shown_ = true;
  }

  void note(const std::string& text) {
    clear();
    err_ << text << std::endl;
  }

  /// Before anything else is printed.
  void clear() {
    if (shown_) err_ << "\r\x1b[2K" << std::flush;
    shown_ = false;
  }

 private:
  std::ostream& err_;
  bool terminal_;
  bool shown_ = false;
};

std::string list_text(std::span<const KernelInfo> ladder) {
  constexpr std::string_view kFormat = "{:<8} {:<20} {:<6} {}\n";
  std::string text = fmt::format(kFormat, "version", "name", "needs", "idea");
  text += fmt::format(kFormat, kBaselineVersion, kBaselineName, sm_text({kFirstBf16Major, 0}), kBaselineIdea);
  for (const KernelInfo& kernel : ladder) {
    text +=
        fmt::format(kFormat, kernel.version, kernel.name, sm_text(kernel.compute_capability), kernel.idea);
  }
  text += fmt::format(kFormat, kCeilingVersion, kCeilingName, sm_text(kHopper), kCeilingIdea);
  return text;
}

/// Operands that can_implement may look at: their addresses are aligned, and nothing is read through them.
GemmArgs placeholder_args(const GemmShape& shape) {
  alignas(256) static __nv_bfloat16 aligned[1];
  const LeadingDimensions ld = make_leading_dimensions(shape);
  return {.shape = shape, .a = aligned, .lda = ld.a, .b = aligned, .ldb = ld.b, .d = aligned, .ldd = ld.d};
}

Status needs_other_gpu(std::string_view what, std::string_view needed, const DeviceInfo& device) {
  return unsupported(
      fmt::format("{} needs {} but {} is {}; type `matmul list` to see what each version needs", what, needed,
                  device.name, sm_text(device.compute_capability)));
}

Status baseline_refusal(const DeviceInfo& device) {
  if (device.compute_capability.major >= kFirstBf16Major) return {};
  return needs_other_gpu("cuBLAS in bf16", "an sm_80 GPU or a newer one", device);
}

Status ceiling_refusal(const DeviceInfo& device) {
  if (device.compute_capability == kHopper) return {};
  return needs_other_gpu("the wgmma ceiling", "an sm_90 GPU (H100, H200)", device);
}

/// Ok, or why `kernel` cannot run at `shape` on `device`.
Status kernel_refusal(const KernelInfo& kernel, const DeviceInfo& device, const GemmShape& shape) {
  const std::string what = fmt::format("kernel {} ({})", kernel.version, kernel.name);
  if (kernel.compute_capability != device.compute_capability) {
    const bool is_hopper = kernel.compute_capability == kHopper;
    return needs_other_gpu(
        what,
        fmt::format("an {} GPU{}", sm_text(kernel.compute_capability), is_hopper ? " (H100, H200)" : ""),
        device);
  }
  const Status refusal = kernel.can_implement(placeholder_args(shape));
  if (refusal.ok()) return {};
  return {refusal.code(), fmt::format("{} cannot run {}: {}", what, to_string(shape), refusal.message())};
}

/// Ok when at least one of the versions asked for can run at one of the shapes; otherwise why the first
/// cannot.
Status check_any_can_run(const Options& options, const DeviceInfo& device) {
  std::vector<Status> refusals;
  if (options.baseline) refusals.push_back(baseline_refusal(device));
  for (const GemmShape& shape : options.shapes) {
    for (const KernelInfo* kernel : options.kernels)
      refusals.push_back(kernel_refusal(*kernel, device, shape));
  }
  if (options.ceiling) refusals.push_back(ceiling_refusal(device));
  for (const Status& refusal : refusals) {
    if (refusal.ok()) return {};
  }
  return refusals.front();
}

std::string typed_command(int argc, const char* const* argv) {
  std::string command = "matmul";
  for (int i = 1; i < argc; ++i) command += fmt::format(" {}", argv[i]);
  return command;
}

/// Keeps a session from being destroyed, see run_matmul.
void abandon(std::unique_ptr<Session> session) {
  static std::vector<std::unique_ptr<Session>> abandoned;
  abandoned.push_back(std::move(session));
}

/// One execution of the benchmark: checks everything, then measures shape by shape.
class Run {
 public:
  Run(const Options& options, Platform& platform, std::string command, std::ostream& out, Progress& progress)
      : options_(options), platform_(platform), out_(out), progress_(progress) {
    info_.command = std::move(command);
  }

  /// Everything that can be said before the GPU works, so that nobody waits for an error.
  Status check() {
    if (!options_.csv_path.empty()) HG_RETURN_IF_ERROR(check_writable("--csv", options_.csv_path));
    if (!options_.json_path.empty()) HG_RETURN_IF_ERROR(check_writable("--json", options_.json_path));
    DeviceInfo& device = info_.device;
    HG_RETURN_IF_ERROR(platform_.query_device(&device));
    HG_RETURN_IF_ERROR(check_driver_version(device));
    HG_RETURN_IF_ERROR(platform_.check_tensor_map_support());
    HG_RETURN_IF_ERROR(check_any_can_run(options_, device));
    for (const GemmShape& shape : options_.shapes) {
      HG_RETURN_IF_ERROR(check_memory(shape, device, [&](const GemmShape& candidate) {
        return platform_.required_bytes(candidate, device.l2_bytes, options_.verify);
      }));
    }
    return {};
  }

  Status measure() {
    open_nvml();
    describe_run();
    progress_.clear();
    out_ << report_header(info_) << '\n' << table_titles() << std::endl;
    for (const GemmShape& shape : options_.shapes) HG_RETURN_IF_ERROR(measure_shape(shape));
    return {};
  }

  Status write_files() const {
    if (!options_.csv_path.empty()) {
      HG_RETURN_IF_ERROR(write_file("--csv", options_.csv_path, csv_report(info_, rows_)));
    }
    if (!options_.json_path.empty()) {
      HG_RETURN_IF_ERROR(write_file("--json", options_.json_path, json_report(info_, rows_)));
    }
    return {};
  }

  bool any_wrong() const {
    for (const ResultRow& row : rows_) {
      if (row.verdict == Verdict::Wrong) return true;
    }
    return false;
  }

 private:
  void open_nvml() {
    const Status opened = platform_.open_nvml(info_.device, &nvml_);
    if (!opened.ok()) progress_.note("matmul: clocks and power are left out: " + opened.message());
  }

  void describe_run() {
    info_.driver = nvml_ == nullptr ? "" : nvml_->driver_version().value_or("");
    info_.commit = HG_GIT_COMMIT;
    info_.data = options_.data_name;
    info_.seed = options_.seed;
    info_.rounds = options_.rounds;
    info_.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  }

  SessionRequest request(const GemmShape& shape) const {
    SessionRequest request{.shape = shape,
                           .device = info_.device,
                           .kernels = {},
                           .baseline = baseline_refusal(info_.device).ok(),
                           .ceiling = ceiling_refusal(info_.device).ok(),
                           .data = options_.data,
                           .seed = options_.seed,
                           .nvml = nvml_.get()};
    for (const KernelInfo* kernel : options_.kernels) {
      if (kernel_refusal(*kernel, info_.device, shape).ok()) request.kernels.push_back(kernel);
    }
    return request;
  }

  Status measure_shape(const GemmShape& shape) {
    std::unique_ptr<Session> session;
    Status status = use_session(shape, &session);
    if (status.code() == StatusCode::Timeout) abandon(std::move(session));
    return status;
  }

  Status use_session(const GemmShape& shape, std::unique_ptr<Session>* session) {
    progress_.step(
        fmt::format("{}: filling the operands, choosing among cublasLt's candidates", to_string(shape)));
    HG_RETURN_IF_ERROR(platform_.open_session(request(shape), session));
    std::vector<ContestantVerdict> verdicts((*session)->contestants().size());
    if (options_.verify) {
      progress_.step(fmt::format("{}: verifying", to_string(shape)));
      HG_RETURN_IF_ERROR((*session)->verify(&verdicts));
    }
    std::vector<std::size_t> sound;
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      if (verdicts[i].verdict != Verdict::Wrong) sound.push_back(i);
    }
    HG_RETURN_IF_ERROR((*session)->prepare(sound));
    for (const Mode mode : options_.modes)
      HG_RETURN_IF_ERROR(measure_mode(shape, mode, **session, verdicts, sound));
    return {};
  }

  Status measure_mode(const GemmShape& shape, Mode mode, Session& session,
                      const std::vector<ContestantVerdict>& verdicts, const std::vector<std::size_t>& sound) {
    const std::string where = fmt::format("{} {}", to_string(shape), to_string(mode));
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

    std::vector<ResultRow> rows = empty_rows(shape, mode);
    for (ResultRow& row : rows) fill_in(session.contestants(), verdicts, of_contestant, &row);
    relate_to_baselines(rows);
    print(rows);
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    return {};
  }

  /// The rows of one shape and mode; `note` holds why a version cannot run, empty where it can.
  std::vector<ResultRow> empty_rows(const GemmShape& shape, Mode mode) const {
    std::vector<ResultRow> rows;
    const auto add = [&](std::string_view version, std::string_view name, std::string_view idea,
                         const Status& refusal) {
      ResultRow row;
      row.version = version;
      row.name = name;
      row.idea = idea;
      row.shape = shape;
      row.mode = mode;
      row.note = refusal.message();
      rows.push_back(std::move(row));
    };
    add(kBaselineVersion, kBaselineName, kBaselineIdea, baseline_refusal(info_.device));
    for (const KernelInfo* kernel : options_.kernels) {
      add(kernel->version, kernel->name, kernel->idea, kernel_refusal(*kernel, info_.device, shape));
    }
    add(kCeilingVersion, kCeilingName, kCeilingIdea, ceiling_refusal(info_.device));
    return rows;
  }

  /// Gives a row the result of its version's contestant: of its fastest one, where it has several.
  static void fill_in(std::span<const SessionContestant> contestants,
                      const std::vector<ContestantVerdict>& verdicts,
                      const std::vector<std::optional<Measurement>>& measurements, ResultRow* row) {
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      if (contestants[i].version != row->version) continue;
      const bool measured = measurements[i].has_value();
      const bool faster = measured && (!row->measurement ||
                                       measurements[i]->seconds.median < row->measurement->seconds.median);
      if (!faster && row->measurement) continue;
      row->flops = contestants[i].flops;
      row->measurement = measurements[i];
      row->verdict = verdicts[i].verdict;
      row->note = contestants[i].variant;
      if (!verdicts[i].detail.empty()) row->note += (row->note.empty() ? "" : ": ") + verdicts[i].detail;
    }
  }

  void print(std::span<const ResultRow> rows) {
    progress_.clear();
    for (const ResultRow& row : rows) out_ << table_line(row) << '\n';
    out_.flush();
  }

  const Options& options_;
  Platform& platform_;
  std::ostream& out_;
  Progress& progress_;
  RunInfo info_;
  std::unique_ptr<Nvml> nvml_;
  std::vector<ResultRow> rows_;
};

}  // namespace

int run_matmul(int argc, const char* const* argv, Platform& platform, std::ostream& out, std::ostream& err,
               bool err_is_terminal) {
  Progress progress(err, err_is_terminal);
  const auto fail = [&progress](const Status& status) {
    progress.note(fmt::format("matmul: {}", status.message()));
    return kExitCannotRun;
  };
  Options options;
  if (const Status parsed = parse_options(argc, argv, platform.ladder(), &options); !parsed.ok())
    return fail(parsed);
  if (options.action != Options::Action::Run) {
    out << (options.action == Options::Action::List ? list_text(platform.ladder()) : options.text);
    return kExitOk;
  }
  Run run(options, platform, typed_command(argc, argv), out, progress);
  if (const Status checked = run.check(); !checked.ok()) return fail(checked);
  if (const Status measured = run.measure(); !measured.ok()) {
    fail(measured);
    const bool kernel_failed =
        measured.code() == StatusCode::Timeout || measured.code() == StatusCode::CudaError;
    return kernel_failed ? kExitWrongKernel : kExitCannotRun;
  }
  if (const Status written = run.write_files(); !written.ok()) return fail(written);
  return run.any_wrong() ? kExitWrongKernel : kExitOk;
}

}  // namespace hopper_gemm
