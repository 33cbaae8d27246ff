#pragma once

#include "common/gemm_shape.hpp"
#include "device/tensor_map_type.hpp"
#include "hopper_gemm/gemm_epilogue.hpp"

namespace hopper_gemm::library {

/// A kernel's parameters for its epilogue.
struct EpilogueParams {
  GemmEpilogue operations;
  GemmShape shape;  ///< of the product
  /// A box that TMA stores must end at or before this column. Any box may be stored if D's rows are whole chunks of 16
  /// bytes. Otherwise a box must not extend past D's last column. 0 if TMA cannot address D.
  int d_tma_columns;
};

/// Further parameters of a kernel with Epilogues::All, for C and aux. Their tensor maps have boxes of 16 rows by 128
/// bytes with the 128B swizzle.
struct MatrixParams {
  TensorMap tensor_map_c;    ///< valid if beta is not 0 and TMA can load C
  TensorMap tensor_map_aux;  ///< valid if there is an auxiliary output and TMA can store it
  bool c_is_batched;         ///< if false, all batches share one C
  bool loads_c_by_tma;  ///< if false, warps load C element by element; the pingpong kernel always uses TMA
  int aux_tma_columns;  ///< see EpilogueParams::d_tma_columns
};

/// What other kernels get instead. If their parameters were longer than necessary, ptxas would serialise wgmmas.
struct NoMatrixParams {};

}  // namespace hopper_gemm::library
