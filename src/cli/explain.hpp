#pragma once

#include <ostream>

#include "benchmark/platform.hpp"
#include "cli/options.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// `matmul explain`: what `best` would run at each shape that was asked for, and why. Runs nothing, and says
/// which GPU the choice is for: the one that there is, or the emulated one.
Status explain(const Options& options, Platform& platform, std::ostream& out);

}  // namespace hopper_gemm
