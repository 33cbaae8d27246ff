// Computes two layers of a perceptron in bf16, each in one kernel: H = gelu(X·W1ᵀ + b1), Y = H·W2ᵀ + b2.
#include <hopper_gemm/gemm.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "example.h"

namespace {

constexpr int kTokens = 192;
constexpr int kInputs = 256;
constexpr int kHidden = 512;
constexpr int kOutputs = 128;

void check(const hopper_gemm::Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, status.message().c_str());
  std::exit(EXAMPLE_FAILED);
}

using Bf16s = std::vector<std::uint16_t>;

Bf16s random_values(std::size_t count, float deviation, std::mt19937* random) {
  std::normal_distribution<float> normal(0, deviation);
  Bf16s values(count);
  for (auto& value : values) value = example_bf16(normal(*random));
  return values;
}

void* to_gpu(const Bf16s& values) { return example_to_gpu(values.data(), values.size() * sizeof values[0]); }

// Makes the plan of D[kTokens, outputs] = activation(X·Wᵀ + b). W is [outputs, inputs].
hopper_gemm::GemmPlan make_layer(int inputs, int outputs, hopper_gemm::Activation activation) {
  hopper_gemm::GemmDescriptor gemm;
  gemm.m = kTokens;
  gemm.n = outputs;
  gemm.k = inputs;
  gemm.b.transposed = true;
  gemm.bias = hopper_gemm::Bias::PerColumn;
  gemm.activation = activation;
  hopper_gemm::GemmPlan plan;
  check(plan.create(gemm), "create");
  return plan;
}

void run_layer(const hopper_gemm::GemmPlan& plan, const void* x, const void* weights, const void* bias,
               void* d) {
  hopper_gemm::GemmOperands operands;
  operands.a = x;
  operands.b = weights;
  operands.bias = bias;
  operands.d = d;
  check(plan.run(operands, nullptr), "run");
}

// Computes a layer on the CPU in fp64, and rounds each result once.
Bf16s layer_on_cpu(const Bf16s& x, const Bf16s& weights, const Bf16s& bias, int inputs, int outputs,
                   bool gelu) {
  Bf16s result(static_cast<std::size_t>(kTokens) * outputs);
  for (int token = 0; token < kTokens; ++token) {
    for (int output = 0; output < outputs; ++output) {
      double sum = example_float(bias[output]);
      for (int i = 0; i < inputs; ++i) {
        sum += double{example_float(x[token * inputs + i])} * example_float(weights[output * inputs + i]);
      }
      if (gelu) sum = 0.5 * sum * (1 + std::erf(sum / std::sqrt(2.0)));
      result[token * outputs + output] = example_bf16(static_cast<float>(sum));
    }
  }
  return result;
}

}  // namespace

int main() {
  example_require_gpu();
  std::mt19937 random(1);
  const Bf16s x = random_values(kTokens * kInputs, 1, &random);
  const Bf16s w1 = random_values(kHidden * kInputs, 1 / std::sqrt(float{kInputs}), &random);
  const Bf16s b1 = random_values(kHidden, 1, &random);
  const Bf16s w2 = random_values(kOutputs * kHidden, 1 / std::sqrt(float{kHidden}), &random);
  const Bf16s b2 = random_values(kOutputs, 1, &random);

  const auto first = make_layer(kInputs, kHidden, hopper_gemm::Activation::Gelu);
  const auto second = make_layer(kHidden, kOutputs, hopper_gemm::Activation::None);
  void* hidden = example_to_gpu(nullptr, kTokens * kHidden * sizeof(std::uint16_t));
  void* output = example_to_gpu(nullptr, kTokens * kOutputs * sizeof(std::uint16_t));
  run_layer(first, to_gpu(x), to_gpu(w1), to_gpu(b1), hidden);
  run_layer(second, hidden, to_gpu(w2), to_gpu(b2), output);
  Bf16s y(kTokens * kOutputs);
  EXAMPLE_CUDA(cudaMemcpy(y.data(), output, y.size() * sizeof y[0], cudaMemcpyDeviceToHost));

  const Bf16s expected_hidden = layer_on_cpu(x, w1, b1, kInputs, kHidden, true);
  const Bf16s expected = layer_on_cpu(expected_hidden, w2, b2, kHidden, kOutputs, false);
  // The GPU adds in another order, so a result may round to a neighbour in bf16, which is less than 1/128 away.
  float worst = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float value = example_float(expected[i]);
    const float error = std::fabs(example_float(y[i]) - value) / (1 + std::fabs(value));
    worst = std::isfinite(error) ? std::max(worst, error) : INFINITY;
  }
  std::printf("%s, then %s: the worst error is %.1e\n", first.config().c_str(), second.config().c_str(),
              worst);
  EXAMPLE_CUDA(cudaDeviceReset());
  return worst < 0.01F ? EXAMPLE_PASSED : EXAMPLE_FAILED;
}
