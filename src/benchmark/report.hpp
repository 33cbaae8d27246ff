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

/// What all results of one run have in common.
struct RunInfo {
  DeviceInfo device;
  std::string driver;  ///< "580.95.05", empty without NVML
  std::string commit;
  std::string data;  ///< "normal"
  std::uint64_t seed = 0;
  int rounds = 0;
  std::string date;          ///< UTC, ISO 8601
  std::string command;       ///< as it was typed
  std::string against = {};  ///< which other build of the library takes part; empty: none
};

/// One version at one shape in one mode.
struct ResultRow {
  std::string version;
  std::string name;
  std::string idea;
  std::string variant;                 ///< which configuration, or which cuBLAS; empty: there is one
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
  std::optional<Measurement> measurement;  ///< empty when it was wrong or could not run
  Verdict verdict = Verdict::NotChecked;
  std::string note;  ///< which cuBLAS it was, what was wrong, or why it did not run
  std::optional<double> percent_of_cublas;
  std::optional<double> percent_of_ceiling;
  std::optional<double> percent_of_against;  ///< of the other build of the library

  std::optional<double> tflops() const;
  /// Energy of the whole GPU; sustained mode only.
  std::optional<double> picojoules_per_flop() const;
};

/// Fills in the percentages of rows of the same shape and mode, from the baseline, the ceiling and the other build of the
/// library among them.
void relate_to_baselines(std::span<ResultRow> rows);

/// What stands above the table: the GPU, the software, the inputs.
std::string report_header(const RunInfo& run);
/// The table's column titles, and one aligned line per row; no line break at the end. A column compares with the other
/// build of the library where the run has one.
std::string table_titles(const RunInfo& run);
std::string table_line(const RunInfo& run, const ResultRow& row);

/// What stands below the table of a run with another build of the library: for each mode and operation the geometric mean
/// of version best's speed in percent of the other build's.
std::string against_summary(std::span<const ResultRow> rows);

/// Comma-separated, one line per row after one of column names; a field without a value is empty.
std::string csv_report(const RunInfo& run, std::span<const ResultRow> rows);
/// An array of one object per row with the same fields, null without a value, and each sample's time.
std::string json_report(const RunInfo& run, std::span<const ResultRow> rows);

}  // namespace hopper_gemm
