#pragma once

#include "common/gemm_shape.hpp"
#include "device/tensor_map_type.hpp"
#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm::library {

/// What a kernel is given for its epilogue.
struct EpilogueParams {
  GemmEpilogue operations;
  GemmShape shape;  ///< of the product
  /// How many columns a box that TMA stores may reach into D: any number where rows are whole 16-byte chunks, all of D's where
  /// they are not, and 0 where TMA cannot address D.
  int d_tma_columns;
};

/// What a kernel with Epilogues::All is given besides: the matrices that take a tensor map more, of boxes of 16 rows by 128
/// bytes with the 128-byte swizzle.
struct MatrixParams {
  TensorMap tensor_map_c;    ///< where beta is not 0, and TMA can load C
  TensorMap tensor_map_aux;  ///< where there is an auxiliary output, and TMA can store it
  bool c_is_batched;         ///< or all batches share one
  bool loads_c_by_tma;  ///< or warps load it element by element; the pingpong kernel's C always comes by TMA
  int aux_tma_columns;  ///< see EpilogueParams::d_tma_columns
};

/// What others are given: their parameters are no longer than they have to be, or ptxas would serialise wgmmas.
struct NoMatrixParams {};

}  // namespace hopper_gemm::library
