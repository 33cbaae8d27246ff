#include "benchmark/probe_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "benchmark/json_fields.hpp"

namespace hopper_gemm {
namespace {

constexpr std::string_view kProbeFormat = "hopper-gemm probe";

/// The latencies of the JSON file, by their names there.
constexpr std::pair<std::string_view, ProbeQuantity> kLatencies[] = {
    {"shared", ProbeQuantity::SharedLatency},  {"l1", ProbeQuantity::L1Latency},
    {"l2_near", ProbeQuantity::L2NearLatency}, {"l2_near_again", ProbeQuantity::L2NearAgainLatency},
    {"l2_far", ProbeQuantity::L2FarLatency},   {"l2_far_again", ProbeQuantity::L2FarAgainLatency},
    {"memory", ProbeQuantity::MemoryLatency},
};

/// Only significant digits: latencies need one decimal, bandwidths of a few TB/s three.
int decimals_of(double value) { return value >= 1000 ? 0 : value >= 10 ? 1 : 3; }

std::string number_text(std::optional<double> value) {
  return value ? fmt::format("{:.{}f}", *value, decimals_of(*value)) : "-";
}

std::string_view or_unknown(std::string_view text) { return text.empty() ? "unknown version" : text; }

/// Empty if the driver does not say.
std::optional<double> positive(double value) { return value > 0 ? std::optional(value) : std::nullopt; }

std::optional<double> memory_peak(const DeviceInfo& device) { return positive(device.memory_bytes_per_us); }

std::optional<double> mhz_of(int clock_khz) { return positive(clock_khz / 1e3); }

const ProbeRow* find_row(const ProbeReport& report, ProbeQuantity quantity) {
  const auto found = std::find_if(report.rows.begin(), report.rows.end(),
                                  [&](const ProbeRow& row) { return row.quantity == quantity; });
  return found == report.rows.end() ? nullptr : &*found;
}

std::optional<double> value_of(const ProbeReport& report, ProbeQuantity quantity) {
  const ProbeRow* row = find_row(report, quantity);
  const std::optional<Summary> summary = row == nullptr ? std::nullopt : row->value();
  return summary ? std::optional(summary->median) : std::nullopt;
}

std::optional<double> other_value_of(const ProbeReport& report, ProbeQuantity quantity) {
  const ProbeRow* row = find_row(report, quantity);
  return row == nullptr ? std::nullopt : row->other_value();
}

std::optional<double> scaled(std::optional<double> value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

/// The rates of the device as the library's cost model has them: per microsecond, and of one SM where the name says so.
JsonFields rates_of(const RunInfo& run, const ProbeReport& report) {
  constexpr double kPerUsOfTera = 1e6;
  constexpr double kPerUsOfGiga = 1e3;
  const double sms = std::max(run.device.sm_count, 1);
  const auto rate = [&](ProbeQuantity quantity, double factor) {
    return rounded(scaled(value_of(report, quantity), factor), 0);
  };
  const ProbeRow* const wgmma = find_row(report, ProbeQuantity::WgmmaRate);
  return {
      {"memory_peak_bytes_per_us", rounded(memory_peak(run.device), 0)},
      {"memory_read_bytes_per_us", rate(ProbeQuantity::MemoryReadBandwidth, kPerUsOfTera)},
      {"memory_write_bytes_per_us", rate(ProbeQuantity::MemoryWriteBandwidth, kPerUsOfTera)},
      {"memory_copy_bytes_per_us", rate(ProbeQuantity::MemoryCopyBandwidth, kPerUsOfTera)},
      {"l2_bytes_per_us", rate(ProbeQuantity::L2Bandwidth, kPerUsOfTera)},
      {"sm_bytes_per_us", rate(ProbeQuantity::L2SmBandwidth, kPerUsOfGiga)},
      {"sm_shared_bytes_per_us",
       rounded(scaled(other_value_of(report, ProbeQuantity::SharedBandwidth), kPerUsOfTera / sms), 0)},
      {"sm_flops_per_us", rate(ProbeQuantity::WgmmaRate, kPerUsOfTera / sms)},
      {"sm_mma_sync_flops_per_us", rate(ProbeQuantity::MmaSyncRate, kPerUsOfTera / sms)},
      {"sm_fp32_flops_per_us", rate(ProbeQuantity::Fp32Rate, kPerUsOfTera / sms)},
      {"launch_us", rounded(value_of(report, ProbeQuantity::EmptyLaunch), 3)},
      {"sm_clock_mhz", rounded(wgmma == nullptr ? std::nullopt : wgmma->sm_clock_mhz(), 0)},
  };
}

JsonFields histogram_fields(const LatencyHistogram& histogram) {
  return {{"first_cycles", rounded(histogram.first_cycles, 1)},
          {"bin_cycles", rounded(histogram.bin_cycles, 1)},
          {"lines", histogram.lines}};
}

JsonFields readings_of(const ProbeRow& row) {
  JsonFields readings = JsonFields::array();
  for (const ProbeReading& reading : row.readings) readings.push_back(rounded(reading.value, 4));
  return readings;
}

JsonFields row_fields(const ProbeRow& row) {
  const ProbeNames& names = names_of(row.quantity);
  const std::optional<Summary> value = row.value();
  const bool has_other = !names.other_unit.empty();
  return {
      {"name", names.name},
      {"title", names.title},
      {"value", rounded(value ? std::optional(value->median) : std::nullopt, 4)},
      {"min", rounded(value ? std::optional(value->min) : std::nullopt, 4)},
      {"max", rounded(value ? std::optional(value->max) : std::nullopt, 4)},
      {"unit", names.unit},
      {"other_value", rounded(row.other_value(), 4)},
      {"other_unit", has_other ? JsonFields(names.other_unit) : JsonFields()},
      {"sm_clock_mhz", rounded(row.sm_clock_mhz(), 0)},
      {"note", row.note},
  };
}

JsonFields device_fields(const DeviceInfo& device) {
  return {
      {"gpu", device.name},
      {"sm_count", device.sm_count},
      {"compute_capability",
       fmt::format("{}.{}", device.compute_capability.major, device.compute_capability.minor)},
      {"l2_bytes", device.l2_bytes},
      {"shared_bytes_per_sm", device.shared_bytes_per_sm},
      {"memory_bytes", device.total_bytes},
      {"max_sm_clock_mhz", rounded(mhz_of(device.max_sm_clock_khz), 0)},
      {"memory_clock_mhz", rounded(mhz_of(device.memory_clock_khz), 0)},
      {"memory_bus_bits", rounded(positive(device.memory_bus_bits), 0)},
  };
}

JsonFields run_fields(const RunInfo& run) {
  return {
      {"driver", run.driver},
      {"driver_cuda", cuda_version_text(run.device.driver_version)},
      {"cuda", cuda_version_text(run.device.runtime_version)},
      {"commit", run.commit},
      {"rounds", run.rounds},
      {"seed", run.seed},
      {"date", run.date},
      {"command", run.command},
  };
}

}  // namespace

std::string probe_header(const RunInfo& run) {
  const DeviceInfo& device = run.device;
  const auto says = [](std::optional<double> value, std::string_view unit) {
    return value ? fmt::format("{} {}", number_text(value), unit) : "unknown";
  };
  constexpr double kMiB = 1 << 20;
  constexpr double kKiB = 1 << 10;
  return fmt::format(
      "GPU     {}, sm_{}{}, {} SMs of up to {}\n"
      "caches  L2 {:.1f} MiB; L1 and shared memory: {:.0f} KiB of shared memory an SM\n"
      "memory  {:.1f} GiB, clock {}, bus {}, peak {}\n"
      "driver  {}, up to CUDA {}; program built with CUDA {}\n"
      "commit  {}\n"
      "method  measurements in random order, median (min-max) of {} rounds, seed {}\n"
      "date    {}\n",
      device.name, device.compute_capability.major, device.compute_capability.minor, device.sm_count,
      says(mhz_of(device.max_sm_clock_khz), "MHz"), static_cast<double>(device.l2_bytes) / kMiB,
      static_cast<double>(device.shared_bytes_per_sm) / kKiB,
      static_cast<double>(device.total_bytes) / kMiB / kKiB, says(mhz_of(device.memory_clock_khz), "MHz"),
      says(positive(device.memory_bus_bits), "bits"), says(scaled(memory_peak(device), 1e-6), "TB/s"),
      or_unknown(run.driver), cuda_version_text(device.driver_version),
      cuda_version_text(device.runtime_version), run.commit, run.rounds, run.seed, run.date);
}

std::string probe_table(const ProbeReport& report) {
  constexpr std::string_view kLine = "{:<37} {:>8} {:<19} {:<15} {:>8} {:<15} {:>5}  {}";
  const auto trimmed = [](std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line + '\n';
  };
  std::string text =
      trimmed(fmt::format(kLine, "quantity", "median", "(min-max)", "unit", "also", "", "MHz", ""));
  for (const ProbeRow& row : report.rows) {
    const ProbeNames& names = names_of(row.quantity);
    const std::optional<Summary> value = row.value();
    const std::optional<double> other = row.other_value();
    const std::optional<double> clock = row.sm_clock_mhz();
    text += trimmed(
        fmt::format(kLine, names.title, value ? number_text(value->median) : "-",
                    value ? fmt::format("({}-{})", number_text(value->min), number_text(value->max)) : "",
                    names.unit, other ? number_text(other) : "", other ? names.other_unit : "",
                    clock ? fmt::format("{:.0f}", *clock) : "-", (row.is_wrong ? "WRONG: " : "") + row.note));
  }
  return text;
}

std::string probe_csv(const RunInfo& run, const ProbeReport& report) {
  const auto fields = [&](const ProbeRow& row) {
    JsonFields object = row_fields(row);
    object.update(device_fields(run.device));
    object.update(run_fields(run));
    return object;
  };
  std::vector<JsonFields> objects;
  objects.reserve(report.rows.size());
  for (const ProbeRow& row : report.rows) objects.push_back(fields(row));
  return csv_text(fields(ProbeRow{}), objects);
}

std::string probe_json(const RunInfo& run, const ProbeReport& report) {
  JsonFields object = {{"format", kProbeFormat}, {"version", kProbeFormatVersion}};
  object.update(device_fields(run.device));
  object["rates"] = rates_of(run, report);
  JsonFields& latencies = object["latencies"] = JsonFields::object();
  for (const auto& [name, quantity] : kLatencies) {
    latencies[std::string(name)] = {{"cycles", rounded(value_of(report, quantity), 1)},
                                    {"ns", rounded(other_value_of(report, quantity), 1)}};
  }
  object["l2_lines"] = {{"near", report.l2_lines.near},
                        {"far", report.l2_lines.far},
                        {"first_reads", histogram_fields(report.l2_lines.first_reads)},
                        {"again", histogram_fields(report.l2_lines.again)}};
  JsonFields& measurements = object["measurements"] = JsonFields::array();
  for (const ProbeRow& row : report.rows) {
    JsonFields fields = row_fields(row);
    fields["readings"] = readings_of(row);
    measurements.push_back(std::move(fields));
  }
  object.update(run_fields(run));
  return json_text(object);
}

}  // namespace hopper_gemm
