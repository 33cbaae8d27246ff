#pragma once

#include "common/ceil_div.hpp"
#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm::library {

/// Elements along K of a K block: 128 bytes, the width of a swizzle atom.
inline constexpr int kBlockK = 64;

/// Which warps of a CTA take which role. All of these kernels load by TMA and multiply by wgmma. The back end mma_sync
/// computes what TMA cannot load, and everything on GPUs other than sm_90.
enum class Schedule {
  Cooperative,  ///< one or two consumer warpgroups compute a tile together, each its own rows; persistent CTAs
  Pingpong,     ///< two consumer warpgroups have a tile each: one multiplies while the other stores
  SmallM        ///< one consumer warpgroup, one producer warp, and stages of several K blocks; one tile a CTA
};

/// Which epilogues a kernel is compiled for.
enum class Epilogues {
  AlphaOnly,        ///< only alpha · A·B
  WithoutMatrices,  ///< also bias, activation, gate, and any output type
  All  ///< also C and aux; with a mixed tile N, C must have 16-bit elements and TMA must be able to load it
};

/// Which layouts of the operands a kernel is compiled for. The lines of an MN-major operand come in whole swizzle atoms:
/// block_m must be a multiple of 64 for such an A, and block_n for such a B.
enum class Majors {
  Any,
  KMajorA,  ///< A is K-major, B has any layout
  KMajorB,  ///< B is K-major, A has any layout
  KMajor    ///< A and B are K-major
};

HG_HOST_DEVICE constexpr bool takes_mn_major_a(Majors majors) {
  return majors == Majors::Any || majors == Majors::KMajorB;
}
HG_HOST_DEVICE constexpr bool takes_mn_major_b(Majors majors) {
  return majors == Majors::Any || majors == Majors::KMajorA;
}

/// What one CTA computes, and how CTAs share their loads. It is decided at compile time, but for the cluster of the
/// cooperative kernel of one tile N. It is a structural type, because it is a template parameter of the kernels.
struct KernelConfig {
  Schedule schedule;
  int consumers;      ///< consumer warpgroups: 1 or 2
  int block_m;        ///< rows of D of a CTA's tile
  int block_n;        ///< columns of D of a CTA's tile; with a mixed tile N, of a wide tile
  int stages;         ///< each of block_k elements along K
  int cluster_m = 1;  ///< CTAs along M, which share their loads of B
  int cluster_n = 1;  ///< CTAs along N, which share their loads of A
  int block_k = kBlockK;
  int narrow_n = 0;              ///< columns of the narrow tiles of a mixed tile N; 0: all tiles have block_n
  bool swap_ab = false;          ///< the kernel computes the transpose of D: B supplies wgmma's M, A its N
  bool divides_wgmma_n = false;  ///< two consumers divide the tile along wgmma's N instead of its M
  Epilogues epilogues = Epilogues::All;
  Majors majors = Majors::Any;

  HG_HOST_DEVICE friend constexpr bool operator==(const KernelConfig&, const KernelConfig&) = default;
};

/// A configuration: a kernel, and how many CTAs share a tile's K. It fixes the order in which K is summed, so that
/// equal operands give equal bits. Each CTA adds up its K blocks in ascending order. Then the partials of a cluster are
/// added in the order of its CTAs, and those in the workspace in the order of K.
struct GemmConfig {
  KernelConfig kernel;
  int split_k = 1;            ///< CTAs of a cluster that share a tile's K; they exchange their partials
  int workspace_split_k = 1;  ///< clusters that share a tile's K; their partials go through the workspace

  HG_HOST_DEVICE friend constexpr bool operator==(const GemmConfig&, const GemmConfig&) = default;
};

/// Elements along M or N of a TMA box of an MN-major operand: 128 bytes, the width of a swizzle atom.
inline constexpr int kAtomLines = 64;

/// The most CTAs of a cluster that share a tile's K. Clusters of 8 are the largest that every sm_90 GPU runs.
inline constexpr int kMaxSplitK = 8;

/// Which epilogue a kernel has. Each kind is a kernel of its own, because operations that a launch does not use would
/// still slow down a kernel of a few microseconds.
enum class EpilogueKind {
  AlphaOnly,  ///< D = alpha · A·B in a 16-bit type; D's address, pitch and rows are multiples of 16 bytes
  General     ///< everything that KernelConfig::epilogues says
};

/// Bytes of a staging buffer of a consumer warp in the cooperative kernel of one tile N.
inline constexpr int kStoreBufferBytes = 16 * 128;
/// The most rows of D that a consumer warpgroup stages and stores at a time with swap-AB.
inline constexpr int kSwappedRows = 32;

/// The same without a cluster. The cooperative kernel of one tile N is compiled for it, and launched in any cluster.
HG_HOST_DEVICE constexpr KernelConfig without_cluster(KernelConfig kernel) {
  kernel.cluster_m = kernel.cluster_n = 1;
  return kernel;
}

HG_HOST_DEVICE constexpr int cluster_size(const KernelConfig& kernel) {
  return kernel.cluster_m * kernel.cluster_n;
}
HG_HOST_DEVICE constexpr int cluster_size(const GemmConfig& config) {
  return cluster_size(config.kernel) * config.split_k;
}

/// Whether a kernel computes several batches in one launch. The cooperative kernel with a mixed tile N has no register
/// left for a tile's batch: ptxas would serialise its wgmmas (C7511).
HG_HOST_DEVICE constexpr bool takes_batches(const KernelConfig& kernel) {
  return kernel.schedule != Schedule::Cooperative || kernel.narrow_n == 0;
}

/// The most tiles along M for a kernel for small M. For a larger M the larger tiles of other kernels are faster.
inline constexpr int kMostSmallMTiles = 2;

/// Lines of B that a stage has room for: as many as wgmma reads. A tile of a kernel for small M may use only a part.
HG_HOST_DEVICE constexpr int stage_lines_n(const KernelConfig& kernel) {
  constexpr int kWgmmaM = 64;
  return kernel.schedule == Schedule::SmallM ? ceil_div(kernel.block_n, kWgmmaM) * kWgmmaM : kernel.block_n;
}

/// Lines of A that the CTAs of a cluster load for a stage. Each of the cluster_n sharers loads equally many whole groups
/// of 8 lines, over which the swizzle repeats. Together they may load some lines that the tile does not have.
HG_HOST_DEVICE constexpr int loaded_lines_m(const KernelConfig& kernel) {
  return ceil_div(kernel.block_m, 8 * kernel.cluster_n) * 8 * kernel.cluster_n;
}

/// Lines of A that a stage has room for. With swap-AB, a tile of an odd number of groups leaves room for one more, so that
/// two CTAs can share them.
HG_HOST_DEVICE constexpr int stage_lines_m(const KernelConfig& kernel) {
  constexpr int kTwoGroups = 16;
  return kernel.swap_ab ? ceil_div(kernel.block_m, kTwoGroups) * kTwoGroups : kernel.block_m;
}

HG_HOST_DEVICE constexpr int stage_bytes(const KernelConfig& kernel) {
  constexpr int kElemBytes = 2;
  return (stage_lines_m(kernel) + stage_lines_n(kernel)) * kernel.block_k * kElemBytes;
}

/// Whether an SM has room for several CTAs of a kernel for small M.
HG_HOST_DEVICE constexpr bool shares_an_sm(const KernelConfig& kernel) {
  constexpr int kHalf = 113 * 1024;
  return kernel.stages * stage_bytes(kernel) <= kHalf;
}

/// Threads of a CTA: its consumer warpgroups, and a warpgroup with the producer warp. A kernel for small M has the
/// producer warp alone.
HG_HOST_DEVICE constexpr int num_threads(const KernelConfig& kernel) {
  return kernel.schedule == Schedule::SmallM ? 128 + 32 : (kernel.consumers + 1) * 128;
}

/// How many consumers of the cooperative kernel of one tile N lie side by side along wgmma's N.
HG_HOST_DEVICE constexpr int consumers_along_n(const KernelConfig& kernel) {
  return kernel.divides_wgmma_n ? kernel.consumers : 1;
}

/// Columns of wgmma's D that each of them has.
HG_HOST_DEVICE constexpr int wgmma_n(const KernelConfig& kernel) {
  return (kernel.swap_ab ? kernel.block_m : kernel.block_n) / consumers_along_n(kernel);
}

/// Rows of D that a consumer of the cooperative kernel of one tile N stages and stores at a time with swap-AB.
HG_HOST_DEVICE constexpr int swapped_rows(const KernelConfig& kernel) {
  return wgmma_n(kernel) < kSwappedRows ? wgmma_n(kernel) : kSwappedRows;
}

/// Bytes of the stages and the staging buffers of the cooperative kernel of one tile N. Barriers and the bias take less
/// than 3 KiB more. store_buffers: of each consumer warp.
HG_HOST_DEVICE constexpr int buffer_bytes(const KernelConfig& kernel, int store_buffers) {
  return kernel.stages * stage_bytes(kernel) + kernel.consumers * 4 * store_buffers * kStoreBufferBytes;
}

/// The most bytes that these may take.
inline constexpr int kMostBufferBytes = 226 * 1024;

/// Staging buffers of each consumer warp in the cooperative kernel of one tile N: two, where the stages leave room for
/// them.
HG_HOST_DEVICE constexpr int store_buffers(const KernelConfig& kernel) {
  return buffer_bytes(kernel, 2) <= kMostBufferBytes ? 2 : 1;
}

/// Whether the CTAs of a cluster may share a tile's K. They then share no loads. The reduction takes registers, which
/// the larger tiles of two consumers do not leave.
HG_HOST_DEVICE constexpr bool can_split_k(const KernelConfig& kernel) {
  // With swap-AB, a consumer of the cooperative kernel stores swapped_rows() rows at a time, whoever has added them up.
  const bool is_swapped = kernel.swap_ab && kernel.schedule == Schedule::Cooperative;
  const bool has_whole_pieces = is_swapped
                                    ? kernel.block_m % swapped_rows(kernel) == 0 && !kernel.divides_wgmma_n
                                    : kernel.epilogues == Epilogues::All;
  return cluster_size(kernel) == 1 && has_whole_pieces &&
         (kernel.consumers == 1 || kernel.block_m * kernel.block_n <= 128 * 128);
}

/// Whether the alpha-only kernel of one tile N can store fp32 partials to the workspace. With more than 128 accumulators, a
/// thread has no registers left for it.
HG_HOST_DEVICE constexpr bool can_use_workspace(const KernelConfig& kernel) {
  return kernel.schedule == Schedule::Cooperative && kernel.narrow_n == 0 &&
         kernel.block_m * kernel.block_n <= kernel.consumers * 128 * 128;
}

/// Rows and columns of an epilogue subtile of a kernel for small M: what a warp sends, adds up and stores at a time.
inline constexpr int kSmallMSubtile = 16;

/// The most subtiles that peers send to one CTA. A tile has `subtiles` of them, which are dealt to its CTAs, at most
/// max_split.
HG_HOST_DEVICE constexpr int most_peers_subtiles(int subtiles, int max_split) {
  int most = 0;
  for (int split = 2; split <= max_split; ++split) {
    const int sent = ceil_div(subtiles, split) * (split - 1);
    if (sent > most) most = sent;
  }
  return most;
}

/// The most CTAs of a cluster that share a tile's K. In a kernel for small M the partials must fit into shared memory
/// beside the stages. And if its tiles have another width than 64, D has so many of them that large clusters do not
/// pay.
HG_HOST_DEVICE constexpr int max_split_k(const KernelConfig& kernel) {
  if (!can_split_k(kernel)) return 1;
  if (kernel.schedule != Schedule::SmallM) return kMaxSplitK;
  constexpr int kMost = 112 * 1024;  // half of an SM's, less the barriers and what the system reserves
  constexpr int kMostOfAll = 226 * 1024;
  constexpr int kSubtileBytes = kSmallMSubtile * kSmallMSubtile * 4;
  const int subtiles = kernel.block_m / kSmallMSubtile * (stage_lines_n(kernel) / kSmallMSubtile);
  const int room = (shares_an_sm(kernel) ? kMost : kMostOfAll) - kernel.stages * stage_bytes(kernel);
  const int most = kernel.block_n == 64 ? kMaxSplitK : kMaxSplitK / 2;
  int split = 1;
  while (split < most && most_peers_subtiles(subtiles, split + 1) * kSubtileBytes <= room) ++split;
  return split;
}

HG_HOST_DEVICE constexpr bool is_power_of_two(int x) { return x > 0 && (x & (x - 1)) == 0; }

/// The reason why the cooperative kernel of one tile N cannot be compiled for a configuration, or not be launched in its
/// cluster, or nullptr.
HG_HOST_DEVICE constexpr const char* fault_of(const KernelConfig& kernel) {
  if (kernel.schedule != Schedule::Cooperative || kernel.narrow_n != 0) {
    return "the schedule is cooperative, with one tile N";
  }
  if (kernel.swap_ab && kernel.epilogues != Epilogues::AlphaOnly)
    return "swap-AB has the alpha-only epilogue";
  if (kernel.consumers != 1 && kernel.consumers != 2) return "there are 1 or 2 consumer warpgroups";
  if (kernel.divides_wgmma_n && (kernel.consumers != 2 || kernel.epilogues != Epilogues::AlphaOnly)) {
    return "wgmma's N is divided between two consumers that have the alpha-only epilogue";
  }
  const int tile_m = kernel.swap_ab ? kernel.block_n : kernel.block_m;
  const int tile_n = kernel.swap_ab ? kernel.block_m : kernel.block_n;
  const int along_n = consumers_along_n(kernel);
  const int consumers_along_m = kernel.consumers / along_n;
  const int consumer_m = tile_m / consumers_along_m;
  if (tile_m % (64 * consumers_along_m) != 0 || consumer_m > 192) {
    return "a consumer warpgroup has 64, 128 or 192 rows of wgmma's D";
  }
  const int n = wgmma_n(kernel);
  if (tile_n % along_n != 0 || n > 256) return "wgmma's N is the same for each consumer, and at most 256";
  if (!kernel.swap_ab && (n < kBlockK || n % 16 != 0)) return "wgmma's N is a multiple of 16 from 64";
  if (kernel.swap_ab && n != 16 && (n < kSwappedRows || n % 8 != 0)) {
    return "with swap-AB, wgmma's N is 16 or a multiple of 8 from 32";
  }
  // A thread of a consumer has 232 registers. The alpha-only epilogue leaves 176 for accumulators.
  if (consumer_m * n > 64 * (kernel.epilogues == Epilogues::AlphaOnly ? 352 : 256)) {
    return "a consumer's tile takes more registers than 64x256 does, or 128x176 with alpha alone";
  }
  if (!is_power_of_two(kernel.cluster_m) || !is_power_of_two(kernel.cluster_n) || cluster_size(kernel) > 8) {
    return "a cluster that shares its loads has 1, 2, 4 or 8 CTAs, and so many along M and along N";
  }
  if (loaded_lines_m(kernel) > stage_lines_m(kernel) || kernel.block_n % (8 * kernel.cluster_m) != 0) {
    return "a CTA loads whole groups of 8 rows, over which the swizzle repeats";
  }
  constexpr int kMostBoxLines = 256;
  if (loaded_lines_m(kernel) / kernel.cluster_n > kMostBoxLines ||
      kernel.block_n / kernel.cluster_m > kMostBoxLines) {
    return "a CTA loads at most 256 lines of an operand, the most that a TMA box has";
  }
  if (kernel.stages < 2) return "there are at least 2 stages: one is read while the other is filled";
  if (kernel.block_k != kBlockK) return "a stage has 64 elements along K";
  if (buffer_bytes(kernel, 1) > kMostBufferBytes) return "the stages take more than 226 KiB of shared memory";
  if (kernel.block_n % kAtomLines != 0 && takes_mn_major_b(kernel.majors)) {
    return "columns of an MN-major B come in whole swizzle atoms of 64";
  }
  if (kernel.block_m % kAtomLines != 0 && takes_mn_major_a(kernel.majors)) {
    return "rows of an MN-major A come in whole swizzle atoms of 64";
  }
  return nullptr;
}

}  // namespace hopper_gemm::library
