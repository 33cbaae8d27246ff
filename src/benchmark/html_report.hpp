#pragma once

#include <span>
#include <string>

#include "benchmark/report.hpp"

namespace hopper_gemm {

/// An HTML page with the run, charts and a sortable table of the rows. It contains its style and script and needs no
/// other file. It forbids the browser to fetch anything.
std::string html_report(const RunInfo& run, std::span<const ResultRow> rows);

}  // namespace hopper_gemm
