#pragma once

#include <ostream>

#include "benchmark/platform.hpp"

namespace hopper_gemm {

/// Exit statuses of `matmul`.
inline constexpr int kExitOk = 0;
inline constexpr int kExitWrongKernel = 1;  ///< a kernel was wrong, hung or crashed
inline constexpr int kExitCannotRun = 2;    ///< bad input, or a machine that cannot run what was asked

/// The program `matmul`: results to `out`, one sentence per error to `err`, and the exit status returned.
/// Both streams are flushed.
///
/// `err_is_terminal`: progress is shown on `err` as one line that is rewritten; otherwise as a line per step.
/// After a kernel that hangs nothing on the GPU is freed, since freeing would wait for it: the caller must
/// end the process with std::_Exit.
int run_matmul(int argc, const char* const* argv, Platform& platform, std::ostream& out, std::ostream& err,
               bool err_is_terminal = false);

}  // namespace hopper_gemm
