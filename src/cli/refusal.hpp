#pragma once

#include "cli/options.hpp"
#include "hopper_gemm/gemm_shape.hpp"
#include "hopper_gemm/status.hpp"
#include "registry.hpp"

namespace hopper_gemm {

/// Ok, or why `kernel` cannot run at `shape`, and what to type instead.
Status kernel_refusal(const KernelInfo& kernel, const GemmShape& shape);

/// Ok unless kernels were asked for of which none can run at any of the shapes; then why the first cannot.
Status check_any_can_run(const Options& options);

}  // namespace hopper_gemm
