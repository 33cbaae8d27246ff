#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gemm/kernel_args.hpp"
#include "hopper_gemm/gemm_epilogue.hpp"
#include "verify/activation.cuh"
#include "verify/element.cuh"

// What the library has to compute, without a word of the library's own: loops on the host, in double.
namespace hopper_gemm::library {

/// Where in an operand's memory the element of batch `batch` is that lies at `mn` along M or N and at `k` along K.
inline std::int64_t operand_index(const OperandArgs& operand, std::int64_t batch, std::int64_t mn,
                                  std::int64_t k) {
  const bool is_k_major = operand.major == OperandMajor::K;
  const std::int64_t line = is_k_major ? mn : k;
  const std::int64_t elem = is_k_major ? k : mn;
  return batch * operand.batch_stride + line * operand.leading_dimension + elem;
}

/// An element of D or aux before its rounding, and what its error is in proportion to.
struct ReferenceElement {
  double value;
  double argument;    // of the activation, times what a gate is for
  double magnitude;   // of all that is added up to it: the sum of the terms' magnitudes
  double factor = 1;  // of what the activation makes
};

/// What activation and gate make of values, [lines, n].
inline std::vector<ReferenceElement> reference_d(const std::vector<ReferenceElement>& values, std::int64_t n,
                                                 const GemmEpilogue& epilogue) {
  const auto activated = [&](const ReferenceElement& of) {
    return ReferenceElement{reference_activation(epilogue.activation, of.value), of.value, of.magnitude};
  };
  std::vector<ReferenceElement> d;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!epilogue.is_gated) {
      d.push_back(activated(values[i]));
      continue;
    }
    if (static_cast<std::int64_t>(i) % n / 8 % 2 != 0) continue;
    const ReferenceElement gate = activated(values[i]);
    const ReferenceElement& up = values[i + 8];
    // The error of a product of two, neither of which is larger than the sum of its terms' magnitudes.
    d.push_back({gate.value * up.value, gate.argument * up.value,
                 gate.magnitude * (std::abs(up.value) + up.magnitude), std::abs(up.value)});
  }
  return d;
}

/// The activation's arguments: [batch_count, M, N], without gaps, which aux is, too. All pointers are the host's. Reads
/// what the kernels may: neither A nor B where alpha or K is 0, no C where beta is 0, nothing outside of the matrices. C
/// may be D, before it is overwritten.
inline std::vector<ReferenceElement> reference_values(const KernelArgs& args) {
  const std::int64_t m = args.shape.m;
  const std::int64_t n = args.shape.n;
  const GemmEpilogue& epilogue = args.epilogue;
  const std::int64_t k = epilogue.alpha == 0 ? 0 : args.shape.k;
  std::vector<ReferenceElement> values(static_cast<std::size_t>(args.batch_count * m * n));
  // One batch's operands, [K, lines], each element converted once.
  const auto depths_of = [&](const OperandArgs& operand, std::int64_t lines, std::int64_t batch) {
    std::vector<double> elems(static_cast<std::size_t>(lines * k));
    for (std::int64_t line = 0; line < lines; ++line) {
      for (std::int64_t i = 0; i < k; ++i) {
        elems[static_cast<std::size_t>(i * lines + line)] =
            load_element(operand.data, args.input_type, operand_index(operand, batch, line, i));
      }
    }
    return elems;
  };
  // The sums of a row's columns do not wait for each other, so that the compiler can use vectors.
  std::vector<double> sums(static_cast<std::size_t>(n));
  std::vector<double> sums_of_magnitudes(static_cast<std::size_t>(n));
  for (std::int64_t batch = 0; batch < args.batch_count; ++batch) {
    const std::vector<double> a = depths_of(args.a, m, batch);
    const std::vector<double> b = depths_of(args.b, n, batch);
    for (std::int64_t row = 0; row < m; ++row) {
      std::fill(sums.begin(), sums.end(), 0);
      std::fill(sums_of_magnitudes.begin(), sums_of_magnitudes.end(), 0);
      for (std::int64_t i = 0; i < k; ++i) {
        const double factor = a[static_cast<std::size_t>(i * m + row)];
        const double* const of_b = b.data() + i * n;
        for (std::size_t column = 0; column < sums.size(); ++column) {
          const double product = factor * of_b[column];
          sums[column] += product;
          sums_of_magnitudes[column] += std::abs(product);
        }
      }
      for (std::int64_t column = 0; column < n; ++column) {
        const double sum = sums[static_cast<std::size_t>(column)];
        const double sum_of_magnitudes = sums_of_magnitudes[static_cast<std::size_t>(column)];
        double value = 0;
        double magnitude = 0;
        const auto add = [&](double term, double magnitude_of_term) {
          value += term;
          magnitude += magnitude_of_term;
        };
        if (k != 0) {
          const double alpha = static_cast<double>(epilogue.alpha);
          add(alpha * sum, std::abs(alpha) * sum_of_magnitudes);
        }
        if (epilogue.beta != 0) {
          const std::int64_t index = batch * epilogue.c_batch_stride + row * epilogue.ldc + column;
          const double term =
              static_cast<double>(epilogue.beta) * load_element(epilogue.c, epilogue.output_type, index);
          add(term, std::abs(term));
        }
        if (epilogue.bias_kind != Bias::None) {
          const std::int64_t index =
              batch * epilogue.bias_batch_stride + (epilogue.bias_kind == Bias::PerRow ? row : column);
          const double term = load_element(epilogue.bias, epilogue.bias_type, index);
          add(term, std::abs(term));
        }
        values[static_cast<std::size_t>((batch * m + row) * n + column)] = {value, value, magnitude};
      }
    }
  }
  return values;
}

}  // namespace hopper_gemm::library
