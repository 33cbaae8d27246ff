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

/// Bytes of an element of A or B.
inline constexpr int kInputBytes = 2;

/// How many CTAs share a tile's K, see GemmConfig.
struct SplitK {
  int in_cluster;
  int through_workspace;
};

/// A kernel in a cluster, with every split-K that it can have.
struct KernelInCluster {
  KernelConfig kernel;
  std::vector<SplitK> splits;
};

/// A compiled kernel in every cluster that it can be launched in. can_compute() is the same for all of them.
using CandidateKernel = std::vector<KernelInCluster>;

const std::vector<CandidateKernel>& candidate_kernels();

inline GemmConfig config_of(const KernelConfig& kernel, const SplitK& split) {
  return {.kernel = kernel, .split_k = split.in_cluster, .workspace_split_k = split.through_workspace};
}

/// All configurations that a name can mean: the candidate kernels in each cluster with each split-K.
std::vector<GemmConfig> all_configs();

/// The configuration with that name, if there is one.
std::optional<GemmConfig> find_config(std::string_view name);

/// Whether the problem may have a split-K through the workspace with some kernel.
bool may_use_workspace(const Problem& problem);

/// Whether there are enough K blocks and workspace for `config`.
bool suits(const Problem& problem, const GemmConfig& config);

/// The reason why it does not suit the problem, or an empty string.
std::string fault_of(const Problem& problem, const GemmConfig& config);

/// The reason why TMA cannot address an operand, or an empty string. alignment_bytes: its address is a multiple of
/// this.
std::string fault_of_operand(const char* name, std::int64_t leading_dimension, std::int64_t batch_stride,
                             int batch_count, int alignment_bytes, int elem_bytes);

/// Whether TMA can address D, aux, or C.
bool is_tma_d(const Problem& problem);
bool is_tma_aux(const Problem& problem);
bool is_tma_c(const Problem& problem);

/// EpilogueParams::d_tma_columns, and the same for aux.
int d_tma_columns(const Problem& problem);
int aux_tma_columns(const Problem& problem);

/// Whether the kernel is compiled for the operands' layouts.
bool takes_layouts(const KernelConfig& kernel, const KernelArgs& args);

/// Whether the kernel can add beta · C. A kernel with a mixed tile N needs a C of 16-bit elements that TMA can load.
bool can_add_c(const KernelConfig& kernel, const Problem& problem);
/// The same for a configuration. The reduction of a split-K through the workspace has every epilogue.
bool can_add_c(const GemmConfig& config, const Problem& problem);

/// Whether EpilogueKind::AlphaOnly of the kernel is enough for the problem if beta is 0.
bool needs_alpha_only(const KernelConfig& kernel, const Problem& problem);

/// Whether the kernel can compute the problem. The problem has a C if its beta is not 0.
bool can_compute(const KernelConfig& kernel, const Problem& problem);
/// The same for a configuration, see can_add_c().
bool can_compute(const GemmConfig& config, const Problem& problem);

/// How many lines of an operand TMA brings to a stage of a CTA. Each of the sharers loads an equal part of them in one
/// box.
///
/// A tile may have more lines than the operand, and TMA would fill the missing ones with zeros, which takes time.
/// 1x10240x8192 with tiles of 48 rows takes 67 us with whole boxes, and 42 us with boxes of 8 rows (H200). The boxes of
/// a K-major operand therefore end with the operand, rounded up to the 8 lines over which the swizzle repeats. The
/// other lines of the stage are undefined. They only reach elements of D that do not exist.
///
/// lines: of the operand along M or N; block_lines: of the tile; sharers: CTAs that load equal parts of it.
int loaded_lines(const OperandArgs& operand, int lines, int block_lines, int sharers);

/// How many of its stages a CTA prefetches to L2 while its launch waits for the kernel before it in the stream. Memory
/// is idle then for a microsecond or two. A prefetch of 2 MB shortens 2048³ from 23.9 to 23.5 us, and one of 6 MB
/// shortens 128x7168x2048 from 10.6 to 10.2 us. With 16 MB both take longer than without a prefetch (H200). For small
/// M, whose CTAs may begin well before they may load, 3 MB are best. Returns 0 for problems whose prefetch is not
/// implemented.
int prefetched_stages(const KernelArgs& args, const GemmConfig& config);

/// K blocks of a cluster. The last cluster may extend past the end of K.
int k_blocks_of_cluster(const KernelArgs& args, const GemmConfig& config);

/// Bytes of the partials in the workspace. Each batch has one row-major fp32 matrix [M, partials_ld()] for each of the
/// clusters that share K.
std::size_t workspace_bytes(const KernelArgs& args, const GemmConfig& config);
std::int64_t partials_ld(GemmShape shape);

/// The epilogue that stores partials to the workspace, without its address. The matrices of a batch follow each other.
GemmEpilogue partials_epilogue(GemmShape shape);

}  // namespace hopper_gemm::library
