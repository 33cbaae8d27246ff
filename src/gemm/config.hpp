#pragma once

#include "common/ceil_div.hpp"
#include "hopper_gemm/host_device.hpp"

namespace hopper_gemm::library::wgmma {

/// Elements along K of a block: 128 bytes, one span of the swizzle.
inline constexpr int kBlockK = 64;

/// A compiled configuration: what one CTA computes, and how CTAs share what they load.
struct Tile {
  int block_m;  ///< rows of D: 64 or 128 for each consumer warpgroup, or of the skinny kernel 64 or fewer
  int block_n;  ///< columns of D: of the wgmma kernel 64 to 256 in multiples of 16, of others in multiples of 8
  int stages;             ///< of block_k elements along K
  int cluster_m;          ///< CTAs one above the other, which share B
  int cluster_n;          ///< CTAs side by side, which share A
  int consumers;          ///< warpgroups that multiply: 1 or 2, one above the other
  int block_k = kBlockK;  ///< elements along K of a stage: of the skinny kernel one to four blocks

  HG_HOST_DEVICE friend constexpr bool operator==(const Tile&, const Tile&) = default;
};

/// The most CTAs that share a tile's K: the largest cluster that every sm_90 GPU runs.
inline constexpr int kMaxSplit = 8;

/// What a kernel makes of the sums. Each has a kernel of its own for every tile, but General where the tile
/// is_plain_only(), since what a kernel could do, too, slows down one that runs for a few microseconds.
enum class EpilogueKind {
  Plain,   ///< D = alpha · sum in a 16-bit type, at multiples of 16 bytes with rows of whole such chunks
  General  ///< all that a GemmEpilogue can ask for
};

/// What the kernel writes D from, besides the stages: so many pieces of 2 KiB for each consumer warp.
inline constexpr int kStoreBuffers = 2;
inline constexpr int kStoreBufferBytes = 16 * 128;

HG_HOST_DEVICE constexpr int cluster_size(const Tile& tile) { return tile.cluster_m * tile.cluster_n; }

/// Whether the tile is the skinny kernel's: those of fewer rows than wgmma has, and of stages of several blocks.
HG_HOST_DEVICE constexpr bool is_skinny(const Tile& tile) {
  return tile.block_m < 64 || tile.block_k != kBlockK;
}

/// The most of these that the skinny kernel computes one above the other: of more rows larger tiles are faster.
inline constexpr int kMostSkinnyTiles = 2;

/// Lines of B that a stage has room for: as many as wgmma reads, of which the skinny kernel may use a part.
HG_HOST_DEVICE constexpr int stage_lines_n(const Tile& tile) {
  constexpr int kWgmmaM = 64;
  return is_skinny(tile) ? ceil_div(tile.block_n, kWgmmaM) * kWgmmaM : tile.block_n;
}

HG_HOST_DEVICE constexpr int stage_bytes(const Tile& tile) {
  constexpr int kElemBytes = 2;
  return (tile.block_m + stage_lines_n(tile)) * tile.block_k * kElemBytes;
}

/// Whether an SM has room for several CTAs of the skinny kernel.
HG_HOST_DEVICE constexpr bool shares_an_sm(const Tile& tile) {
  constexpr int kHalf = 113 * 1024;
  return tile.stages * stage_bytes(tile) <= kHalf;
}

/// Whether the wgmma kernel is compiled for plain epilogues and K-major operands alone: what else it can do takes
/// columns in whole spans of the swizzle. True of some tiles of two widths as well, whose kernels have nothing else.
HG_HOST_DEVICE constexpr bool is_plain_only(const Tile& tile) {
  return !is_skinny(tile) && tile.block_n % kBlockK != 0;
}

/// Consumers and the warpgroup of the producer, or its warp.
HG_HOST_DEVICE constexpr int num_threads(const Tile& tile) {
  return is_skinny(tile) ? 128 + 32 : (tile.consumers + 1) * 128;
}

/// Stages and store buffers. The barriers take less than 1 KiB beside them.
HG_HOST_DEVICE constexpr int buffer_bytes(const Tile& tile) {
  return tile.stages * stage_bytes(tile) + tile.consumers * 4 * kStoreBuffers * kStoreBufferBytes;
}

/// Whether the CTAs of a cluster may share a tile's K. They then share no loads; and adding up takes registers that the
/// larger tiles of two consumers have not.
HG_HOST_DEVICE constexpr bool can_split(const Tile& tile) {
  return cluster_size(tile) == 1 && !is_plain_only(tile) &&
         (tile.consumers == 1 || tile.block_m * tile.block_n <= 128 * 128);
}

/// Rows and columns of D that a warp of the skinny kernel sends, adds up and stores at a time.
inline constexpr int kSkinnyPiece = 16;

/// The most pieces that peers send to a CTA, of a tile of `pieces` that at most max_split CTAs add up in turn.
HG_HOST_DEVICE constexpr int most_peers_pieces(int pieces, int max_split) {
  int most = 0;
  for (int split = 2; split <= max_split; ++split) {
    const int sent = ceil_div(pieces, split) * (split - 1);
    if (sent > most) most = sent;
  }
  return most;
}

/// The most CTAs that share a tile's K. Of the skinny kernel, what their sums leave room for beside the stages; and
/// tiles of other columns than 64 are so many that they need no large clusters.
HG_HOST_DEVICE constexpr int max_split(const Tile& tile) {
  if (!can_split(tile)) return 1;
  if (!is_skinny(tile)) return kMaxSplit;
  constexpr int kMost = 112 * 1024;  // half of an SM's, less what barriers take and the system
  constexpr int kMostOfAll = 226 * 1024;
  constexpr int kPieceBytes = kSkinnyPiece * kSkinnyPiece * 4;
  const int pieces = tile.block_m / kSkinnyPiece * (stage_lines_n(tile) / kSkinnyPiece);
  const int room = (shares_an_sm(tile) ? kMost : kMostOfAll) - tile.stages * stage_bytes(tile);
  const int most = tile.block_n == 64 ? kMaxSplit : kMaxSplit / 2;
  int split = 1;
  while (split < most && most_peers_pieces(pieces, split + 1) * kPieceBytes <= room) ++split;
  return split;
}

/// Why the kernel cannot be compiled for a tile, or nullptr.
HG_HOST_DEVICE constexpr const char* fault_of(const Tile& tile) {
  if (tile.consumers != 1 && tile.consumers != 2) return "there are 1 or 2 consumer warpgroups";
  const int consumer_m = tile.block_m / tile.consumers;
  if (tile.block_m % tile.consumers != 0 || (consumer_m != 64 && consumer_m != 128)) {
    return "a consumer warpgroup has 64 or 128 rows";
  }
  if (tile.block_n < 64 || tile.block_n > 256 || tile.block_n % 16 != 0) {
    return "block_n is a multiple of 16 from 64 to 256";
  }
  if (consumer_m * tile.block_n > 64 * 256) return "a consumer's tile takes more registers than 64x256 does";
  if (tile.cluster_m < 1 || tile.cluster_n < 1 || cluster_size(tile) > 4) {
    return "a cluster that shares its loads has 1 to 4 CTAs";
  }
  if (tile.block_m % (8 * tile.cluster_n) != 0 || tile.block_n % (8 * tile.cluster_m) != 0) {
    return "a CTA loads whole groups of 8 rows, over which the swizzle repeats";
  }
  if (tile.stages < 2) return "there are at least 2 stages: one is read while the other is filled";
  if (tile.block_k != kBlockK) return "a stage has 64 elements along K";
  if (buffer_bytes(tile) > 226 * 1024) return "the stages take more than 226 KiB of shared memory";
  return nullptr;
}

}  // namespace hopper_gemm::library::wgmma
