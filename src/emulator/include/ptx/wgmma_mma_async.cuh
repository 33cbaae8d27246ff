// Emulated: the wrappers of ptx/wgmma_mma_async.cuh, with the same signatures. What they promise is written there.
#pragma once

#include <ptx/wgmma.cuh>

#include <type_traits>

namespace hopper_gemm {
namespace ptx {

template <typename T, int kScaleA, int kScaleB>
HG_PTX_INLINE constexpr void check_wgmma_arguments() {
  static_assert(std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>,
                "wgmma_mma_async: T is __nv_bfloat16 or __half");
  static_assert(kScaleA == 1 || kScaleA == -1, "wgmma_mma_async: kScaleA is 1 or -1");
  static_assert(kScaleB == 1 || kScaleB == -1, "wgmma_mma_async: kScaleB is 1 or -1");
}

template <typename T, Major kMajorA, Major kMajorB, int kScaleA, int kScaleB>
constexpr emulator::WgmmaShape wgmma_shape(int n) {
  check_wgmma_arguments<T, kScaleA, kScaleB>();
  return {n, std::is_same_v<T, __half>, kMajorA == Major::MN, kMajorB == Major::MN, kScaleA, kScaleB};
}

template <int kN, typename T, Major kMajorA = Major::K, Major kMajorB = Major::K, int kScaleA = 1,
          int kScaleB = 1>
HG_PTX_INLINE void wgmma_mma_async(float (&accum)[kN / 2], uint64_t smem_desc_a, uint64_t smem_desc_b,
                                   int scale_d) {
  static_assert(kN % 8 == 0 && kN >= 8 && kN <= 256, "wgmma_mma_async: kN is a multiple of 8 from 8 to 256");
  emulator::wgmma_mma(wgmma_shape<T, kMajorA, kMajorB, kScaleA, kScaleB>(kN), accum, nullptr, smem_desc_a,
                      smem_desc_b, scale_d != 0);
}

template <int kN, typename T, Major kMajorB = Major::K, int kScaleA = 1, int kScaleB = 1>
HG_PTX_INLINE void wgmma_mma_async(float (&accum)[kN / 2], const uint32_t (&a)[4], uint64_t smem_desc_b,
                                   int scale_d) {
  static_assert(kN % 8 == 0 && kN >= 8 && kN <= 256, "wgmma_mma_async: kN is a multiple of 8 from 8 to 256");
  emulator::wgmma_mma(wgmma_shape<T, Major::K, kMajorB, kScaleA, kScaleB>(kN), accum, a, 0, smem_desc_b,
                      scale_d != 0);
}

// The instructions of each N by name.
#define HG_EMULATED_WGMMA(n)                                                                             \
  template <typename T, Major kMajorA = Major::K, Major kMajorB = Major::K, int kScaleA = 1,             \
            int kScaleB = 1>                                                                             \
  HG_PTX_INLINE void wgmma_mma_async_m64n##n##k16(float(&accum)[n / 2], uint64_t smem_desc_a,            \
                                                  uint64_t smem_desc_b, int scale_d) {                   \
    wgmma_mma_async<n, T, kMajorA, kMajorB, kScaleA, kScaleB>(accum, smem_desc_a, smem_desc_b, scale_d); \
  }                                                                                                      \
  template <typename T, Major kMajorB = Major::K, int kScaleA = 1, int kScaleB = 1>                      \
  HG_PTX_INLINE void wgmma_mma_async_m64n##n##k16(float(&accum)[n / 2], const uint32_t(&a)[4],           \
                                                  uint64_t smem_desc_b, int scale_d) {                   \
    wgmma_mma_async<n, T, kMajorB, kScaleA, kScaleB>(accum, a, smem_desc_b, scale_d);                    \
  }
HG_EMULATED_WGMMA(8)
HG_EMULATED_WGMMA(16)
HG_EMULATED_WGMMA(24)
HG_EMULATED_WGMMA(32)
HG_EMULATED_WGMMA(40)
HG_EMULATED_WGMMA(48)
HG_EMULATED_WGMMA(56)
HG_EMULATED_WGMMA(64)
HG_EMULATED_WGMMA(72)
HG_EMULATED_WGMMA(80)
HG_EMULATED_WGMMA(88)
HG_EMULATED_WGMMA(96)
HG_EMULATED_WGMMA(104)
HG_EMULATED_WGMMA(112)
HG_EMULATED_WGMMA(120)
HG_EMULATED_WGMMA(128)
HG_EMULATED_WGMMA(136)
HG_EMULATED_WGMMA(144)
HG_EMULATED_WGMMA(152)
HG_EMULATED_WGMMA(160)
HG_EMULATED_WGMMA(168)
HG_EMULATED_WGMMA(176)
HG_EMULATED_WGMMA(184)
HG_EMULATED_WGMMA(192)
HG_EMULATED_WGMMA(200)
HG_EMULATED_WGMMA(208)
HG_EMULATED_WGMMA(216)
HG_EMULATED_WGMMA(224)
HG_EMULATED_WGMMA(232)
HG_EMULATED_WGMMA(240)
HG_EMULATED_WGMMA(248)
HG_EMULATED_WGMMA(256)
#undef HG_EMULATED_WGMMA

}  // namespace ptx
}  // namespace hopper_gemm
