// What the wrappers of ptx/ promise, tried on the GPU: phases and parities, byte counts, bulk and tensor
// copies, multicast, matrix stores, named barriers, election, register reallocation, groups of wgmma, clusters.
// A wait that never ends fails the test where it can give up (mbarriers), and ends the process with a message
// where it cannot.

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <ptx/address.cuh>
#include <ptx/cache_policy.cuh>
#include <ptx/cluster.cuh>
#include <ptx/elect.cuh>
#include <ptx/fence.cuh>
#include <ptx/griddepcontrol.cuh>
#include <ptx/mbarrier.cuh>
#include <ptx/named_barrier.cuh>
#include <ptx/setmaxnreg.cuh>
#include <ptx/special_registers.cuh>
#include <ptx/stmatrix.cuh>
#include <ptx/tma.cuh>
#include <ptx/wgmma.cuh>
#include <string>
#include <vector>

#include "device/smem_descriptor.hpp"
#include "device/tensor_map.hpp"
#include "gpu_test_support.cuh"
#include "require_hopper.hpp"

namespace hopper_gemm {
namespace {

using ptx::ClusterAddr;
using ptx::SmemAddr;

__device__ bool wait_parity_cluster(SmemAddr bar, uint32_t parity) {
  return wait_or_give_up([&] { return ptx::mbarrier_try_wait_parity_cluster(bar, parity); });
}

// ---------------------------------------------------------------------------------------------- mbarrier

struct PhaseLog {
  int fresh_parity_0, fresh_parity_1;
  uint32_t pending_at_first, pending_at_second;
  int after_first_parity_0;
  int complete_parity_0, complete_parity_1, complete_first_state;
  int next_parity_0, next_parity_1, next_state, next_state_try, hinted;
};

struct alignas(1024) BarrierStorage {
  uint64_t barrier;
};

__global__ void phase_kernel(PhaseLog* log) {
  const SmemAddr bar = ptx::smem_addr(&dynamic_shared_storage<BarrierStorage>().barrier);
  ptx::mbarrier_init(bar, 2);
  // Phase 0 is in progress; "the phase before it", of parity 1, counts as complete.
  log->fresh_parity_0 = ptx::mbarrier_test_wait_parity(bar, 0);
  log->fresh_parity_1 = ptx::mbarrier_test_wait_parity(bar, 1);
  const uint64_t first = ptx::mbarrier_arrive(bar);
  log->pending_at_first = ptx::mbarrier_pending_count(first);
  log->after_first_parity_0 = ptx::mbarrier_test_wait_parity(bar, 0);
  const uint64_t second = ptx::mbarrier_arrive(bar);
  log->pending_at_second = ptx::mbarrier_pending_count(second);
  log->complete_parity_0 = ptx::mbarrier_test_wait_parity(bar, 0);
  log->complete_parity_1 = ptx::mbarrier_test_wait_parity(bar, 1);
  log->complete_first_state = ptx::mbarrier_test_wait(bar, first);
  // Phase 1, in one arrive of count 2.
  const uint64_t both = ptx::mbarrier_arrive(bar, 2);
  log->next_parity_0 = ptx::mbarrier_test_wait_parity(bar, 0);
  log->next_parity_1 = ptx::mbarrier_try_wait_parity(bar, 1);
  log->next_state = ptx::mbarrier_test_wait(bar, both);
  log->next_state_try = ptx::mbarrier_try_wait(bar, both);
  log->hinted = ptx::mbarrier_try_wait_parity(bar, 1, 1000);
  ptx::mbarrier_inval(bar);
}

TEST(PtxMbarrier, PhasesAndParities) {
  HG_SKIP_WITHOUT_HOPPER();
  ManagedArray<PhaseLog> log(1);
  ASSERT_NE(log.data(), nullptr);
  run_kernel(phase_kernel, 1, sizeof(BarrierStorage), log.data());
  EXPECT_FALSE(log[0].fresh_parity_0);
  EXPECT_TRUE(log[0].fresh_parity_1) << "the wait of parity 1 passes on a fresh barrier";
  EXPECT_EQ(log[0].pending_at_first, 2u);
  EXPECT_EQ(log[0].pending_at_second, 1u);
  EXPECT_FALSE(log[0].after_first_parity_0);
  EXPECT_TRUE(log[0].complete_parity_0);
  EXPECT_FALSE(log[0].complete_parity_1);
  EXPECT_TRUE(log[0].complete_first_state);
  EXPECT_FALSE(log[0].next_parity_0);
  EXPECT_TRUE(log[0].next_parity_1);
  EXPECT_TRUE(log[0].next_state);
  EXPECT_TRUE(log[0].next_state_try);
  EXPECT_TRUE(log[0].hinted);
}

constexpr int kBulkBytes = 1024;
constexpr int kBulkThreads = kBulkBytes / 4;

struct TxLog {
  int before_copy;         // arrivals done, bytes outstanding
  int after_first_half;    // half of the bytes have landed
  int completed;           // the bounded wait
  int second_phase_early;  // bytes announced by expect_tx, not yet arrived
  int second_phase;
};

struct alignas(1024) BulkStorage {
  uint32_t words[kBulkBytes / 4];
  uint32_t half_of_words[kBulkBytes / 8];
  uint64_t barrier;
  uint64_t half_barrier;
};

// Loads 1 KiB in two halves, adds 1 to every word, stores it with a bulk group.
__global__ void bulk_copy_kernel(const uint32_t* in, uint32_t* out, TxLog* log) {
  BulkStorage& storage = dynamic_shared_storage<BulkStorage>();
  const SmemAddr bar = ptx::smem_addr(&storage.barrier);
  const SmemAddr half_bar = ptx::smem_addr(&storage.half_barrier);
  const SmemAddr smem = ptx::smem_addr(storage.words);
  const SmemAddr half_smem = ptx::smem_addr(storage.half_of_words);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(bar, 1);
    ptx::mbarrier_init(half_bar, 1);
    ptx::fence_mbarrier_init_release_cluster();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(bar, kBulkBytes);
    log->before_copy = ptx::mbarrier_test_wait_parity(bar, 0);
    // As much is copied elsewhere and waited for through a second barrier: time for the first half to land.
    ptx::cp_async_bulk_g2s(smem, in, kBulkBytes / 2, bar);
    ptx::mbarrier_expect_tx(half_bar, kBulkBytes / 4);
    ptx::mbarrier_arrive_expect_tx(half_bar, kBulkBytes / 4);
    ptx::cp_async_bulk_g2s(half_smem, in, kBulkBytes / 2, half_bar,
                           ptx::createpolicy_fractional_evict_last());
    wait_parity(half_bar, 0);
    log->after_first_half = ptx::mbarrier_test_wait_parity(bar, 0);
    ptx::cp_async_bulk_g2s(smem + kBulkBytes / 2, in + kBulkBytes / 8, kBulkBytes / 2, bar);
  }
  const bool completed = wait_parity(bar, 0);
  if (threadIdx.x == 0) {
    log->completed = completed;
    ptx::mbarrier_expect_tx(half_bar, 16);
    ptx::cp_async_bulk_g2s(half_smem, in, 16, half_bar);
    // Bytes alone do not complete a phase: the arrival is still missing.
    const uint64_t start = ptx::globaltimer();
    while (ptx::globaltimer() - start < 100'000) {
    }
    log->second_phase_early = ptx::mbarrier_test_wait_parity(half_bar, 1);
    ptx::mbarrier_arrive(half_bar);
    log->second_phase = wait_parity(half_bar, 1);
  }
  __syncthreads();
  storage.words[threadIdx.x] += 1;
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk_s2g(out, smem, kBulkBytes / 2);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_s2g(out + kBulkBytes / 8, smem + kBulkBytes / 2, kBulkBytes / 2,
                           ptx::createpolicy_fractional_evict_first());
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read<0>();
    ptx::cp_async_bulk_wait_group<0>();
  }
}

TEST(PtxBulkCopy, CountsBytesAndMovesThem) {
  HG_SKIP_WITHOUT_HOPPER();
  ManagedArray<uint32_t> in(kBulkBytes / 4);
  ManagedArray<uint32_t> out(kBulkBytes / 4);
  ManagedArray<TxLog> log(1);
  ASSERT_TRUE(in.data() && out.data() && log.data());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint32_t>(i * 2654435761u);
  run_kernel(bulk_copy_kernel, kBulkThreads, sizeof(BulkStorage), in.data(), out.data(), log.data());
  EXPECT_FALSE(log[0].before_copy);
  EXPECT_FALSE(log[0].after_first_half);
  EXPECT_TRUE(log[0].completed);
  EXPECT_FALSE(log[0].second_phase_early);
  EXPECT_TRUE(log[0].second_phase);
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], in[i] + 1) << "word " << i;
}

// ------------------------------------------------------------------------------------------ tensor copies

constexpr int kBox0 = 8;  // floats: 32 bytes
constexpr int kBoxN = 2;  // extent of the box in each further dimension

template <int kDims>
constexpr int kBoxElems = kBox0 << (kDims - 1);

// Where the box starts. It reaches over the far edge in dimensions 0 and 4, and all differ: mixed up, they would be
// noticed. (A load may also start before the near edge; a store may not.)
constexpr int kBoxStart[5] = {8, 1, 2, 0, 3};

template <int kDims>
struct Coords {
  int32_t value[kDims];
};

enum class CachePolicy { None, Given };

template <int kDims>
struct alignas(1024) BoxStorage {
  float box[kBoxElems<kDims>];
  uint64_t barrier;
};

// Loads one box, adds 1000, stores it to `out_map` and adds it to `sum_map`, both at the same coordinates.
template <int kDims, CachePolicy kPolicy>
__global__ void tensor_kernel(const __grid_constant__ TensorMap in_map,
                              const __grid_constant__ TensorMap out_map,
                              const __grid_constant__ TensorMap sum_map, Coords<kDims> at, int* completed) {
  auto& [box, barrier] = dynamic_shared_storage<BoxStorage<kDims>>();
  const SmemAddr bar = ptx::smem_addr(&barrier);
  int32_t coords[kDims];
#pragma unroll
  for (int i = 0; i < kDims; ++i) coords[i] = at.value[i];
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&in_map);
    ptx::mbarrier_init(bar, 1);
    ptx::fence_mbarrier_init_release_cluster();
    ptx::mbarrier_arrive_expect_tx(bar, sizeof(box));
    if constexpr (kPolicy == CachePolicy::Given) {
      const uint64_t keep = ptx::createpolicy_fractional_evict_last();
      ptx::cp_async_bulk_prefetch_tensor(&in_map, coords, keep);
      ptx::cp_async_bulk_tensor_g2s(ptx::smem_addr(box), &in_map, coords, bar, keep);
    } else {
      ptx::cp_async_bulk_prefetch_tensor(&in_map, coords);
      ptx::cp_async_bulk_tensor_g2s(ptx::smem_addr(box), &in_map, coords, bar);
    }
  }
  __syncthreads();
  const bool done = wait_parity(bar, 0);
  if (threadIdx.x == 0) *completed = done;
  if (threadIdx.x < kBoxElems<kDims>) box[threadIdx.x] += 1000;
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    if constexpr (kPolicy == CachePolicy::Given) {
      const uint64_t drop = ptx::createpolicy_fractional_evict_first();
      ptx::cp_async_bulk_tensor_s2g(&out_map, coords, ptx::smem_addr(box), drop);
      ptx::cp_reduce_async_bulk_tensor_s2g<ptx::ReduceOp::kAdd>(&sum_map, coords, ptx::smem_addr(box), drop);
    } else {
      ptx::cp_async_bulk_tensor_s2g(&out_map, coords, ptx::smem_addr(box));
      ptx::cp_reduce_async_bulk_tensor_s2g<ptx::ReduceOp::kAdd>(&sum_map, coords, ptx::smem_addr(box));
    }
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group<0>();
  }
}

template <int kDims, CachePolicy kPolicy>
void check_tensor_copies() {
  SCOPED_TRACE(std::to_string(kDims) + " dimensions");
  constexpr int kExtent0 = 12;
  constexpr int kExtentN = 4;
  int elems = kExtent0;
  for (int i = 1; i < kDims; ++i) elems *= kExtentN;
  ManagedArray<float> in(elems);
  ManagedArray<float> out(elems);
  ManagedArray<float> sum(elems);
  ManagedArray<int> completed(1);
  ASSERT_TRUE(in.data() && out.data() && sum.data() && completed.data());
  for (int i = 0; i < elems; ++i) {
    in[i] = static_cast<float>(i + 1);
    sum[i] = 5;
  }
  std::vector<std::int64_t> extents(kDims, kExtentN);
  std::vector<std::int64_t> strides;
  std::vector<int> box(kDims, kBoxN);
  extents[0] = kExtent0;
  box[0] = kBox0;
  for (std::int64_t pitch = kExtent0 * 4, i = 1; i < kDims; ++i, pitch *= kExtentN) strides.push_back(pitch);
  const auto encode = [&](const float* base, TensorMap* map) {
    TensorMapSpec spec;
    spec.type = TensorMapType::Fp32;
    spec.base = base;
    spec.extents_elems = extents;
    spec.strides_bytes = strides;
    spec.box_elems = box;
    return encode_tensor_map(spec, map);
  };
  TensorMap in_map;
  TensorMap out_map;
  TensorMap sum_map;
  ASSERT_EQ(encode(in.data(), &in_map).message(), "");
  ASSERT_EQ(encode(out.data(), &out_map).message(), "");
  ASSERT_EQ(encode(sum.data(), &sum_map).message(), "");
  Coords<kDims> at;
  for (int d = 0; d < kDims; ++d) at.value[d] = kBoxStart[d];
  run_kernel(tensor_kernel<kDims, kPolicy>, 128, sizeof(BoxStorage<kDims>), in_map, out_map, sum_map, at,
             completed.data());
  ASSERT_TRUE(completed[0]);
  for (int i = 0; i < elems; ++i) {
    bool inside = i % kExtent0 >= kBoxStart[0];
    for (int rest = i / kExtent0, d = 1; d < kDims; ++d, rest /= kExtentN) {
      inside = inside && rest % kExtentN >= kBoxStart[d] && rest % kExtentN < kBoxStart[d] + kBoxN;
    }
    EXPECT_EQ(out[i], inside ? in[i] + 1000 : 0) << "stored element " << i;
    EXPECT_EQ(sum[i], inside ? in[i] + 1005 : 5) << "reduced element " << i;
  }
}

TEST(PtxTensorCopy, LoadsStoresAndReducesInOneToFiveDimensions) {
  HG_SKIP_WITHOUT_HOPPER();
  check_tensor_copies<1, CachePolicy::None>();
  check_tensor_copies<2, CachePolicy::None>();
  check_tensor_copies<3, CachePolicy::None>();
  check_tensor_copies<4, CachePolicy::None>();
  check_tensor_copies<5, CachePolicy::None>();
}

// A policy is a hint: whatever it is, the same bytes move.
TEST(PtxTensorCopy, TakesACachePolicyInOneToFiveDimensions) {
  HG_SKIP_WITHOUT_HOPPER();
  check_tensor_copies<1, CachePolicy::Given>();
  check_tensor_copies<2, CachePolicy::Given>();
  check_tensor_copies<3, CachePolicy::Given>();
  check_tensor_copies<4, CachePolicy::Given>();
  check_tensor_copies<5, CachePolicy::Given>();
}

constexpr int kStoreRows = 8;  // of the box, whose rows are three chunks of 16 bytes
constexpr int kStoreCols = 24;
constexpr int kChunkElems = 8;
constexpr uint16_t kUntouched = 0xFFFF;

constexpr __host__ __device__ uint16_t stored_value(int row, int col) {
  return static_cast<uint16_t>(1 + row * kStoreCols + col);
}

struct alignas(1024) StoreStorage {
  uint16_t box[kStoreRows * kStoreCols];
};

__global__ void store_kernel(const __grid_constant__ TensorMap map) {
  auto& box = dynamic_shared_storage<StoreStorage>().box;
  for (int i = static_cast<int>(threadIdx.x); i < kStoreRows * kStoreCols;
       i += static_cast<int>(blockDim.x)) {
    box[i] = stored_value(i / kStoreCols, i % kStoreCols);
  }
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk_tensor_s2g(&map, {0, 0}, ptx::smem_addr(box));
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group<0>();
  }
}

// Stores the box over the lower right corner of a tensor of `cols` columns.
void check_store_at_the_edge(int cols) {
  SCOPED_TRACE(std::to_string(cols) + " columns");
  constexpr int kTensorRows = 5;
  ManagedArray<uint16_t> memory(kStoreRows * kStoreCols);
  ASSERT_NE(memory.data(), nullptr);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = kUntouched;
  TensorMap map;
  const Status encoded = make_tensor_map_2d("tensor", memory.data(), kTensorRows, cols, kStoreCols,
                                            kStoreRows, kStoreCols, &map, Swizzle::None);
  ASSERT_TRUE(encoded.ok()) << encoded.message();
  run_kernel(store_kernel, 32, sizeof(StoreStorage), map);
  const int chunks_end = (cols + kChunkElems - 1) / kChunkElems * kChunkElems;
  for (int row = 0; row < kStoreRows; ++row) {
    for (int col = 0; col < kStoreCols; ++col) {
      SCOPED_TRACE("row " + std::to_string(row) + " column " + std::to_string(col));
      const uint16_t found = memory[static_cast<std::size_t>(row * kStoreCols + col)];
      if (row >= kTensorRows || col >= chunks_end) {
        EXPECT_EQ(found, kUntouched);
      } else if (col >= cols) {
        EXPECT_NE(found, kUntouched);
      } else {
        EXPECT_EQ(found, stored_value(row, col));
      }
    }
  }
}

TEST(PtxTensorStore, LeavesOutWhatLiesOutside) {
  HG_SKIP_WITHOUT_HOPPER();
  check_store_at_the_edge(kChunkElems);
  check_store_at_the_edge(2 * kChunkElems);
}

// The manual does not say so: what lies beyond a row's end in its last chunk is overwritten. A matrix whose
// rows end within a chunk cannot be stored by TMA unless nobody needs what lies there.
TEST(PtxTensorStore, WritesWhole16ByteChunksAtTheEdge) {
  HG_SKIP_WITHOUT_HOPPER();
  check_store_at_the_edge(13);
  check_store_at_the_edge(1);
}

// ------------------------------------------------------------------------------------------ stmatrix

constexpr int kMatrixElems = 8;  // extent of a matrix: 16 bytes
constexpr int kSlots = 32;       // rows of shared memory, one for each lane's address
constexpr int kSlotElems = 24;   // a row of a matrix, and twice as much that must stay as it is

// Lanes address the rows from last to first, so that it is seen whose address was taken.
constexpr __host__ __device__ int slot_of_lane(int lane) { return kSlots - 1 - lane; }

constexpr __host__ __device__ uint16_t matrix_value(int matrix, int row, int col) {
  return static_cast<uint16_t>(1 + (matrix * kMatrixElems + row) * kMatrixElems + col);
}

enum class Transposed { No, Yes };

struct alignas(1024) SlotStorage {
  uint16_t slots[kSlots * kSlotElems];
};

// Lane t holds elements 2 * (t % 4) and the next of row t / 4 of each matrix.
template <int kMatrices, Transposed kTransposed>
__global__ void stmatrix_kernel(uint16_t* out) {
  auto& slots = dynamic_shared_storage<SlotStorage>().slots;
  const int lane = static_cast<int>(ptx::laneid());
  for (int i = lane; i < kSlots * kSlotElems; i += 32) slots[i] = kUntouched;
  uint32_t matrices[kMatrices];
#pragma unroll
  for (int j = 0; j < kMatrices; ++j) {
    const uint32_t low = matrix_value(j, lane / 4, lane % 4 * 2);
    const uint32_t high = matrix_value(j, lane / 4, lane % 4 * 2 + 1);
    matrices[j] = low | high << 16;
  }
  __syncwarp();
  const SmemAddr row = ptx::smem_addr(slots + slot_of_lane(lane) * kSlotElems);
  if constexpr (kTransposed == Transposed::Yes) {
    ptx::stmatrix_trans(row, matrices);
  } else {
    ptx::stmatrix(row, matrices);
  }
  __syncwarp();
  for (int i = lane; i < kSlots * kSlotElems; i += 32) out[i] = slots[i];
}

template <int kMatrices, Transposed kTransposed>
void check_stmatrix() {
  SCOPED_TRACE(std::to_string(kMatrices) + " matrices");
  ManagedArray<uint16_t> slots(kSlots * kSlotElems);
  ASSERT_NE(slots.data(), nullptr);
  run_kernel(stmatrix_kernel<kMatrices, kTransposed>, 32, sizeof(SlotStorage), slots.data());
  for (int lane = 0; lane < 32; ++lane) {
    const int matrix = lane / kMatrixElems;
    const int row = lane % kMatrixElems;
    for (int col = 0; col < kSlotElems; ++col) {
      uint16_t expected = kUntouched;
      if (matrix < kMatrices && col < kMatrixElems) {
        expected =
            kTransposed == Transposed::Yes ? matrix_value(matrix, col, row) : matrix_value(matrix, row, col);
      }
      EXPECT_EQ(slots[static_cast<std::size_t>(slot_of_lane(lane) * kSlotElems + col)], expected)
          << "row " << row << " of matrix " << matrix << ", column " << col;
    }
  }
}

TEST(PtxStmatrix, StoresRowsAtTheLanesAddresses) {
  HG_SKIP_WITHOUT_HOPPER();
  check_stmatrix<1, Transposed::No>();
  check_stmatrix<2, Transposed::No>();
  check_stmatrix<4, Transposed::No>();
}

TEST(PtxStmatrix, TransposesEachMatrix) {
  HG_SKIP_WITHOUT_HOPPER();
  check_stmatrix<1, Transposed::Yes>();
  check_stmatrix<2, Transposed::Yes>();
  check_stmatrix<4, Transposed::Yes>();
}

// ------------------------------------------------------------------------------------------ named barriers

constexpr int kHandoverRounds = 200;

struct alignas(1024) HandoverStorage {
  volatile int slots[32];
};

// Warp 0 writes a round's number and arrives; warp 1 waits, reads, and lets warp 0 go on. Two ids, one a
// direction.
__global__ void named_barrier_kernel(int* seen) {
  auto& slots = dynamic_shared_storage<HandoverStorage>().slots;
  const uint32_t lane = ptx::laneid();
  for (int round = 0; round < kHandoverRounds; ++round) {
    if (threadIdx.x < 32) {
      slots[lane] = round * 32 + static_cast<int>(lane);
      ptx::barrier_arrive(1, 64);
      ptx::barrier_sync(2, 64);
    } else {
      ptx::barrier_sync(1, 64);
      seen[round * 32 + static_cast<int>(lane)] = slots[31 - lane];
      ptx::barrier_arrive(2, 64);
    }
  }
}

TEST(PtxNamedBarrier, HandsOverBothWays) {
  HG_SKIP_WITHOUT_HOPPER();
  ManagedArray<int> seen(kHandoverRounds * 32);
  ASSERT_NE(seen.data(), nullptr);
  run_kernel(named_barrier_kernel, 64, sizeof(HandoverStorage), seen.data());
  for (int i = 0; i < kHandoverRounds * 32; ++i) ASSERT_EQ(seen[i], i / 32 * 32 + 31 - i % 32);
}

// ------------------------------------------------------------------------------------------ elect, registers

struct ElectLog {
  uint32_t whole, whole_again, low_half;
};

__global__ void elect_kernel(ElectLog* log) {
  const uint32_t whole = __ballot_sync(0xffffffff, ptx::elect_sync());
  const uint32_t again = __ballot_sync(0xffffffff, ptx::elect_sync());
  bool low_half = false;
  if (threadIdx.x % 32 < 16) low_half = ptx::elect_sync(0x0000ffff);
  const uint32_t low = __ballot_sync(0xffffffff, low_half);
  if (threadIdx.x % 32 == 0) log[threadIdx.x / 32] = {whole, again, low};
}

TEST(PtxElect, ElectsOneLaneOfTheMask) {
  HG_SKIP_WITHOUT_HOPPER();
  ManagedArray<ElectLog> log(4);
  ASSERT_NE(log.data(), nullptr);
  run_kernel(elect_kernel, 128, 0, log.data());
  for (std::size_t warp = 0; warp < 4; ++warp) {
    EXPECT_EQ(__builtin_popcount(log[warp].whole), 1);
    EXPECT_EQ(log[warp].whole_again, log[warp].whole) << "the same lane each time";
    EXPECT_EQ(__builtin_popcount(log[warp].low_half), 1);
    EXPECT_EQ(log[warp].low_half & 0xffff0000u, 0u) << "a lane of the mask";
  }
}

// 384 threads start with 168 registers each; 40 + 2 * 232 is the same total. Were the decrease not to happen, the
// increase would wait for ever; were the increase not to happen, kLiveValues could not be live at once without spills,
// which fail the build of this file.
constexpr int kLiveValues = 200;

__global__ void __launch_bounds__(384, 1) setmaxnreg_kernel(const uint32_t* in, uint32_t* out) {
  if (threadIdx.x >= 256) {
    ptx::setmaxnreg_dec<40>();
    out[threadIdx.x] = threadIdx.x;
  } else {
    ptx::setmaxnreg_inc<232>();
    uint32_t values[kLiveValues];
#pragma unroll
    for (int i = 0; i < kLiveValues; ++i) values[i] = in[i] ^ threadIdx.x;
      // All loaded before the first is used.
#pragma unroll
    for (int i = 0; i < kLiveValues; ++i) ptx::wgmma_fence_operand(values[i]);
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < kLiveValues; ++i) sum = sum * 31 + values[i];
    out[threadIdx.x] = sum;
  }
}

TEST(PtxSetmaxnreg, MovesRegistersAndGoesOn) {
  HG_SKIP_WITHOUT_HOPPER();
  ManagedArray<uint32_t> in(kLiveValues);
  ManagedArray<uint32_t> out(384);
  ASSERT_TRUE(in.data() && out.data());
  for (uint32_t i = 0; i < kLiveValues; ++i) in[i] = i * 2654435761u;
  run_kernel(setmaxnreg_kernel, 384, 0, in.data(), out.data());
  for (uint32_t thread = 0; thread < 384; ++thread) {
    uint32_t expected = thread;
    if (thread < 256) {
      expected = 0;
      for (uint32_t i = 0; i < kLiveValues; ++i) expected = expected * 31 + (in[i] ^ thread);
    }
    ASSERT_EQ(out[thread], expected) << "thread " << thread;
  }
}

struct RegisterLog {
  int laneid_ok, smid_ok, clock_ok, timer_ok;
  uint32_t nsmid, dynamic_smem, cluster_ctarank, cluster_nctarank;
};

__global__ void special_register_kernel(RegisterLog* log) {
  ptx::griddepcontrol_wait();  // returns at once: no programmatic launch
  const uint64_t clock = ptx::clock64();
  const uint64_t timer = ptx::globaltimer();
  const int laneid_ok = __syncthreads_and(ptx::laneid() == threadIdx.x % 32);
  const int smid_ok = __syncthreads_and(ptx::smid() < ptx::nsmid() && ptx::warpid() < ptx::nwarpid());
  __nanosleep(10'000);
  if (threadIdx.x == 0) {
    *log = {laneid_ok,
            smid_ok,
            ptx::clock64() > clock,
            ptx::globaltimer() > timer,
            ptx::nsmid(),
            ptx::dynamic_smem_size(),
            ptx::cluster_ctarank(),
            ptx::cluster_nctarank()};
  }
  ptx::griddepcontrol_launch_dependents();
}

TEST(PtxSpecialRegisters, AgreeWithTheLaunch) {
  HG_SKIP_WITHOUT_HOPPER();
  ManagedArray<RegisterLog> log(1);
  ASSERT_NE(log.data(), nullptr);
  run_kernel(special_register_kernel, 96, 12'288, log.data());
  int sms = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  EXPECT_TRUE(log[0].laneid_ok);
  EXPECT_TRUE(log[0].smid_ok);
  EXPECT_TRUE(log[0].clock_ok);
  EXPECT_TRUE(log[0].timer_ok);
  EXPECT_GE(log[0].nsmid, static_cast<uint32_t>(sms));
  EXPECT_EQ(log[0].dynamic_smem, 12'288u);
  EXPECT_EQ(log[0].cluster_ctarank, 0u);
  EXPECT_EQ(log[0].cluster_nctarank, 1u);
}

// ------------------------------------------------------------------------------------------ wgmma groups

// The kernels free a stage by one thread's arrival after its wgmma_wait_group(), because a committed group is its
// warpgroup's: the wait ends when the wgmmas of all four warps have read the stage. Here one warp is late.

enum class LateBefore { Fence, FirstWgmma, SecondWgmma };

struct alignas(1024) GroupTiles {
  uint32_t a[64 * 32];
  uint32_t b[64 * 32];
};

// When a warp passed three points, in cycles of its SM.
struct GroupLog {
  uint64_t began, went_on, waited;
};

template <LateBefore kLateBefore>
__global__ void __launch_bounds__(128, 1) late_warp_kernel(uint32_t late_warp, GroupLog* log) {
  constexpr unsigned kSleepNs = 50'000;
  const uint32_t warp = threadIdx.x / 32;
  GroupTiles& tiles = dynamic_shared_storage<GroupTiles>();
  for (uint32_t i = threadIdx.x; i < 64 * 32; i += 128) tiles.a[i] = tiles.b[i] = 0;
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();

  // Without a branch, which would make ptxas serialise the wgmmas.
  const unsigned sleep_ns = warp == late_warp ? kSleepNs : 0;
  uint64_t went_on = 0;
  const auto come_late = [&](LateBefore place) {
    if (place != kLateBefore) return;
    __nanosleep(sleep_ns);
    went_on = ptx::clock64();
  };
  const uint64_t desc_a = make_smem_desc(ptx::smem_addr(tiles.a).value, 16, 1024, Swizzle::B128);
  const uint64_t desc_b = make_smem_desc(ptx::smem_addr(tiles.b).value, 16, 1024, Swizzle::B128);
  float accum[32] = {};
  const uint64_t began = ptx::clock64();
  come_late(LateBefore::Fence);
  ptx::wgmma_fence_operand(accum);
  ptx::wgmma_fence();
  come_late(LateBefore::FirstWgmma);
  ptx::wgmma_mma_async<64, __nv_bfloat16>(accum, desc_a, desc_b, 1);
  come_late(LateBefore::SecondWgmma);
  ptx::wgmma_mma_async<64, __nv_bfloat16>(accum, desc_a, desc_b, 1);
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
  ptx::wgmma_fence_operand(accum);
  const uint64_t waited = ptx::clock64();
  if (threadIdx.x % 32 == 0) log[warp] = {began, went_on, waited};
}

template <LateBefore kLateBefore>
void expect_that_all_wait_for_the_late_warp() {
  // A sleep may take any time up to twice what was asked for.
  constexpr int kMostTries = 100;
  constexpr uint64_t kLateCycles = 1'000;  // to the emulator, steps
  ManagedArray<GroupLog> log(4);
  ASSERT_NE(log.data(), nullptr);
  for (uint32_t late_warp = 0; late_warp < 4; ++late_warp) {
    SCOPED_TRACE("warp " + std::to_string(late_warp) + " is late");
    bool was_late = false;
    for (int tries = 0; tries < kMostTries && !was_late; ++tries) {
      run_kernel(late_warp_kernel<kLateBefore>, 128, sizeof(GroupTiles), late_warp, log.data());
      for (uint32_t warp = 0; warp < 4; ++warp) {
        ASSERT_GE(log[warp].waited, log[late_warp].went_on) << "warp " << warp << " did not wait";
      }
      was_late = log[late_warp].went_on - log[late_warp].began > kLateCycles;
    }
    EXPECT_TRUE(was_late);
  }
}

TEST(PtxWgmma, GroupsAreWaitedForByTheirWholeWarpgroup) {
  HG_SKIP_WITHOUT_HOPPER();
  expect_that_all_wait_for_the_late_warp<LateBefore::Fence>();
  expect_that_all_wait_for_the_late_warp<LateBefore::FirstWgmma>();
  expect_that_all_wait_for_the_late_warp<LateBefore::SecondWgmma>();
}

// ------------------------------------------------------------------------------------------ clusters

constexpr uint32_t kClusterSize = 2;
constexpr int kGridClusters = 3;

struct ClusterLog {
  uint32_t rank, size, ctaid, nctaid, cluster, clusters, mapped_rank;
  int peer_arrived, too_few_arrivals, value, multicast_done, multicast_sum;
};

template <typename Storage, typename... Parameters>
void run_clusters(void (*kernel)(Parameters...), Parameters... arguments) {
  run_cluster_kernel(kernel, kClusterSize * kGridClusters, kClusterSize, 64, sizeof(Storage), arguments...);
}

struct alignas(1024) MailboxStorage {
  uint64_t barrier;
  int mailbox;
};

// Each CTA stores into its peer's shared memory, arrives there three times (1 + 2), and waits for the peer to
// do so.
__global__ void cluster_kernel(ClusterLog* logs) {
  auto& [barrier, mailbox] = dynamic_shared_storage<MailboxStorage>();
  const SmemAddr bar = ptx::smem_addr(&barrier);
  const uint32_t rank = ptx::cluster_ctarank();
  const uint32_t peer = rank ^ 1;
  if (threadIdx.x == 0) {
    mailbox = -1;
    ptx::mbarrier_init(bar, 4);
    ptx::fence_mbarrier_init_release_cluster();
  }
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  if (threadIdx.x == 0) {
    ClusterLog& log = logs[blockIdx.x];
    const ClusterAddr peer_bar = ptx::mapa(bar, peer);
    log.rank = rank;
    log.size = ptx::cluster_nctarank();
    log.ctaid = ptx::cluster_ctaid_x();
    log.nctaid = ptx::cluster_nctaid_x();
    log.cluster = ptx::clusterid_x();
    log.clusters = ptx::nclusterid_x();
    log.mapped_rank = ptx::getctarank(peer_bar);
    *static_cast<int*>(__cluster_map_shared_rank(&mailbox, peer)) = static_cast<int>(100 + blockIdx.x);
    ptx::mbarrier_arrive_cluster(peer_bar);
    ptx::mbarrier_arrive_cluster(peer_bar, 2);
  }
  // All of the remote arrivals so far are 3 of 4 at most.
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  if (threadIdx.x == 0) logs[blockIdx.x].too_few_arrivals = ptx::mbarrier_test_wait_parity(bar, 0);
  ptx::barrier_cluster_arrive_relaxed();
  ptx::barrier_cluster_wait();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx_cluster(ptx::mapa(bar, peer), 0);
    logs[blockIdx.x].peer_arrived = wait_parity_cluster(bar, 0);
    logs[blockIdx.x].value = mailbox;
  }
  // No CTA may exit while its peer can still arrive on its barrier.
  ptx::barrier_cluster_arrive_relaxed();
  ptx::barrier_cluster_wait();
}

TEST(PtxCluster, RemoteArriveReachesThePeer) {
  HG_SKIP_WITHOUT_HOPPER();
  ManagedArray<ClusterLog> logs(kClusterSize * kGridClusters);
  ASSERT_NE(logs.data(), nullptr);
  run_clusters<MailboxStorage>(cluster_kernel, logs.data());
  for (uint32_t i = 0; i < logs.size(); ++i) {
    SCOPED_TRACE("CTA " + std::to_string(i));
    EXPECT_EQ(logs[i].rank, i % kClusterSize);
    EXPECT_EQ(logs[i].size, kClusterSize);
    EXPECT_EQ(logs[i].ctaid, i % kClusterSize);
    EXPECT_EQ(logs[i].nctaid, kClusterSize);
    EXPECT_EQ(logs[i].cluster, i / kClusterSize);
    EXPECT_EQ(logs[i].clusters, static_cast<uint32_t>(kGridClusters));
    EXPECT_EQ(logs[i].mapped_rank, (i ^ 1) % kClusterSize);
    EXPECT_FALSE(logs[i].too_few_arrivals);
    EXPECT_TRUE(logs[i].peer_arrived);
    EXPECT_EQ(logs[i].value, static_cast<int>(100 + (i ^ 1)));
  }
}

struct RelaxedLog {
  int first_after_one, first_after_two;    // the first phase, after one and two arrivals of the peer
  int second_too_early, second_after_two;  // the second, after none and after one of each CTA
};

__device__ bool wait_parity_relaxed_cluster(SmemAddr bar, uint32_t parity) {
  return wait_or_give_up([&] { return ptx::mbarrier_try_wait_parity_relaxed_cluster(bar, parity); });
}

/// Threads: all of the cluster.
__device__ void meet() {
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
}

// The barriers of a stage that both CTAs read: they count two arrivals, from wherever these come. Between the
// steps all threads of the cluster meet, so that what has arrived by then is a fact.
__global__ void relaxed_cluster_kernel(RelaxedLog* logs) {
  const SmemAddr bar = ptx::smem_addr(&dynamic_shared_storage<BarrierStorage>().barrier);
  const uint32_t peer = ptx::cluster_ctarank() ^ 1;
  RelaxedLog& log = logs[blockIdx.x];
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(bar, 2);
    ptx::fence_mbarrier_init_release_cluster();
  }
  meet();
  if (threadIdx.x == 0) ptx::mbarrier_arrive_relaxed_cluster(ptx::mapa(bar, peer));
  meet();
  if (threadIdx.x == 0) log.first_after_one = ptx::mbarrier_try_wait_parity_relaxed_cluster(bar, 0);
  meet();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_relaxed_cluster(ptx::mapa(bar, peer));
    log.first_after_two = wait_parity_relaxed_cluster(bar, 0);
    log.second_too_early = ptx::mbarrier_try_wait_parity_relaxed_cluster(bar, 1);
  }
  meet();
  if (threadIdx.x < kClusterSize) ptx::mbarrier_arrive_relaxed_cluster(ptx::mapa(bar, threadIdx.x));
  if (threadIdx.x == 0) log.second_after_two = wait_parity_relaxed_cluster(bar, 1);
  // No CTA may exit while its peer can still arrive on its barrier.
  meet();
}

TEST(PtxCluster, RelaxedArrivalsAreCounted) {
  HG_SKIP_WITHOUT_HOPPER();
  ManagedArray<RelaxedLog> logs(kClusterSize * kGridClusters);
  ASSERT_NE(logs.data(), nullptr);
  run_clusters<BarrierStorage>(relaxed_cluster_kernel, logs.data());
  for (std::size_t i = 0; i < logs.size(); ++i) {
    SCOPED_TRACE("CTA " + std::to_string(i));
    EXPECT_FALSE(logs[i].first_after_one);
    EXPECT_TRUE(logs[i].first_after_two);
    EXPECT_FALSE(logs[i].second_too_early);
    EXPECT_TRUE(logs[i].second_after_two);
  }
}

constexpr uint32_t kRemoteStores = 64;  // one of each thread

struct RemoteStoreStorage {
  float4 values[kRemoteStores];
  uint64_t barrier;
};

struct RemoteStoreLog {
  int too_early;  // before the last 16 of the bytes that were announced
  int came;
  float4 values[kRemoteStores];  // what the peer's threads stored
};

// Threads store 16 bytes each in the peer's shared memory, the last of them later than the others. Between
// the steps all threads of the cluster meet.
__global__ void remote_store_kernel(RemoteStoreLog* logs) {
  auto& [values, barrier] = dynamic_shared_storage<RemoteStoreStorage>();
  const SmemAddr bar = ptx::smem_addr(&barrier);
  const uint32_t thread = threadIdx.x;
  const uint32_t peer = ptx::cluster_ctarank() ^ 1;
  RemoteStoreLog& log = logs[blockIdx.x];
  if (thread == 0) {
    ptx::mbarrier_init(bar, 1);
    ptx::mbarrier_arrive_expect_tx(bar, sizeof(values));
    ptx::fence_mbarrier_init_release_cluster();
  }
  meet();
  const auto store = [&] {
    const float first = static_cast<float>(blockIdx.x * 1000 + thread * 4);
    ptx::st_async(ptx::mapa(ptx::smem_addr(&values[thread]), peer), {first, first + 1, first + 2, first + 3},
                  ptx::mapa(bar, peer));
  };
  if (thread != kRemoteStores - 1) store();
  meet();
  if (thread == 0) log.too_early = ptx::mbarrier_test_wait_parity(bar, 0);
  meet();
  if (thread == kRemoteStores - 1) store();
  const bool came = wait_parity_cluster(bar, 0);
  if (thread == 0) log.came = came;
  log.values[thread] = values[thread];
}

TEST(PtxCluster, StAsyncTellsThePeersBarrier) {
  HG_SKIP_WITHOUT_HOPPER();
  ManagedArray<RemoteStoreLog> logs(kClusterSize * kGridClusters);
  ASSERT_NE(logs.data(), nullptr);
  run_clusters<RemoteStoreStorage>(remote_store_kernel, logs.data());
  for (std::size_t i = 0; i < logs.size(); ++i) {
    SCOPED_TRACE("CTA " + std::to_string(i));
    EXPECT_FALSE(logs[i].too_early);
    EXPECT_TRUE(logs[i].came);
    for (uint32_t thread = 0; thread < kRemoteStores; ++thread) {
      const float first = static_cast<float>((i ^ 1) * 1000 + thread * 4);
      const float4 value = logs[i].values[thread];
      EXPECT_EQ(value.x, first) << thread;
      EXPECT_EQ(value.y, first + 1) << thread;
      EXPECT_EQ(value.z, first + 2) << thread;
      EXPECT_EQ(value.w, first + 3) << thread;
    }
  }
}

constexpr int kMulticastElems = 64;  // floats of the whole tile; each CTA loads half of it for both

struct alignas(1024) MulticastStorage {
  float tile[kMulticastElems];
  uint64_t barrier;
};

// Each CTA of the pair fetches one half of the tile and multicasts it to both; each receives the whole.
__global__ void multicast_kernel(const __grid_constant__ TensorMap map, ClusterLog* logs) {
  auto& [tile, barrier] = dynamic_shared_storage<MulticastStorage>();
  const SmemAddr bar = ptx::smem_addr(&barrier);
  const uint32_t rank = ptx::cluster_ctarank();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(bar, 1);
    ptx::fence_mbarrier_init_release_cluster();
  }
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  if (threadIdx.x == 0) {
    constexpr uint32_t kHalfBytes = sizeof(tile) / 2;
    ptx::mbarrier_arrive_expect_tx(bar, sizeof(tile));  // all that lands here, from whichever CTA
    const int32_t coord = static_cast<int32_t>(rank) * kMulticastElems / 2;
    ptx::cp_async_bulk_tensor_g2s_multicast(ptx::smem_addr(tile) + rank * kHalfBytes, &map, {coord}, bar,
                                            static_cast<uint16_t>((1u << kClusterSize) - 1));
    ClusterLog& log = logs[blockIdx.x];
    log.multicast_done = wait_parity(bar, 0);
    log.multicast_sum = 0;
    for (int i = 0; i < kMulticastElems; ++i) log.multicast_sum += (i + 1) * static_cast<int>(tile[i]);
  }
  ptx::barrier_cluster_arrive_relaxed();
  ptx::barrier_cluster_wait();
}

// Fills `data` and makes the map that moves `box` elements of it. The sum that a receiver of everything logs
// is `expected_sum`.
Status prepare_multicast(ManagedArray<float>& data, int box, TensorMap* map, int* expected_sum) {
  *expected_sum = 0;
  for (int i = 0; i < kMulticastElems; ++i) {
    data[i] = static_cast<float>(3 * i + 1);
    *expected_sum += (i + 1) * (3 * i + 1);
  }
  const std::int64_t extent = kMulticastElems;
  TensorMapSpec spec;
  spec.type = TensorMapType::Fp32;
  spec.base = data.data();
  spec.extents_elems = {&extent, 1};
  spec.box_elems = {&box, 1};
  return encode_tensor_map(spec, map);
}

TEST(PtxCluster, MulticastReachesBothCtas) {
  HG_SKIP_WITHOUT_HOPPER();
  ManagedArray<ClusterLog> logs(kClusterSize * kGridClusters);
  ManagedArray<float> data(kMulticastElems);
  ASSERT_TRUE(logs.data() && data.data());
  int expected = 0;
  TensorMap map;
  const Status status = prepare_multicast(data, kMulticastElems / 2, &map, &expected);
  ASSERT_TRUE(status.ok()) << status.message();
  run_clusters<MulticastStorage>(multicast_kernel, map, logs.data());
  for (std::size_t i = 0; i < logs.size(); ++i) {
    EXPECT_TRUE(logs[i].multicast_done) << "CTA " << i;
    EXPECT_EQ(logs[i].multicast_sum, expected) << "CTA " << i;
  }
}

// The CTA of rank 0 sends the whole tile to rank 1 alone, with a cache policy: its own barrier counts no
// bytes.
__global__ void send_kernel(const __grid_constant__ TensorMap map, ClusterLog* logs) {
  auto& [tile, barrier] = dynamic_shared_storage<MulticastStorage>();
  const SmemAddr bar = ptx::smem_addr(&barrier);
  const bool receives = ptx::cluster_ctarank() == 1;
  if (threadIdx.x == 0) {
    for (float& element : tile) element = 0;
    ptx::fence_proxy_async_shared_cta();
    ptx::mbarrier_init(bar, 1);
    ptx::fence_mbarrier_init_release_cluster();
  }
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  if (threadIdx.x == 0) {
    if (receives) {
      ptx::mbarrier_arrive_expect_tx(bar, sizeof(tile));
      logs[blockIdx.x].multicast_done = wait_parity(bar, 0);
    } else {
      ptx::cp_async_bulk_tensor_g2s_multicast(ptx::smem_addr(tile), &map, {0}, bar, uint16_t{1 << 1},
                                              ptx::createpolicy_fractional_evict_last());
    }
  }
  // The copy has landed. Had it counted on the sender's barrier, the arrival would not complete the phase.
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  if (threadIdx.x == 0) {
    ClusterLog& log = logs[blockIdx.x];
    if (!receives) {
      ptx::mbarrier_arrive(bar);
      log.multicast_done = ptx::mbarrier_test_wait_parity(bar, 0);
    }
    log.multicast_sum = 0;
    for (int i = 0; i < kMulticastElems; ++i) log.multicast_sum += (i + 1) * static_cast<int>(tile[i]);
  }
}

TEST(PtxCluster, MulticastCountsOnTheReceiversAlone) {
  HG_SKIP_WITHOUT_HOPPER();
  ManagedArray<ClusterLog> logs(kClusterSize * kGridClusters);
  ManagedArray<float> data(kMulticastElems);
  ASSERT_TRUE(logs.data() && data.data());
  int expected = 0;
  TensorMap map;
  const Status status = prepare_multicast(data, kMulticastElems, &map, &expected);
  ASSERT_TRUE(status.ok()) << status.message();
  run_clusters<MulticastStorage>(send_kernel, map, logs.data());
  for (std::size_t i = 0; i < logs.size(); ++i) {
    EXPECT_TRUE(logs[i].multicast_done) << "CTA " << i;
    EXPECT_EQ(logs[i].multicast_sum, i % kClusterSize == 1 ? expected : 0) << "CTA " << i;
  }
}

}  // namespace
}  // namespace hopper_gemm
