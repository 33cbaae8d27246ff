#pragma once

#include "common/gemm_args.hpp"
#include "hopper_gemm/gemm.hpp"

namespace hopper_gemm {

/// The library's descriptor for the problem of `args`. Every alignment is that of the operand's address.
GemmDescriptor descriptor_of(const GemmArgs& args);

/// Whether two descriptors that descriptor_of() has returned describe the same problem.
bool is_same_problem(const GemmDescriptor& x, const GemmDescriptor& y);

}  // namespace hopper_gemm
