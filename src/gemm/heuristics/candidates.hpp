#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gemm/config.hpp"
#include "gemm/host/backend.hpp"

namespace hopper_gemm::library::wgmma {

/// A tile, and how many CTAs share a tile's K: `split` of a cluster, which add up their sums among themselves, in each
/// of `slices` clusters, whose sums go through the workspace.
struct Choice {
  Tile tile;
  int split;
  int slices = 1;

  friend bool operator==(const Choice&, const Choice&) = default;
};

inline int cluster_size(const Choice& choice) { return cluster_size(choice.tile) * choice.split; }

/// "wgmma_128x256_s4_c2x1", or "wgmma_16x64x128_s5_c1x1" where a stage has not 64 elements along K but 128; behind it
/// "_k4" where 4 CTAs of a cluster share a tile's K, and "_k8x2" where 8 of each of 2 clusters do.
std::string name_of(const Choice& choice);

/// All that a name can mean: every compiled tile, by each split that it can have. Slices are for K that a whole cluster
/// would be too long at.
std::vector<Choice> all_choices();

/// Why the problem cannot be computed by `choice`, on whatever GPU, or an empty string.
std::string fault_of(const Problem& problem, const Choice& choice);

/// Why TMA cannot address an operand, or an empty string. alignment_bytes: what its address is a multiple of.
std::string fault_of_operand(const char* name, std::int64_t leading_dimension, std::int64_t batch_stride,
                             int batch_count, int alignment_bytes, int elem_bytes);

/// Whether TMA can store D, whole 16-byte chunks of it at least.
bool can_store_by_tma(const Problem& problem);

/// Whether EpilogueKind::Plain is all that the problem needs where beta is 0.
bool is_plain(const Problem& problem);

/// Whether the kernel that the tile is of can compute the problem: where beta is 0, unless the tile is_for_any_beta().
bool is_for_kernel_of(const Tile& tile, const Problem& problem);

/// Whether that kernel can read C, too. What it cannot is left to one that can.
bool is_for_any_beta(const Tile& tile);

/// How many of a CTA's block of lines along M or N it gets into a stage, from TMA boxes of as many over
/// sharers. Those of a K-major operand end with it, or rather with the 8 lines over which the swizzle
/// repeats: what TMA fills with zeros takes time, too. 1x10240x8192 with tiles of 48 rows takes 67 us by
/// whole boxes, by those of 8 rows 42 us (H200). What stands in the stage behind them belongs to elements of
/// D that do not exist.
///
/// lines: the operand's; block_lines: the tile's; sharers: CTAs that load equal parts of it.
int loaded_lines(const OperandArgs& operand, int lines, int block_lines, int sharers);

/// How many of a CTA's stages launches that overlap bring to L2 while they wait for what is ahead of them in
/// the stream. Memory is idle then for a microsecond or two: with 2 MB 2048³ takes 23.5 us after 23.9, with 6 MB
/// 128x7168x2048 10.2 after 10.6; with 16 MB both take longer than without (H200). Of few rows, whose CTAs may
/// begin well before they may load, 3 MB are best. 0 where it is not implemented.
int prefetched_stages(const KernelArgs& args, const Choice& choice);

/// Of K, of a slice. The last may reach over K's end.
int slice_k_blocks(const KernelArgs& args, const Choice& choice);

/// What the sums of the slices take, in fp32: for each batch and slice a matrix [M, sums_ld()] in row-major order.
std::size_t workspace_bytes(const KernelArgs& args, const Choice& choice);
std::int64_t sums_ld(GemmShape shape);

}  // namespace hopper_gemm::library::wgmma
