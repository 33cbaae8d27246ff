#pragma once

// The configurations of v6, and the tables of what launches them: one for each input type, in two halves, which are
// compiled apart (instances_*.cu).

#include <array>
#include <cstddef>
#include <utility>

#include "ladder/ampere/v6_general.cuh"
#include "ladder/config_space.hpp"

namespace hopper_gemm::ampere::v6 {

// Warps of 64x64 do the most products per byte from shared memory; stages as many as fit. They are for large D.
inline constexpr ConfigAxes kLargeTiles = {
    .block_m = {128, 256},
    .block_n = {128, 256},
    .block_k = {32, 64},
    .warp_m = {64},
    .warp_n = {64},
    .thread_m = {0},
    .thread_n = {0},
    .stages = {3, 4, 5},
    .band_m = {8},
};

// Twice the warps for the same tile: more of them hide each other's latency.
inline constexpr ConfigAxes kEightWarps = {
    .block_m = {128},
    .block_n = {128},
    .block_k = {32, 64},
    .warp_m = {32},
    .warp_n = {64},
    .thread_m = {0},
    .thread_n = {0},
    .stages = {3},
    .band_m = {8},
};

// For a small D: tiles enough for all SMs.
inline constexpr ConfigAxes kSmallTiles = {
    .block_m = {64, 128},
    .block_n = {64},
    .block_k = {32, 64},
    .warp_m = {32, 64},
    .warp_n = {32},
    .thread_m = {0},
    .thread_n = {0},
    .stages = {3, 4},
    .band_m = {8},
};

/// All of the spaces, which have no point in common.
template <typename... Arrays>
constexpr auto concatenated(const Arrays&... arrays) {
  std::array<TileConfig, (std::tuple_size_v<Arrays> + ...)> all{};
  std::size_t next = 0;
  const auto append = [&](const auto& some) {
    for (const TileConfig& config : some) all[next++] = config;
  };
  (append(arrays), ...);
  return all;
}

inline constexpr auto kConfigs =
    concatenated(valid_configs<kLargeTiles, fault_of>(), valid_configs<kEightWarps, fault_of>(),
                 valid_configs<kSmallTiles, fault_of>());

template <std::size_t kFirst, std::size_t kCount>
constexpr auto slice_of_configs() {
  std::array<TileConfig, kCount> slice{};
  for (std::size_t i = 0; i < kCount; ++i) slice[i] = kConfigs[kFirst + i];
  return slice;
}

inline constexpr auto kFirstConfigs = slice_of_configs<0, kConfigs.size() / 2>();
inline constexpr auto kOtherConfigs =
    slice_of_configs<kConfigs.size() / 2, kConfigs.size() - kConfigs.size() / 2>();

using FirstLaunchers = std::array<LaunchFunction, kFirstConfigs.size()>;
using OtherLaunchers = std::array<LaunchFunction, kOtherConfigs.size()>;

extern const FirstLaunchers kFirstLaunchersBf16;
extern const OtherLaunchers kOtherLaunchersBf16;
extern const FirstLaunchers kFirstLaunchersFp16;
extern const OtherLaunchers kOtherLaunchersFp16;

/// launch_tile() for each of kTiles, by 16-byte copies.
template <const auto& kTiles, typename T>
constexpr auto launchers_of() {
  return for_each_config<kTiles>(
      [](auto config) -> LaunchFunction { return launch_tile<decltype(config)::kConfig, T, 8>; });
}

}  // namespace hopper_gemm::ampere::v6
