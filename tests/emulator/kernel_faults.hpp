// What the tests of the emulator's reports share: they run a small kernel in many schedules, and look at each report.
#pragma once

#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ptx/global_memory.cuh>

#include "device/dynamic_shared_memory.cuh"
#include "device/launch.hpp"
#include "emulator/emulator.hpp"

namespace hopper_gemm::emulator {

inline constexpr std::size_t kElems = 64;  ///< of each operand in global memory

struct alignas(16) Storage {
  float words[128];
  float more_words[128];
  std::uint64_t barrier;
};

__device__ inline Storage& storage() { return dynamic_shared_storage<Storage>(); }

/// The first words of a kernel's output, for relaxed operations.
__device__ inline std::uint32_t* counters(float* out) { return reinterpret_cast<std::uint32_t*>(out); }
/// Words of a kernel's output that no counter shares 16 bytes with.
__device__ inline float* data(float* out) { return out + 32; }

__device__ inline void wait_for(const std::uint32_t* counter, std::uint32_t value) {
  while (ptx::ld_relaxed_gpu(counter) < value) {
  }
}

struct FaultLaunch {
  // NOLINTNEXTLINE(google-explicit-constructor): most launches are one CTA of so many threads
  FaultLaunch(int cta_threads, int grid_ctas = 1, int gpu_sms = 1, int ctas_of_cluster = 1)
      : threads(cta_threads), ctas(grid_ctas), sms(gpu_sms), cluster_size(ctas_of_cluster) {}

  int threads;
  int ctas;
  int sms;
  int cluster_size;
};

class KernelFaults : public testing::Test {
 protected:
  static constexpr std::uint64_t kSeeds = 30;

  void SetUp() override {
    in_ = static_cast<float*>(allocate(kElems * sizeof(float)));
    out_ = static_cast<float*>(allocate(kElems * sizeof(float)));
    for (std::size_t i = 0; i < kElems; ++i) in_[i] = static_cast<float>(i);
  }
  void TearDown() override {
    configure({});
    free_all();
  }

  using Kernel = void(const float* in, float* out);

  /// Every schedule must end with a report that has one of these patterns.
  template <typename... Patterns>
  void expect_fault(Kernel* kernel, const FaultLaunch& launch, const Patterns&... patterns) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      run(kernel, launch, seed);
      EXPECT_THAT(last_report(), testing::AnyOf(testing::ContainsRegex(patterns)...)) << "seed " << seed;
    }
  }
  void expect_no_fault(Kernel* kernel, const FaultLaunch& launch) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      run(kernel, launch, seed);
      EXPECT_STREQ(last_report(), "") << "seed " << seed;
    }
  }

  /// `out` is zero when the kernel begins.
  void run(Kernel* kernel, const FaultLaunch& launch, std::uint64_t seed) {
    std::memset(out_, 0, kElems * sizeof(float));
    configure({.seed = seed, .sms = launch.sms, .max_steps = 300'000});
    const dim3 grid(static_cast<unsigned>(launch.ctas));
    if (launch.cluster_size == 1) {
      static_cast<void>(launch_kernel(kernel, grid, launch.threads, sizeof(Storage), nullptr, in_, out_));
    } else {
      static_cast<void>(launch_cluster_kernel(kernel, grid, launch.cluster_size, launch.threads,
                                              sizeof(Storage), nullptr, in_, out_));
    }
  }

  float* in_ = nullptr;
  float* out_ = nullptr;
};

}  // namespace hopper_gemm::emulator
