// What the wrappers of ptx/ promise that GPUs from sm_80 on have, tried on the GPU: matrix loads and products, cp.async
// with its sizes, zeros, groups and mbarriers, and CUDA's own warp matrix functions, which the ladder starts from.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <mma.h>

#include <cstddef>
#include <cstdint>
#include <ptx/address.cuh>
#include <ptx/cp_async.cuh>
#include <ptx/ldmatrix.cuh>
#include <ptx/mbarrier.cuh>
#include <ptx/mma.cuh>
#include <ptx/special_registers.cuh>
#include <string>
#include <type_traits>

#include "gpu_test_support.cuh"
#include "require_hopper.hpp"

namespace hopper_gemm {
namespace {

using ptx::SmemAddr;

// ------------------------------------------------------------------------------------------ ldmatrix

constexpr int kMatrixElems = 8;  // extent of a matrix: 16 bytes
constexpr int kMaxMatrices = 4;
constexpr int kSlotElems = 24;  // a row of a matrix, and twice as much that must not be loaded

// Lanes address the rows from last to first, so that it is seen whose address was taken.
constexpr __host__ __device__ int slot_of_lane(int lane) { return 31 - lane; }

constexpr __host__ __device__ uint16_t matrix_value(int matrix, int row, int col) {
  return static_cast<uint16_t>(1 + (matrix * kMatrixElems + row) * kMatrixElems + col);
}

enum class Transposed { No, Yes };

struct alignas(16) SlotStorage {
  uint16_t slots[32 * kSlotElems];
};

template <int kMatrices, Transposed kTransposed>
__global__ void ldmatrix_kernel(uint32_t* out) {
  auto& slots = dynamic_shared_storage<SlotStorage>().slots;
  const int lane = static_cast<int>(ptx::laneid());
  for (int col = 0; col < kSlotElems; ++col) {
    const bool inside = lane < kMatrices * kMatrixElems && col < kMatrixElems;
    slots[slot_of_lane(lane) * kSlotElems + col] =
        inside ? matrix_value(lane / kMatrixElems, lane % kMatrixElems, col) : uint16_t{0};
  }
  __syncwarp();
  const SmemAddr row = ptx::smem_addr(slots + slot_of_lane(lane) * kSlotElems);
  // Where a lane's address is not used it may be any.
  const SmemAddr given = lane < kMatrices * kMatrixElems ? row : SmemAddr{0xFFFFFFF1};
  uint32_t matrices[kMatrices];
  if constexpr (kTransposed == Transposed::Yes) {
    ptx::ldmatrix_trans(matrices, given);
  } else {
    ptx::ldmatrix(matrices, given);
  }
  for (int i = 0; i < kMatrices; ++i) out[lane * kMatrices + i] = matrices[i];
}

template <int kMatrices, Transposed kTransposed>
void check_ldmatrix() {
  SCOPED_TRACE(std::to_string(kMatrices) + " matrices");
  ManagedArray<uint32_t> out(32 * kMaxMatrices);
  ASSERT_NE(out.data(), nullptr);
  run_kernel(ldmatrix_kernel<kMatrices, kTransposed>, 32, sizeof(SlotStorage), out.data());
  for (int lane = 0; lane < 32; ++lane) {
    for (int matrix = 0; matrix < kMatrices; ++matrix) {
      const int line = lane / 4;
      const int first = lane % 4 * 2;
      const bool transposed = kTransposed == Transposed::Yes;
      const uint32_t low = transposed ? matrix_value(matrix, first, line) : matrix_value(matrix, line, first);
      const uint32_t high =
          transposed ? matrix_value(matrix, first + 1, line) : matrix_value(matrix, line, first + 1);
      EXPECT_EQ(out[static_cast<std::size_t>(lane * kMatrices + matrix)], low | high << 16)
          << "lane " << lane << ", matrix " << matrix;
    }
  }
}

TEST(PtxLdmatrix, LoadsRowsFromTheLanesAddresses) {
  HG_SKIP_WITHOUT_HOPPER();
  check_ldmatrix<1, Transposed::No>();
  check_ldmatrix<2, Transposed::No>();
  check_ldmatrix<4, Transposed::No>();
}

TEST(PtxLdmatrix, TransposesEachMatrix) {
  HG_SKIP_WITHOUT_HOPPER();
  check_ldmatrix<1, Transposed::Yes>();
  check_ldmatrix<2, Transposed::Yes>();
  check_ldmatrix<4, Transposed::Yes>();
}

// ------------------------------------------------------------------------------------------ mma

// Integers that differ by place, so small that bf16, half and every sum hold them.
constexpr __host__ __device__ int a_value(int row, int k) { return (row * 7 + k * 3) % 17 - 8; }
constexpr __host__ __device__ int b_value(int k, int col) { return (k * 5 + col * 11) % 13 - 6; }
constexpr __host__ __device__ int d_value(int row, int col) { return row * 16 + col; }

template <typename T>
__device__ T from_int(int value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(static_cast<float>(value));
  } else {
    return __float2bfloat16_rn(static_cast<float>(value));
  }
}

template <typename T>
__device__ uint32_t pair_of(int low, int high) {
  union {
    T elements[2];
    uint32_t bits;
  } pair = {{from_int<T>(low), from_int<T>(high)}};
  return pair.bits;
}

// D = A * B + a number of each place, by the fragment layout that the wrapper's comment gives.
template <typename T, int kDepth>
__global__ void mma_kernel(float* d) {
  const int lane = static_cast<int>(ptx::laneid());
  const int r = lane / 4;
  const int c = lane % 4 * 2;
  uint32_t a[kDepth / 4];
  uint32_t b[kDepth / 8];
  for (int i = 0; i < kDepth / 4; ++i) {
    const int row = r + i % 2 * 8;
    const int k = c + i / 2 * 8;
    a[i] = pair_of<T>(a_value(row, k), a_value(row, k + 1));
  }
  for (int i = 0; i < kDepth / 8; ++i) {
    const int k = c + i * 8;
    b[i] = pair_of<T>(b_value(k, r), b_value(k + 1, r));
  }
  float accum[4];
  for (int i = 0; i < 4; ++i) accum[i] = static_cast<float>(d_value(r + i / 2 * 8, c + i % 2));
  if constexpr (kDepth == 16) {
    ptx::mma_m16n8k16<T>(accum, a, b);
  } else {
    ptx::mma_m16n8k8<T>(accum, a, b);
  }
  for (int i = 0; i < 4; ++i) d[(r + i / 2 * 8) * 8 + c + i % 2] = accum[i];
}

int expected_product(int row, int col, int depth) {
  int sum = 0;
  for (int k = 0; k < depth; ++k) sum += a_value(row, k) * b_value(k, col);
  return sum;
}

template <typename T, int kDepth>
void check_mma() {
  ManagedArray<float> d(16 * 8);
  ASSERT_NE(d.data(), nullptr);
  run_kernel(mma_kernel<T, kDepth>, 32, 0, d.data());
  for (int row = 0; row < 16; ++row) {
    for (int col = 0; col < 8; ++col) {
      EXPECT_EQ(d[static_cast<std::size_t>(row * 8 + col)],
                static_cast<float>(d_value(row, col) + expected_product(row, col, kDepth)))
          << "at [" << row << ", " << col << "]";
    }
  }
}

TEST(PtxMma, M16N8K16AddsTheProductOfItsFragments) {
  HG_SKIP_WITHOUT_HOPPER();
  check_mma<__nv_bfloat16, 16>();
  check_mma<__half, 16>();
}

TEST(PtxMma, M16N8K8AddsTheProductOfItsFragments) {
  HG_SKIP_WITHOUT_HOPPER();
  check_mma<__nv_bfloat16, 8>();
  check_mma<__half, 8>();
}

// ------------------------------------------------------------------------------------------ ldmatrix and mma

template <typename T>
struct alignas(16) OperandStorage {
  T a[16 * 16];    // [M, K]
  T b_nk[8 * 16];  // [N, K]
  T b_kn[16 * 8];  // [K, N]
};

enum class OperandB { KContiguous, NContiguous };

// The fragments as ldmatrix gives them, by the lanes' addresses that its file names.
template <typename T, OperandB kOperandB>
__global__ void loaded_mma_kernel(float* d) {
  OperandStorage<T>& storage = dynamic_shared_storage<OperandStorage<T>>();
  const int lane = static_cast<int>(ptx::laneid());
  for (int i = lane; i < 16 * 16; i += 32) storage.a[i] = from_int<T>(a_value(i / 16, i % 16));
  for (int i = lane; i < 8 * 16; i += 32) storage.b_nk[i] = from_int<T>(b_value(i % 16, i / 16));
  for (int i = lane; i < 16 * 8; i += 32) storage.b_kn[i] = from_int<T>(b_value(i / 8, i % 8));
  __syncwarp();
  uint32_t a[4];
  uint32_t b[2];
  ptx::ldmatrix(a, ptx::smem_addr(storage.a + lane % 16 * 16 + lane / 16 * 8));
  if constexpr (kOperandB == OperandB::KContiguous) {
    ptx::ldmatrix(b, ptx::smem_addr(storage.b_nk + lane % 8 * 16 + lane / 8 % 2 * 8));
  } else {
    ptx::ldmatrix_trans(b, ptx::smem_addr(storage.b_kn + lane % 16 * 8));
  }
  float accum[4] = {};
  ptx::mma_m16n8k16<T>(accum, a, b);
  for (int i = 0; i < 4; ++i) d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = accum[i];
}

template <typename T, OperandB kOperandB>
void check_loaded_mma() {
  ManagedArray<float> d(16 * 8);
  ASSERT_NE(d.data(), nullptr);
  run_kernel(loaded_mma_kernel<T, kOperandB>, 32, sizeof(OperandStorage<T>), d.data());
  for (int row = 0; row < 16; ++row) {
    for (int col = 0; col < 8; ++col) {
      EXPECT_EQ(d[static_cast<std::size_t>(row * 8 + col)],
                static_cast<float>(expected_product(row, col, 16)))
          << "at [" << row << ", " << col << "]";
    }
  }
}

TEST(PtxMma, TakesWhatLdmatrixLoads) {
  HG_SKIP_WITHOUT_HOPPER();
  check_loaded_mma<__nv_bfloat16, OperandB::KContiguous>();
  check_loaded_mma<__nv_bfloat16, OperandB::NContiguous>();
  check_loaded_mma<__half, OperandB::KContiguous>();
  check_loaded_mma<__half, OperandB::NContiguous>();
}

// ------------------------------------------------------------------------------------------ wmma

struct alignas(32) WmmaStorage {
  float d[16 * 16];
};

// D = A * B + a number of each place; the operands and the addend come from global memory, the result through shared.
template <typename T, typename LayoutA, typename LayoutB>
__global__ void wmma_kernel(const T* a, const T* b, const float* c, float* d) {
  namespace wmma = nvcuda::wmma;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, LayoutA> a_fragment;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, T, LayoutB> b_fragment;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> accum;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> zero;
  WmmaStorage& storage = dynamic_shared_storage<WmmaStorage>();
  wmma::load_matrix_sync(a_fragment, a, 16);
  wmma::load_matrix_sync(b_fragment, b, 16);
  wmma::load_matrix_sync(accum, c, 16, wmma::mem_row_major);
  wmma::fill_fragment(zero, 0.0F);
  wmma::mma_sync(accum, a_fragment, b_fragment, accum);
  wmma::mma_sync(zero, a_fragment, b_fragment, zero);
  wmma::store_matrix_sync(storage.d, accum, 16, wmma::mem_row_major);
  __syncwarp();
  for (unsigned i = threadIdx.x; i < 16 * 16; i += 32) d[i] = storage.d[i];
  for (int i = 0; i < accum.num_elements; ++i) accum.x[i] -= zero.x[i];
  wmma::store_matrix_sync(d + 16 * 16, accum, 16, wmma::mem_col_major);
}

template <typename T, typename LayoutA, typename LayoutB>
void check_wmma() {
  constexpr bool kRowMajorA = std::is_same_v<LayoutA, nvcuda::wmma::row_major>;
  constexpr bool kRowMajorB = std::is_same_v<LayoutB, nvcuda::wmma::row_major>;
  ManagedArray<T> a(16 * 16);
  ManagedArray<T> b(16 * 16);
  ManagedArray<float> c(16 * 16);
  ManagedArray<float> d(2 * 16 * 16);
  ASSERT_NE(d.data(), nullptr);
  for (int i = 0; i < 16 * 16; ++i) {
    const auto at = static_cast<std::size_t>(i);
    a[at] = T(static_cast<float>(kRowMajorA ? a_value(i / 16, i % 16) : a_value(i % 16, i / 16)));
    b[at] = T(static_cast<float>(kRowMajorB ? b_value(i / 16, i % 16) : b_value(i % 16, i / 16)));
    c[at] = static_cast<float>(d_value(i / 16, i % 16));
  }
  run_kernel(wmma_kernel<T, LayoutA, LayoutB>, 32, sizeof(WmmaStorage), a.data(), b.data(), c.data(),
             d.data());
  for (int i = 0; i < 16 * 16; ++i) {
    const int row = i / 16;
    const int col = i % 16;
    EXPECT_EQ(d[static_cast<std::size_t>(i)],
              static_cast<float>(d_value(row, col) + expected_product(row, col, 16)))
        << "at [" << row << ", " << col << "]";
    EXPECT_EQ(d[static_cast<std::size_t>(16 * 16 + col * 16 + row)], static_cast<float>(d_value(row, col)))
        << "at [" << row << ", " << col << "] of the addend, column-major";
  }
}

TEST(Wmma, MultipliesInEachLayout) {
  HG_SKIP_WITHOUT_HOPPER();
  using nvcuda::wmma::col_major;
  using nvcuda::wmma::row_major;
  check_wmma<__nv_bfloat16, row_major, col_major>();
  check_wmma<__nv_bfloat16, row_major, row_major>();
  check_wmma<__nv_bfloat16, col_major, col_major>();
  check_wmma<__nv_bfloat16, col_major, row_major>();
  check_wmma<__half, row_major, col_major>();
  check_wmma<__half, row_major, row_major>();
  check_wmma<__half, col_major, col_major>();
  check_wmma<__half, col_major, row_major>();
}

// ------------------------------------------------------------------------------------------ cp.async

constexpr int kCopyThreads = 64;
constexpr int kMaxCopyBytes = 16;
constexpr unsigned char kUntouchedByte = 0xA5;

// Each thread has twice what a copy writes, so that it is seen where the copy ends.
struct alignas(16) CopyStorage {
  unsigned char bytes[kCopyThreads][2 * kMaxCopyBytes];
};

enum class Cache { All, Global };
enum class SourceSize { Whole, Given };

constexpr __host__ __device__ int source_bytes_of(int thread, int size) { return thread % (size + 1); }

template <int kBytes, Cache kCache, SourceSize kSourceSize, ptx::L2Prefetch kPrefetch>
__global__ void copy_kernel(const unsigned char* in, unsigned char* out) {
  auto& own = dynamic_shared_storage<CopyStorage>().bytes[threadIdx.x];
  for (unsigned char& byte : own) byte = kUntouchedByte;
  const unsigned char* const source = in + threadIdx.x * kMaxCopyBytes;
  const SmemAddr destination = ptx::smem_addr(own);
  const auto source_bytes = static_cast<uint32_t>(source_bytes_of(static_cast<int>(threadIdx.x), kBytes));
  if constexpr (kCache == Cache::All && kSourceSize == SourceSize::Whole) {
    ptx::cp_async_ca<kBytes, kPrefetch>(destination, source);
  } else if constexpr (kCache == Cache::All) {
    ptx::cp_async_ca<kBytes, kPrefetch>(destination, source, source_bytes);
  } else if constexpr (kSourceSize == SourceSize::Whole) {
    ptx::cp_async_cg<kPrefetch>(destination, source);
  } else {
    ptx::cp_async_cg<kPrefetch>(destination, source, source_bytes);
  }
  ptx::cp_async_wait_all();
  __syncthreads();
  // Another thread's, for which the barrier is.
  const unsigned other = (threadIdx.x + 32) % kCopyThreads;
  for (unsigned i = 0; i < 2 * kMaxCopyBytes; ++i) {
    out[other * 2 * kMaxCopyBytes + i] = dynamic_shared_storage<CopyStorage>().bytes[other][i];
  }
}

template <int kBytes, Cache kCache, SourceSize kSourceSize, ptx::L2Prefetch kPrefetch = ptx::L2Prefetch::None>
void check_copy() {
  SCOPED_TRACE(std::to_string(kBytes) + " bytes");
  ManagedArray<unsigned char> in(kCopyThreads * kMaxCopyBytes);
  ManagedArray<unsigned char> out(kCopyThreads * 2 * kMaxCopyBytes);
  ASSERT_NE(out.data(), nullptr);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(1 + i % 127);
  run_kernel(copy_kernel<kBytes, kCache, kSourceSize, kPrefetch>, kCopyThreads, sizeof(CopyStorage),
             in.data(), out.data());
  for (int thread = 0; thread < kCopyThreads; ++thread) {
    const int copied = kSourceSize == SourceSize::Whole ? kBytes : source_bytes_of(thread, kBytes);
    for (int i = 0; i < 2 * kMaxCopyBytes; ++i) {
      const unsigned char expected = i < copied   ? in[static_cast<std::size_t>(thread * kMaxCopyBytes + i)]
                                     : i < kBytes ? static_cast<unsigned char>(0)
                                                  : kUntouchedByte;
      EXPECT_EQ(out[static_cast<std::size_t>(thread * 2 * kMaxCopyBytes + i)], expected)
          << "thread " << thread << ", byte " << i;
    }
  }
}

TEST(PtxCpAsync, CopiesEachSize) {
  HG_SKIP_WITHOUT_HOPPER();
  check_copy<4, Cache::All, SourceSize::Whole>();
  check_copy<8, Cache::All, SourceSize::Whole>();
  check_copy<16, Cache::All, SourceSize::Whole>();
  check_copy<16, Cache::Global, SourceSize::Whole>();
}

TEST(PtxCpAsync, FillsWithZerosBehindTheSource) {
  HG_SKIP_WITHOUT_HOPPER();
  check_copy<4, Cache::All, SourceSize::Given>();
  check_copy<8, Cache::All, SourceSize::Given>();
  check_copy<16, Cache::All, SourceSize::Given>();
  check_copy<16, Cache::Global, SourceSize::Given>();
}

TEST(PtxCpAsync, CopiesTheSameWithAPrefetch) {
  HG_SKIP_WITHOUT_HOPPER();
  check_copy<4, Cache::All, SourceSize::Whole, ptx::L2Prefetch::B64>();
  check_copy<16, Cache::All, SourceSize::Given, ptx::L2Prefetch::B128>();
  check_copy<16, Cache::Global, SourceSize::Whole, ptx::L2Prefetch::B128>();
  check_copy<16, Cache::Global, SourceSize::Given, ptx::L2Prefetch::B256>();
}

constexpr int kStages = 3;
constexpr int kSteps = 8;

struct alignas(16) RingStorage {
  uint32_t stages[kStages][kCopyThreads];
};

// The loop of a multistage kernel: a ring of stages, of which all but one are in flight.
__global__ void ring_kernel(const uint32_t* in, uint32_t* out) {
  RingStorage& storage = dynamic_shared_storage<RingStorage>();
  const auto load = [&](int step) {
    if (step < kSteps) {
      const SmemAddr destination = ptx::smem_addr(&storage.stages[step % kStages][threadIdx.x]);
      ptx::cp_async_ca<4>(destination, in + step * kCopyThreads + threadIdx.x);
    }
    ptx::cp_async_commit_group();
  };
  for (int step = 0; step < kStages - 1; ++step) load(step);
  uint32_t sum = 0;
  for (int step = 0; step < kSteps; ++step) {
    ptx::cp_async_wait_group<kStages - 2>();
    __syncthreads();
    load(step + kStages - 1);
    for (uint32_t word : storage.stages[step % kStages]) sum = sum * 3 + word;
  }
  ptx::cp_async_wait_group<0>();
  out[threadIdx.x] = sum;
}

TEST(PtxCpAsync, WaitsForTheOldestGroups) {
  HG_SKIP_WITHOUT_HOPPER();
  ManagedArray<uint32_t> in(kSteps * kCopyThreads);
  ManagedArray<uint32_t> out(kCopyThreads);
  ASSERT_NE(out.data(), nullptr);
  uint32_t expected = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<uint32_t>(i * i + 1);
    expected = expected * 3 + in[i];
  }
  run_kernel(ring_kernel, kCopyThreads, sizeof(RingStorage), in.data(), out.data());
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], expected) << "thread " << i;
}

struct alignas(16) TrackedStorage {
  uint32_t words[32];
  uint32_t more_words[32];
  uint64_t barrier;
};

struct TrackedLog {
  int phase_0, phase_1;
  uint32_t words[32], more_words[32];
};

// Warp 0 copies and never waits; warp 1 waits for the mbarrier. Phase 0 by .noinc, whose arrivals the count includes;
// phase 1 by the form that counts itself, beside ordinary arrivals.
__global__ void tracked_kernel(const uint32_t* in, TrackedLog* log) {
  TrackedStorage& storage = dynamic_shared_storage<TrackedStorage>();
  const SmemAddr bar = ptx::smem_addr(&storage.barrier);
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x == 0) ptx::mbarrier_init(bar, 32);
  __syncthreads();
  if (threadIdx.x < 32) {
    ptx::cp_async_ca<4>(ptx::smem_addr(&storage.words[lane]), in + lane);
    ptx::cp_async_mbarrier_arrive_noinc(bar);
  }
  const bool first_is_over = wait_parity(bar, 0);
  if (threadIdx.x >= 32) log->words[lane] = storage.words[31 - lane];
  __syncthreads();
  if (threadIdx.x < 32) {
    if (lane == 0) log->phase_0 = first_is_over;
    ptx::cp_async_ca<4>(ptx::smem_addr(&storage.more_words[lane]), in + 32 + lane);
    ptx::cp_async_mbarrier_arrive(bar);
    ptx::mbarrier_arrive(bar);
  } else {
    const bool second_is_over = wait_parity(bar, 1);
    if (lane == 0) log->phase_1 = second_is_over;
    log->more_words[lane] = storage.more_words[31 - lane];
  }
}

TEST(PtxCpAsync, ArrivesOnAnMbarrier) {
  HG_SKIP_WITHOUT_HOPPER();
  ManagedArray<uint32_t> in(64);
  ManagedArray<TrackedLog> log(1);
  ASSERT_NE(log.data(), nullptr);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint32_t>(1000 + i);
  run_kernel(tracked_kernel, kCopyThreads, sizeof(TrackedStorage), in.data(), log.data());
  EXPECT_TRUE(log[0].phase_0);
  EXPECT_TRUE(log[0].phase_1);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(log[0].words[lane], 1000 + 31 - lane) << "lane " << lane;
    EXPECT_EQ(log[0].more_words[lane], 1000 + 63 - lane) << "lane " << lane;
  }
}

}  // namespace
}  // namespace hopper_gemm
