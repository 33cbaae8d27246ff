#pragma once

#include <string>

#include "benchmark/probe.hpp"
#include "benchmark/report.hpp"

namespace hopper_gemm {

/// The text above the table: the GPU, what the GPU says about itself, and the software.
std::string probe_header(const RunInfo& run);
/// The column titles and one line per row.
std::string probe_table(const ProbeReport& report);
/// A line of column names, then one line per row. A field without a value is empty.
std::string probe_csv(const RunInfo& run, const ProbeReport& report);
/// The version of probe_json()'s format. It changes if a field's meaning changes or a field goes.
inline constexpr int kProbeFormatVersion = 1;
/// An object with the device, its rates in the units of the library's cost model, and all readings.
std::string probe_json(const RunInfo& run, const ProbeReport& report);

}  // namespace hopper_gemm
