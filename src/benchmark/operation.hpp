#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/gemm_args.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// What a GEMM computes beside the product of A and B: D = activation(A·B + beta · C + bias), gated or not, in
/// `batch_count` batches.
struct Operation {
  std::optional<DataType> output_type = {};  ///< empty: the inputs' type
  Bias bias = Bias::None;
  Activation activation = Activation::None;
  bool gated = false;
  float beta = 0;
  int batch_count = 1;
  std::optional<Layout> b_layout = {};  ///< of B in memory; empty: what the user asked for
  std::vector<GemmShape> shapes = {};   ///< the only shapes for it; empty: all shapes that the user asked for

  friend bool operator==(const Operation&, const Operation&) = default;
};

/// "none", "row" or "column", as command lines and files spell it.
std::string_view to_string(Bias bias);
/// "none", "relu", "gelu", "gelu_tanh" or "silu".
std::string_view to_string(Activation activation);
/// The kind of bias, or the activation, of that name; empty if there is none.
std::optional<Bias> bias_of_name(std::string_view name);
std::optional<Activation> activation_of_name(std::string_view name);

/// The problem with this operation instead of its own.
GemmProblem with_operation(GemmProblem problem, const Operation& operation);

/// Whether it computes D = A·B in the inputs' type, in one batch.
bool is_plain(const Operation& operation);

/// Whether D = A·B, in whatever type and however many batches.
bool is_product_alone(const GemmProblem& problem);

/// "D = relu(A·B + beta · C + bias of each column), beta 1, bf16 to fp32, 64 batches".
std::string operation_text(const GemmProblem& problem);

}  // namespace hopper_gemm
