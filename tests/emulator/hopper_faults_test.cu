// What kernels get wrong whose CTAs share global memory, or that give wgmma its A in registers: each mistake
// in a few lines, and what the emulator says of it.

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <ptx/address.cuh>
#include <ptx/cluster.cuh>
#include <ptx/fence.cuh>
#include <ptx/global_memory.cuh>
#include <ptx/mbarrier.cuh>
#include <ptx/special_registers.cuh>
#include <ptx/tma.cuh>
#include <ptx/wgmma.cuh>
#include <set>
#include <string>

#include "device/smem_descriptor.hpp"
#include "device/tensor_map.hpp"
#include "tests/emulator/kernel_faults.hpp"

namespace hopper_gemm::emulator {
namespace {

using ptx::smem_addr;

class HopperFaults : public KernelFaults {};

// ---------------------------------------------------------------------------------- CTAs that wait for each other

// A barrier of the grid.
__global__ void all_ctas_meet(const float*, float* out) {
  ptx::red_add_relaxed_gpu(counters(out), 1);
  wait_for(counters(out), gridDim.x * blockDim.x);
}
__global__ void second_cta_waits_for_the_first(const float*, float* out) {
  if (blockIdx.x == 0) ptx::red_add_relaxed_gpu(counters(out), 1);
  if (blockIdx.x == 1) wait_for(counters(out), 1);
}
__global__ void each_waits_for_the_other(const float*, float* out) {
  std::uint32_t* const own = counters(out) + blockIdx.x;
  const std::uint32_t* const other = counters(out) + (1 - blockIdx.x);
  wait_for(other, 1);
  ptx::red_add_relaxed_gpu(own, 1);
}
__global__ void counts_who_is_there(const float*, float* out) {
  ptx::red_add_relaxed_gpu(counters(out), 1);
  for (int i = 0; i < 50; ++i) __syncwarp(1);
  if (blockIdx.x == 0) counters(out)[1] = ptx::ld_relaxed_gpu(counters(out));
}

TEST_F(HopperFaults, CtasThatWaitForEachOther) {
  expect_no_fault(all_ctas_meet, {32, 4, 4});
  expect_no_fault(second_cta_waits_for_the_first, {1, 2, 2});
  expect_fault(
      all_ctas_meet, {32, 4, 3},
      "deadlock: no thread can go on(.|\n)*thread 0 of CTA . .*polls global memory at .*, which holds 96"
      "(.|\n)*1 clusters have not begun, because the GPU has room for 3 at a time");
  expect_fault(each_waits_for_the_other, {1, 2, 2},
               "thread 0 of CTA 0 .*polls global memory at .*, which holds 0\n.*hopper_faults_test(.|\n)*"
               "thread 0 of CTA 1 .*polls global memory at .*, which holds 0");
}

TEST_F(HopperFaults, CtasRunInEveryOrder) {
  std::set<std::uint32_t> counts;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    run(counts_who_is_there, {1, 3, 3}, seed);
    ASSERT_STREQ(last_report(), "");
    counts.insert(counters(out_)[1]);
  }
  EXPECT_EQ(counts, (std::set<std::uint32_t>{1, 2, 3}));
}

// ---------------------------------------------------------------------------------- relaxed arrivals and waits

enum class Order { Relaxed, Fenced, Ordered };

/// Thread 32 hands a word in shared memory to thread 0, or lets it overwrite that word.
template <Order kArrival, Order kWait, bool kOverwrites>
__global__ void hand_over_in_shared_memory(const float*, float* out) {
  const ptx::SmemAddr bar = smem_addr(&storage().barrier);
  float& word = storage().words[0];
  if (threadIdx.x == 0) ptx::mbarrier_init(bar, 1);
  if (kOverwrites && threadIdx.x == 0) word = 1;
  __syncthreads();
  if (threadIdx.x == 32) {
    if (kOverwrites) {
      data(out)[0] = word;
    } else {
      word = 1;
    }
    if (kArrival == Order::Fenced) ptx::fence_acq_rel_cluster();
    if (kArrival == Order::Ordered) {
      ptx::mbarrier_arrive_cluster(ptx::mapa(bar, 0));
    } else {
      ptx::mbarrier_arrive_relaxed_cluster(ptx::mapa(bar, 0));
    }
  }
  if (threadIdx.x != 0) return;
  if (kWait == Order::Ordered) {
    while (!ptx::mbarrier_try_wait_parity_cluster(bar, 0)) {
    }
  } else {
    while (!ptx::mbarrier_try_wait_parity_relaxed_cluster(bar, 0)) {
    }
  }
  if (kWait == Order::Fenced) ptx::fence_acq_rel_cluster();
  if (kOverwrites) {
    word = 2;
  } else {
    data(out)[0] = word;
  }
}

/// Thread 32 lets the first warp overwrite a word in shared memory. Thread 0 waits for it, and thread 1 overwrites the
/// word.
template <bool kMeets>
__global__ void another_lane_overwrites(const float*, float* out) {
  const ptx::SmemAddr bar = smem_addr(&storage().barrier);
  float& word = storage().words[0];
  if (threadIdx.x == 0) ptx::mbarrier_init(bar, 1);
  if (threadIdx.x == 0) word = 1;
  __syncthreads();
  if (threadIdx.x == 32) {
    data(out)[0] = word;
    ptx::mbarrier_arrive_relaxed_cluster(ptx::mapa(bar, 0));
  }
  if (threadIdx.x >= 32) return;
  if (threadIdx.x == 0) {
    while (!ptx::mbarrier_try_wait_parity_relaxed_cluster(bar, 0)) {
    }
  }
  if (kMeets) __syncwarp();
  if (threadIdx.x == 1) word = 2;
}

template <Order kArrival>
__global__ void meet_at_the_cluster_barrier(const float*, float* out) {
  if (threadIdx.x == 32) storage().words[0] = 1;
  if (kArrival == Order::Ordered) {
    ptx::barrier_cluster_arrive();
  } else {
    ptx::barrier_cluster_arrive_relaxed();
  }
  ptx::barrier_cluster_wait();
  if (threadIdx.x == 0) data(out)[0] = storage().words[0];
}

TEST_F(HopperFaults, RelaxedArrivalsAndWaits) {
  constexpr const char* kNoOrder =
      "a thread reads shared memory at 0x400 that thread 32 of CTA 0 .* has written, and no barrier orders "
      "the two";
  constexpr auto kRelaxed = Order::Relaxed;
  constexpr auto kFenced = Order::Fenced;
  constexpr auto kOrdered = Order::Ordered;
  expect_no_fault(hand_over_in_shared_memory<kOrdered, kOrdered, false>, 64);
  expect_no_fault(hand_over_in_shared_memory<kFenced, kFenced, false>, 64);
  expect_fault(hand_over_in_shared_memory<kRelaxed, kOrdered, false>, 64, kNoOrder);
  expect_fault(hand_over_in_shared_memory<kOrdered, kRelaxed, false>, 64, kNoOrder);
  // A read that is over needs no order.
  expect_no_fault(hand_over_in_shared_memory<kRelaxed, kRelaxed, true>, 64);
  expect_no_fault(another_lane_overwrites<true>, 64);
  expect_fault(another_lane_overwrites<false>, 64,
               "a thread writes shared memory at 0x400 that thread 32 .*, and no barrier orders the two",
               "a thread reads shared memory at 0x400 that thread 1 .*, and no barrier orders the two");
  expect_no_fault(meet_at_the_cluster_barrier<kOrdered>, 64);
  expect_fault(meet_at_the_cluster_barrier<kRelaxed>, 64, kNoOrder, "that nobody has written");
}

// ---------------------------------------------------------------------------------- the order of global memory

/// Starts a TMA load of 16 bytes into this CTA's shared memory. Returns its mbarrier.
__device__ ptx::SmemAddr start_tma_load(const float* source) {
  const ptx::SmemAddr bar = smem_addr(&storage().barrier);
  ptx::mbarrier_init(bar, 1);
  ptx::fence_mbarrier_init_release_cluster();
  ptx::mbarrier_arrive_expect_tx(bar, 16);
  ptx::cp_async_bulk_g2s(smem_addr(storage().words), source, 16, bar);
  return bar;
}
__device__ void wait_for_tma(ptx::SmemAddr bar) {
  while (!ptx::mbarrier_try_wait_parity(bar, 0)) {
  }
}

constexpr const char* kUnorderedRead =
    "a thread reads global memory at .*, and nothing orders that after an earlier access: a thread writes\n"
    "  by thread . of CTA .\n  at tests/emulator/hopper_faults_test.cu:(.|\n)*  by thread . of CTA .";

template <bool kSameValues>
__global__ void ctas_write_one_word(const float*, float* out) {
  data(out)[0] = kSameValues ? 1 : static_cast<float>(blockIdx.x + 1);
}
__global__ void write_by_tma_and_by_a_thread(const float*, float* out) {
  for (int i = 0; i < 4; ++i) storage().words[i] = 1;
  ptx::fence_proxy_async_shared_cta();
  if (blockIdx.x == 0) ptx::cp_async_bulk_s2g(data(out), smem_addr(storage().words), 16);
  if (blockIdx.x == 1) data(out)[3] = 2;
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group<0>();
}
__global__ void ctas_write_neighbours(const float*, float* out) { data(out)[blockIdx.x] = 1; }
__global__ void ctas_add_to_one_word(const float*, float* out) { ptx::red_add_relaxed_gpu(counters(out), 1); }
__global__ void add_and_write(const float*, float* out) {
  if (blockIdx.x == 0) ptx::red_add_relaxed_gpu(counters(out), 1);
  if (blockIdx.x == 1) *counters(out) = 1;
}

enum class Fence { None, Cta, Gpu };

template <Fence kFence>
__device__ void fence() {
  if (kFence == Fence::Cta) ptx::fence_acq_rel_cta();
  if (kFence == Fence::Gpu) ptx::fence_acq_rel_gpu();
}

/// CTA 0 hands a word to CTA 1, which hands it on. Threads other than those that fence write and read it.
template <Fence kRelease, Fence kAcquire, bool kSyncs = true>
__global__ void hand_over(const float*, float* out) {
  const bool is_other = threadIdx.x == 1;
  if (blockIdx.x == 0) {
    if (is_other) data(out)[0] = 1;
    if (kSyncs) __syncthreads();
    if (threadIdx.x != 0) return;
    fence<kRelease>();
    ptx::red_add_relaxed_gpu(counters(out), 1);
    return;
  }
  if (threadIdx.x == 0) {
    wait_for(counters(out) + (blockIdx.x - 1), 1);
    fence<kAcquire>();
    ptx::red_add_relaxed_gpu(counters(out) + blockIdx.x, 1);
  }
  if (kSyncs) __syncthreads();
  if (is_other && blockIdx.x == 2) data(out)[1] = data(out)[0];
}

/// CTA 0 reads a word, then CTA 1 does, then CTA 2 writes it. CTA 1 does not release what CTA 0 did unless both fence.
template <bool kFirstFences>
__global__ void write_after_two_readers(const float*, float* out) {
  const unsigned cta = blockIdx.x;
  if (cta > 0) {
    wait_for(counters(out) + (cta - 1), 1);
    ptx::fence_acq_rel_gpu();
  }
  if (cta == 2) {
    data(out)[0] = 1;
    return;
  }
  data(out)[4 * (cta + 1)] = data(out)[0];
  if (cta == 1 || kFirstFences) ptx::fence_acq_rel_gpu();
  ptx::red_add_relaxed_gpu(counters(out) + cta, 1);
}

/// CTA 0 reads two words of 16 bytes, the second one behind a fence, and CTA 1 overwrites the first one.
template <bool kWaits>
__global__ void write_what_was_read_ahead_of_a_neighbour(const float*, float* out) {
  if (blockIdx.x == 1) {
    if (kWaits) wait_for(counters(out), 1);
    ptx::fence_acq_rel_gpu();
    data(out)[0] = 1;
    return;
  }
  data(out)[4] = data(out)[0];
  ptx::fence_acq_rel_gpu();
  data(out)[5] = data(out)[1];
  if (kWaits) ptx::red_add_relaxed_gpu(counters(out), 1);
}

/// CTA 0 loads 16 bytes by TMA and does not say so. CTA 1 reads them, too, and then lets CTA 2 overwrite them.
__global__ void write_after_tma_and_a_thread_read(const float*, float* out) {
  if (blockIdx.x == 2) {
    wait_for(counters(out) + 1, 1);
    ptx::fence_acq_rel_gpu();
    data(out)[0] = 1;
    return;
  }
  if (blockIdx.x == 1) {
    wait_for(counters(out), 1);
    data(out)[4] = data(out)[0];
    ptx::fence_acq_rel_gpu();
    ptx::red_add_relaxed_gpu(counters(out) + 1, 1);
    return;
  }
  wait_for_tma(start_tma_load(data(out)));
  ptx::red_add_relaxed_gpu(counters(out), 1);
}

/// CTA 0 hands a word on, and then reads its neighbours and, if kReadsAgain, the word.
template <bool kReadsAgain>
__global__ void write_beside_a_later_read(const float*, float* out) {
  if (blockIdx.x == 1) {
    wait_for(counters(out), 1);
    ptx::fence_acq_rel_gpu();
    data(out)[0] = 1;
    return;
  }
  data(out)[4] = data(out)[0];
  ptx::fence_acq_rel_gpu();
  ptx::red_add_relaxed_gpu(counters(out), 1);
  data(out)[5] = data(out)[1];
  data(out)[6] = data(out)[kReadsAgain ? 0 : 2];
}

TEST_F(HopperFaults, OrderOfGlobalMemory) {
  expect_no_fault(ctas_write_neighbours, {1, 4, 4});
  expect_no_fault(ctas_add_to_one_word, {1, 4, 4});
  expect_no_fault(ctas_write_one_word<true>, {1, 4, 4});
  expect_fault(
      ctas_write_one_word<false>, {1, 4, 4},
      "a thread writes other values to global memory at .*, and nothing orders that after an earlier access: "
      "a thread writes\n  by thread 0 of CTA .\n  at tests/emulator");
  expect_fault(write_by_tma_and_by_a_thread, {1, 2, 2},
               "a thread writes other values to global memory .*a TMA store writes",
               "a TMA store writes other values to global memory .*a thread writes");
  expect_fault(add_and_write, {1, 2, 2}, "an earlier access: a relaxed operation changes",
               "a relaxed operation changes .* an earlier access: a thread writes");
  expect_no_fault(hand_over<Fence::Gpu, Fence::Gpu>, {2, 3, 3});
  expect_fault(hand_over<Fence::None, Fence::Gpu>, {2, 3, 3}, kUnorderedRead);
  expect_fault(hand_over<Fence::Gpu, Fence::None>, {2, 3, 3}, kUnorderedRead);
  expect_fault(hand_over<Fence::Cta, Fence::Gpu>, {2, 3, 3}, kUnorderedRead);
  expect_fault(hand_over<Fence::Gpu, Fence::Cta>, {2, 3, 3}, kUnorderedRead);
}

TEST_F(HopperFaults, WritesAfterReads) {
  constexpr const char* kUnorderedWrite =
      "a thread writes global memory at .*, and nothing orders that after an earlier access: a thread reads\n"
      "  by thread 0 of CTA 0\n";
  constexpr const char* kUnorderedReadOfOne =
      "a thread reads global memory at .*, and nothing orders that after an earlier access: a thread writes\n"
      "  by thread 0 of CTA 1\n";
  expect_no_fault(write_after_two_readers<true>, {1, 3, 3});
  expect_fault(write_after_two_readers<false>, {1, 3, 3}, kUnorderedWrite);
  expect_no_fault(write_what_was_read_ahead_of_a_neighbour<true>, {1, 2, 2});
  expect_fault(write_what_was_read_ahead_of_a_neighbour<false>, {1, 2, 2}, kUnorderedWrite,
               kUnorderedReadOfOne);
  expect_fault(write_after_tma_and_a_thread_read, {1, 3, 3},
               "a thread writes global memory at .*an earlier access: a TMA load reads");
  expect_no_fault(write_beside_a_later_read<false>, {1, 2, 2});
  expect_fault(write_beside_a_later_read<true>, {1, 2, 2}, kUnorderedWrite, kUnorderedReadOfOne);
}

// ---------------------------------------------------------------------------------- TMA and global memory

enum class Wait { None, Read, All, ReadThenAll };

/// CTA 0 stores 16 bytes by TMA, and CTA 1 reads them.
template <Wait kWait>
__global__ void hand_over_by_tma(const float*, float* out) {
  if (blockIdx.x == 1) {
    wait_for(counters(out), 1);
    ptx::fence_acq_rel_gpu();
    data(out)[4] = data(out)[0];
    return;
  }
  for (int i = 0; i < 4; ++i) storage().words[i] = 1;
  ptx::fence_proxy_async_shared_cta();
  ptx::cp_async_bulk_s2g(data(out), smem_addr(storage().words), 16);
  ptx::cp_async_bulk_commit_group();
  if (kWait == Wait::Read || kWait == Wait::ReadThenAll) ptx::cp_async_bulk_wait_group_read<0>();
  if (kWait == Wait::All || kWait == Wait::ReadThenAll) ptx::cp_async_bulk_wait_group<0>();
  ptx::fence_acq_rel_gpu();
  ptx::red_add_relaxed_gpu(counters(out), 1);
  ptx::cp_async_bulk_wait_group<0>();
}

/// Each CTA stores its 16 bytes in the same place.
template <bool kSameValues>
__global__ void overlap_by_tma(const float*, float* out) {
  for (int i = 0; i < 4; ++i) storage().words[i] = kSameValues ? 1 : static_cast<float>(blockIdx.x);
  ptx::fence_proxy_async_shared_cta();
  ptx::cp_async_bulk_s2g(data(out), smem_addr(storage().words), 16);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group<0>();
}

/// A thread stores 16 bytes and loads them by TMA.
template <bool kFences>
__global__ void load_own_stores(const float*, float* out) {
  for (int i = 0; i < 4; ++i) data(out)[i] = 1;
  if (kFences) ptx::fence_proxy_async_global();
  wait_for_tma(start_tma_load(data(out)));
}

/// CTA 1 overwrites what CTA 0 loads by TMA.
template <bool kWaits>
__global__ void overwrite_what_tma_loads(const float*, float* out) {
  if (blockIdx.x == 1) {
    wait_for(counters(out), 1);
    ptx::fence_acq_rel_gpu();
    data(out)[0] = 2;
    return;
  }
  const ptx::SmemAddr bar = start_tma_load(data(out));
  if (kWaits) wait_for_tma(bar);
  ptx::fence_acq_rel_gpu();
  ptx::red_add_relaxed_gpu(counters(out), 1);
  wait_for_tma(bar);
}

TEST_F(HopperFaults, TmaAndGlobalMemory) {
  constexpr const char* kUnsettled =
      "a thread reads global memory at .*, and nothing orders that after an earlier access: a TMA store "
      "writes";
  expect_no_fault(hand_over_by_tma<Wait::All>, {1, 2, 2});
  expect_no_fault(hand_over_by_tma<Wait::ReadThenAll>, {1, 2, 2});
  expect_fault(hand_over_by_tma<Wait::Read>, {1, 2, 2}, kUnsettled);
  expect_fault(hand_over_by_tma<Wait::None>, {1, 2, 2}, kUnsettled);
  expect_no_fault(overlap_by_tma<true>, {1, 3, 3});
  expect_fault(overlap_by_tma<false>, {1, 3, 3},
               "a TMA store writes other values to global memory at .*, and nothing orders that after an "
               "earlier access: "
               "a TMA store writes\n  by thread 0 of CTA");
  expect_no_fault(load_own_stores<true>, 1);
  expect_fault(load_own_stores<false>, 1, "a TMA load reads global memory at .* without fence.proxy.async");
  expect_no_fault(overwrite_what_tma_loads<true>, {1, 2, 2});
  // A load that comes after the store reads the wrong bytes, and is reported in its own way.
  expect_fault(overwrite_what_tma_loads<false>, {1, 2, 2},
               "a thread writes global memory at .* an earlier access: a TMA load reads");
}

// ---------------------------------------------------------------------------------- the timeline

__global__ void wait_for_a_phase(const float*, float*) {
  const ptx::SmemAddr bar = smem_addr(&storage().barrier);
  ptx::mbarrier_init(bar, 1);
  ptx::mbarrier_arrive(bar);
  while (!ptx::mbarrier_try_wait_parity(bar, 0)) {
  }
}

TEST_F(HopperFaults, TimelineHasAllCtasAndLaunches) {
  configure({.seed = 1, .sms = 2, .traces = true});
  for (int launch = 0; launch < 2; ++launch) {
    ASSERT_TRUE(launch_kernel(wait_for_a_phase, dim3(2), 1, sizeof(Storage), nullptr, in_, out_).ok());
  }
  const std::string json = trace_json();
  for (const char* const process : {"\"CTA 0\"", "\"CTA 1\"", "\"launch 2, CTA 0\"", "\"launch 2, CTA 1\""}) {
    EXPECT_THAT(json, testing::HasSubstr(process));
  }
  configure({});
  EXPECT_THAT(trace_json(), testing::Not(testing::HasSubstr("CTA")));
}

// ---------------------------------------------------------------------------------- spins without an end

__global__ void tests_a_phase_that_never_ends(const float*, float*) {
  const ptx::SmemAddr bar = smem_addr(&storage().barrier);
  ptx::mbarrier_init(bar, 1);
  while (!ptx::mbarrier_test_wait_parity(bar, 0)) {
  }
}
__global__ void spins_on_shared_memory(const float*, float*) {
  volatile float* const flag = storage().words;
  *flag = 0;
  while (*flag == 0) {
  }
}

TEST_F(HopperFaults, SpinsWithoutAnEnd) {
  expect_fault(
      tests_a_phase_that_never_ends, 1,
      "deadlock: no thread can go on(.|\n)*polls an mbarrier's phase of parity 0: .* 1 of 1 arrivals");
  expect_fault(spins_on_shared_memory, 1, "the launch takes more than the 300000 steps");
}

// ---------------------------------------------------------------------------------- wgmma with A in registers

constexpr int kN = 8;
constexpr int kOperandBytes = kN * 16 * 2;

/// B[8, 16] in the first words, as core matrices of 8 rows of 16 bytes.
__device__ std::uint64_t operand() {
  static_assert(kOperandBytes <= sizeof(Storage::words));
  return make_smem_desc(smem_addr(storage().words).value, kOperandBytes / 2, kOperandBytes, Swizzle::None);
}

__device__ std::uint64_t zero_operand() {
  storage().words[threadIdx.x] = 0;
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();
  return operand();
}

__device__ void multiply(float (&accum)[kN / 2], const std::uint32_t (&a)[4], std::uint64_t desc_b) {
  ptx::wgmma_fence();
  ptx::wgmma_mma_async<kN, __nv_bfloat16>(accum, a, desc_b, 1);
  ptx::wgmma_commit_group();
}

/// Two fragments take turns. kWaits: for each wgmma, or for every other one and then for all but the last.
template <bool kWaits>
__global__ void fragments_take_turns(const float*, float*) {
  const std::uint64_t desc_b = zero_operand();
  float accum[kN / 2] = {};
  std::uint32_t a[2][4] = {};
  for (int i = 0; i < 4; ++i) {
    for (std::uint32_t& both : a[i % 2]) both = static_cast<std::uint32_t>(i);
    multiply(accum, a[i % 2], desc_b);
    if (kWaits) ptx::wgmma_wait_group<0>();
    if (!kWaits && i % 2 == 1) ptx::wgmma_wait_group<1>();
  }
  ptx::wgmma_wait_group<0>();
}
// Issue 449 of DeepGEMM: the next fragment comes while wgmma may still read the last one.
__global__ void next_fragment_too_early(const float*, float*) {
  const std::uint64_t desc_b = zero_operand();
  float accum[kN / 2] = {};
  std::uint32_t a[4] = {};
  multiply(accum, a, desc_b);
  for (std::uint32_t& both : a) both = 1;
  ptx::wgmma_wait_group<0>();
  multiply(accum, a, desc_b);
  ptx::wgmma_wait_group<0>();
}
__global__ void no_wait_for_a(const float*, float*) {
  const std::uint64_t desc_b = zero_operand();
  float accum[kN / 2] = {};
  const std::uint32_t a[4] = {};
  multiply(accum, a, desc_b);
}
__global__ void fence_operand_too_early(const float*, float*) {
  const std::uint64_t desc_b = zero_operand();
  float accum[kN / 2] = {};
  std::uint32_t a[4] = {};
  multiply(accum, a, desc_b);
  ptx::wgmma_fence_operand(a);
  ptx::wgmma_wait_group<0>();
}

TEST_F(HopperFaults, WgmmaWithAInRegisters) {
  constexpr const char* kOverwritten =
      "a fragment of A is overwritten while a wgmma may still read its registers\n  by thread";
  expect_no_fault(fragments_take_turns<true>, 128);
  expect_fault(next_fragment_too_early, 128, kOverwritten);
  expect_fault(fragments_take_turns<false>, 128, kOverwritten);
  expect_fault(no_wait_for_a, 128,
               "the thread ends while wgmmas that it has not waited for use its registers");
  expect_fault(fence_operand_too_early, 128, "wgmma_fence_operand of a fragment of A");
}

// ---------------------------------------------------------------------------------- faults that others published

constexpr int kHalfElems = kElems / 2;

/// A ring of one stage, which the two CTAs of a cluster fill together.
struct SharedRing {
  alignas(128) float stage[2][kHalfElems];
  std::uint64_t full;
  std::uint64_t empty;
};
static_assert(sizeof(SharedRing) <= sizeof(Storage));

__device__ void wait_parity(ptx::SmemAddr bar, int parity) {
  while (!ptx::mbarrier_try_wait_parity_cluster(bar, static_cast<std::uint32_t>(parity))) {
  }
}

/// Thread 0 loads one half of each stage into both CTAs, and thread 32 reads the stages. Each CTA's tile has so many K
/// blocks. PR 429 of DeepGEMM has CTAs of one cluster whose tiles belong to groups of different K.
template <int kBlocksOfFirst, int kBlocksOfSecond>
__global__ void load_halves_for_both(const float* tensor_map, float* out) {
  SharedRing& ring = dynamic_shared_storage<SharedRing>();
  const ptx::SmemAddr full = smem_addr(&ring.full);
  const ptx::SmemAddr empty = smem_addr(&ring.empty);
  const auto rank = static_cast<int>(ptx::cluster_ctaid_x());
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(full, 1);
    ptx::mbarrier_init(empty, 2);
    ptx::fence_mbarrier_init_release_cluster();
  }
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  const int blocks = rank == 0 ? kBlocksOfFirst : kBlocksOfSecond;
  for (int block = 0; block < blocks && threadIdx.x == 0; ++block) {
    wait_parity(empty, (block + 1) % 2);
    ptx::mbarrier_arrive_expect_tx(full, sizeof(ring.stage));
    const std::int32_t coords[] = {kHalfElems * rank};
    ptx::cp_async_bulk_tensor_g2s_multicast(smem_addr(ring.stage[rank]), tensor_map, coords, full, 0b11);
  }
  for (int block = 0; block < blocks && threadIdx.x == 32; ++block) {
    wait_parity(full, block % 2);
    data(out)[rank] += ring.stage[0][0] + ring.stage[1][0];
    for (std::uint32_t cta = 0; cta < 2; ++cta) ptx::mbarrier_arrive_cluster(ptx::mapa(empty, cta));
  }
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
}

/// The first CTA loads a half for `kCtas`, and each CTA expects it. In PR 415 of DeepGEMM the CTAs of a cluster disagree
/// whether to multicast.
template <std::uint16_t kCtas>
__global__ void load_for_both(const float* tensor_map, float* out) {
  SharedRing& ring = dynamic_shared_storage<SharedRing>();
  const ptx::SmemAddr full = smem_addr(&ring.full);
  ptx::mbarrier_init(full, 1);
  ptx::fence_mbarrier_init_release_cluster();
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  ptx::mbarrier_arrive_expect_tx(full, sizeof(ring.stage[0]));
  const std::int32_t coords[] = {0};
  if (ptx::cluster_ctaid_x() == 0)
    ptx::cp_async_bulk_tensor_g2s_multicast(smem_addr(ring.stage[0]), tensor_map, coords, full, kCtas);
  wait_parity(full, 0);
  data(out)[blockIdx.x] = ring.stage[0][0];
}

/// Both warpgroups multiply by an operand that the first one writes again. Issue 2613 of tilelang has no barrier where
/// the loop goes back.
template <bool kBarrier>
__global__ void share_an_operand(const float*, float*) {
  float accum[kN / 2] = {};
  for (int i = 0; i < 2; ++i) {
    if (threadIdx.x < 128) storage().words[threadIdx.x] = 0;
    ptx::fence_proxy_async_shared_cta();
    __syncthreads();
    const std::uint32_t a[4] = {};
    multiply(accum, a, operand());
    ptx::wgmma_wait_group<0>();
    if (kBarrier) __syncthreads();
  }
}

class PublishedFaults : public HopperFaults {
 protected:
  /// `in` of the kernels is the map of a tensor.
  void SetUp() override {
    HopperFaults::SetUp();
    const std::int64_t extents[] = {kElems};
    const int box[] = {kHalfElems};
    TensorMap map;
    ASSERT_TRUE(encode_tensor_map({.type = TensorMapType::Fp32,
                                   .base = allocate(kElems * sizeof(float)),
                                   .extents_elems = extents,
                                   .strides_bytes = {},
                                   .box_elems = box},
                                  &map)
                    .ok());
    static_assert(sizeof(map) <= kElems * sizeof(float));
    std::memcpy(in_, &map, sizeof(map));
  }
};

TEST_F(PublishedFaults, MulticastBetweenTilesOfDifferentDepth) {
  expect_no_fault(load_halves_for_both<3, 3>, {64, 2, 2, 2});
  expect_fault(
      load_halves_for_both<3, 2>, {64, 2, 2, 2},
      "deadlock: no thread can go on(.|\n)*thread 32 of CTA 0 .*waits for an mbarrier's phase of parity 0: "
      ".* 0 of 1 arrivals and 128 bytes pending");
}

TEST_F(PublishedFaults, MulticastOnWhichCtasDisagree) {
  expect_no_fault(load_for_both<0b11>, {1, 2, 2, 2});
  expect_fault(
      load_for_both<0b01>, {1, 2, 2, 2},
      "deadlock: no thread can go on(.|\n)*thread 0 of CTA 1 .*waits for an mbarrier's phase of parity 0: "
      ".* 0 of 1 arrivals and 128 bytes pending");
}

TEST_F(PublishedFaults, NoBarrierWhereTheLoopGoesBack) {
  expect_no_fault(share_an_operand<true>, 256);
  // The other warpgroup's wgmma may come before or after the write.
  expect_fault(
      share_an_operand<false>, 256,
      "a thread writes shared memory at .* that (an unfinished wgmma may still read|a wgmma of "
      "warpgroup 1 of CTA 0 has read, and no barrier after wgmma.wait_group orders the two)",
      "wgmma's B reads shared memory at .* that thread .* has written, and no barrier orders the two");
}

}  // namespace
}  // namespace hopper_gemm::emulator
