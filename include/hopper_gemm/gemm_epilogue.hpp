#pragma once

#include "hopper_gemm/data_type.hpp"
#include "hopper_gemm/int_types.hpp"

namespace hopper_gemm {

/// The function that the epilogue applies to every element before it rounds.
///
/// Gelu is x · Φ(x) with the error function. GeluTanh is its approximation 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))
/// (Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv:1606.08415). Silu is x / (1 + exp(-x)). Relu keeps NaN.
/// Before D's rounding the other three may be off by 2^-12 of x if D has 16 bits, and by 2e-6 of x if D is fp32.
enum class Activation { None, Relu, Gelu, GeluTanh, Silu };

/// The vector that the epilogue adds to the product. It has one element for every row of the product, or for every
/// column.
enum class Bias { None, PerRow, PerColumn };

/// Columns of a group of gate or up. The groups alternate along a gated product's columns, the gate's first.
inline constexpr int kGateColumns = 8;

/// What a kernel does with the accumulated sums before it rounds them. It computes in fp32. Plain data: kernels take it
/// by value.
///
///   value = alpha · sum + beta · C + bias, [M, N]
///   aux = value, if has_aux
///   D = activation(value), [M, N]
///   D = activation(gate) · up, [M, N / 2], if is_gated: gate and up are alternate groups of 8 columns of value
///
/// C, D and aux are row-major. A batch's matrix lies a batch stride behind the one before (0: all batches share one).
/// Strides and leading dimensions are in elements. C is not read if beta is 0. C may be D unless D is gated.
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
  bool has_aux = false;  ///< a field of its own, because a plan is made before aux's address is known
  float alpha = 1;
  float beta = 0;
};

}  // namespace hopper_gemm
