#pragma once

#include <ostream>

#include "benchmark/platform.hpp"
#include "cli/options.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// `matmul explain`: says what `best` would run at each shape, and why. It runs nothing. It also says which GPU the
/// choice is for: this machine's, or the emulated one.
Status explain(const Options& options, Platform& platform, std::ostream& out);

}  // namespace hopper_gemm
