#pragma once

#include <ostream>

#include "benchmark/platform.hpp"

namespace hopper_gemm {

/// Exit statuses of `matmul`.
inline constexpr int kExitOk = 0;
inline constexpr int kExitWrongKernel = 1;  ///< a kernel was wrong, hung or crashed
inline constexpr int kExitCannotRun = 2;  ///< bad input, or a machine that cannot run what the user asked for

/// The program `matmul`. It writes results to `out` and one sentence per error to `err`, flushes both, and returns the
/// exit status.
///
/// `err_is_terminal`: `err` shows progress as one line that is rewritten, otherwise as one line per step.
/// If a kernel hangs, nothing on the GPU is freed, because freeing would wait for the kernel. The caller must then end
/// the process with std::_Exit.
int run_matmul(int argc, const char* const* argv, Platform& platform, std::ostream& out, std::ostream& err,
               bool err_is_terminal = false);

}  // namespace hopper_gemm
