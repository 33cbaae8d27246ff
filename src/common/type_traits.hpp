#pragma once

// Two of the standard's type traits, for files that NVRTC compiles as well. It has no <type_traits>, and
// <cuda/std/type_traits> takes longer to compile than all other headers of a kernel together.

namespace hopper_gemm {

template <typename T, typename U>
inline constexpr bool is_same_v = false;
template <typename T>
inline constexpr bool is_same_v<T, T> = true;

namespace detail {
template <bool kCondition, typename T, typename U>
struct Conditional {
  using Type = T;
};
template <typename T, typename U>
struct Conditional<false, T, U> {
  using Type = U;
};
}  // namespace detail

template <bool kCondition, typename T, typename U>
using conditional_t = typename detail::Conditional<kCondition, T, U>::Type;

}  // namespace hopper_gemm
