#include "cli/probe_run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>

#include "git_commit.hpp"

namespace hopper_gemm {

ProbeRun::ProbeRun(const Options& options, Platform& platform, std::string command, std::ostream& out,
                   Progress& progress)
    : options_(options), platform_(platform), out_(out), progress_(progress) {
  info_.command = std::move(command);
}

Status ProbeRun::check() {
  if (options_.device == Options::Device::Emulator) {
    return invalid_argument(
        "--device got 'emulator', but probe measures a GPU, and the emulator has no speeds; leave --device "
        "out");
  }
  HG_RETURN_IF_ERROR(find_output_file("--csv", options_.csv_path, &csv_));
  HG_RETURN_IF_ERROR(find_output_file("--json", options_.json_path, &json_));
  HG_RETURN_IF_ERROR(check_different_files("--csv", csv_, "--json", json_));
  return platform_.query_device(&info_.device);
}

Status ProbeRun::measure() {
  std::unique_ptr<Nvml> nvml;
  const Status opened = platform_.open_nvml(info_.device, &nvml);
  if (!opened.ok())
    progress_.note("matmul: clocks of bandwidths and rates are left out: " + opened.message());
  info_.driver = nvml == nullptr ? "" : nvml->driver_version().value_or("");
  info_.commit = HG_GIT_COMMIT;
  info_.seed = options_.seed;
  info_.rounds = options_.rounds;
  info_.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  progress_.step(fmt::format("measuring, {} rounds", options_.rounds));
  const Status status = platform_.probe(
      {.device = info_.device,
       .rounds = options_.rounds,
       .seed = options_.seed,
       .nvml = nvml.get(),
       .observer =
           [this](int round, std::string_view what) {
             progress_.detail(fmt::format("round {} of {}: {}", round + 1, options_.rounds, what));
           }},
      &report_);
  kernel_crashed_ = status.code() == StatusCode::Timeout || status.code() == StatusCode::CudaError;
  progress_.clear();
  if (status.ok() || has_readings()) {
    out_ << probe_header(info_) << '\n' << probe_table(report_) << std::flush;
  }
  return status;
}

bool ProbeRun::has_readings() const {
  return std::any_of(report_.rows.begin(), report_.rows.end(),
                     [](const ProbeRow& row) { return !row.readings.empty(); });
}

Status ProbeRun::write_csv() const {
  if (csv_.is_none() || !has_readings()) return {};
  return csv_.write(probe_csv(info_, report_));
}

Status ProbeRun::write_json() const {
  if (json_.is_none() || !has_readings()) return {};
  return json_.write(probe_json(info_, report_));
}

}  // namespace hopper_gemm
