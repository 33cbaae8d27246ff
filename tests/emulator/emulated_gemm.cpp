#include "emulated_gemm.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "emulator/emulator.hpp"
#include "emulator/number_formats.hpp"

namespace hopper_gemm::emulator {
namespace {

constexpr std::uint16_t kNan = 0x7FC0;
constexpr std::uint16_t kPattern = 0xFFFF;
constexpr int kPaddingElems = 8;
constexpr int kPaddingRows = 2;

constexpr std::int64_t pitch(int row_elems) { return (row_elems + 7) / 8 * 8 + kPaddingElems; }

constexpr std::size_t elems_of(int rows, int row_elems) {
  return static_cast<std::size_t>((rows + kPaddingRows) * pitch(row_elems));
}

__nv_bfloat16* allocate_elems(std::size_t elems) {
  return static_cast<__nv_bfloat16*>(allocate(elems * sizeof(__nv_bfloat16)));
}

/// A matrix of -2 … 2, as floats, and as bf16 with NaN around it at `bf16`.
std::vector<float> fill(int rows, int cols, std::mt19937* random, __nv_bfloat16* bf16) {
  std::vector<std::uint16_t> bits(elems_of(rows, cols), kNan);
  std::vector<float> values;
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; ++col) {
      values.push_back(static_cast<float>((*random)() % 5) - 2);
      bits[static_cast<std::size_t>(row * pitch(cols) + col)] = float_to_bf16(values.back());
    }
  }
  std::memcpy(static_cast<void*>(bf16), bits.data(), bits.size() * sizeof(bits[0]));
  return values;
}

}  // namespace

EmulatedGemm::EmulatedGemm(GemmShape shape) : args_{}, d_elems_(elems_of(shape.m, shape.n)) {
  free_all();
  __nv_bfloat16* const a = allocate_elems(elems_of(shape.m, shape.k));
  __nv_bfloat16* const b = allocate_elems(elems_of(shape.n, shape.k));
  args_ = {shape, a, pitch(shape.k), b, pitch(shape.k), allocate_elems(d_elems_), pitch(shape.n)};
  std::mt19937 random;
  const std::vector<float> a_values = fill(shape.m, shape.k, &random, a);
  const std::vector<float> b_values = fill(shape.n, shape.k, &random, b);
  const auto [m, n, k] = shape;
  std::vector<float> b_transposed(b_values.size());
  for (std::size_t i = 0; i < b_values.size(); ++i) {
    const auto row = i / static_cast<std::size_t>(k);
    const auto col = i % static_cast<std::size_t>(k);
    b_transposed[col * static_cast<std::size_t>(n) + row] = b_values[i];
  }
  std::vector<float> sums(static_cast<std::size_t>(n));
  for (int row = 0; row < m; ++row) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (int i = 0; i < k; ++i) {
      const float factor =
          a_values[static_cast<std::size_t>(row) * static_cast<std::size_t>(k) + static_cast<std::size_t>(i)];
      const float* const line = b_transposed.data() + static_cast<std::size_t>(i) * sums.size();
      for (std::size_t col = 0; col < sums.size(); ++col) sums[col] += factor * line[col];
    }
    std::transform(sums.begin(), sums.end(), std::back_inserter(product_), float_to_bf16);
  }
  poison();
}

void EmulatedGemm::poison() { std::fill_n(reinterpret_cast<std::uint16_t*>(args_.d), d_elems_, kPattern); }

std::string EmulatedGemm::fault() const {
  const auto [m, n, k] = args_.shape;
  const auto* const d = reinterpret_cast<const std::uint16_t*>(args_.d);
  for (std::size_t i = 0; i < d_elems_; ++i) {
    const auto row = static_cast<std::int64_t>(i) / args_.ldd;
    const auto col = static_cast<std::int64_t>(i) % args_.ldd;
    const std::string place = " at [" + std::to_string(row) + ", " + std::to_string(col) + "]: ";
    if (row >= m || col >= n) {
      if (d[i] != kPattern) return "wrote outside of D" + place + std::to_string(bf16_to_float(d[i]));
      continue;
    }
    const std::uint16_t expected = product_[static_cast<std::size_t>(row * n + col)];
    if (d[i] != expected) {
      return "wrong product" + place + std::to_string(bf16_to_float(d[i])) + ", not " +
             std::to_string(bf16_to_float(expected));
    }
  }
  return "";
}

std::string to_string(GemmShape shape) {
  return std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
}

}  // namespace hopper_gemm::emulator
