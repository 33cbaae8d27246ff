#include "benchmark/operation.hpp"

#include <fmt/format.h>

#include <array>

namespace hopper_gemm {
namespace {

template <typename Enum, std::size_t kCount>
std::optional<Enum> value_of_name(const std::array<Enum, kCount>& values, std::string_view name) {
  for (const Enum value : values) {
    if (to_string(value) == name) return value;
  }
  return {};
}

}  // namespace

std::string_view to_string(Bias bias) {
  switch (bias) {
    case Bias::None: return "none";
    case Bias::PerRow: return "row";
    case Bias::PerColumn: return "column";
  }
  return "";
}

std::string_view to_string(Activation activation) {
  switch (activation) {
    case Activation::None: return "none";
    case Activation::Relu: return "relu";
    case Activation::Gelu: return "gelu";
    case Activation::GeluTanh: return "gelu_tanh";
    case Activation::Silu: return "silu";
  }
  return "";
}

std::optional<Bias> bias_of_name(std::string_view name) {
  return value_of_name(std::array{Bias::None, Bias::PerRow, Bias::PerColumn}, name);
}

std::optional<Activation> activation_of_name(std::string_view name) {
  return value_of_name(std::array{Activation::None, Activation::Relu, Activation::Gelu, Activation::GeluTanh,
                                  Activation::Silu},
                       name);
}

GemmProblem with_operation(GemmProblem problem, const Operation& operation) {
  problem.output_type = operation.output_type.value_or(problem.input_type);
  problem.bias = operation.bias;
  problem.activation = operation.activation;
  problem.gated = operation.gated;
  problem.beta = operation.beta;
  problem.batch_count = operation.batch_count;
  if (operation.b_layout) problem.b_layout = *operation.b_layout;
  return problem;
}

bool is_plain(const Operation& operation) {
  Operation plain;
  plain.b_layout = operation.b_layout;
  plain.shapes = operation.shapes;
  return operation == plain;
}

bool is_product_alone(const GemmProblem& problem) {
  return problem.alpha == 1 && problem.beta == 0 && problem.bias == Bias::None &&
         problem.activation == Activation::None && !problem.gated;
}

std::string operation_text(const GemmProblem& problem) {
  std::string sum = "A·B";
  if (problem.beta != 0) sum += " + beta · C";
  if (problem.bias != Bias::None) sum += fmt::format(" + bias of each {}", to_string(problem.bias));
  if (problem.activation != Activation::None) sum = fmt::format("{}({})", to_string(problem.activation), sum);
  if (problem.gated) sum += ", gated";
  return fmt::format("D = {}{}, {} to {}{}", sum,
                     problem.beta == 0 ? "" : fmt::format(", beta {}", problem.beta),
                     to_string(problem.input_type), to_string(problem.output_type),
                     problem.batch_count == 1 ? "" : fmt::format(", {} batches", problem.batch_count));
}

}  // namespace hopper_gemm
