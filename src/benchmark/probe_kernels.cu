// Kernels that measure the GPU. Each measured loop holds only what it measures; docs/matmul.md says how the figures come
// about.

#include "benchmark/probe_kernels.hpp"

#include <cuda_bf16.h>

#include <cuda/std/cstdint>
#include <ptx/mma.cuh>
#include <ptx/special_registers.cuh>

namespace hopper_gemm::probe {
namespace {

using Address = unsigned long long;

__device__ __forceinline__ const Address* address_of_line(const void* lines, std::uint32_t line) {
  return reinterpret_cast<const Address*>(static_cast<const char*>(lines) + std::int64_t{line} * kLineBytes);
}

/// The line after `line` in its chain. It is loaded by ld.global.ca, which L1 caches. For an ordinary load the compiler
/// would not know that the address is in global memory, and loads from generic addresses take longer.
__device__ __forceinline__ const Address* next_line(const Address* line) {
  return reinterpret_cast<const Address*>(__ldca(line));
}

/// Whether this CTA shall measure: it is the first that runs on SM `sm`, or `sm` is kAnySm.
__device__ bool claims(int sm, ChaseResult* result) {
  const std::uint32_t own = ptx::smid();
  if (sm != kAnySm && own != static_cast<std::uint32_t>(sm)) return false;
  if (atomicExch(&result->claimed, 1U) != 0) return false;
  result->sm = own;
  return true;
}

constexpr int kLinkThreads = 256;

__global__ void __launch_bounds__(kLinkThreads) link_lines_kernel(void* lines, const std::uint32_t* next) {
  const std::uint32_t stride = gridDim.x * kLinkThreads;
  for (std::uint32_t line = blockIdx.x * kLinkThreads + threadIdx.x; line < kNumLines; line += stride) {
    atomicExch(const_cast<Address*>(address_of_line(lines, line)),
               reinterpret_cast<Address>(address_of_line(lines, next[line])));
  }
}

constexpr int kWarp = 32;

__global__ void __launch_bounds__(kWarp)
    time_lines_kernel(const void* lines, int sm, std::uint16_t* cycles, ChaseResult* result) {
  __shared__ std::uint16_t cycles_of[kNumTimedLines];
  __shared__ bool is_claimed;
  if (threadIdx.x == 0) is_claimed = claims(sm, result);
  __syncwarp();
  if (!is_claimed) return;
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (std::uint32_t page = 0; page < kNumPages; ++page) {
      if (next_line(address_of_line(lines, page * kLinesPerPage)) == nullptr) return;
    }
#pragma unroll 1
    for (std::uint32_t i = 0; i < kNumTimedLines; ++i) {
      const Address* const line = address_of_line(lines, i * kTimedLineFactor % kNumLines);
      const std::uint64_t begin = ptx::clock64();
      // The clock is read after the branch, which waits for the value. No link is 0.
      if (next_line(line) == nullptr) return;
      const std::uint64_t elapsed = ptx::clock64() - begin;
      cycles_of[i] = static_cast<std::uint16_t>(elapsed < 0xffff ? elapsed : 0xffff);
    }
  }
  __syncwarp();
  for (int i = static_cast<int>(threadIdx.x); i < kNumTimedLines; i += kWarp) cycles[i] = cycles_of[i];
}

__global__ void __launch_bounds__(1)
    chase_kernel(const void* lines, Chase chase, int sm, ChaseResult* result) {
  if (!claims(sm, result)) return;
  const Address* warm_up = address_of_line(lines, chase.warm_up_first);
#pragma unroll 1
  for (int step = 0; step < chase.warm_up_steps; ++step) warm_up = next_line(warm_up);
  const Address* line = address_of_line(lines, chase.first);
  // The branches wait for the values before them. No link is 0.
  if (warm_up == nullptr) return;
  const std::uint64_t begin_ns = ptx::globaltimer();
  const std::uint64_t begin = ptx::clock64();
#pragma unroll 1
  for (int step = 0; step < chase.steps; step += kChaseUnroll) {
#pragma unroll
    for (int i = 0; i < kChaseUnroll; ++i) line = next_line(line);
  }
  if (line == nullptr) return;
  const std::uint64_t end = ptx::clock64();
  const std::uint64_t end_ns = ptx::globaltimer();
  result->end = reinterpret_cast<Address>(line);
  result->cycles = end - begin;
  result->ns = end_ns - begin_ns;
}

__global__ void __launch_bounds__(1)
    chase_shared_kernel(const std::uint32_t* next, int steps, ChaseResult* result) {
  __shared__ std::uint32_t words[kSharedWords];
  for (int i = 0; i < kSharedWords; ++i) words[i] = next[i];
  if (!claims(kAnySm, result)) return;
  const volatile char* const base = reinterpret_cast<const volatile char*>(words);
  std::uint32_t offset = 0;
  const std::uint64_t begin_ns = ptx::globaltimer();
  const std::uint64_t begin = ptx::clock64();
#pragma unroll 1
  for (int step = 0; step < steps; step += kChaseUnroll) {
#pragma unroll
    for (int i = 0; i < kChaseUnroll; ++i) {
      offset = *reinterpret_cast<const volatile std::uint32_t*>(base + offset);
    }
  }
  // The branch waits for the last value. No offset is odd.
  if (offset == 1) return;
  const std::uint64_t end = ptx::clock64();
  const std::uint64_t end_ns = ptx::globaltimer();
  result->end = offset;
  result->cycles = end - begin;
  result->ns = end_ns - begin_ns;
}

constexpr int kVectorsPerChunk = kStreamThreads * kStreamVectors;

__global__ void __launch_bounds__(kStreamThreads, kStreamCtasPerSm)
    write_kernel(uint4* data, int chunks, std::uint32_t words) {
  constexpr std::uint32_t kFactor = 0x9E3779B1;
  const std::uint32_t half = words / 2;  // a multiple of a vector's words
#pragma unroll 1
  for (int chunk = static_cast<int>(blockIdx.x); chunk < chunks; chunk += static_cast<int>(gridDim.x)) {
    const std::uint32_t first = static_cast<std::uint32_t>(chunk) * kVectorsPerChunk + threadIdx.x;
#pragma unroll
    for (int i = 0; i < kStreamVectors; ++i) {
      const std::uint32_t vector = first + static_cast<std::uint32_t>(i) * kStreamThreads;
      const bool is_second_half = vector * 4 >= half;
      // Words of the second half are 1 minus those of the first.
      const std::uint32_t factor = is_second_half ? 0U - kFactor : kFactor;
      const std::uint32_t word = is_second_half ? (vector * 4 - half) * factor + 1 : vector * 4 * factor;
      data[vector] = make_uint4(word, word + factor, word + 2 * factor, word + 3 * factor);
    }
  }
}

/// A CTA reads `count` chunks, from chunk `first` on, `step` chunks apart. After the last chunk of the data follows the
/// first one.
__global__ void __launch_bounds__(kStreamThreads, kStreamCtasPerSm)
    read_kernel(const uint4* data, int chunks, ReadPattern pattern, std::uint32_t* sums) {
  const int cta = static_cast<int>(blockIdx.x);
  const int ctas = static_cast<int>(gridDim.x);
  const bool shares = pattern == ReadPattern::Share;
  const int step = shares ? ctas : 1;
  const int count = shares ? (chunks - cta + ctas - 1) / ctas : chunks;
  int chunk = shares ? cta : static_cast<int>(std::int64_t{cta} * chunks / ctas);
  std::uint32_t sum = 0;
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    const uint4* const vectors = data + std::int64_t{chunk} * kVectorsPerChunk + threadIdx.x;
    uint4 loaded[kStreamVectors];
#pragma unroll
    for (int j = 0; j < kStreamVectors; ++j) loaded[j] = vectors[j * kStreamThreads];
#pragma unroll
    for (int j = 0; j < kStreamVectors; ++j) sum += loaded[j].x + loaded[j].y + loaded[j].z + loaded[j].w;
    chunk += step;
    if (chunk >= chunks) chunk -= chunks;
  }
  sum = __reduce_add_sync(0xffffffffU, sum);
  if (threadIdx.x % kWarp == 0) sums[cta * kSumsPerCta + static_cast<int>(threadIdx.x) / kWarp] = sum;
}

__global__ void __launch_bounds__(kStreamThreads, kStreamCtasPerSm)
    copy_kernel(const uint4* from, uint4* to, int chunks) {
#pragma unroll 1
  for (int chunk = static_cast<int>(blockIdx.x); chunk < chunks; chunk += static_cast<int>(gridDim.x)) {
    const std::int64_t first = std::int64_t{chunk} * kVectorsPerChunk + threadIdx.x;
    uint4 loaded[kStreamVectors];
#pragma unroll
    for (int j = 0; j < kStreamVectors; ++j) loaded[j] = from[first + j * kStreamThreads];
#pragma unroll
    for (int j = 0; j < kStreamVectors; ++j) to[first + j * kStreamThreads] = loaded[j];
  }
}

// The vectors that a warp's loads may begin at, and those that the last of them reach.
constexpr int kSharedRing = 1024;
constexpr int kSharedVectors = kSharedRing + kSharedReadLoads * kWarp;

__global__ void __launch_bounds__(kSharedReadThreads, 1)
    read_shared_kernel(std::uint32_t word, int iterations, std::uint64_t* cycles, std::uint32_t* sums) {
  __shared__ uint4 vectors[kSharedVectors];
  for (int i = static_cast<int>(threadIdx.x); i < kSharedVectors; i += kSharedReadThreads) {
    vectors[i] = make_uint4(word, word, word, word);
  }
  __syncthreads();
  std::uint32_t sum = 0;
  std::uint32_t first = threadIdx.x;
  const std::uint64_t begin = ptx::clock64();
#pragma unroll 1
  for (int iteration = 0; iteration < iterations; ++iteration) {
    uint4 loaded[kSharedReadLoads];
    // A quarter of a warp reads 128 bytes side by side, so that no two lanes want the same bank.
#pragma unroll
    for (int j = 0; j < kSharedReadLoads; ++j) loaded[j] = vectors[first + j * kWarp];
#pragma unroll
    for (int j = 0; j < kSharedReadLoads; ++j) sum += loaded[j].x + loaded[j].y + loaded[j].z + loaded[j].w;
    first = (first + kSharedReadLoads * kWarp) % kSharedRing;
  }
  sums[blockIdx.x * kSharedReadThreads + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) cycles[blockIdx.x] = ptx::clock64() - begin;
}

__global__ void __launch_bounds__(kFmaThreads, 1)
    fma_kernel(const FmaCoefficients* coefficients, int iterations, float* sums) {
  const float multiplier = coefficients->multiplier;
  const float addend = coefficients->addend;
  const float start = coefficients->start * static_cast<float>(threadIdx.x);
  float accum[kFmaAccumulators];
#pragma unroll
  for (float& value : accum) value = start;
#pragma unroll 1
  for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
    for (int i = 0; i < kFmaUnroll; ++i) {
#pragma unroll
      for (float& value : accum) value = fmaf(value, multiplier, addend);
    }
  }
  float sum = 0;
#pragma unroll
  for (const float value : accum) sum += value;
  sums[blockIdx.x * kFmaThreads + threadIdx.x] = sum;
}

__global__ void __launch_bounds__(kMmaThreads, 1)
    mma_kernel(const std::uint32_t* operands, int iterations, float* sums) {
  constexpr int kFragmentsA = kMmaRegsA / 4;
  constexpr int kFragmentsB = kMmaRegsB / 2;
  static_assert(kMmaAccumulators == kFragmentsA * kFragmentsB * 4);
  std::uint32_t a[kFragmentsA][4];
  std::uint32_t b[kFragmentsB][2];
  const std::uint32_t* own = operands + threadIdx.x;
#pragma unroll
  for (auto& fragment : a) {
#pragma unroll
    for (std::uint32_t& reg : fragment) {
      reg = *own;
      own += kMmaThreads;
    }
  }
#pragma unroll
  for (auto& fragment : b) {
#pragma unroll
    for (std::uint32_t& reg : fragment) {
      reg = *own;
      own += kMmaThreads;
    }
  }
  float accum[kFragmentsA][kFragmentsB][4] = {};
#pragma unroll 1
  for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
    for (int step = 0; step < kMmaUnroll; ++step) {
#pragma unroll
      for (int i = 0; i < kFragmentsA; ++i) {
#pragma unroll
        for (int j = 0; j < kFragmentsB; ++j) {
          ptx::mma_m16n8k16<__nv_bfloat16>(accum[i][j], a[i], b[j]);
        }
      }
    }
  }
  float sum = 0;
#pragma unroll
  for (const auto& row : accum) {
#pragma unroll
    for (const auto& fragment : row) {
#pragma unroll
      for (const float value : fragment) sum += value;
    }
  }
  sums[blockIdx.x * kMmaThreads + threadIdx.x] = sum;
}

__global__ void empty_kernel() {}

}  // namespace
}  // namespace hopper_gemm::probe

// Host side

#include "device/launch.hpp"

namespace hopper_gemm::probe {
namespace {

dim3 grid_of(int ctas) { return dim3(static_cast<unsigned>(ctas)); }

/// So many CTAs that every SM gets at least one of them, or one CTA for any SM.
dim3 grid_for_sm(int sm, int sm_count) {
  constexpr int kCtasPerSm = 8;
  return grid_of(sm == kAnySm ? 1 : kCtasPerSm * sm_count);
}

int chunks_of(std::int64_t bytes) { return static_cast<int>(bytes / kChunkBytes); }

}  // namespace

Status launch_link_lines(void* lines, const std::uint32_t* next, int sm_count, cudaStream_t stream) {
  return launch_kernel(link_lines_kernel, grid_of(sm_count), kLinkThreads, 0, stream, lines, next);
}

Status launch_time_lines(const void* lines, int sm, int sm_count, std::uint16_t* cycles, ChaseResult* result,
                         cudaStream_t stream) {
  return launch_kernel(time_lines_kernel, grid_for_sm(sm, sm_count), kWarp, 0, stream, lines, sm, cycles,
                       result);
}

Status launch_chase(const void* lines, const Chase& chase, int sm, int sm_count, ChaseResult* result,
                    cudaStream_t stream) {
  return launch_kernel(chase_kernel, grid_for_sm(sm, sm_count), 1, 0, stream, lines, chase, sm, result);
}

Status launch_chase_shared(const std::uint32_t* next, int steps, ChaseResult* result, cudaStream_t stream) {
  return launch_kernel(chase_shared_kernel, grid_of(1), 1, 0, stream, next, steps, result);
}

Status launch_write(void* data, std::int64_t bytes, int ctas, cudaStream_t stream) {
  return launch_kernel(write_kernel, grid_of(ctas), kStreamThreads, 0, stream, static_cast<uint4*>(data),
                       chunks_of(bytes), static_cast<std::uint32_t>(bytes / 4));
}

Status launch_read(const void* data, std::int64_t bytes, ReadPattern pattern, int ctas, std::uint32_t* sums,
                   cudaStream_t stream) {
  return launch_kernel(read_kernel, grid_of(ctas), kStreamThreads, 0, stream, static_cast<const uint4*>(data),
                       chunks_of(bytes), pattern, sums);
}

Status launch_copy(const void* from, void* to, std::int64_t bytes, int ctas, cudaStream_t stream) {
  return launch_kernel(copy_kernel, grid_of(ctas), kStreamThreads, 0, stream, static_cast<const uint4*>(from),
                       static_cast<uint4*>(to), chunks_of(bytes));
}

Status launch_read_shared(std::uint32_t word, int iterations, int sm_count, int shared_bytes_per_sm,
                          std::uint64_t* cycles, std::uint32_t* sums, cudaStream_t stream) {
  // Half of the shared memory on top of what the kernel declares keeps a second CTA off the SM.
  return launch_kernel(read_shared_kernel, grid_of(sm_count), kSharedReadThreads,
                       static_cast<std::size_t>(shared_bytes_per_sm / 2), stream, word, iterations, cycles,
                       sums);
}

Status launch_fma(const FmaCoefficients* coefficients, int iterations, int sm_count, float* sums,
                  cudaStream_t stream) {
  return launch_kernel(fma_kernel, grid_of(sm_count), kFmaThreads, 0, stream, coefficients, iterations, sums);
}

double fma_flops(int iterations, int sm_count) {
  return 2.0 * kFmaThreads * kFmaAccumulators * kFmaUnroll * iterations * sm_count;
}

Status launch_mma(const __nv_bfloat16* operands, int iterations, int sm_count, float* sums,
                  cudaStream_t stream) {
  return launch_kernel(mma_kernel, grid_of(sm_count), kMmaThreads, 0, stream,
                       reinterpret_cast<const std::uint32_t*>(operands), iterations, sums);
}

double mma_flops(int iterations, int sm_count) {
  constexpr double kFlopsPerMma = 2.0 * 16 * 8 * 16;
  constexpr double kMmasPerStep = kMmaAccumulators / 4;
  return kFlopsPerMma * kMmasPerStep * kMmaUnroll * (kMmaThreads / kWarp) * iterations * sm_count;
}

Status launch_empty(int sm_count, cudaStream_t stream) {
  constexpr int kThreads = 128;
  return launch_kernel(empty_kernel, grid_of(sm_count), kThreads, 0, stream);
}

}  // namespace hopper_gemm::probe
