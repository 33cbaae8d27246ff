#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/config.hpp"
#include "gemm/problem.hpp"

namespace hopper_gemm::library {

/// All that a name can mean: every compiled kernel, by each split-K that it can have. K goes through the workspace where
/// it is long for a whole cluster.
std::vector<GemmConfig> all_configs();

/// The configuration of that name, if there is one.
std::optional<GemmConfig> find_config(std::string_view name);

/// Why the problem cannot be computed by `config`, on whatever GPU, or an empty string.
std::string fault_of(const Problem& problem, const GemmConfig& config);

/// Why TMA cannot address an operand, or an empty string. alignment_bytes: what its address is a multiple of.
std::string fault_of_operand(const char* name, std::int64_t leading_dimension, std::int64_t batch_stride,
                             int batch_count, int alignment_bytes, int elem_bytes);

/// Whether TMA can address D, an auxiliary output, or C.
bool is_tma_d(const Problem& problem);
bool is_tma_aux(const Problem& problem);
bool is_tma_c(const Problem& problem);

/// EpilogueParams::d_tma_columns, and the same of aux.
int d_tma_columns(const Problem& problem);
int aux_tma_columns(const Problem& problem);

/// Whether the kernel adds beta · C. One with a mixed tile N does where C has 16-bit elements and TMA can load it.
bool can_add_c(const KernelConfig& kernel, const Problem& problem);

/// Whether EpilogueKind::AlphaOnly of the kernel is all that the problem needs where beta is 0.
bool needs_alpha_only(const KernelConfig& kernel, const Problem& problem);

/// Whether the kernel can compute the problem. A beta that is not 0 says that there is a C.
bool can_compute(const KernelConfig& kernel, const Problem& problem);

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
int prefetched_stages(const KernelArgs& args, const GemmConfig& config);

/// K blocks of a cluster. The last one's may reach over K's end.
int k_blocks_of_cluster(const KernelArgs& args, const GemmConfig& config);

/// What partials in the workspace take, in fp32: for each batch and cluster of a tile a matrix [M, partials_ld()] in
/// row-major order.
std::size_t workspace_bytes(const KernelArgs& args, const GemmConfig& config);
std::int64_t partials_ld(GemmShape shape);

/// The epilogue that leaves partials in the workspace, without its address. The matrices of a batch lie behind each other.
GemmEpilogue partials_epilogue(GemmShape shape);

}  // namespace hopper_gemm::library
