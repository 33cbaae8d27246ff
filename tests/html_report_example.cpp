// Prints the page of a made-up run, for html_report_browser_test.py.
#include <cstdio>
#include <vector>

#include "benchmark/html_report.hpp"
#include "benchmark/shapes.hpp"

namespace hopper_gemm {
namespace {

/// `seconds` 0: not measured.
ResultRow row_of(const char* version, const char* name, const GemmShape& shape, Mode mode, double seconds) {
  ResultRow row;
  row.version = version;
  row.name = name;
  row.idea = "<i>an idea</i>";
  row.shape = shape;
  row.mode = mode;
  row.flops = gemm_flops(shape);
  if (seconds > 0) {
    row.measurement = {.seconds = {.median = seconds, .min = seconds * 0.98, .max = seconds * 1.03},
                       .samples_seconds = {seconds * 0.98, seconds, seconds * 1.03},
                       .sm_clock_mhz = 1980 - seconds * 1e5,
                       .temperature_c = 51,
                       .watts = mode == Mode::Sustained ? std::optional(690 - seconds * 1e4) : std::nullopt};
    row.verdict = Verdict::Verified;
  }
  return row;
}

std::vector<ResultRow> rows_of(const GemmShape& shape, Mode mode, double unit) {
  std::vector<ResultRow> rows = {row_of("0", "cublas", shape, mode, 10 * unit),
                                 row_of("1", "tma_wgmma", shape, mode, 30 * unit),
                                 row_of("2", "large_tile", shape, mode, 0),
                                 row_of("10", "hilbert", shape, mode, 9.5 * unit),
                                 row_of("ampere.2", "cp_async", shape, mode, 0),
                                 row_of("best", "library", shape, mode, 9 * unit),
                                 row_of("ceiling", "wgmma_ceiling", shape, mode, 8 * unit)};
  rows[0].note = "cublasLt #3";
  rows[2].verdict = Verdict::Wrong;
  rows[2].note = "normal data: <b>1 of 64</b> elements is wrong </script><script>throw 1</script>";
  rows[4].verdict = Verdict::Refused;
  rows[4].note = "N & K must be multiples of 8 &amp; more";
  rows[5].variant = rows[5].note = "cooperative_128x256_s4_c2x1";
  rows[6].verdict = Verdict::NotChecked;
  relate_to_baselines(rows);
  return rows;
}

std::string example_page() {
  RunInfo run;
  run.device.name = "NVIDIA <H200>";
  run.device.sm_count = 132;
  run.device.driver_version = 13000;
  run.device.runtime_version = 12080;
  run.driver = "580.95.05";
  run.commit = "0123abcdef";
  run.data = "normal";
  run.seed = 7;
  run.rounds = 3;
  run.date = "2026-01-02T03:04:05Z";
  run.command = "matmul hopper --html \xff<img/onerror=alert(1)>.html";
  std::vector<ResultRow> rows;
  for (const GemmShape& shape : {GemmShape{8192, 8192, 8192}, GemmShape{1024, 2048, 512}}) {
    for (const Mode mode : {Mode::Burst, Mode::Sustained}) {
      const double unit = gemm_flops(shape) / (mode == Mode::Burst ? 8e15 : 7e15);
      for (ResultRow& row : rows_of(shape, mode, unit)) rows.push_back(std::move(row));
    }
  }
  return html_report(run, rows);
}

}  // namespace
}  // namespace hopper_gemm

int main() { std::fputs(hopper_gemm::example_page().c_str(), stdout); }
