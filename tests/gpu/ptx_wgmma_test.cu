// Every wgmma wrapper against a product computed on the CPU: all N, bf16 or f16 and for whole swizzle atoms both, A from
// shared memory and from registers, both majors of A and B, negated inputs, overwriting and accumulating. The inputs are
// small integers, so that every sum is exact and the comparison is for equality.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ptx/address.cuh>
#include <ptx/fence.cuh>
#include <ptx/wgmma.cuh>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/smem_descriptor.hpp"
#include "gpu_test_support.cuh"
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

// What is multiplied of the tiles' kK. Each N takes a wrapper of its own; how descriptors advance along K is the same for
// all of them, and each instruction takes the compilers a while.
__host__ __device__ constexpr int depth_of(int n) { return n % 64 == 0 ? kK : kInstructionK; }

enum class SourceA { Smem, Registers };

// Byte offset of element (mn, k) of a tile of `rows` values of mn before the swizzle. K-major: panels along K
// whose rows are one span, or without a swizzle core matrices, 8 rows of 16 bytes, M or N first. MN-major:
// panels of 64 mn, in each of which a row is one k.
__host__ __device__ constexpr uint32_t tile_offset(Major major, Swizzle swizzle, int mn, int k, int rows) {
  if (major == Major::MN) {
    return static_cast<uint32_t>((mn / 64) * kMnMajorChunkBytes + k * kRowBytes + (mn % 64) * 2);
  }
  const int panel_bytes = swizzle == Swizzle::None ? kCoreRowBytes : swizzle_span_bytes(swizzle);
  return static_cast<uint32_t>((k * 2 / panel_bytes * rows + mn) * panel_bytes + k * 2 % panel_bytes);
}

template <Major kMajor, Swizzle kSwizzle>
__device__ uint64_t tile_desc(ptx::SmemAddr tile, int k, int rows) {
  const uint32_t start = tile.value + tile_offset(kMajor, kSwizzle, 0, k, rows);
  if constexpr (kMajor == Major::MN) {
    static_assert(kSwizzle == Swizzle::B128);
    return make_smem_desc(start, kMnMajorChunkBytes, kEightRowsBytes, kSwizzle);
  } else if constexpr (kSwizzle == Swizzle::None) {
    return make_smem_desc(start, static_cast<uint32_t>(rows * kCoreRowBytes), 8 * kCoreRowBytes, kSwizzle);
  } else {
    return make_smem_desc(start, 16, 8 * swizzle_span_bytes(kSwizzle), kSwizzle);
  }
}

// Where a thread's fragments of A and D begin: rows row and row + 8, columns column and column + 1, and on in steps of 8.
__device__ int fragment_row(int thread) { return thread / 32 * 16 + thread % 32 / 4; }
__device__ int fragment_column(int thread) { return thread % 4 * 2; }

constexpr int kTileAVectors = kTileABytes / 16;
constexpr int kTileBVectors = kTileBBytes / 16;

// A and B as wgmma reads them. The host lays them out, so that a kernel copies them alike for all variants.
struct alignas(1024) TileStorage {
  uint4 a[kTileAVectors];
  uint4 b[kTileBVectors];
};

// How one product is computed: what a wrapper's template arguments can be, but for kN and the type.
struct Variant {
  const char* name;
  SourceA source_a;
  Major major_a;
  Major major_b;
  int scale_a;
  int scale_b;
  Swizzle swizzle;
};

struct OperandVariants {
  static constexpr Variant kTable[] = {
      {"SS A:K B:K", SourceA::Smem, Major::K, Major::K, 1, 1, Swizzle::B128},
      {"SS A:K B:MN, -A", SourceA::Smem, Major::K, Major::MN, -1, 1, Swizzle::B128},
      {"SS A:MN B:K, -B", SourceA::Smem, Major::MN, Major::K, 1, -1, Swizzle::B128},
      {"SS A:MN B:MN, -A -B", SourceA::Smem, Major::MN, Major::MN, -1, -1, Swizzle::B128},
      {"RS B:K", SourceA::Registers, Major::K, Major::K, 1, 1, Swizzle::B128},
      {"RS B:MN, -A", SourceA::Registers, Major::K, Major::MN, -1, 1, Swizzle::B128},
      {"RS B:K, -B", SourceA::Registers, Major::K, Major::K, 1, -1, Swizzle::B128},
  };
};

struct SwizzleVariants {
  static constexpr Variant kTable[] = {
      {"no swizzle", SourceA::Smem, Major::K, Major::K, 1, 1, Swizzle::None},
      {"32B", SourceA::Smem, Major::K, Major::K, 1, 1, Swizzle::B32},
      {"64B", SourceA::Smem, Major::K, Major::K, 1, 1, Swizzle::B64},
      {"128B", SourceA::Smem, Major::K, Major::K, 1, 1, Swizzle::B128},
  };
};

__device__ void load_tiles(const uint4* operands, int n, TileStorage& tiles) {
  constexpr int kPanelVectors = kMnMajorChunkBytes / 16;
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < kTileAVectors; i += 128) tiles.a[i] = operands[i];
  for (int i = thread; i < (n + 63) / 64 * kPanelVectors; i += 128) tiles.b[i] = operands[kTileAVectors + i];
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();
}

// accum += or = (kScaleA * A) * (kScaleB * B)^T from shared memory, or with A from registers and global memory, with one
// warpgroup.
template <int kN, typename T, const Variant& kVariant>
__device__ __forceinline__ void multiply(const T* a, const TileStorage& tiles, float (&accum)[kN / 2],
                                         int scale_d) {
  constexpr Swizzle kSwizzle = kVariant.swizzle;
  constexpr Major kMajorA = kVariant.major_a;
  constexpr Major kMajorB = kVariant.major_b;
  constexpr int kScaleA = kVariant.scale_a;
  constexpr int kScaleB = kVariant.scale_b;
  const int thread = static_cast<int>(threadIdx.x);

  constexpr int kSteps = depth_of(kN) / kInstructionK;
  uint32_t fragment_a[kSteps][4];
  if constexpr (kVariant.source_a == SourceA::Registers) {
#pragma unroll
    for (int i = 0; i < kSteps * 4; ++i) {
      const int row = fragment_row(thread) + i % 2 * 8;
      const int k = i / 4 * kInstructionK + i % 4 / 2 * 8 + fragment_column(thread);
      fragment_a[i / 4][i % 4] = *reinterpret_cast<const uint32_t*>(&a[row * kK + k]);
      ptx::wgmma_fence_operand(fragment_a[i / 4][i % 4]);
    }
  }

  const ptx::SmemAddr smem_a = ptx::smem_addr(tiles.a);
  const ptx::SmemAddr smem_b = ptx::smem_addr(tiles.b);
  ptx::wgmma_fence_operand(accum);
  ptx::wgmma_fence();
#pragma unroll
  for (int k = 0; k < depth_of(kN); k += kInstructionK) {
    const int accumulate = k == 0 ? scale_d : 1;
    const uint64_t desc_b = tile_desc<kMajorB, kSwizzle>(smem_b, k, kN);
    if constexpr (kVariant.source_a == SourceA::Registers) {
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
}

template <int kN, typename T, typename Variants, std::size_t... kIndex>
__device__ __forceinline__ void multiply_by_variant(std::size_t variant, const T* a, const TileStorage& tiles,
                                                    float (&accum)[kN / 2], int scale_d,
                                                    std::index_sequence<kIndex...>) {
  ((variant == kIndex ? multiply<kN, T, Variants::kTable[kIndex]>(a, tiles, accum, scale_d) : void()), ...);
}

// d_out[64, kN] = (scale_d != 0 ? d_in : 0) + the product a[64, depth] * b[kN, depth]^T by Variants::kTable[variant]. operands holds A
// and B as this variant reads them. One kernel for all variants: the compilers take their time for each.
template <int kN, typename T, typename Variants>
__global__ void __launch_bounds__(128, 1) wgmma_kernel(std::size_t variant, const T* a, const uint4* operands,
                                                       const float* d_in, float* d_out, int scale_d) {
  const int thread = static_cast<int>(threadIdx.x);
  const int row = fragment_row(thread);
  const int column = fragment_column(thread);
  float accum[kN / 2];
#pragma unroll
  for (int i = 0; i < kN / 2; ++i) {
    accum[i] = d_in[(row + i / 2 % 2 * 8) * kN + i / 4 * 8 + column + i % 2];
  }
  TileStorage& tiles = dynamic_shared_storage<TileStorage>();
  load_tiles(operands, kN, tiles);
  multiply_by_variant<kN, T, Variants>(variant, a, tiles, accum, scale_d,
                                       std::make_index_sequence<std::extent_v<decltype(Variants::kTable)>>());
#pragma unroll
  for (int i = 0; i < kN / 2; ++i) {
    d_out[(row + i / 2 % 2 * 8) * kN + i / 4 * 8 + column + i % 2] = accum[i];
  }
}

template <typename T>
using Kernel = void (*)(std::size_t variant, const T* a, const uint4* operands, const float* d_in,
                        float* d_out, int scale_d);

struct KernelsOfN {
  int n;
  Kernel<__nv_bfloat16> bf16;  // or nullptr
  Kernel<__half> f16;          // or nullptr
};

// A generator writes the wrappers of all N alike, and the compilers take their time for each kernel.
template <int kN>
KernelsOfN kernels_of_n() {
  constexpr bool kIsWholeAtoms = kN % 64 == 0;
  KernelsOfN kernels{.n = kN, .bf16 = nullptr, .f16 = nullptr};
  if constexpr (kN % 16 != 0 || kIsWholeAtoms)
    kernels.bf16 = wgmma_kernel<kN, __nv_bfloat16, OperandVariants>;
  if constexpr (kN % 16 == 0) kernels.f16 = wgmma_kernel<kN, __half, OperandVariants>;
  return kernels;
}

template <std::size_t... kIndex>
std::vector<KernelsOfN> all_kernels(std::index_sequence<kIndex...>) {
  return {kernels_of_n<static_cast<int>(kIndex + 1) * 8>()...};
}

// Asymmetric in its two indices, so that transposed or shifted tiles do not pass.
int a_value(int m, int k) { return (m * 7 + k * 3) % 9 - 4; }
int b_value(int n, int k) { return (n * 5 + k * 11) % 7 - 3; }
int d_value(int m, int n) { return (m * 13 + n * 3) % 31 - 15; }

class PtxWgmma : public testing::TestWithParam<KernelsOfN> {};

// A matrix of `rows` values of m or n, to where wgmma reads it.
template <typename T>
void lay_out(const T* matrix, Major major, Swizzle swizzle, int rows, uint4* tile) {
  for (int i = 0; i < rows * kK; ++i) {
    const uint32_t offset = tile_offset(major, swizzle, i / kK, i % kK, rows);
    std::memcpy(reinterpret_cast<char*>(tile) + swizzle_offset(offset, swizzle), &matrix[i], sizeof(T));
  }
}

template <typename T>
void check_variants(int n, Kernel<T> kernel, std::span<const Variant> variants) {
  ManagedArray<T> a(kM * kK);
  ManagedArray<T> b(static_cast<std::size_t>(n) * kK);
  ManagedArray<float> d_in(static_cast<std::size_t>(kM) * n);
  ManagedArray<float> d_out(static_cast<std::size_t>(kM) * n);
  ManagedArray<uint4> operands(kTileAVectors + kTileBVectors);
  ASSERT_TRUE(a.data() && b.data() && d_in.data() && d_out.data() && operands.data());
  for (int i = 0; i < kM * kK; ++i) a[i] = T(static_cast<float>(a_value(i / kK, i % kK)));
  for (int i = 0; i < n * kK; ++i) b[i] = T(static_cast<float>(b_value(i / kK, i % kK)));
  std::vector<int> product(static_cast<std::size_t>(kM) * n);
  for (int i = 0; i < kM * n; ++i) {
    for (int k = 0; k < depth_of(n); ++k) product[i] += a_value(i / n, k) * b_value(i % n, k);
  }

  for (std::size_t number = 0; number < variants.size(); ++number) {
    const Variant& variant = variants[number];
    lay_out(a.data(), variant.major_a, variant.swizzle, kM, operands.data());
    lay_out(b.data(), variant.major_b, variant.swizzle, n, operands.data() + kTileAVectors);
    for (int scale_d : {0, 1, 2}) {  // any value but 0 accumulates
      SCOPED_TRACE(std::string(std::is_same_v<T, __half> ? "f16 " : "bf16 ") + variant.name + ", scale_d " +
                   std::to_string(scale_d));
      for (int i = 0; i < kM * n; ++i) {
        // With scale_d = 0 the old accumulators must not be read at all: NaN would survive a multiplication by 0.
        d_in[i] = scale_d == 0 ? std::nanf("") : static_cast<float>(d_value(i / n, i % n));
        d_out[i] = std::nanf("");
      }
      run_kernel(kernel, 128, sizeof(TileStorage), number, a.data(), operands.data(), d_in.data(),
                 d_out.data(), scale_d);
      int wrong = 0;
      std::string first_wrong;
      for (int i = 0; i < kM * n; ++i) {
        const int expected =
            variant.scale_a * variant.scale_b * product[i] + (scale_d == 0 ? 0 : d_value(i / n, i % n));
        if (!(d_out[i] == static_cast<float>(expected)) && wrong++ == 0) {
          first_wrong = "first at (" + std::to_string(i / n) + ", " + std::to_string(i % n) +
                        "): " + std::to_string(d_out[i]) + " instead of " + std::to_string(expected);
        }
      }
      EXPECT_EQ(wrong, 0) << "wrong elements of " << kM * n << ", " << first_wrong;
    }
  }
}

TEST(PtxWgmmaDescriptor, ReadsEverySwizzleMode) {
  HG_SKIP_WITHOUT_HOPPER();
  check_variants<__nv_bfloat16>(64, wgmma_kernel<64, __nv_bfloat16, SwizzleVariants>,
                                SwizzleVariants::kTable);
}

TEST_P(PtxWgmma, MatchesCpuProduct) {
  HG_SKIP_WITHOUT_HOPPER();
  const auto [n, bf16, f16] = GetParam();
  if (bf16 != nullptr) check_variants<__nv_bfloat16>(n, bf16, OperandVariants::kTable);
  if (f16 != nullptr) check_variants<__half>(n, f16, OperandVariants::kTable);
}

INSTANTIATE_TEST_SUITE_P(EveryN, PtxWgmma,
                         testing::ValuesIn(all_kernels(std::make_index_sequence<kMaxN / 8>())),
                         [](const testing::TestParamInfo<KernelsOfN>& test) {
                           return "m64n" + std::to_string(test.param.n) + "k16";
                         });

}  // namespace
}  // namespace hopper_gemm
