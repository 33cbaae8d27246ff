#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "hopper_gemm/status.hpp"

namespace hopper_gemm::probe {

// Latency. One thread walks a chain of loads, in which each load returns the address of the next.

/// A cache line. The first word of a line holds the address of the next line in its chain.
inline constexpr int kLineBytes = 128;
/// The lines that chains go through: 8 MiB, which every L2 holds and few pages of virtual memory cover.
inline constexpr int kNumLines = 1 << 16;
/// One line in so many belongs to the chain that visits every page of the lines, so that no timed load waits for an
/// address translation.
inline constexpr int kLinesPerPage = 512;
inline constexpr int kNumPages = kNumLines / kLinesPerPage;
/// The lines that launch_time_lines() times one by one.
inline constexpr int kNumTimedLines = 1 << 14;
/// The words of shared memory that a chain goes through.
inline constexpr int kSharedWords = 2048;

/// Line index * kTimedLineFactor % kNumLines is timed as number `index`. The factor is odd, so that these are different
/// lines, and spreads them.
inline constexpr std::uint32_t kTimedLineFactor = 40503;

/// Any SM: the kernel says on which one it ran.
inline constexpr int kAnySm = -1;

/// What a kernel that walks a chain measured.
struct ChaseResult {
  std::uint32_t claimed;  ///< 1 if a CTA ran on the SM that was asked for; the caller sets it to 0
  std::uint32_t sm;       ///< on which the kernel ran
  std::uint64_t end;      ///< where the chain ended: an address, or an offset in shared memory
  std::uint64_t cycles;   ///< of all timed steps, on the SM's clock
  std::uint64_t ns;       ///< of all timed steps, on the GPU's timer
};

/// Enqueues: writes all lines. Line i gets the address of line next[i] by an atomic exchange, which L2 executes, from
/// all SMs. lines: kNumLines lines; next: kNumLines numbers; both in device memory.
Status launch_link_lines(void* lines, const std::uint32_t* next, int sm_count, cudaStream_t stream);

/// Enqueues: on SM `sm` or kAnySm, times one load of each timed line into cycles[i], after it visited each page.
/// Later loads of a line within a launch would hit L1, so there is only one. result: `end` and `ns` are 0.
Status launch_time_lines(const void* lines, int sm, int sm_count, std::uint16_t* cycles, ChaseResult* result,
                         cudaStream_t stream);

/// A walk through the chain at line `first`, after an untimed one from line `warm_up_first`.
struct Chase {
  std::uint32_t warm_up_first;
  int warm_up_steps;
  std::uint32_t first;
  int steps;  ///< a multiple of kChaseUnroll
};
inline constexpr int kChaseUnroll = 16;

/// Enqueues: walks through lines that launch_link_lines() has written, on SM `sm` or kAnySm, by loads that L1 may cache.
/// L1 is empty at the beginning. end: the address of the line that follows the last load.
Status launch_chase(const void* lines, const Chase& chase, int sm, int sm_count, ChaseResult* result,
                    cudaStream_t stream);

/// Enqueues: walks through shared memory from offset 0. next: kSharedWords offsets in bytes, in device memory. steps: a
/// multiple of kChaseUnroll. end: the offset that the last load returned.
Status launch_chase_shared(const std::uint32_t* next, int steps, ChaseResult* result, cudaStream_t stream);

// Bandwidth. Data is a pattern whose sum is known.

/// What a CTA of these kernels moves at a time. Sizes of data are multiples of it.
inline constexpr int kStreamThreads = 512;
inline constexpr int kStreamVectors = 8;  ///< of 16 bytes, that a thread moves at a time
inline constexpr std::int64_t kChunkBytes = std::int64_t{kStreamThreads} * kStreamVectors * 16;
inline constexpr int kStreamCtasPerSm = 2;
/// Sums that launch_read() writes for each CTA: one of each warp.
inline constexpr int kSumsPerCta = kStreamThreads / 32;

/// Enqueues: fills `bytes` bytes. Words of the first half are numbers that look random, and the word at the same place of
/// the second half is 1 minus that number. The sum of all words is therefore bytes / 8, modulo 2^32.
Status launch_write(void* data, std::int64_t bytes, int ctas, cudaStream_t stream);

/// Which part of the data each CTA of launch_read() reads.
enum class ReadPattern {
  Share,      ///< the CTAs share the data
  Everything  ///< each CTA reads all of the data, and each begins at another place
};

/// Enqueues: adds up the words of the data. sums: kSumsPerCta * ctas numbers, whose sum modulo 2^32 is that of the words
/// that were read.
Status launch_read(const void* data, std::int64_t bytes, ReadPattern pattern, int ctas, std::uint32_t* sums,
                   cudaStream_t stream);

Status launch_copy(const void* from, void* to, std::int64_t bytes, int ctas, cudaStream_t stream);

inline constexpr int kSharedReadThreads = 1024;
inline constexpr int kSharedReadLoads = 8;  ///< of 16 bytes, that a thread has in flight
inline constexpr std::int64_t kSharedReadBytes = std::int64_t{kSharedReadThreads} * kSharedReadLoads * 16;

/// Enqueues: one CTA on each SM reads kSharedReadBytes of shared memory in each iteration, all words of which are `word`.
/// cycles: of each CTA. sums: of each thread, 4 * kSharedReadLoads * iterations * word modulo 2^32.
Status launch_read_shared(std::uint32_t word, int iterations, int sm_count, int shared_bytes_per_sm,
                          std::uint64_t* cycles, std::uint32_t* sums, cudaStream_t stream);

// Rates.

inline constexpr int kFmaThreads = 1024;
inline constexpr int kFmaAccumulators = 16;
inline constexpr int kFmaUnroll = 16;

/// What the FMA kernel computes with: accumulator = accumulator * multiplier + addend.
struct FmaCoefficients {
  float start;  ///< the accumulators of thread t begin at start * t
  float multiplier;
  float addend;
};

/// Enqueues: each thread of one CTA on each SM does kFmaAccumulators * kFmaUnroll FMAs of fp32 in each iteration. sums:
/// the sum of each thread's accumulators. coefficients: in device memory.
Status launch_fma(const FmaCoefficients* coefficients, int iterations, int sm_count, float* sums,
                  cudaStream_t stream);
/// Floating-point operations of launch_fma().
double fma_flops(int iterations, int sm_count);

inline constexpr int kMmaThreads = 512;
inline constexpr int kMmaUnroll = 8;
inline constexpr int kMmaRegsA = 16;  ///< of a lane: four fragments of A[16,16]
inline constexpr int kMmaRegsB = 4;   ///< of a lane: two fragments of B[16,8]
inline constexpr int kMmaRegs = kMmaRegsA + kMmaRegsB;
inline constexpr int kMmaAccumulators = 32;  ///< of a lane: four by two fragments
/// bf16 elements of launch_mma()'s operands.
inline constexpr int kMmaOperandElems = kMmaThreads * kMmaRegs * 2;

/// Enqueues: each warp of one CTA on each SM does kMmaUnroll times eight mma.sync m16n8k16 of bf16 in each iteration.
/// operands: kMmaOperandElems elements in device memory. sums: the sum of each thread's accumulators.
Status launch_mma(const __nv_bfloat16* operands, int iterations, int sm_count, float* sums,
                  cudaStream_t stream);
/// Floating-point operations of launch_mma().
double mma_flops(int iterations, int sm_count);

/// Enqueues a kernel that has nothing to do, with one CTA for each SM.
Status launch_empty(int sm_count, cudaStream_t stream);

}  // namespace hopper_gemm::probe
