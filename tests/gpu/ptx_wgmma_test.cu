// Every wgmma wrapper against a product computed on the CPU: all N, bf16 and f16, A from shared memory and
// from registers, both majors of A and B, negated inputs, overwriting and accumulating. The inputs are small
// integers, so that every sum is exact and the comparison is for equality.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ptx/address.cuh>
#include <ptx/fence.cuh>
#include <ptx/wgmma.cuh>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu_test_support.cuh"
#include "hopper_gemm/smem_descriptor.hpp"
#include "require_hopper.hpp"

namespace hopper_gemm {
namespace {

using ptx::Major;

constexpr int kM = 64;
constexpr int kMaxN = 256;
constexpr int kK = 64;  // one 128-byte row of a K-major tile: four instructions of k16
constexpr int kInstructionK = 16;
constexpr int kRowBytes = 128;                      // of a swizzled tile
constexpr int kCoreRowBytes = 16;                   // of a core matrix
constexpr int kEightRowsBytes = 8 * kRowBytes;      // one repeat of the 128B swizzle
constexpr int kMnMajorChunkBytes = kK * kRowBytes;  // MN-major: 64 elements of M or N, all kK rows of K
constexpr int kTileABytes = kM * kK * 2;
constexpr int kTileBBytes = kMaxN * kK * 2;

enum class SourceA { Smem, Registers };

// Byte offset of element (mn, k) of a tile of `rows` values of mn before the swizzle. K-major: panels along K
// whose rows are one span, or without a swizzle core matrices, 8 rows of 16 bytes, M or N first. MN-major:
// panels of 64 mn, in each of which a row is one k.
template <Major kMajor, Swizzle kSwizzle>
__device__ uint32_t tile_offset(int mn, int k, int rows) {
  if constexpr (kMajor == Major::MN) {
    static_assert(kSwizzle == Swizzle::B128);
    return static_cast<uint32_t>((mn / 64) * kMnMajorChunkBytes + k * kRowBytes + (mn % 64) * 2);
  } else {
    constexpr int kPanelBytes = kSwizzle == Swizzle::None ? kCoreRowBytes : swizzle_span_bytes(kSwizzle);
    return static_cast<uint32_t>((k * 2 / kPanelBytes * rows + mn) * kPanelBytes + k * 2 % kPanelBytes);
  }
}

template <Major kMajor, Swizzle kSwizzle>
__device__ uint64_t tile_desc(ptx::SmemAddr tile, int k, int rows) {
  const uint32_t start = tile.value + tile_offset<kMajor, kSwizzle>(0, k, rows);
  if constexpr (kMajor == Major::MN) {
    return make_smem_desc(start, kMnMajorChunkBytes, kEightRowsBytes, kSwizzle);
  } else if constexpr (kSwizzle == Swizzle::None) {
    return make_smem_desc(start, static_cast<uint32_t>(rows * kCoreRowBytes), 8 * kCoreRowBytes, kSwizzle);
  } else {
    return make_smem_desc(start, 16, 8 * swizzle_span_bytes(kSwizzle), kSwizzle);
  }
}

struct alignas(1024) TileStorage {
  unsigned char a[kTileABytes];
  unsigned char b[kTileBBytes];
};

// d_out[64, kN] = (scale_d != 0 ? d_in : 0) + kScaleA * a[64, 64] * kScaleB * b[kN, 64]^T, with one
// warpgroup.
template <int kN, typename T, SourceA kSourceA, Major kMajorA, Major kMajorB, int kScaleA, int kScaleB,
          Swizzle kSwizzle = Swizzle::B128>
__global__ void __launch_bounds__(128, 1)
    wgmma_kernel(const T* a, const T* b, const float* d_in, float* d_out, int scale_d) {
  TileStorage& tiles = dynamic_shared_storage<TileStorage>();
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < kM * kK; i += 128) {
    const uint32_t offset = tile_offset<kMajorA, kSwizzle>(i / kK, i % kK, kM);
    *reinterpret_cast<T*>(tiles.a + swizzle_offset(offset, kSwizzle)) = a[i];
  }
  for (int i = thread; i < kN * kK; i += 128) {
    const uint32_t offset = tile_offset<kMajorB, kSwizzle>(i / kK, i % kK, kN);
    *reinterpret_cast<T*>(tiles.b + swizzle_offset(offset, kSwizzle)) = b[i];
  }
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();

  // The fragments of this thread: row, row + 8; columns column, column + 1, and on in steps of 8.
  const int row = thread / 32 * 16 + thread % 32 / 4;
  const int column = thread % 4 * 2;
  float accum[kN / 2];
#pragma unroll
  for (int i = 0; i < kN / 2; ++i) {
    accum[i] = d_in[(row + i / 2 % 2 * 8) * kN + i / 4 * 8 + column + i % 2];
  }
  uint32_t fragment_a[kK / kInstructionK][4];
  if constexpr (kSourceA == SourceA::Registers) {
#pragma unroll
    for (int i = 0; i < kK / kInstructionK * 4; ++i) {
      const int k = i / 4 * kInstructionK + i % 4 / 2 * 8 + column;
      fragment_a[i / 4][i % 4] = *reinterpret_cast<const uint32_t*>(&a[(row + i % 2 * 8) * kK + k]);
      ptx::wgmma_fence_operand(fragment_a[i / 4][i % 4]);
    }
  }

  const ptx::SmemAddr smem_a = ptx::smem_addr(tiles.a);
  const ptx::SmemAddr smem_b = ptx::smem_addr(tiles.b);
  ptx::wgmma_fence_operand(accum);
  ptx::wgmma_fence();
#pragma unroll
  for (int k = 0; k < kK; k += kInstructionK) {
    const int accumulate = k == 0 ? scale_d : 1;
    const uint64_t desc_b = tile_desc<kMajorB, kSwizzle>(smem_b, k, kN);
    if constexpr (kSourceA == SourceA::Registers) {
      ptx::wgmma_mma_async<kN, T, kMajorB, kScaleA, kScaleB>(accum, fragment_a[k / kInstructionK], desc_b,
                                                             accumulate);
    } else {
      const uint64_t desc_a = tile_desc<kMajorA, kSwizzle>(smem_a, k, kM);
      ptx::wgmma_mma_async<kN, T, kMajorA, kMajorB, kScaleA, kScaleB>(accum, desc_a, desc_b, accumulate);
    }
  }
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
  ptx::wgmma_fence_operand(accum);

#pragma unroll
  for (int i = 0; i < kN / 2; ++i) {
    d_out[(row + i / 2 % 2 * 8) * kN + i / 4 * 8 + column + i % 2] = accum[i];
  }
}

template <typename T>
struct Variant {
  std::string name;
  int scale;  // kScaleA * kScaleB
  void (*kernel)(const T* a, const T* b, const float* d_in, float* d_out, int scale_d);
};

template <int kN, typename T, SourceA kSourceA, Major kMajorA, Major kMajorB, int kScaleA, int kScaleB>
Variant<T> variant() {
  const auto major = [](Major value) { return value == Major::K ? "K" : "MN"; };
  std::string name = kSourceA == SourceA::Smem ? "SS" : "RS";
  name += std::string(" ") + (std::is_same_v<T, __half> ? "f16" : "bf16");
  if (kSourceA == SourceA::Smem) name += std::string(" A:") + major(kMajorA);
  name += std::string(" B:") + major(kMajorB);
  name += " scales " + std::to_string(kScaleA) + ", " + std::to_string(kScaleB);
  return {name, kScaleA * kScaleB, wgmma_kernel<kN, T, kSourceA, kMajorA, kMajorB, kScaleA, kScaleB>};
}

template <int kN, typename T>
std::vector<Variant<T>> variants() {
  constexpr SourceA kSmem = SourceA::Smem;
  constexpr SourceA kRegisters = SourceA::Registers;
  return {
      variant<kN, T, kSmem, Major::K, Major::K, 1, 1>(),
      variant<kN, T, kSmem, Major::K, Major::MN, -1, 1>(),
      variant<kN, T, kSmem, Major::MN, Major::K, 1, -1>(),
      variant<kN, T, kSmem, Major::MN, Major::MN, -1, -1>(),
      variant<kN, T, kRegisters, Major::K, Major::K, 1, 1>(),
      variant<kN, T, kRegisters, Major::K, Major::MN, -1, 1>(),
      variant<kN, T, kRegisters, Major::K, Major::K, 1, -1>(),
  };
}

struct VariantsOfN {
  int n;
  std::vector<Variant<__nv_bfloat16>> bf16;
  std::vector<Variant<__half>> f16;
};

template <std::size_t... kIndex>
std::vector<VariantsOfN> all_variants(std::index_sequence<kIndex...>) {
  return {{static_cast<int>(kIndex + 1) * 8, variants<static_cast<int>(kIndex + 1) * 8, __nv_bfloat16>(),
           variants<static_cast<int>(kIndex + 1) * 8, __half>()}...};
}

// Asymmetric in its two indices, so that transposed or shifted tiles do not pass.
int a_value(int m, int k) { return (m * 7 + k * 3) % 9 - 4; }
int b_value(int n, int k) { return (n * 5 + k * 11) % 7 - 3; }
int d_value(int m, int n) { return (m * 13 + n * 3) % 31 - 15; }

class PtxWgmma : public testing::TestWithParam<VariantsOfN> {};

template <typename T>
void check_variants(int n, const std::vector<Variant<T>>& variants) {
  ManagedArray<T> a(kM * kK);
  ManagedArray<T> b(static_cast<std::size_t>(n) * kK);
  ManagedArray<float> d_in(static_cast<std::size_t>(kM) * n);
  ManagedArray<float> d_out(static_cast<std::size_t>(kM) * n);
  ASSERT_TRUE(a.data() && b.data() && d_in.data() && d_out.data());
  for (int i = 0; i < kM * kK; ++i) a[i] = T(static_cast<float>(a_value(i / kK, i % kK)));
  for (int i = 0; i < n * kK; ++i) b[i] = T(static_cast<float>(b_value(i / kK, i % kK)));
  std::vector<int> product(static_cast<std::size_t>(kM) * n);
  for (int i = 0; i < kM * n; ++i) {
    for (int k = 0; k < kK; ++k) product[i] += a_value(i / n, k) * b_value(i % n, k);
  }

  for (const Variant<T>& variant : variants) {
    for (int scale_d : {0, 1, 2}) {  // any value but 0 accumulates
      SCOPED_TRACE(variant.name + ", scale_d " + std::to_string(scale_d));
      for (int i = 0; i < kM * n; ++i) {
        // With scale_d = 0 the old accumulators must not be read at all: NaN would survive a multiplication by 0.
        d_in[i] = scale_d == 0 ? std::nanf("") : static_cast<float>(d_value(i / n, i % n));
        d_out[i] = std::nanf("");
      }
      run_kernel(variant.kernel, 128, sizeof(TileStorage), a.data(), b.data(), d_in.data(), d_out.data(),
                 scale_d);
      int wrong = 0;
      std::string first_wrong;
      for (int i = 0; i < kM * n; ++i) {
        const int expected = variant.scale * product[i] + (scale_d == 0 ? 0 : d_value(i / n, i % n));
        if (!(d_out[i] == static_cast<float>(expected)) && wrong++ == 0) {
          first_wrong = "first at (" + std::to_string(i / n) + ", " + std::to_string(i % n) +
                        "): " + std::to_string(d_out[i]) + " instead of " + std::to_string(expected);
        }
      }
      EXPECT_EQ(wrong, 0) << "wrong elements of " << kM * n << ", " << first_wrong;
    }
  }
}

template <Swizzle kSwizzle>
Variant<__nv_bfloat16> swizzle_variant(const char* name) {
  constexpr int kN = 64;
  return {name, 1, wgmma_kernel<kN, __nv_bfloat16, SourceA::Smem, Major::K, Major::K, 1, 1, kSwizzle>};
}

TEST(PtxWgmmaDescriptor, ReadsEverySwizzleMode) {
  HG_SKIP_WITHOUT_HOPPER();
  check_variants<__nv_bfloat16>(
      64, {swizzle_variant<Swizzle::None>("no swizzle"), swizzle_variant<Swizzle::B32>("32B"),
           swizzle_variant<Swizzle::B64>("64B"), swizzle_variant<Swizzle::B128>("128B")});
}

TEST_P(PtxWgmma, MatchesCpuProduct) {
  HG_SKIP_WITHOUT_HOPPER();
  check_variants<__nv_bfloat16>(GetParam().n, GetParam().bf16);
  check_variants<__half>(GetParam().n, GetParam().f16);
}

INSTANTIATE_TEST_SUITE_P(EveryN, PtxWgmma,
                         testing::ValuesIn(all_variants(std::make_index_sequence<kMaxN / 8>())),
                         [](const testing::TestParamInfo<VariantsOfN>& test) {
                           return "m64n" + std::to_string(test.param.n) + "k16";
                         });

}  // namespace
}  // namespace hopper_gemm
