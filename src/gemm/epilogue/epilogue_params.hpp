#pragma once

#include "common/gemm_shape.hpp"
#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm::library {

/// What a kernel is given for its epilogue.
struct EpilogueParams {
  GemmEpilogue operations;
  GemmShape shape;  ///< of the product
  /// Pairs of the bias are aligned to their size, so that TMA stores what the operations leave.
  bool is_vectorized;
};

}  // namespace hopper_gemm::library
