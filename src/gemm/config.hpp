#pragma once

#include "common/ceil_div.hpp"
#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm::library {

/// Elements along K of a block: 128 bytes, one swizzle atom.
inline constexpr int kBlockK = 64;

/// Which warps of a CTA take which role. All of these load by TMA and multiply by wgmma; what TMA cannot move, and GPUs
/// before Hopper, are the back end mma_sync's.
enum class Schedule {
  Cooperative,  ///< one or two consumer warpgroups share a tile, one above the other; persistent CTAs
  Pingpong,     ///< two consumer warpgroups have a tile each, and store it under the other's products
  SmallM        ///< one consumer warpgroup, one producer warp, and stages of several blocks; one tile a CTA
};

/// What a kernel computes besides alpha · A·B.
enum class Epilogues {
  AlphaOnly,        ///< alpha · A·B alone is compiled
  WithoutMatrices,  ///< and kernels that add a bias, apply an activation and a gate, and have any output type
  All  ///< these also add a C, with a mixed tile N one of 16-bit elements that TMA can load, and store an aux
};

/// Which layouts of the operands a kernel is compiled for. Where B is MN-major its columns come in whole swizzle atoms.
enum class Majors {
  Any,
  KMajorB,  ///< A as it comes
  KMajor    ///< A and B
};

/// What is decided at compile time: what one CTA computes, and how CTAs share what they load. A structural type, which
/// is the kernels' template parameter.
struct KernelConfig {
  Schedule schedule;
  int consumers;      ///< warpgroups that multiply: 1 or 2
  int block_m;        ///< rows of D of a CTA's tile
  int block_n;        ///< columns of it, of a mixed tile N those of the wide tiles
  int stages;         ///< each of block_k elements along K
  int cluster_m = 1;  ///< CTAs one above the other, which share B
  int cluster_n = 1;  ///< CTAs side by side, which share A
  int block_k = kBlockK;
  int narrow_n = 0;      ///< columns of the narrow tiles of a mixed tile N; 0: all tiles have block_n
  bool swap_ab = false;  ///< the transpose of D is computed: B's lines are wgmma's rows, A's its columns
  Epilogues epilogues = Epilogues::All;
  Majors majors = Majors::Any;

  HG_HOST_DEVICE friend constexpr bool operator==(const KernelConfig&, const KernelConfig&) = default;
};

/// A configuration: a kernel, and how many CTAs share a tile's K. The order in which K is summed follows from it: each of
/// them adds up its blocks in ascending order, then the partials are added in the order of the CTAs of the cluster, and
/// those of the workspace in the order of K.
struct GemmConfig {
  KernelConfig kernel;
  int split_k = 1;            ///< CTAs of a cluster, which add up their partials among themselves
  int workspace_split_k = 1;  ///< clusters, whose partials go through the workspace

  HG_HOST_DEVICE friend constexpr bool operator==(const GemmConfig&, const GemmConfig&) = default;
};

/// Lines of an MN-major operand that come at a time: 128 bytes of its rows, one swizzle atom.
inline constexpr int kAtomLines = 64;

/// The most CTAs that share a tile's K: the largest cluster that every sm_90 GPU runs.
inline constexpr int kMaxSplitK = 8;

/// What a kernel makes of accumulators. Each kind is a kernel of its own, since what a kernel could do, too, slows down
/// one that runs for a few microseconds.
enum class EpilogueKind {
  AlphaOnly,  ///< D = alpha · A·B in a 16-bit type, at multiples of 16 bytes with rows of whole such chunks
  General     ///< all that KernelConfig::epilogues says
};

/// What a cooperative kernel writes D from, besides the stages: so many buffers of 2 KiB for each consumer warp.
inline constexpr int kStoreBuffers = 2;
inline constexpr int kStoreBufferBytes = 16 * 128;

HG_HOST_DEVICE constexpr int cluster_size(const KernelConfig& kernel) {
  return kernel.cluster_m * kernel.cluster_n;
}
HG_HOST_DEVICE constexpr int cluster_size(const GemmConfig& config) {
  return cluster_size(config.kernel) * config.split_k;
}

/// Whether a kernel computes several batches in one launch. The cooperative one with a mixed tile N has no register left for
/// a tile's batch: ptxas would serialise its wgmmas (C7511).
HG_HOST_DEVICE constexpr bool takes_batches(const KernelConfig& kernel) {
  return kernel.schedule != Schedule::Cooperative || kernel.narrow_n == 0;
}

/// The most tiles that a kernel for small M computes one above the other: of more rows larger tiles are faster.
inline constexpr int kMostSmallMTiles = 2;

/// Lines of B that a stage has room for: as many as wgmma reads, of which a kernel for small M may use a part.
HG_HOST_DEVICE constexpr int stage_lines_n(const KernelConfig& kernel) {
  constexpr int kWgmmaM = 64;
  return kernel.schedule == Schedule::SmallM ? ceil_div(kernel.block_n, kWgmmaM) * kWgmmaM : kernel.block_n;
}

HG_HOST_DEVICE constexpr int stage_bytes(const KernelConfig& kernel) {
  constexpr int kElemBytes = 2;
  return (kernel.block_m + stage_lines_n(kernel)) * kernel.block_k * kElemBytes;
}

/// Whether an SM has room for several CTAs of a kernel for small M.
HG_HOST_DEVICE constexpr bool shares_an_sm(const KernelConfig& kernel) {
  constexpr int kHalf = 113 * 1024;
  return kernel.stages * stage_bytes(kernel) <= kHalf;
}

/// Consumers and the warpgroup of the producer, or its warp.
HG_HOST_DEVICE constexpr int num_threads(const KernelConfig& kernel) {
  return kernel.schedule == Schedule::SmallM ? 128 + 32 : (kernel.consumers + 1) * 128;
}

/// Stages and store buffers. Barriers and the bias take less than 3 KiB beside them.
HG_HOST_DEVICE constexpr int buffer_bytes(const KernelConfig& kernel) {
  return kernel.stages * stage_bytes(kernel) + kernel.consumers * 4 * kStoreBuffers * kStoreBufferBytes;
}

/// Whether the CTAs of a cluster may share a tile's K. They then share no loads; and adding up takes registers that the
/// larger tiles of two consumers have not.
HG_HOST_DEVICE constexpr bool can_split_k(const KernelConfig& kernel) {
  return cluster_size(kernel) == 1 && kernel.epilogues == Epilogues::All &&
         (kernel.consumers == 1 || kernel.block_m * kernel.block_n <= 128 * 128);
}

/// Rows and columns of D that a warp of a kernel for small M sends, adds up and stores at a time.
inline constexpr int kSmallMSubtile = 16;

/// The most subtiles that peers send to a CTA, of a tile of `subtiles` that at most max_split CTAs add up in turn.
HG_HOST_DEVICE constexpr int most_peers_subtiles(int subtiles, int max_split) {
  int most = 0;
  for (int split = 2; split <= max_split; ++split) {
    const int sent = ceil_div(subtiles, split) * (split - 1);
    if (sent > most) most = sent;
  }
  return most;
}

/// The most CTAs of a cluster that share a tile's K. Of a kernel for small M, what their partials leave room for beside
/// the stages; and tiles of other columns than 64 are so many that they need no large clusters.
HG_HOST_DEVICE constexpr int max_split_k(const KernelConfig& kernel) {
  if (!can_split_k(kernel)) return 1;
  if (kernel.schedule != Schedule::SmallM) return kMaxSplitK;
  constexpr int kMost = 112 * 1024;  // half of an SM's, less what barriers take and the system
  constexpr int kMostOfAll = 226 * 1024;
  constexpr int kSubtileBytes = kSmallMSubtile * kSmallMSubtile * 4;
  const int subtiles = kernel.block_m / kSmallMSubtile * (stage_lines_n(kernel) / kSmallMSubtile);
  const int room = (shares_an_sm(kernel) ? kMost : kMostOfAll) - kernel.stages * stage_bytes(kernel);
  const int most = kernel.block_n == 64 ? kMaxSplitK : kMaxSplitK / 2;
  int split = 1;
  while (split < most && most_peers_subtiles(subtiles, split + 1) * kSubtileBytes <= room) ++split;
  return split;
}

/// Why the cooperative kernel of one tile N cannot be compiled for a configuration, or nullptr.
HG_HOST_DEVICE constexpr const char* fault_of(const KernelConfig& kernel) {
  if (kernel.schedule != Schedule::Cooperative || kernel.narrow_n != 0 || kernel.swap_ab) {
    return "the schedule is cooperative, with one tile N, and A gives wgmma its rows";
  }
  if (kernel.consumers != 1 && kernel.consumers != 2) return "there are 1 or 2 consumer warpgroups";
  const int consumer_m = kernel.block_m / kernel.consumers;
  if (kernel.block_m % kernel.consumers != 0 || (consumer_m != 64 && consumer_m != 128)) {
    return "a consumer warpgroup has 64 or 128 rows";
  }
  if (kernel.block_n < 64 || kernel.block_n > 256 || kernel.block_n % 16 != 0) {
    return "block_n is a multiple of 16 from 64 to 256";
  }
  if (consumer_m * kernel.block_n > 64 * 256)
    return "a consumer's tile takes more registers than 64x256 does";
  if (kernel.cluster_m < 1 || kernel.cluster_n < 1 || cluster_size(kernel) > 4) {
    return "a cluster that shares its loads has 1 to 4 CTAs";
  }
  if (kernel.block_m % (8 * kernel.cluster_n) != 0 || kernel.block_n % (8 * kernel.cluster_m) != 0) {
    return "a CTA loads whole groups of 8 rows, over which the swizzle repeats";
  }
  if (kernel.stages < 2) return "there are at least 2 stages: one is read while the other is filled";
  if (kernel.block_k != kBlockK) return "a stage has 64 elements along K";
  if (buffer_bytes(kernel) > 226 * 1024) return "the stages take more than 226 KiB of shared memory";
  if (kernel.block_n % kBlockK != 0 && kernel.majors != Majors::KMajor) {
    return "columns of an MN-major B come in whole swizzle atoms of 64";
  }
  return nullptr;
}

}  // namespace hopper_gemm::library
