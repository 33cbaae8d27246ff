#pragma once

// The configurations of the back end mma_sync, and the tables of their kernels. There is one table for each input type,
// in two halves that are compiled in files of their own (mma_sync_*.cu).

#include <array>
#include <cstddef>
#include <utility>

#include "gemm/kernel/mma_sync.cuh"

namespace hopper_gemm::library::mma_sync {

/// The kernels of one configuration and type, by layout_index().
using LayoutInstances = std::array<KernelInstance, 4>;

constexpr std::size_t layout_index(OperandMajor major_a, OperandMajor major_b) {
  return (major_a == OperandMajor::MN ? 2U : 0U) + (major_b == OperandMajor::MN ? 1U : 0U);
}

template <MmaConfig kConfig, typename T>
constexpr LayoutInstances instances_of() {
  LayoutInstances instances{};
  const auto add = [&]<OperandMajor kMajorA, OperandMajor kMajorB>() {
    using ThisConfig = Config<kConfig, T, kMajorA, kMajorB>;
    instances[layout_index(kMajorA, kMajorB)] = {prepare_kernel<ThisConfig>, launch_instance<ThisConfig>};
  };
  add.template operator()<OperandMajor::K, OperandMajor::K>();
  add.template operator()<OperandMajor::K, OperandMajor::MN>();
  add.template operator()<OperandMajor::MN, OperandMajor::K>();
  add.template operator()<OperandMajor::MN, OperandMajor::MN>();
  return instances;
}

/// For a large D. Warp tiles of 64x64 do the most products per byte from shared memory.
inline constexpr std::array kLargeConfigs = {
    MmaConfig{warp_tile(256, 128, 64, 64, 64, 3), 8},  // 144 KiB of shared memory: not for sm_86 and sm_89
    MmaConfig{warp_tile(128, 128, 64, 64, 64, 3), 8},  // 96 KiB
};

/// For a small D, so that there are enough tiles for all SMs. And for lines that are not 16-byte aligned: their copies
/// take the time, whatever the tile.
inline constexpr std::array kSmallConfigs = {
    MmaConfig{warp_tile(64, 64, 64, 32, 32, 4), 8},  // 64 KiB
    MmaConfig{warp_tile(64, 64, 32, 32, 32, 3), 2},  // 24 KiB
    MmaConfig{warp_tile(64, 64, 32, 32, 32, 3), 1},  // 24 KiB
};

using LargeInstances = std::array<LayoutInstances, kLargeConfigs.size()>;
using SmallInstances = std::array<LayoutInstances, kSmallConfigs.size()>;

extern const LargeInstances kLargeInstancesBf16;
extern const SmallInstances kSmallInstancesBf16;
extern const LargeInstances kLargeInstancesFp16;
extern const SmallInstances kSmallInstancesFp16;

template <const auto& kConfigs, typename T, std::size_t... kIndex>
constexpr auto instance_table_of(std::index_sequence<kIndex...>) {
  return std::array{instances_of<kConfigs[kIndex], T>()...};
}

/// The kernels of `kConfigs`, in their order.
template <const auto& kConfigs, typename T>
constexpr auto instance_table() {
  return instance_table_of<kConfigs, T>(std::make_index_sequence<kConfigs.size()>());
}

}  // namespace hopper_gemm::library::mma_sync
