#pragma once

#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/int_types.hpp"

namespace hopper_gemm {

/// What is applied to every element last.
///
/// Gelu is x · Φ(x) with the error function, GeluTanh its approximation 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))
/// (Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv:1606.08415), Silu x / (1 + exp(-x)). Relu keeps NaN. Before
/// D's rounding the other three may be off by 2^-12 of x where D has 16 bits, and by 2e-6 of x where it is fp32.
enum class Activation { None, Relu, Gelu, GeluTanh, Silu };

/// Which vector is added to the product: one element for every row of D, or for every column.
enum class Bias { None, PerRow, PerColumn };

/// Columns of a gated product that belong to the gate, and then as many that are multiplied by it.
inline constexpr int kGateColumns = 8;

/// What a kernel does with sums of products before it rounds them, all in fp32. Plain data: kernels take it by value.
///
///   value = alpha · sum + beta · C + bias, [M, N]
///   aux = value, where there is one
///   D = activation(value), or where it is gated, [M, N / 2]: activation(gate) · up, where groups of 8 columns of
///       values alternate, the gate's first
///
/// C, D and aux are row-major matrices, one after the other at their batch strides (0: all the same one). Strides and
/// leading dimensions are in elements. C is not read where beta is 0; it may be D, which a gated one may not.
struct GemmEpilogue {
  void* d = nullptr;
  int64_t ldd = 0;
  int64_t d_batch_stride = 0;
  const void* c = nullptr;
  int64_t ldc = 0;
  int64_t c_batch_stride = 0;
  const void* bias = nullptr;  ///< M or N elements of bias_type
  int64_t bias_batch_stride = 0;
  void* aux = nullptr;
  int64_t ldaux = 0;
  int64_t aux_batch_stride = 0;
  DataType output_type = DataType::BFloat16;  ///< of C, D and aux
  DataType bias_type = DataType::BFloat16;
  Bias bias_kind = Bias::None;
  Activation activation = Activation::None;
  bool is_gated = false;
  bool has_aux = false;  ///< known before its address is
  float alpha = 1;
  float beta = 0;
};

}  // namespace hopper_gemm
