#pragma once

#include <array>
#include <string>
#include <string_view>

#include "gemm/config.hpp"

namespace hopper_gemm::library {

inline constexpr std::array kSchedules = {Schedule::Cooperative, Schedule::Pingpong, Schedule::SmallM};

/// "cooperative", "pingpong" or "small_m".
constexpr std::string_view name_of(Schedule schedule) {
  switch (schedule) {
    case Schedule::Cooperative: return "cooperative";
    case Schedule::Pingpong: return "pingpong";
    case Schedule::SmallM: return "small_m";
  }
  return "";
}

/// The configuration's name, such as "cooperative_128x256_s4_c2x1". Behind the schedule stand
/// - the tile, with "+128" where narrow tiles of 128 columns stand beside it, and a stage's elements along K as a third
///   extent where they are not 64: "small_m_16x64x128_s5";
/// - "_w1" where the schedule could have more consumer warpgroups than one;
/// - "_t" where swap-AB computes the transpose;
/// - the stages, "_s4";
/// - "_c2x1": a cluster of CTAs, two above each other and one side by side, that share loads;
/// - "_k4": four CTAs of a cluster share a tile's K; "_k8x2": eight of each of two clusters do.
std::string name_of(const GemmConfig& config);

}  // namespace hopper_gemm::library
