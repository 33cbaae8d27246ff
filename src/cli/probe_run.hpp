#pragma once

#include <ostream>
#include <string>

#include "benchmark/platform.hpp"
#include "benchmark/probe_report.hpp"
#include "cli/options.hpp"
#include "cli/output_file.hpp"
#include "cli/progress.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// `matmul probe`: measures the GPU itself.
class ProbeRun {
 public:
  ProbeRun(const Options& options, Platform& platform, std::string command, std::ostream& out,
           Progress& progress);

  /// Checks everything that needs no work of the GPU.
  Status check();
  /// Measures, and prints the table. If this fails, the table has what was measured before.
  Status measure();
  /// These write what was measured, even if it is only a part.
  Status write_csv() const;
  Status write_json() const;

  /// Whether a kernel was wrong, hung or crashed.
  bool any_kernel_failed() const { return kernel_crashed_ || report_.any_wrong(); }

 private:
  bool has_readings() const;

  const Options& options_;
  Platform& platform_;
  std::ostream& out_;
  Progress& progress_;
  RunInfo info_;
  OutputFile csv_;
  OutputFile json_;
  ProbeReport report_;
  bool kernel_crashed_ = false;  // or hung
};

}  // namespace hopper_gemm
