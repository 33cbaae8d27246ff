#pragma once

#include "common/gemm_shape.hpp"
#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm::library {

/// What a kernel is given for its epilogue.
struct EpilogueParams {
  GemmEpilogue operations;
  GemmShape shape;        ///< of the product
  bool has_whole_chunks;  ///< rows of D are whole 16-byte chunks
};

}  // namespace hopper_gemm::library
