#pragma once

#include "common/gemm_shape.hpp"
#include "device/tensor_map_type.hpp"
#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm::library {

/// What a kernel is given for its epilogue.
struct EpilogueParams {
  GemmEpilogue operations;
  GemmShape shape;        ///< of the product
  bool has_whole_chunks;  ///< rows of D are whole 16-byte chunks
};

/// What a kernel with Epilogues::All is given besides: the matrices that take a tensor map more, of boxes of 16 rows by 128
/// bytes with the 128-byte swizzle.
struct MatrixParams {
  TensorMap tensor_map_c;    ///< where beta is not 0
  TensorMap tensor_map_aux;  ///< where there is one
  bool c_is_batched;         ///< or all batches share one
};

/// What others are given: their parameters are no longer than they have to be, or ptxas would serialise wgmmas.
struct NoMatrixParams {};

}  // namespace hopper_gemm::library
