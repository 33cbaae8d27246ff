#pragma once

// Host half of a tunable kernel's file. Device-only compilers (NVRTC) see an empty header.
#ifndef __CUDACC_RTC__

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <utility>

#include "common/tile_config.hpp"

namespace hopper_gemm {

/// The choices for one field of TileConfig: one to eight of them.
struct ConfigAxis {
  constexpr ConfigAxis(std::initializer_list<int> list) : size(list.size()) {
    std::copy(list.begin(), list.end(), choices);
  }

  int choices[8] = {};
  std::size_t size;
};

/// A tuning space as data. Its points are the cartesian product of the axes, the last of them changing fastest.
struct ConfigAxes {
  ConfigAxis block_m;
  ConfigAxis block_n;
  ConfigAxis block_k;
  ConfigAxis warp_m;
  ConfigAxis warp_n;
  ConfigAxis thread_m;
  ConfigAxis thread_n;
  ConfigAxis stages;
  ConfigAxis band_m;
};

constexpr std::size_t num_points(const ConfigAxes& axes) {
  return axes.block_m.size * axes.block_n.size * axes.block_k.size * axes.warp_m.size * axes.warp_n.size *
         axes.thread_m.size * axes.thread_n.size * axes.stages.size * axes.band_m.size;
}

/// index < num_points(axes).
constexpr TileConfig point_of(const ConfigAxes& axes, std::size_t index) {
  const auto take = [&index](const ConfigAxis& axis) {
    const int choice = axis.choices[index % axis.size];
    index /= axis.size;
    return choice;
  };
  TileConfig config{};
  config.band_m = take(axes.band_m);
  config.stages = take(axes.stages);
  config.thread_n = take(axes.thread_n);
  config.thread_m = take(axes.thread_m);
  config.warp_n = take(axes.warp_n);
  config.warp_m = take(axes.warp_m);
  config.block_k = take(axes.block_k);
  config.block_n = take(axes.block_n);
  config.block_m = take(axes.block_m);
  return config;
}

/// The points of a space that a kernel can be compiled for: those of which kFaultOf, given the TileConfig, says
/// nullptr. A std::array<TileConfig, how many>.
template <ConfigAxes kAxes, auto kFaultOf>
consteval auto valid_configs() {
  constexpr auto is_valid = [](std::size_t index) { return kFaultOf(point_of(kAxes, index)) == nullptr; };
  constexpr std::size_t count = [&] {
    std::size_t valid = 0;
    for (std::size_t index = 0; index < num_points(kAxes); ++index) valid += is_valid(index) ? 1 : 0;
    return valid;
  }();
  std::array<TileConfig, count> configs{};
  std::size_t next = 0;
  for (std::size_t index = 0; index < num_points(kAxes); ++index) {
    if (is_valid(index)) configs[next++] = point_of(kAxes, index);
  }
  return configs;
}

/// A configuration as a type, for lambdas that take it as a template argument.
template <TileConfig kConfig_>
struct ConfigConstant {
  static constexpr TileConfig kConfig = kConfig_;
};

/// What `make` returns for the ConfigConstant of each of kConfigs, in a std::array. Where it names a kernel's
/// template, this is what instantiates the kernel.
template <const auto& kConfigs, typename Make>
constexpr auto for_each_config(Make make) {
  return [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array{make(ConfigConstant<kConfigs[kIndex]>{})...};
  }
  (std::make_index_sequence<kConfigs.size()>{});
}

/// Where `config` stands in `configs`; configs.size() if it does not.
constexpr std::size_t index_of(std::span<const TileConfig> configs, const TileConfig& config) {
  return static_cast<std::size_t>(std::find(configs.begin(), configs.end(), config) - configs.begin());
}

}  // namespace hopper_gemm

#endif  // __CUDACC_RTC__
