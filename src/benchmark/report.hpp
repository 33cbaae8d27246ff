#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "benchmark/benchmark.hpp"
#include "benchmark/device_info.hpp"
#include "benchmark/platform.hpp"
#include "common/gemm_shape.hpp"
#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// The facts that all results of one run share.
struct RunInfo {
  DeviceInfo device;
  std::string driver;  ///< "580.95.05", empty without NVML
  std::string commit;
  std::string data;  ///< "normal"
  std::uint64_t seed = 0;
  int rounds = 0;
  int rest_ms = kBurstRestMs;  ///< before a burst
  std::string date;            ///< UTC, ISO 8601
  std::string command;         ///< as it was typed
  std::string against = {};    ///< the other build of the library that takes part; empty: none
};

/// One version at one shape in one mode.
struct ResultRow {
  std::string version;
  std::string name;
  std::string idea;
  std::string variant;  ///< which configuration, or which call of cuBLAS; empty: there is only one
  DataType type = DataType::BFloat16;  ///< of A and B
  Layout a_layout = Layout::RowMajor;
  Layout b_layout = Layout::ColumnMajor;
  DataType output_type = DataType::BFloat16;
  Bias bias = Bias::None;
  Activation activation = Activation::None;
  bool gated = false;
  float beta = 0;
  int batch_count = 1;
  GemmShape shape{};
  Mode mode = Mode::Burst;
  double flops = 0;                        ///< per launch
  std::optional<Measurement> measurement;  ///< empty if it was wrong or could not run
  Verdict verdict = Verdict::NotChecked;
  std::string note;  ///< which call of cuBLAS it was, what was wrong, or why it did not run
  std::optional<double> percent_of_cublas;
  std::optional<double> percent_of_ceiling;
  std::optional<double> percent_of_against;  ///< of the speed of the other build of the library

  std::optional<double> tflops() const;
  /// The energy of the whole GPU. Only the sustained mode has it.
  std::optional<double> picojoules_per_flop() const;
};

/// Fills in the percentages. All rows have the same shape and mode. Among them are the baseline, the ceiling and the
/// other build of the library.
void relate_to_baselines(std::span<ResultRow> rows);

/// The text above the table: the GPU, the software and the inputs.
std::string report_header(const RunInfo& run);
/// The table's column titles, and one aligned line per row, without a line break at the end. If the run has another
/// build of the library, one column compares with it.
std::string table_titles(const RunInfo& run);
std::string table_line(const RunInfo& run, const ResultRow& row);

/// The text below the table of a run with another build of the library. It has, for each mode and operation, the
/// geometric mean of best's speed in percent of the other build's.
std::string against_summary(std::span<const ResultRow> rows);

/// Comma-separated values: a line of column names, then one line per row. A field without a value is empty.
std::string csv_report(const RunInfo& run, std::span<const ResultRow> rows);
/// An array with one object per row. It has the same fields, null without a value, and the time of each sample.
std::string json_report(const RunInfo& run, std::span<const ResultRow> rows);

}  // namespace hopper_gemm
