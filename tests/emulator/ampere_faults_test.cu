// What kernels for GPUs before Hopper get wrong, each mistake in a few lines, and what the emulator says of
// it. Shuffles let the lanes of a warp meet and order nothing: they make sure which of two accesses comes
// first.

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <mma.h>

#include <cstddef>
#include <cstdint>
#include <ptx/address.cuh>
#include <ptx/cp_async.cuh>
#include <ptx/fence.cuh>
#include <ptx/ldmatrix.cuh>
#include <ptx/mbarrier.cuh>
#include <ptx/mma.cuh>
#include <ptx/tma.cuh>
#include <string>
#include <utility>

#include "tests/emulator/kernel_faults.hpp"

namespace hopper_gemm::emulator {
namespace {

using ptx::smem_addr;

class AmpereFaults : public KernelFaults {};

// Lanes of a warp come together, and memory accesses of theirs stay unordered.
__device__ void meet_without_order() { __shfl_sync(0xffffffffU, 0, 0); }

constexpr const char* kStillFilling =
    "a thread reads shared memory at 0x400 that a cp.async of thread 0 of CTA 0 .* is still filling";
constexpr const char* kNoBarrier =
    "a thread reads shared memory at 0x400 that a cp.async of thread 0 .* has filled, and no barrier after "
    "its wait "
    "orders the two";

// ---------------------------------------------------------------------------------- cp.async: waits

__global__ void read_before_the_wait(const float* in, float* out) {
  ptx::cp_async_ca<4>(smem_addr(storage().words), in);
  out[0] = storage().words[0];
  ptx::cp_async_wait_all();
}

__global__ void read_without_a_barrier(const float* in, float* out) {
  if (threadIdx.x == 0) {
    ptx::cp_async_ca<4>(smem_addr(storage().words), in);
    ptx::cp_async_wait_all();
  }
  meet_without_order();
  if (threadIdx.x == 1) out[0] = storage().words[0];
}

__global__ void read_behind_a_barrier_without_the_wait(const float* in, float* out) {
  if (threadIdx.x == 0) ptx::cp_async_ca<4>(smem_addr(storage().words), in);
  __syncthreads();
  if (threadIdx.x == 40) out[0] = storage().words[0];
  __syncthreads();
  ptx::cp_async_wait_all();
}

__global__ void barrier_before_the_wait(const float* in, float* out) {
  if (threadIdx.x == 0) ptx::cp_async_ca<4>(smem_addr(storage().words), in);
  __syncwarp();
  ptx::cp_async_wait_all();
  meet_without_order();
  if (threadIdx.x == 1) out[0] = storage().words[0];
}

__global__ void another_thread_waits(const float* in, float* out) {
  if (threadIdx.x == 0) ptx::cp_async_ca<4>(smem_addr(storage().words), in);
  if (threadIdx.x == 1) ptx::cp_async_wait_all();
  __syncthreads();
  if (threadIdx.x == 1) out[0] = storage().words[0];
  __syncthreads();
  ptx::cp_async_wait_all();
}

__global__ void one_group_too_many_pending(const float* in, float* out) {
  ptx::cp_async_ca<4>(smem_addr(storage().more_words), in);
  ptx::cp_async_commit_group();
  ptx::cp_async_ca<4>(smem_addr(storage().words), in);
  ptx::cp_async_commit_group();
  ptx::cp_async_wait_group<1>();
  out[0] = storage().more_words[0];
  out[1] = storage().words[0];
  ptx::cp_async_wait_group<0>();
}

__global__ void wait_for_groups_before_the_commit(const float* in, float* out) {
  ptx::cp_async_ca<4>(smem_addr(storage().words), in);
  ptx::cp_async_wait_group<0>();
  out[0] = storage().words[0];
}

__global__ void tail_without_empty_groups(const float* in, float* out) {
  // The last iterations of a ring that commit only what they load: wait_group<1> then lets the last stage be in flight.
  for (int step = 0; step < 3; ++step) {
    if (step < 2) {
      ptx::cp_async_ca<4>(smem_addr(step == 1 ? storage().words : storage().more_words), in);
      ptx::cp_async_commit_group();
    }
    ptx::cp_async_wait_group<1>();
    if (step > 0) out[step] = (step == 2 ? storage().words : storage().more_words)[0];
  }
  ptx::cp_async_wait_all();
}

TEST_F(AmpereFaults, CpAsyncReadTooEarly) {
  expect_fault(read_before_the_wait, 1, kStillFilling);
  expect_fault(read_without_a_barrier, 32, kNoBarrier);
  expect_fault(read_behind_a_barrier_without_the_wait, 64, kStillFilling);
  expect_fault(barrier_before_the_wait, 32, kNoBarrier);
  expect_fault(another_thread_waits, 32, kStillFilling);
  expect_fault(one_group_too_many_pending, 1, kStillFilling);
  expect_fault(wait_for_groups_before_the_commit, 1, kStillFilling);
  expect_fault(tail_without_empty_groups, 1, kStillFilling);
}

__global__ void exit_without_the_wait(const float* in, float*) {
  ptx::cp_async_ca<4>(smem_addr(storage().words), in);
  ptx::cp_async_cg(smem_addr(storage().more_words), in);
  ptx::cp_async_commit_group();
}

TEST_F(AmpereFaults, CpAsyncNeverWaitedFor) {
  expect_fault(exit_without_the_wait, 1, "the thread ends while 2 cp.asyncs that it has not waited for");
}

// ---------------------------------------------------------------------------------- cp.async: overwriting

__global__ void store_into_a_copy(const float* in, float*) {
  ptx::cp_async_cg(smem_addr(storage().words), in);
  storage().words[3] = 0;
  ptx::cp_async_wait_all();
}

__global__ void copy_into_a_copy(const float* in, float*) {
  if (threadIdx.x == 0) ptx::cp_async_cg(smem_addr(storage().words), in);
  meet_without_order();
  if (threadIdx.x == 1) ptx::cp_async_ca<8>(smem_addr(storage().words + 2), in);
  meet_without_order();
  ptx::cp_async_wait_all();
}

__global__ void tma_into_a_copy(const float* in, float*) {
  const ptx::SmemAddr bar = smem_addr(&storage().barrier);
  ptx::mbarrier_init(bar, 1);
  ptx::fence_mbarrier_init_release_cluster();
  ptx::cp_async_cg(smem_addr(storage().words), in);
  ptx::mbarrier_arrive_expect_tx(bar, 64);
  ptx::cp_async_bulk_g2s(smem_addr(storage().words), in, 64, bar);
  while (!ptx::mbarrier_try_wait_parity(bar, 0)) {
  }
  ptx::cp_async_wait_all();
}

__global__ void copy_into_tma(const float* in, float*) {
  const ptx::SmemAddr bar = smem_addr(&storage().barrier);
  ptx::mbarrier_init(bar, 1);
  ptx::fence_mbarrier_init_release_cluster();
  ptx::cp_async_bulk_g2s(smem_addr(storage().words), in, 64, bar);
  ptx::cp_async_cg(smem_addr(storage().words), in);
  ptx::cp_async_wait_all();
}

__global__ void copy_over_what_is_read(const float* in, float* out) {
  if (threadIdx.x == 0) storage().words[0] = 1;
  __syncthreads();
  if (threadIdx.x == 1) out[0] = storage().words[0];
  meet_without_order();
  if (threadIdx.x == 0) ptx::cp_async_ca<4>(smem_addr(storage().words), in);
  ptx::cp_async_wait_all();
}

__global__ void copy_over_what_is_written(const float* in, float*) {
  if (threadIdx.x == 1) storage().words[0] = 1;
  meet_without_order();
  if (threadIdx.x == 0) ptx::cp_async_ca<4>(smem_addr(storage().words), in);
  ptx::cp_async_wait_all();
}

__global__ void store_over_what_was_copied(const float* in, float*) {
  if (threadIdx.x == 0) ptx::cp_async_ca<4>(smem_addr(storage().words), in);
  ptx::cp_async_wait_all();
  meet_without_order();
  if (threadIdx.x == 1) storage().words[0] = 1;
}

TEST_F(AmpereFaults, CpAsyncOverwritesAndIsOverwritten) {
  expect_fault(store_into_a_copy, 1,
               "a thread writes shared memory at 0x40c that a cp.async of thread 0 .* is still filling");
  expect_fault(
      copy_into_a_copy, 32,
      "a cp.async overwrites shared memory at 0x408 that a cp.async of thread 0 .* is still filling");
  expect_fault(tma_into_a_copy, 1,
               "TMA overwrites shared memory at 0x400 that a cp.async of thread 0 .* is still filling");
  expect_fault(
      copy_into_tma, 1,
      "a cp.async overwrites shared memory at 0x400 that a TMA copy (is still filling|has filled, and the "
      "thread has not waited)");
  expect_fault(copy_over_what_is_read, 32,
               "a cp.async overwrites shared memory at 0x400 that thread 1 .* has read, and no barrier "
               "orders the two");
  expect_fault(
      copy_over_what_is_written, 32,
      "a cp.async overwrites shared memory at 0x400 that thread 1 .* has written, and no barrier orders");
  expect_fault(
      store_over_what_was_copied, 32,
      "a thread writes shared memory at 0x400 that a cp.async of thread 0 .* has filled, and no barrier");
}

// ---------------------------------------------------------------------------------- cp.async and the async proxy

__global__ void store_of_a_copy_in_flight(const float* in, float* out) {
  ptx::cp_async_cg(smem_addr(storage().words), in);
  ptx::fence_proxy_async_shared_cta();
  ptx::cp_async_bulk_s2g(out, smem_addr(storage().words), 16);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group<0>();
  ptx::cp_async_wait_all();
}

__global__ void fence_before_the_wait(const float* in, float* out) {
  ptx::cp_async_cg(smem_addr(storage().words), in);
  ptx::fence_proxy_async_shared_cta();
  ptx::cp_async_wait_all();
  ptx::cp_async_bulk_s2g(out, smem_addr(storage().words), 16);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group<0>();
}

__global__ void fence_behind_the_wait(const float* in, float* out) {
  ptx::cp_async_cg(smem_addr(storage().words), in);
  ptx::cp_async_wait_all();
  ptx::fence_proxy_async_shared_cta();
  ptx::cp_async_bulk_s2g(out, smem_addr(storage().words), 16);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group<0>();
}

TEST_F(AmpereFaults, CpAsyncIsOfTheGenericProxy) {
  expect_fault(store_of_a_copy_in_flight, 1,
               "a TMA store reads shared memory at 0x400 that a cp.async of thread 0 .* is still filling");
  expect_fault(fence_before_the_wait, 1,
               "a TMA store reads shared memory .* wrote without fence.proxy.async after it");
  expect_no_fault(fence_behind_the_wait, 1);
}

// ---------------------------------------------------------------------------------- cp.async: operands

__global__ void misaligned_destination(const float* in, float*) {
  ptx::cp_async_cg(smem_addr(storage().words) + 4, in);
}
__global__ void misaligned_source(const float* in, float*) {
  ptx::cp_async_ca<8>(smem_addr(storage().words), in + 1);
}
__global__ void source_behind_the_end(const float* in, float*) {
  ptx::cp_async_ca<16>(smem_addr(storage().words), in + kElems);
}
__global__ void source_across_the_end(const float* in, float*) {
  ptx::cp_async_ca<16>(smem_addr(storage().words), in + kElems - 4 + 4, 4);
}
__global__ void zeros_from_behind_the_end(const float* in, float* out) {
  ptx::cp_async_ca<16>(smem_addr(storage().words), in + kElems, 0);
  ptx::cp_async_wait_all();
  out[0] = storage().words[0];
}
__global__ void destination_behind_the_end(const float* in, float*) {
  ptx::cp_async_ca<16>(smem_addr(&storage() + 1), in);
}
__global__ void source_size_above_the_size(const float* in, float*) {
  ptx::cp_async_ca<8>(smem_addr(storage().words), in, 12);
}
__global__ void source_in_shared_memory(const float*, float*) {
  ptx::cp_async_ca<8>(smem_addr(storage().words), storage().more_words);
}
__global__ void source_nowhere(const float*, float*) {
  ptx::cp_async_ca<8>(smem_addr(storage().words), nullptr);
}

TEST_F(AmpereFaults, CpAsyncOperands) {
  expect_fault(misaligned_destination, 1,
               "a cp.async of 16 bytes to shared memory at 0x404, which is not 16-byte");
  expect_fault(misaligned_source, 1,
               "a cp.async of 8 bytes from global memory at .*, which is not 8-byte aligned");
  expect_fault(source_behind_the_end, 1,
               "a cp.async reads 16 bytes of global memory at .*, outside of every allocation");
  expect_fault(source_across_the_end, 1,
               "a cp.async reads 4 bytes of global memory at .*, outside of every allocation");
  expect_no_fault(zeros_from_behind_the_end, 1);
  expect_fault(destination_behind_the_end, 1, "a cp.async at shared address .*, outside of the [0-9]* bytes");
  expect_fault(source_size_above_the_size, 1, "a cp.async of 8 bytes with a source size of 12");
  expect_fault(source_in_shared_memory, 1, "a cp.async from shared memory");
  expect_fault(source_nowhere, 1, "the kernel accesses address .*, where there is no memory");
}

// ---------------------------------------------------------------------------------- cp.async and mbarriers

__global__ void no_wait_for_the_mbarrier(const float* in, float* out) {
  const ptx::SmemAddr bar = smem_addr(&storage().barrier);
  ptx::mbarrier_init(bar, 1);
  ptx::cp_async_ca<4>(smem_addr(storage().words), in);
  ptx::cp_async_mbarrier_arrive_noinc(bar);
  static_cast<void>(ptx::mbarrier_test_wait_parity(bar, 1));  // of the phase before, or false
  out[0] = storage().words[0];
}

__global__ void exit_without_the_mbarrier(const float* in, float*) {
  const ptx::SmemAddr bar = smem_addr(&storage().barrier);
  ptx::mbarrier_init(bar, 1);
  ptx::cp_async_ca<4>(smem_addr(storage().words), in);
  ptx::cp_async_mbarrier_arrive_noinc(bar);
}

// Waits for what the incrementing form takes back itself.
__global__ void arrival_that_does_not_count(const float* in, float*) {
  const ptx::SmemAddr bar = smem_addr(&storage().barrier);
  ptx::mbarrier_init(bar, 1);
  ptx::cp_async_ca<4>(smem_addr(storage().words), in);
  ptx::cp_async_mbarrier_arrive(bar);
  while (!ptx::mbarrier_try_wait_parity(bar, 0)) {
  }
}

__global__ void copy_after_the_arrival(const float* in, float* out) {
  const ptx::SmemAddr bar = smem_addr(&storage().barrier);
  ptx::mbarrier_init(bar, 1);
  ptx::cp_async_mbarrier_arrive_noinc(bar);
  ptx::cp_async_ca<4>(smem_addr(storage().words), in);
  while (!ptx::mbarrier_try_wait_parity(bar, 0)) {
  }
  out[0] = storage().words[0];
}

__global__ void ordinary_store_before_the_arrival(const float* in, float* out) {
  const ptx::SmemAddr bar = smem_addr(&storage().barrier);
  if (threadIdx.x == 0) ptx::mbarrier_init(bar, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    storage().words[1] = 1;
    ptx::cp_async_ca<4>(smem_addr(storage().words), in);
    ptx::cp_async_mbarrier_arrive_noinc(bar);
  }
  while (!ptx::mbarrier_try_wait_parity(bar, 0)) {
  }
  if (threadIdx.x == 1) out[0] = storage().words[0];
  if (threadIdx.x == 1) out[1] = storage().words[1];
}

// A copy that its thread has waited for, and whose mbarrier tells others of it: each way alone is enough.
__global__ void both_ways(const float* in, float* out) {
  const ptx::SmemAddr bar = smem_addr(&storage().barrier);
  if (threadIdx.x == 0) ptx::mbarrier_init(bar, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_ca<4>(smem_addr(storage().words), in);
    ptx::cp_async_mbarrier_arrive_noinc(bar);
    ptx::cp_async_wait_all();
    out[0] = storage().words[0];
  } else {
    while (!ptx::mbarrier_try_wait_parity(bar, 0)) {
    }
    out[threadIdx.x] = storage().words[0];
  }
}

TEST_F(AmpereFaults, CpAsyncAndMbarriers) {
  expect_fault(no_wait_for_the_mbarrier, 1, kStillFilling,
               "a thread reads shared memory at 0x400 that a cp.async of thread 0 .* has filled, and the "
               "thread has not "
               "waited for its mbarrier");
  expect_fault(exit_without_the_mbarrier, 1,
               "CTA 0 ends, and nobody in it has waited for an arrival by cp.async.mbarrier.arrive");
  expect_fault(arrival_that_does_not_count, 1, "deadlock: .*mbarrier 0x800 .* 1 of 1 arrivals");
  expect_fault(copy_after_the_arrival, 1, kStillFilling);
  expect_fault(
      ordinary_store_before_the_arrival, 32,
      "a thread reads shared memory at 0x404 that thread 0 .* has written, and no barrier orders the two");
  expect_no_fault(both_ways, 64);
}

// ---------------------------------------------------------------------------------- ldmatrix and mma

__device__ void write_all_words() {
  for (unsigned i = threadIdx.x; i < 128; i += blockDim.x) storage().words[i] = 0;
}

__device__ void load_all_words(float* out) {
  std::uint32_t matrices[4];
  ptx::ldmatrix(matrices, smem_addr(storage().words) + threadIdx.x % 32 * 16);
  out[threadIdx.x] = static_cast<float>(matrices[0]);
}

__global__ void load_what_nobody_wrote(const float*, float* out) { load_all_words(out); }

__global__ void load_what_others_write(const float*, float* out) {
  write_all_words();
  meet_without_order();
  load_all_words(out);
}

__global__ void load_behind_a_barrier(const float*, float* out) {
  write_all_words();
  __syncwarp();
  load_all_words(out);
}

__global__ void overwrite_what_is_loaded(const float*, float* out) {
  write_all_words();
  __syncwarp();
  load_all_words(out);
  write_all_words();
}

__global__ void load_what_is_copied(const float* in, float* out) {
  write_all_words();
  __syncwarp();
  if (threadIdx.x == 5) ptx::cp_async_cg(smem_addr(storage().words + 8), in);
  __syncwarp();
  load_all_words(out);
  ptx::cp_async_wait_all();
}

__global__ void misaligned_row(const float*, float*) {
  write_all_words();
  __syncwarp();
  std::uint32_t matrices[1];
  ptx::ldmatrix_trans(matrices, smem_addr(storage().words) + threadIdx.x * 8);
}

__global__ void row_behind_the_end(const float*, float*) {
  std::uint32_t matrices[2];
  ptx::ldmatrix(matrices, smem_addr(&storage() + 1));
}

__global__ void half_a_warp_loads(const float*, float* out) {
  write_all_words();
  __syncwarp();
  if (threadIdx.x < 16) load_all_words(out);
}

template <int kDepth>
__device__ void multiply(float* out) {
  const std::uint32_t a[kDepth / 4] = {};
  const std::uint32_t b[kDepth / 8] = {};
  float accum[4] = {};
  if constexpr (kDepth == 16) {
    ptx::mma_m16n8k16<__nv_bfloat16>(accum, a, b);
  } else {
    ptx::mma_m16n8k8<__half>(accum, a, b);
  }
  out[threadIdx.x] = accum[0];
}

__global__ void half_a_warp_multiplies(const float*, float* out) {
  if (threadIdx.x % 2 == 0) multiply<16>(out);
}

__global__ void half_a_warp_multiplies_otherwise(const float*, float* out) {
  if (threadIdx.x < 16) {
    multiply<16>(out);
  } else {
    multiply<8>(out);
  }
}

__global__ void half_a_warp_goes_to_the_barrier(const float*, float* out) {
  if (threadIdx.x < 16) multiply<8>(out);
  __syncwarp();
}

TEST_F(AmpereFaults, Ldmatrix) {
  expect_no_fault(load_behind_a_barrier, 32);
  expect_fault(load_what_nobody_wrote, 32, "a thread reads shared memory at 0x400 that nobody has written");
  expect_fault(
      load_what_others_write, 32,
      "a thread reads shared memory at 0x[0-9a-f]+ that thread [0-9]+ .* has written, and no barrier orders");
  expect_fault(
      overwrite_what_is_loaded, 32,
      "a thread writes shared memory at 0x[0-9a-f]+ that thread [0-9]+ .* has read, and no barrier orders");
  expect_fault(load_what_is_copied, 32,
               "a thread reads shared memory at 0x420 that a cp.async of thread 5 .* is still filling.*\n"
               "  by thread 2 of CTA 0");
  expect_fault(misaligned_row, 32, "ldmatrix loads a row at 0x[0-9a-f]+8, which is not 16-byte aligned");
  expect_fault(row_behind_the_end, 32, "a row of ldmatrix at shared address .*, outside of the");
  expect_fault(half_a_warp_loads, 32, "deadlock: .*waits for ldmatrix.x4");
}

TEST_F(AmpereFaults, Mma) {
  expect_fault(half_a_warp_multiplies, 32, "deadlock: .*waits for mma.m16n8k16 of bf16");
  expect_fault(half_a_warp_multiplies_otherwise, 32, "the warp has diverged: mma.m16n8k.* here, mma.m16n8k");
  expect_fault(
      half_a_warp_goes_to_the_barrier, 32,
      "the warp has diverged: (mma.m16n8k8 of f16|__syncwarp).* here, (mma.m16n8k8 of f16|__syncwarp)");
}

// ---------------------------------------------------------------------------------- wmma

using nvcuda::wmma::accumulator;
using nvcuda::wmma::fragment;

__global__ void wmma_of_half_a_warp(const float* in, float*) {
  fragment<accumulator, 16, 16, 16, float> accum;
  if (threadIdx.x < 16) nvcuda::wmma::load_matrix_sync(accum, in, 0, nvcuda::wmma::mem_row_major);
}
__global__ void misaligned_wmma(const float* in, float*) {
  fragment<accumulator, 16, 16, 16, float> accum;
  nvcuda::wmma::load_matrix_sync(accum, in + 4, 0, nvcuda::wmma::mem_row_major);
}
__global__ void odd_pitch_of_wmma(const float* in, float*) {
  fragment<accumulator, 16, 16, 16, float> accum;
  nvcuda::wmma::load_matrix_sync(accum, in, 2, nvcuda::wmma::mem_row_major);
}
__global__ void wmma_of_what_nobody_wrote(const float*, float*) {
  fragment<accumulator, 16, 16, 16, float> accum;
  nvcuda::wmma::load_matrix_sync(accum, storage().words, 4, nvcuda::wmma::mem_row_major);
}
__global__ void wmma_behind_the_end(const float* in, float*) {
  fragment<accumulator, 16, 16, 16, float> accum;
  nvcuda::wmma::load_matrix_sync(accum, in, 16, nvcuda::wmma::mem_row_major);
}

TEST_F(AmpereFaults, Wmma) {
  expect_fault(wmma_of_half_a_warp, 32, "deadlock: .*waits for wmma::load_matrix_sync");
  expect_fault(misaligned_wmma, 32, "a matrix of wmma's that is not 32-byte aligned");
  expect_fault(odd_pitch_of_wmma, 32, "a matrix of wmma's whose rows are not a multiple of 16 bytes apart");
  expect_fault(wmma_of_what_nobody_wrote, 32, "a thread reads shared memory at .* that nobody has written");
  expect_fault(wmma_behind_the_end, 32,
               "the kernel reads 4 bytes of global memory at .*, outside of every allocation");
}

// ---------------------------------------------------------------------------------- vectors

__device__ float sum(float4 vector) { return vector.x + vector.y + vector.z + vector.w; }

__global__ void vector_loads(const float* in, float* out) {
  reinterpret_cast<float4*>(storage().words)[threadIdx.x] =
      reinterpret_cast<const float4*>(in)[threadIdx.x % 16];
  __syncthreads();
  const float4 vector = reinterpret_cast<const float4*>(storage().words)[(threadIdx.x + 1) % 32];
  const __nv_bfloat162 rounded = __float22bfloat162_rn(make_float2(fmaf(in[0], 2.0F, 1.0F), 1.0F));
  const uint4 bits = *reinterpret_cast<const uint4*>(storage().words);
  __stcs(reinterpret_cast<float2*>(out) + threadIdx.x,
         make_float2(sum(vector), __uint_as_float(bits.x) + __low2float(rounded)));
}
__global__ void vectors_without_a_barrier(const float* in, float* out) {
  if (threadIdx.x == 0)
    *reinterpret_cast<float4*>(storage().words) = __ldg(reinterpret_cast<const float4*>(in));
  meet_without_order();
  if (threadIdx.x == 1) *reinterpret_cast<float4*>(out) = *reinterpret_cast<const float4*>(storage().words);
}
__global__ void misaligned_vector_in_shared_memory(const float*, float* out) {
  for (int i = 0; i < 8; ++i) storage().words[i] = 0;
  out[0] = sum(*reinterpret_cast<const float4*>(storage().words + 2));
}
__global__ void misaligned_vector_store(const float* in, float*) {
  *reinterpret_cast<uint2*>(storage().words + 1) = *reinterpret_cast<const uint2*>(in);
}
__global__ void misaligned_vector_in_global_memory(const float* in, float* out) {
  *reinterpret_cast<float4*>(out) = __ldg(reinterpret_cast<const float4*>(in + 2));
}
__global__ void vector_behind_the_end(const float* in, float* out) {
  out[0] = sum(*reinterpret_cast<const float4*>(in + kElems));
}

TEST_F(AmpereFaults, Vectors) {
  expect_no_fault(vector_loads, 32);
  expect_fault(
      vectors_without_a_barrier, 32,
      "a thread reads shared memory at 0x400 that thread 0 .* has written, and no barrier orders the two");
  expect_fault(misaligned_vector_in_shared_memory, 1,
               "an access to a '.*float4.*' at shared address 0x408, which is not 16-byte aligned");
  expect_fault(misaligned_vector_store, 1,
               "an access to a '.*uint2.*' at shared address 0x404, which is not 8-byte");
  expect_fault(misaligned_vector_in_global_memory, 1,
               "an access to a '.*float4.*' at .*, which is not 16-byte aligned");
  expect_fault(vector_behind_the_end, 1,
               "the kernel reads .* bytes of global memory at .*, outside of every allocation");
}

// ---------------------------------------------------------------------------------- the emulated GPU

__global__ void do_nothing(const float*, float*) {}

TEST_F(AmpereFaults, SharedMemoryIsThatOfTheComputeCapability) {
  struct Gpu {
    EmulatedCapability capability;
    int kib_of_cta, kib_of_sm;
  };
  constexpr int kKib = 1024;
  for (const Gpu& gpu : {Gpu{{7, 5}, 64, 64}, Gpu{{8, 0}, 163, 164}, Gpu{{8, 6}, 99, 100},
                         Gpu{{8, 9}, 99, 100}, Gpu{{9, 0}, 227, 228}}) {
    SCOPED_TRACE(std::to_string(gpu.capability.major) + "." + std::to_string(gpu.capability.minor));
    configure({.compute_capability = gpu.capability});
    int device = -1;
    int value = 0;
    ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, device), cudaSuccess);
    EXPECT_EQ(value, gpu.capability.major);
    EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMinor, device), cudaSuccess);
    EXPECT_EQ(value, gpu.capability.minor);
    EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), cudaSuccess);
    EXPECT_EQ(value, gpu.kib_of_cta * kKib);
    EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device),
              cudaSuccess);
    EXPECT_EQ(value, gpu.kib_of_sm * kKib);
    const auto kernel = reinterpret_cast<const void*>(do_nothing);
    constexpr auto kAttribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
    EXPECT_EQ(cudaFuncSetAttribute(kernel, kAttribute, gpu.kib_of_cta * kKib), cudaSuccess);
    EXPECT_EQ(cudaFuncSetAttribute(kernel, kAttribute, gpu.kib_of_cta * kKib + 1), cudaErrorInvalidValue);
  }
}

}  // namespace
}  // namespace hopper_gemm::emulator
