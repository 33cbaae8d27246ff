// What TMA lays into shared memory must be what smem_descriptor.hpp says it is.

#include <cuda_bf16.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/device_buffer.hpp"
#include "device/device_common.cuh"
#include "device/launch.hpp"
#include "device/smem_descriptor.hpp"
#include "device/tensor_map.hpp"
#include "gpu_test_support.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/tma.cuh"
#include "require_hopper.hpp"

namespace hopper_gemm {
namespace {

constexpr int kBoxRows = 16;
constexpr int kThreads = 128;

struct alignas(1024) BoxStorage {
  std::uint16_t tile[kBoxRows * 64];
  std::uint64_t full_barrier;
};

// Loads one box and copies shared memory out as it lies; `timed_out` reports a copy that never completed.
__global__ void load_box_kernel(const __grid_constant__ TensorMap tensor_map, int col, int row, int box_bytes,
                                std::uint16_t* out, int* timed_out) {
  using namespace ptx;
  BoxStorage& smem = dynamic_shared_storage<BoxStorage>();
  const SmemAddr bar = smem_addr(&smem.full_barrier);
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init_release_cluster();
    cp_async_bulk_tensor_g2s(smem_addr(smem.tile), &tensor_map, {col, row}, bar);
    mbarrier_arrive_expect_tx(bar, static_cast<std::uint32_t>(box_bytes));
  }
  __syncthreads();
  if (!wait_parity(bar, 0)) {
    *timed_out = 1;
    return;
  }
  for (int i = static_cast<int>(threadIdx.x); i < box_bytes / 2; i += kThreads) out[i] = smem.tile[i];
}

struct BoxCase {
  Swizzle swizzle;
  int box_cols;
  int row;  // of the box in the tensor
  int col;
};

class TmaBox : public testing::TestWithParam<BoxCase> {};

TEST_P(TmaBox, LandsSwizzledWithZerosOutside) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr std::int64_t kRows = 37;
  constexpr std::int64_t kCols = 92;
  constexpr std::int64_t kPitch = 96;
  const auto [swizzle, box_cols, box_row, box_col] = GetParam();

  std::vector<std::uint16_t> host(kRows * kPitch);
  for (std::size_t i = 0; i < host.size(); ++i) {
    host[i] = i % kPitch < kCols ? static_cast<std::uint16_t>(i + 1) : std::uint16_t{0xFFFF};
  }
  DeviceBuffer<std::uint16_t> tensor;
  DeviceBuffer<std::uint16_t> out;
  DeviceBuffer<int> timed_out;
  ASSERT_TRUE(tensor.allocate(kRows * kPitch).ok());
  ASSERT_TRUE(out.allocate(kBoxRows * box_cols).ok());
  ASSERT_TRUE(timed_out.allocate(1).ok());
  ASSERT_EQ(cudaMemcpy(tensor.data(), host.data(), tensor.size_bytes(), cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemset(timed_out.data(), 0, sizeof(int)), cudaSuccess);

  const std::array<std::int64_t, 2> extents = {kCols, kRows};
  const std::array<std::int64_t, 1> strides_bytes = {kPitch * 2};
  const std::array<int, 2> box = {box_cols, kBoxRows};
  TensorMapSpec spec;
  spec.base = tensor.data();
  spec.extents_elems = extents;
  spec.strides_bytes = strides_bytes;
  spec.box_elems = box;
  spec.swizzle = swizzle;
  TensorMap tensor_map;
  const Status encoded = encode_tensor_map(spec, &tensor_map);
  ASSERT_TRUE(encoded.ok()) << encoded.message();
  const int box_bytes = kBoxRows * box_cols * 2;
  const Status launched =
      launch_kernel(load_box_kernel, dim3(1), kThreads, sizeof(BoxStorage), nullptr, tensor_map, box_col,
                    box_row, box_bytes, out.data(), timed_out.data());
  ASSERT_TRUE(launched.ok()) << launched.message();
  std::vector<std::uint16_t> tile(static_cast<std::size_t>(out.size()));
  int hung = 0;
  ASSERT_EQ(cudaMemcpy(tile.data(), out.data(), out.size_bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(&hung, timed_out.data(), sizeof(hung), cudaMemcpyDeviceToHost), cudaSuccess);
  ASSERT_EQ(hung, 0) << "the box's bytes never arrived";

  for (int row = 0; row < kBoxRows; ++row) {
    for (int col = 0; col < box_cols; ++col) {
      const auto offset = static_cast<std::uint32_t>((row * box_cols + col) * 2);
      const std::int64_t tensor_row = box_row + row;
      const std::int64_t tensor_col = box_col + col;
      const bool inside = tensor_row >= 0 && tensor_row < kRows && tensor_col >= 0 && tensor_col < kCols;
      const std::uint16_t expected =
          inside ? host[static_cast<std::size_t>(tensor_row * kPitch + tensor_col)] : std::uint16_t{0};
      ASSERT_EQ(tile[swizzle_offset(offset, swizzle) / 2], expected) << "row " << row << " column " << col;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Swizzles, TmaBox,
                         testing::Values(BoxCase{Swizzle::B128, 64, 0, 0}, BoxCase{Swizzle::B64, 32, 0, 0},
                                         BoxCase{Swizzle::B32, 16, 0, 0}, BoxCase{Swizzle::None, 64, 0, 0},
                                         BoxCase{Swizzle::B128, 64, 32, 64},
                                         BoxCase{Swizzle::B128, 64, -3, -8},
                                         BoxCase{Swizzle::B128, 64, 5, 40},
                                         BoxCase{Swizzle::B64, 32, 30, 80}),
                         [](const testing::TestParamInfo<BoxCase>& test) {
                           return "case" + std::to_string(test.index) + "_span" +
                                  std::to_string(swizzle_span_bytes(test.param.swizzle));
                         });

// Two rules that ptx/tma.cuh states and the manual does not. Breaking them ends the context, so another process
// does.

__global__ void store_box_kernel(const __grid_constant__ TensorMap tensor_map, int col, int row) {
  using namespace ptx;
  BoxStorage& smem = dynamic_shared_storage<BoxStorage>();
  for (std::uint16_t& element : smem.tile) element = 0;
  fence_proxy_async_shared_cta();
  cp_async_bulk_tensor_s2g(&tensor_map, {col, row}, smem_addr(smem.tile));
  cp_async_bulk_commit_group();
  cp_async_bulk_wait_group<0>();
}

enum class Direction { Load, Store };

[[noreturn]] void move_box_and_exit(Direction direction, int col, int row) {
  constexpr int kRows = 64;
  constexpr int kCols = 128;
  DeviceBuffer<std::uint16_t> tensor;
  DeviceBuffer<std::uint16_t> out;
  DeviceBuffer<int> timed_out;
  TensorMap tensor_map;
  const auto require = [](const Status& status) {
    if (!status.ok()) std::_Exit(4);
  };
  require(tensor.allocate(kRows * kCols));
  require(out.allocate(kBoxRows * 64));
  require(timed_out.allocate(1));
  require(make_tensor_map_2d("tensor", tensor.data(), kRows, kCols, kCols, kBoxRows, 64, &tensor_map));
  const Status launched =
      direction == Direction::Load
          ? launch_kernel(load_box_kernel, dim3(1), kThreads, sizeof(BoxStorage), nullptr, tensor_map, col,
                          row, kBoxRows * 64 * 2, out.data(), timed_out.data())
          : launch_kernel(store_box_kernel, dim3(1), 1, sizeof(BoxStorage), nullptr, tensor_map, col, row);
  std::fprintf(stderr, "%s\n",
               launched.ok() ? cudaGetErrorName(cudaDeviceSynchronize()) : launched.message().c_str());
  std::_Exit(3);
}

// What the GPU calls it, and the emulator, whose launches fail at once.
constexpr const char* kRefused = "cudaErrorIllegalInstruction|a multiple of 16 bytes|the negative coordinate";

struct MoveCase {
  Direction direction;
  int col;
  int row;
  const char* error;
};

class TmaCoordinatesDeathTest : public testing::TestWithParam<MoveCase> {};

TEST_P(TmaCoordinatesDeathTest, EndAsDocumented) {
  HG_SKIP_WITHOUT_HOPPER();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto [direction, col, row, error] = GetParam();
  EXPECT_EXIT(move_box_and_exit(direction, col, row), testing::ExitedWithCode(3), error);
}

INSTANTIATE_TEST_SUITE_P(Rules, TmaCoordinatesDeathTest,
                         testing::Values(MoveCase{Direction::Load, 8, 0, "cudaSuccess"},
                                         MoveCase{Direction::Load, 4, 0, kRefused},
                                         MoveCase{Direction::Load, -8, -3, "cudaSuccess"},
                                         MoveCase{Direction::Store, 8, 60, "cudaSuccess"},
                                         MoveCase{Direction::Store, 4, 0, kRefused},
                                         MoveCase{Direction::Store, -8, 0, kRefused},
                                         MoveCase{Direction::Store, 0, -1, kRefused}));

}  // namespace
}  // namespace hopper_gemm
