#include "benchmark/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "benchmark/json_fields.hpp"
#include "benchmark/operation.hpp"
#include "benchmark/shapes.hpp"
#include "benchmark/statistics.hpp"
#include "registry/registry.hpp"

namespace hopper_gemm {
namespace {

using Json = JsonFields;

constexpr std::string_view kSpeedFormat = "{:<28} {:<5} {:<18} {:<9} {:>30} {:>8} {:>8} {:>9}";
constexpr std::string_view kAgainstFormat = " {:>9}";
constexpr std::string_view kStateFormat = " {:>5} {:>5}  {:<8} {}";

std::string optional_text(std::optional<double> value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

std::string_view verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::NotChecked: return "-";
    case Verdict::Verified: return "yes";
    case Verdict::Wrong: return "WRONG";
    case Verdict::Refused: return "-";
  }
  return "";
}

std::string_view verdict_field(Verdict verdict) {
  switch (verdict) {
    case Verdict::NotChecked: return "unchecked";
    case Verdict::Verified: return "yes";
    case Verdict::Wrong: return "no";
    case Verdict::Refused: return "unchecked";
  }
  return "";
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::optional<double> reading(const ResultRow& row, std::optional<double> Measurement::*member) {
  return row.measurement ? (*row.measurement).*member : std::nullopt;
}

Json microseconds(double seconds) { return rounded(seconds * 1e6, 3); }

// The fields of the CSV and the JSON file, in the order of the columns.
Json fields(const RunInfo& run, const ResultRow& row) {
  const bool measured = row.measurement.has_value();
  return {
      {"version", row.version},
      {"name", row.name},
      {"idea", row.idea},
      {"type", to_string(row.type)},
      {"a", to_string(row.a_layout)},
      {"b", to_string(row.b_layout)},
      {"out", to_string(row.output_type)},
      {"bias", to_string(row.bias)},
      {"activation", to_string(row.activation)},
      {"gated", row.gated},
      {"beta", row.beta},
      {"batch", row.batch_count},
      {"m", row.shape.m},
      {"n", row.shape.n},
      {"k", row.shape.k},
      {"mode", to_string(row.mode)},
      {"time_median_us", measured ? microseconds(row.measurement->seconds.median) : Json()},
      {"time_min_us", measured ? microseconds(row.measurement->seconds.min) : Json()},
      {"time_max_us", measured ? microseconds(row.measurement->seconds.max) : Json()},
      {"tflops", rounded(row.tflops(), 2)},
      {"percent_of_cublas", rounded(row.percent_of_cublas, 2)},
      {"percent_of_ceiling", rounded(row.percent_of_ceiling, 2)},
      {"percent_of_against", rounded(row.percent_of_against, 2)},
      {"sm_clock_mhz", rounded(reading(row, &Measurement::sm_clock_mhz), 0)},
      {"temperature_c", rounded(reading(row, &Measurement::temperature_c), 0)},
      {"watts", rounded(reading(row, &Measurement::watts), 1)},
      {"pj_per_flop", rounded(row.picojoules_per_flop(), 4)},
      {"verified", verdict_field(row.verdict)},
      {"config", row.variant},
      {"note", row.note},
      {"gpu", run.device.name},
      {"sm_count", run.device.sm_count},
      {"driver", run.driver},
      {"driver_cuda", cuda_version_text(run.device.driver_version)},
      {"cuda", cuda_version_text(run.device.runtime_version)},
      {"cublas", run.device.cublas},
      {"commit", run.commit},
      {"data", run.data},
      {"rounds", run.rounds},
      {"seed", run.seed},
      {"date", run.date},
      {"command", run.command},
  };
}

/// What the row's problem computes in each batch.
std::string operation_of_all_batches(const ResultRow& row) {
  return operation_text({.input_type = row.type,
                         .output_type = row.output_type,
                         .beta = row.beta,
                         .bias = row.bias,
                         .activation = row.activation,
                         .gated = row.gated});
}

/// "geometric mean 100.31 over 40 of 40 problems, from 98.90 (64x7168x2048) to 103.00 (4096x4096x4096)". Needs at least
/// one row.
std::string ratio_text(std::span<const ResultRow* const> rows) {
  std::vector<double> percents;
  const ResultRow* least = nullptr;
  const ResultRow* most = nullptr;
  for (const ResultRow* row : rows) {
    if (!row->percent_of_against) continue;
    percents.push_back(*row->percent_of_against);
    if (least == nullptr || percents.back() < *least->percent_of_against) least = row;
    if (most == nullptr || percents.back() > *most->percent_of_against) most = row;
  }
  if (percents.empty()) return "no problem that both of them ran";
  return fmt::format("geometric mean {:.2f} over {} of {} problems, from {:.2f} ({}) to {:.2f} ({})",
                     *geometric_mean(percents), percents.size(), rows.size(), *least->percent_of_against,
                     to_string(least->shape), *most->percent_of_against, to_string(most->shape));
}

}  // namespace

std::optional<double> ResultRow::tflops() const {
  if (!measurement) return std::nullopt;
  return flops / measurement->seconds.median / 1e12;
}

std::optional<double> ResultRow::picojoules_per_flop() const {
  if (!measurement || !measurement->watts) return std::nullopt;
  return *measurement->watts * measurement->seconds.median / flops * 1e12;
}

void relate_to_baselines(std::span<ResultRow> rows) {
  std::optional<double> cublas;
  std::optional<double> ceiling;
  std::optional<double> against;
  for (const ResultRow& row : rows) {
    if (row.version == kBaselineVersion) cublas = row.tflops();
    if (row.version == kCeilingVersion) ceiling = row.tflops();
    if (row.version == kAgainstVersion) against = row.tflops();
  }
  for (ResultRow& row : rows) {
    const std::optional<double> tflops = row.tflops();
    if (tflops && cublas) row.percent_of_cublas = *tflops / *cublas * 100;
    if (tflops && ceiling) row.percent_of_ceiling = *tflops / *ceiling * 100;
    if (tflops && against) row.percent_of_against = *tflops / *against * 100;
  }
}

std::string report_header(const RunInfo& run) {
  return fmt::format(
      "GPU     {}, {} SMs\n"
      "driver  {}, up to CUDA {}; program built with CUDA {}, running cuBLAS {}\n"
      "commit  {}\n"
      "inputs  {}, seed {}\n"
      "method  contestants interleaved in random order, median (min-max) of {} rounds{}\n"
      "date    {}\n{}",
      run.device.name, run.device.sm_count, run.driver.empty() ? "unknown version" : run.driver,
      cuda_version_text(run.device.driver_version), cuda_version_text(run.device.runtime_version),
      run.device.cublas, run.commit, run.data, run.seed, run.rounds,
      run.rest_ms == kBurstRestMs ? "" : fmt::format(", {} ms of rest before a burst", run.rest_ms), run.date,
      run.against.empty() ? "" : fmt::format("against {}\n", run.against));
}

std::string table_titles(const RunInfo& run) {
  std::string line = fmt::format(kSpeedFormat, "version", "type", "shape MxNxK", "mode", "time us (min-max)",
                                 "TFLOP/s", "% cuBLAS", "% ceiling");
  if (!run.against.empty()) line += fmt::format(kAgainstFormat, "% against");
  return trimmed(line + fmt::format(kStateFormat, "MHz", "W", "verified", ""));
}

std::string table_line(const RunInfo& run, const ResultRow& row) {
  std::string time = "-";
  if (row.measurement) {
    const Summary& seconds = row.measurement->seconds;
    time = fmt::format("{:.2f} ({:.2f}-{:.2f})", seconds.median * 1e6, seconds.min * 1e6, seconds.max * 1e6);
  }
  std::string line =
      fmt::format(kSpeedFormat, row.version + " " + row.name, to_string(row.type), to_string(row.shape),
                  to_string(row.mode), time, optional_text(row.tflops(), 1),
                  optional_text(row.percent_of_cublas, 1), optional_text(row.percent_of_ceiling, 1));
  if (!run.against.empty()) line += fmt::format(kAgainstFormat, optional_text(row.percent_of_against, 2));
  return trimmed(line + fmt::format(kStateFormat, optional_text(reading(row, &Measurement::sm_clock_mhz), 0),
                                    optional_text(reading(row, &Measurement::watts), 0),
                                    verdict_text(row.verdict), row.note));
}

std::string against_summary(std::span<const ResultRow> rows) {
  std::vector<const ResultRow*> of_library;
  for (const ResultRow& row : rows) {
    if (row.version == kLibraryVersion) of_library.push_back(&row);
  }
  std::string text;
  for (const Mode mode : {Mode::Burst, Mode::Sustained}) {
    std::vector<const ResultRow*> of_mode;
    std::vector<std::string> operations;
    for (const ResultRow* row : of_library) {
      if (row->mode != mode) continue;
      of_mode.push_back(row);
      const std::string operation = operation_of_all_batches(*row);
      if (std::find(operations.begin(), operations.end(), operation) == operations.end()) {
        operations.push_back(operation);
      }
    }
    if (of_mode.empty()) continue;
    text += fmt::format("best in % of against, {}: {}\n", to_string(mode), ratio_text(of_mode));
    if (operations.size() == 1) continue;
    for (const std::string& operation : operations) {
      std::vector<const ResultRow*> of_operation;
      std::copy_if(of_mode.begin(), of_mode.end(), std::back_inserter(of_operation),
                   [&](const ResultRow* row) { return operation_of_all_batches(*row) == operation; });
      text += fmt::format("  {}: {}\n", operation, ratio_text(of_operation));
    }
  }
  return text;
}

std::string csv_report(const RunInfo& run, std::span<const ResultRow> rows) {
  std::vector<Json> objects;
  objects.reserve(rows.size());
  for (const ResultRow& row : rows) objects.push_back(fields(run, row));
  return csv_text(fields(run, ResultRow{}), objects);
}

std::string json_report(const RunInfo& run, std::span<const ResultRow> rows) {
  Json array = Json::array();
  for (const ResultRow& row : rows) {
    Json object = fields(run, row);
    Json& samples = object["samples_us"] = Json::array();
    if (row.measurement) {
      for (const double seconds : row.measurement->samples_seconds) samples.push_back(microseconds(seconds));
    }
    array.push_back(std::move(object));
  }
  return json_text(array);
}

}  // namespace hopper_gemm
