#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/report.hpp"
#include "common/gemm_shape.hpp"
#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// The fastest measured configuration for one problem.
struct TunedConfig {
  std::string version;  ///< "ampere.6"
  DataType type = DataType::BFloat16;
  Layout a_layout = Layout::RowMajor;
  Layout b_layout = Layout::ColumnMajor;
  GemmShape shape{};
  std::string config;  ///< its name; see TuningSpace
  double tflops = 0;

  friend bool operator==(const TunedConfig&, const TunedConfig&) = default;
};

/// A JSON array with one object per configuration, each with the GPU, the commit and the command of its run.
std::string tuned_json(const RunInfo& run, std::span<const TunedConfig> configs);

/// Reads what tuned_json() wrote. A configuration without a layout of A is for a row-major A, because older files had
/// no other. InvalidArgument: one sentence that names `path`.
Status parse_tuned_json(const std::string& path, std::string_view text, std::vector<TunedConfig>* configs);

}  // namespace hopper_gemm
