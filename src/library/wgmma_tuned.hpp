#pragma once

#include <string_view>

#include "library/backend.hpp"

namespace hopper_gemm::library::wgmma {

/// The configuration that was measured as the fastest for a problem of this shape and these layouts, or nothing: on an
/// H200, and so for GPUs with as many SMs.
std::string_view tuned_config(const KernelArgs& args, const Device& device);

}  // namespace hopper_gemm::library::wgmma
