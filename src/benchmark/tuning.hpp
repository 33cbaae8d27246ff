#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/operation.hpp"
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
  Operation operation = {};  ///< beside the product; it names neither a layout nor shapes

  friend bool operator==(const TunedConfig&, const TunedConfig&) = default;
};

/// A tuning file: JSON with the version of its format, the GPU, the commit and the command of the run, and one object per
/// configuration. The library loads it (load_tuning_file() in gemm.hpp), so src/gemm/tuning_file.cpp reads it, too.
std::string tuned_json(const RunInfo& run, std::span<const TunedConfig> configs);

/// Reads what tuned_json() wrote, or the array of configurations that earlier versions wrote. A configuration without a
/// layout of A is for a row-major A, because the oldest files had no other. One without an operation is for the product
/// alone. InvalidArgument: one sentence that names `path`.
Status parse_tuned_json(const std::string& path, std::string_view text, std::vector<TunedConfig>* configs);

/// The operation of a problem without its layouts, as a TunedConfig holds it.
Operation operation_of(const GemmProblem& problem);

}  // namespace hopper_gemm
