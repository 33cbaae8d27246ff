// The epilogue's ways of bringing an accumulator fragment out of registers, each by itself: every element
// must land where TMA, or D, expects it.

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <ptx/special_registers.cuh>
#include <string>

#include "common/gemm_shape.hpp"
#include "device/device_common.cuh"
#include "device/epilogue.cuh"
#include "device/smem_descriptor.hpp"
#include "gpu_test_support.cuh"
#include "hopper_gemm/host_device.hpp"
#include "require_hopper.hpp"

namespace hopper_gemm {
namespace {

constexpr int kTileM = 16;  // rows of a warp's fragment
constexpr int kTileN = 64;
constexpr int kTileElems = kTileM * kTileN;
constexpr std::uint16_t kUntouched = 0xFFFF;

/// bf16 holds every integer only up to 256, so that it takes two passes to name an element: one of values
/// that differ within each row, and one of row numbers.
enum class Values { DifferInEachRow, NumberOfTheRow };
constexpr Values kAllValues[] = {Values::DifferInEachRow, Values::NumberOfTheRow};

HG_HOST_DEVICE constexpr float element_value(Values values, int row, int col) {
  constexpr int kLargestPrime = 251;  // below 256
  return static_cast<float>(values == Values::NumberOfTheRow ? row % kLargestPrime
                                                             : (row * kTileN + col) % kLargestPrime);
}

/// The bits of a bf16 that holds `value` exactly.
std::uint16_t bf16_bits(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}

/// A lane's registers of a warp's fragment of kN columns, whose first row and column are `row` and `col`, as
/// the PTX ISA lays them out for the D of wgmma.
template <int kN>
__device__ __forceinline__ void fill_fragment(float (&fragment)[kN / 2], Values values, int row, int col,
                                              int lane) {
#pragma unroll
  for (int i = 0; i < kN / 2; ++i) {
    const int element_row = row + lane / 4 + i / 2 % 2 * 8;
    const int element_col = col + i / 4 * 8 + lane % 4 * 2 + i % 2;
    fragment[i] = element_value(values, element_row, element_col);
  }
}

struct alignas(1024) StagingStorage {
  __nv_bfloat16 tile[kTileElems];
};

// One warp stages one tile and copies shared memory out as it lies. Poison goes in and the tile goes out in
// consecutive words, without bank conflicts: those that a profiler counts are the staging's own.
template <typename Stage>
__device__ __forceinline__ void stage_one_tile(std::uint32_t* out, Values values, Stage stage) {
  constexpr int kWordsPerLane = kTileElems / 2 / kWarpThreads;
  StagingStorage& smem = dynamic_shared_storage<StagingStorage>();
  auto* const words = reinterpret_cast<std::uint32_t*>(smem.tile);
  const int lane = static_cast<int>(ptx::laneid());
#pragma unroll
  for (int i = 0; i < kWordsPerLane; ++i) words[i * kWarpThreads + lane] = 0xFFFF'FFFF;
  float fragment[kTileN / 2];
  fill_fragment<kTileN>(fragment, values, 0, 0, lane);
  __syncwarp();
  stage(fragment, smem.tile, lane);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kWordsPerLane; ++i) out[i * kWarpThreads + lane] = words[i * kWarpThreads + lane];
}

__global__ void __launch_bounds__(kWarpThreads) stage_plain_kernel(std::uint32_t* out, Values values) {
  stage_one_tile(out, values, [](const float* fragment, __nv_bfloat16* staging, int lane) {
    stage_fragment<kTileN>(fragment, staging, lane);
  });
}

__global__ void __launch_bounds__(kWarpThreads) stage_swizzled_kernel(std::uint32_t* out, Values values) {
  stage_one_tile(out, values, [](const float* fragment, __nv_bfloat16* staging, int lane) {
    stage_fragment_swizzled<__nv_bfloat16, kTileN>(fragment, ptx::smem_addr(staging), 0, lane);
  });
}

void check_staging(void (*kernel)(std::uint32_t*, Values), Swizzle swizzle) {
  for (const Values values : kAllValues) {
    ManagedArray<std::uint32_t> out(kTileElems / 2);
    ASSERT_NE(out.data(), nullptr);
    run_kernel(kernel, kWarpThreads, sizeof(StagingStorage), out.data(), values);
    for (int row = 0; row < kTileM; ++row) {
      for (int col = 0; col < kTileN; ++col) {
        const auto offset = static_cast<std::uint32_t>((row * kTileN + col) * 2);
        const std::uint32_t swizzled = swizzle_offset(offset, swizzle);
        const std::uint32_t word = out[swizzled / 4];
        const auto staged = static_cast<std::uint16_t>(word >> (swizzled % 4 * 8));
        ASSERT_EQ(staged, bf16_bits(element_value(values, row, col))) << "row " << row << " column " << col;
      }
    }
  }
}

TEST(Epilogue, StagesAFragmentRowByRow) {
  HG_SKIP_WITHOUT_HOPPER();
  check_staging(stage_plain_kernel, Swizzle::None);
}

TEST(Epilogue, StagesAFragmentAsTmaUnswizzlesIt) {
  HG_SKIP_WITHOUT_HOPPER();
  check_staging(stage_swizzled_kernel, Swizzle::B128);
}

constexpr int kFragmentM = 64;  // rows of a warpgroup's fragment

template <StoreHint kHint>
__global__ void __launch_bounds__(kWarpgroupThreads)
    store_accumulator_kernel(__nv_bfloat16* d, std::int64_t ldd, int m0, int n0, GemmShape shape,
                             Values values) {
  const int thread = static_cast<int>(threadIdx.x);
  float accum[kTileN / 2];
  fill_fragment<kTileN>(accum, values, m0 + thread / kWarpThreads * kTileM, n0, thread % kWarpThreads);
  store_accumulator<kTileN, kHint>(accum, d, ldd, m0, n0, shape, thread);
}

struct StoreCase {
  int m;  // extents of D
  int n;
  int m0;  // where the fragment starts
  int n0;
};

constexpr StoreCase kStoreCases[] = {
    {64, 64, 0, 0},                         // the fragment is D
    {192, 192, 64, 64},                     // in the middle
    {100, 103, 64, 64},                     // over the lower and the right edge, an odd number of columns
    {50, 37, 0, 0},     {1, 1, 0, 0},       // D is smaller than the fragment
    {72, 65, 64, 64},   {65, 128, 64, 64},  // one column, one row
    {64, 64, 64, 0},    {64, 64, 0, 64},    // below D, right of D
};

template <StoreHint kHint>
void check_store_accumulator() {
  constexpr int kRows = 192;
  constexpr int kPitch = 200;
  constexpr int kGuard = 64 * kPitch;  // elements before and behind
  for (const StoreCase& test : kStoreCases) {
    for (const Values values : kAllValues) {
      SCOPED_TRACE("D " + std::to_string(test.m) + "x" + std::to_string(test.n) + ", the fragment at " +
                   std::to_string(test.m0) + ", " + std::to_string(test.n0));
      ManagedArray<std::uint16_t> memory(kGuard + kRows * kPitch + kGuard);
      ASSERT_NE(memory.data(), nullptr);
      for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = kUntouched;
      auto* const d = reinterpret_cast<__nv_bfloat16*>(memory.data() + kGuard);
      run_kernel(store_accumulator_kernel<kHint>, kWarpgroupThreads, 0, d, kPitch, test.m0, test.n0,
                 GemmShape{.m = test.m, .n = test.n, .k = 1}, values);
      for (int i = 0; i < static_cast<int>(memory.size()); ++i) {
        const int row = (i - kGuard) / kPitch;
        const int col = (i - kGuard) % kPitch;
        const bool inside = i >= kGuard && row >= test.m0 && row < test.m0 + kFragmentM && row < test.m &&
                            col >= test.n0 && col < test.n0 + kTileN && col < test.n;
        const std::uint16_t expected = inside ? bf16_bits(element_value(values, row, col)) : kUntouched;
        ASSERT_EQ(memory[static_cast<std::size_t>(i)], expected) << "D[" << row << ", " << col << "]";
      }
    }
  }
}

TEST(Epilogue, StoresAnAccumulatorInsideD) {
  HG_SKIP_WITHOUT_HOPPER();
  check_store_accumulator<StoreHint::None>();
}

TEST(Epilogue, StoresAnAccumulatorInsideDToEvictFirst) {
  HG_SKIP_WITHOUT_HOPPER();
  check_store_accumulator<StoreHint::EvictFirst>();
}

}  // namespace
}  // namespace hopper_gemm
