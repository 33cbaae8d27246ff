#pragma once

#include <array>
#include <cstddef>

#include "gemm/config.hpp"

// The configurations of the kernel for small M.

namespace hopper_gemm::library {

/// If block_m is less than wgmma's M, the kernel computes the transpose of D (swap-AB).
constexpr KernelConfig small_m_config(int block_m, int block_n, int block_k, int stages) {
  constexpr int kWgmmaM = 64;
  return {.schedule = Schedule::SmallM,
          .consumers = 1,
          .block_m = block_m,
          .block_n = block_n,
          .stages = stages,
          .block_k = block_k,
          .swap_ab = block_m < kWgmmaM,
          .majors = Majors::KMajor};
}

/// The configurations that are compiled.
/// - There are several block_m, so that a tile extends past M by as little as possible.
/// - Boxes of B have 16 KiB or more, because a TMA copy takes a while whatever its size. 48 rows are the exception.
/// - There are as many stages as leave room for two CTAs on an SM. If D has no more tiles than there are SMs, a
///   configuration with as many stages as fit serves better.
inline constexpr std::array kSmallMInstances = {
    small_m_config(16, 64, 128, 5),  small_m_config(16, 64, 256, 5), small_m_config(16, 128, 128, 3),
    small_m_config(16, 128, 128, 6), small_m_config(32, 64, 128, 4), small_m_config(32, 64, 128, 8),
    small_m_config(48, 64, 64, 7),   small_m_config(64, 64, 128, 6),
};

/// The compiled kernel that serves a configuration. The configuration may have fewer columns.
constexpr KernelConfig compiled(const KernelConfig& kernel) {
  return small_m_config(kernel.block_m, stage_lines_n(kernel), kernel.block_k, kernel.stages);
}

/// All configurations: each compiled one with all of its columns and with fewer, so that D's columns make even waves.
inline constexpr auto kSmallMConfigs = [] {
  constexpr std::array kFew = {64, 56, 40, 32};
  constexpr std::array kMany = {128, 112, 88, 80};
  std::array<KernelConfig, kFew.size() * kSmallMInstances.size()> configs{};
  std::size_t count = 0;
  for (const KernelConfig& kernel : kSmallMInstances) {
    for (const int columns : kernel.block_n == kFew.front() ? kFew : kMany) {
      configs[count++] = small_m_config(kernel.block_m, columns, kernel.block_k, kernel.stages);
    }
  }
  return configs;
}();

}  // namespace hopper_gemm::library
