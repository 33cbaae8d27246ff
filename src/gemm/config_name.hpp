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

/// The configuration's name, such as "cooperative_128x256_s4_c2x1". The schedule's name comes first, and then
/// - the tile. "+128" means that there are also narrow tiles of 128 columns. A third extent says how many elements
///   along K a stage has if they are not 64: "small_m_16x64x128_s5";
/// - "_w1" if there is one consumer warpgroup and the schedule could have two;
/// - "_wn" if the consumer warpgroups divide the tile along wgmma's N;
/// - "_t" if the kernel computes the transpose (swap-AB);
/// - the stages, "_s4";
/// - "_c2x1": clusters of two CTAs along M and one along N, which share loads;
/// - "_k4": four CTAs of a cluster share a tile's K; "_k8x2": two clusters of eight CTAs each do.
std::string name_of(const GemmConfig& config);

}  // namespace hopper_gemm::library
