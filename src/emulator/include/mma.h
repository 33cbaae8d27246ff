// Emulated: what the ladder uses of CUDA's warp matrix functions, 16x16x16 products of bf16 or half with fp32
// accumulators. As in CUDA, no code outside of this file may depend on which lane holds which elements.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "emulator/device_api.hpp"

namespace nvcuda {
namespace wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;

enum layout_t { mem_row_major, mem_col_major };

template <typename Use, int m, int n, int k, typename T, typename Layout = void>
class fragment;

namespace detail {

template <typename T>
struct Fragment {
  static constexpr int num_elements = 8;
  static constexpr int num_storage_elements = 8;
  T x[num_elements];
};

template <typename T>
inline constexpr bool kIsOperand = std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>;

struct Element {
  unsigned row;
  unsigned column;
};

// Where element i of A or of the accumulators lies. The fragments are those of two mma.m16n8k16 side by side
// (ptx/mma.cuh). For B, whose rows are K, this is the place in its transpose.
inline Element element_of(int i) {
  const unsigned lane = ::hopper_gemm::emulator::thread_index().x % 32;
  const auto number = static_cast<unsigned>(i);
  return {lane / 4 + number / 2 % 2 * 8, lane % 4 * 2 + number % 2 + number / 4 * 8};
}

// CUDA asks for an address that is a multiple of 32 bytes, and a pitch that is a multiple of 16 bytes.
template <typename T>
void check(const T* matrix, unsigned ldm, const char* instruction) {
  if (reinterpret_cast<std::uintptr_t>(matrix) % 32 != 0) {
    ::hopper_gemm::emulator::trap("a matrix of wmma's that is not 32-byte aligned");
  }
  if (ldm * sizeof(T) % 16 != 0) {
    ::hopper_gemm::emulator::trap("a matrix of wmma's whose rows are not a multiple of 16 bytes apart");
  }
  ::hopper_gemm::emulator::converge_warp(instruction);
}

template <typename T>
std::uint32_t pair(const T* elements) {
  std::uint32_t bits;
  std::memcpy(&bits, elements, sizeof(bits));
  return bits;
}

}  // namespace detail

template <typename T, typename Layout>
class fragment<matrix_a, 16, 16, 16, T, Layout> : public detail::Fragment<T> {
  static_assert(detail::kIsOperand<T>, "the emulator has operands of bf16 and half");
};
template <typename T, typename Layout>
class fragment<matrix_b, 16, 16, 16, T, Layout> : public detail::Fragment<T> {
  static_assert(detail::kIsOperand<T>, "the emulator has operands of bf16 and half");
};
template <>
class fragment<accumulator, 16, 16, 16, float> : public detail::Fragment<float> {};

template <typename T>
void fill_fragment(detail::Fragment<T>& filled, const std::type_identity_t<T>& value) {
  for (T& element : filled.x) element = value;
}

template <typename T, typename Layout>
void load_matrix_sync(fragment<matrix_a, 16, 16, 16, T, Layout>& a, const T* matrix, unsigned ldm) {
  detail::check(matrix, ldm, "wmma::load_matrix_sync");
  for (int i = 0; i < a.num_elements; ++i) {
    const auto [row, k] = detail::element_of(i);
    a.x[i] = std::is_same_v<Layout, row_major> ? matrix[row * ldm + k] : matrix[k * ldm + row];
  }
}

template <typename T, typename Layout>
void load_matrix_sync(fragment<matrix_b, 16, 16, 16, T, Layout>& b, const T* matrix, unsigned ldm) {
  detail::check(matrix, ldm, "wmma::load_matrix_sync");
  for (int i = 0; i < b.num_elements; ++i) {
    const auto [column, k] = detail::element_of(i);
    b.x[i] = std::is_same_v<Layout, row_major> ? matrix[k * ldm + column] : matrix[column * ldm + k];
  }
}

inline void load_matrix_sync(fragment<accumulator, 16, 16, 16, float>& accum, const float* matrix,
                             unsigned ldm, layout_t layout) {
  detail::check(matrix, ldm, "wmma::load_matrix_sync");
  for (int i = 0; i < accum.num_elements; ++i) {
    const auto [row, column] = detail::element_of(i);
    accum.x[i] = matrix[layout == mem_row_major ? row * ldm + column : column * ldm + row];
  }
}

inline void store_matrix_sync(float* matrix, const fragment<accumulator, 16, 16, 16, float>& accum,
                              unsigned ldm, layout_t layout) {
  detail::check(matrix, ldm, "wmma::store_matrix_sync");
  for (int i = 0; i < accum.num_elements; ++i) {
    const auto [row, column] = detail::element_of(i);
    matrix[layout == mem_row_major ? row * ldm + column : column * ldm + row] = accum.x[i];
  }
}

template <typename T, typename LayoutA, typename LayoutB>
void mma_sync(fragment<accumulator, 16, 16, 16, float>& d,
              const fragment<matrix_a, 16, 16, 16, T, LayoutA>& a,
              const fragment<matrix_b, 16, 16, 16, T, LayoutB>& b,
              const fragment<accumulator, 16, 16, 16, float>& c) {
  // The accumulators' elements 0 to 3 are in columns 0 to 7, and 4 to 7 in the others. For B, bits 1 and 2 of the
  // element's number are N and K.
  const std::uint32_t a_pairs[4] = {detail::pair(a.x), detail::pair(a.x + 2), detail::pair(a.x + 4),
                                    detail::pair(a.x + 6)};
  for (int half = 0; half < 2; ++half) {
    const std::uint32_t b_pairs[2] = {detail::pair(b.x + 2 * half), detail::pair(b.x + 4 + 2 * half)};
    float accum[4] = {c.x[4 * half], c.x[4 * half + 1], c.x[4 * half + 2], c.x[4 * half + 3]};
    ::hopper_gemm::emulator::mma(accum, a_pairs, b_pairs, 16, std::is_same_v<T, __half>);
    for (int i = 0; i < 4; ++i) d.x[4 * half + i] = accum[i];
  }
}

}  // namespace wmma
}  // namespace nvcuda
