#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/gemm_args.hpp"
#include "hopper_gemm/status.hpp"
#include "verify/check.hpp"

namespace hopper_gemm {

/// A GEMM under test.
struct VerifyTarget {
  std::string name;
  std::function<Status(const GemmArgs&, cudaStream_t)> launch;
  bool rounds_before = false;  ///< CheckRule::rounds_before
};

/// The verdict on one target. `detail` is one line that says what was wrong. It is empty if and only if the target is
/// verified.
struct VerifyReport {
  bool verified = false;
  std::string detail;
};

struct VerifyOptions {
  std::uint64_t seed = 0;
  double timeout_seconds = 30;  ///< for each launch; a kernel that takes longer is taken to hang
  bool integers_only = false;   ///< leaves out the second step, which needs cuBLAS
  bool padded = true;           ///< lines have padding behind them; if false they have the benchmark's layout
  // If both are 0, operands and their lines have the alignment that TMA needs.
  int offset = 0;           ///< elements by which operands begin behind a 16-byte boundary
  int pitch_remainder = 0;  ///< elements by which leading dimensions are more than a multiple of 8
  /// C is D. With beta = 0, C then holds the NaNs that poison D. If this is false, there is no C with beta = 0.
  bool in_place = false;
};

/// Describes a result that is not ok() in one line. rows, columns: of D.
std::string describe(const CheckResult& result, std::int64_t rows, std::int64_t columns);

/// The bytes of GPU memory that verify_targets() allocates.
std::int64_t verify_required_bytes(const GemmProblem& problem);

/// Compares every target with the fp64 result of `problem`, in two steps, and writes one report for each target.
///
/// 1. The data are sparse integers whose sums are exact. Every element must have exactly the correct value, rounded
/// once,
///    unless the activation is one that may be approximated.
/// 2. The data are N(0, 1). The error of every element must be at most one rounding to its type plus twice the worst
/// error
///    of cuBLAS with fp32 output on the same operands. That error counts as no more than fp32 accumulation explains.
///
/// In both steps all operands have padded lines. The padding of A, B, C and the bias is NaN, and so is all of an
/// operand that is multiplied by zero. D is poisoned with NaN, and everything around its elements is guarded. Two runs
/// must agree in every bit.
///
/// A wrong target gives a report. If the Status is not Ok, verification itself failed, or a target hangs (Timeout).
/// After a Timeout the process must end, see wait_with_watchdog().
Status verify_targets(const GemmProblem& problem, std::span<const VerifyTarget> targets,
                      const VerifyOptions& options, std::vector<VerifyReport>* reports);

}  // namespace hopper_gemm
