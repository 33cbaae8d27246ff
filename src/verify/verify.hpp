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

/// The verdict on one target; `detail` is one line that says what was wrong, empty if and only if it is verified.
struct VerifyReport {
  bool verified = false;
  std::string detail;
};

struct VerifyOptions {
  std::uint64_t seed = 0;
  double timeout_seconds = 30;  ///< for each launch; beyond it the kernel is taken to hang
  bool integers_only = false;   ///< leave out the second step, and with it cuBLAS
  bool padded = true;           ///< lines have padding behind them; without it they lie as the benchmark's do
  // Where both are 0, operands and their lines are aligned as TMA wants them.
  int offset = 0;           ///< elements by which operands begin behind a 16-byte boundary
  int pitch_remainder = 0;  ///< elements by which leading dimensions are more than a multiple of 8
  /// C is D. Where beta is 0 that makes it the NaN that D is poisoned with; otherwise there is no C then.
  bool in_place = false;
};

/// A result that is not ok() in one line, of a D of so many rows and columns.
std::string describe(const CheckResult& result, std::int64_t rows, std::int64_t columns);

/// GPU memory that verify_targets allocates, in bytes.
std::int64_t verify_required_bytes(const GemmProblem& problem);

/// Holds every target against the fp64 result of `problem`, one report per target.
///
/// 1. Sparse integers whose sums are exact: every element must have exactly the right value, rounded once, unless the
///    activation is one that may be approximated.
/// 2. N(0, 1) data: every element within one rounding to its type plus twice the worst error that cuBLAS makes with
///    fp32 output on the same operands. That error counts as no more than fp32 accumulation explains.
/// In both, all operands have padded lines, the padding of A, B, C and the bias is NaN, and so is all of an operand that is
/// multiplied by zero; D is poisoned with NaN, everything around its elements is guarded, and two runs must agree
/// in every bit.
///
/// A wrong target is a report; a Status that is not Ok means that verification itself could not be carried
/// out, or that a target hangs (Timeout), after which the process must end (see wait_with_watchdog).
Status verify_targets(const GemmProblem& problem, std::span<const VerifyTarget> targets,
                      const VerifyOptions& options, std::vector<VerifyReport>* reports);

}  // namespace hopper_gemm
