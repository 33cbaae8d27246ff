// The host's half of the cooperative kernel of one tile N.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device/cluster_placement.hpp"
#include "device/launch.hpp"
#include "gemm/heuristics/candidates.hpp"
#include "gemm/host/enqueue.hpp"
#include "gemm/host/kernel_launcher.hpp"
#include "gemm/host/operand_maps.hpp"
#include "gemm/instances/cooperative_configs.hpp"
#include "gemm/kernel/cooperative.cuh"
#include "gemm/scheduler/list_starts.hpp"

namespace hopper_gemm::library::cooperative {
namespace {

constexpr int kNoLastStart = std::numeric_limits<int>::max();

/// Where the last tile begins so that it ends with the extent.
int last_start(int extent, int block) { return extent < block ? kNoLastStart : extent - block; }

const Instance& instance_of(const KernelConfig& kernel) {
  using Instances = std::span<const Instance>;
  const Instance* found = nullptr;
  for (const Instances instances :
       {Instances(kLargeInstances), Instances(kSmallInstances), Instances(kAlphaOnlyInstances),
        Instances(kSwappedInstances), Instances(kSmallSwappedInstances)}) {
    for (const Instance& instance : instances) {
      if (instance.config == without_cluster(kernel)) found = &instance;
    }
  }
  return *found;  // all_configs() has no other kernel
}

SharedLoads shared_loads_of(const KernelConfig& kernel, const KernelArgs& args) {
  const auto slice_of = [](const OperandArgs& operand, int lines, int sharers) {
    return (operand.major == OperandMajor::K ? lines : kBlockK) / sharers;
  };
  const auto all = static_cast<unsigned>(cluster_size(kernel));
  const auto along_m = static_cast<unsigned>(kernel.cluster_m);
  unsigned row = 0;
  for (unsigned cta = 0; cta < all; cta += along_m) row |= 1u << cta;
  return {.cluster_m = kernel.cluster_m,
          .cluster_n = kernel.cluster_n,
          .log2_cluster_m = std::countr_zero(along_m),
          .size = cluster_size(kernel),
          .slice_of_a = slice_of(args.a, loaded_lines_m(kernel), kernel.cluster_n),
          .slice_of_b = slice_of(args.b, kernel.block_n, kernel.cluster_m),
          .row = static_cast<std::uint16_t>(row),
          .column = static_cast<std::uint16_t>((1u << along_m) - 1)};
}

class Launcher final : public KernelLauncher {
 public:
  explicit Launcher(const LauncherRequest& request)
      : kernel_(request.config.kernel), instance_(instance_of(request.config.kernel)) {
    const auto& [problem, config, active_clusters, overlaps, by_gpc] = request;
    const KernelArgs& args = problem.args;
    const KernelConfig& kernel = config.kernel;
    const GemmShape shape = args.shape;
    const int cluster_m = kernel.block_m * kernel.cluster_m;
    const int cluster_n = kernel.block_n * kernel.cluster_n;
    const TileGrid grid = make_tile_grid(shape, cluster_m, cluster_n);
    const int matrices = args.batch_count * config.workspace_split_k;
    const std::uint32_t tiles = grid.num_tiles() * static_cast<std::uint32_t>(matrices);
    const bool is_persistent = config.split_k == 1;
    const int workers = is_persistent ? even_waves(tiles, active_clusters) : static_cast<int>(tiles);
    const bool has_one_tile = tiles <= static_cast<std::uint32_t>(workers);
    const int size = cluster_size(config);
    launch_ = {.ctas = static_cast<unsigned>(workers) * static_cast<unsigned>(size),
               .cluster_size = size,
               .threads = num_threads(kernel),
               .smem_bytes = instance_.smem_bytes,
               .overlaps = overlaps};

    params_.batch_count = matrices;
    params_.grid = grid;
    params_.num_tiles = tiles;
    params_.a_major = args.a.major;
    params_.b_major = args.b.major;
    params_.a_is_batched = args.a.batch_stride != 0;
    params_.b_is_batched = args.b.batch_stride != 0;
    params_.is_fp16 = args.input_type == DataType::Float16;
    params_.epilogue = {.operations = {},
                        .shape = shape,
                        .d_tma_columns = config.workspace_split_k == 1 ? d_tma_columns(problem) : 0};
    matrices_.c_is_batched = args.epilogue.c_batch_stride != 0;
    matrices_.loads_c_by_tma = is_tma_c(problem);
    matrices_.aux_tma_columns = aux_tma_columns(problem);
    params_.split = config.split_k;
    const int k_blocks = k_blocks_of_cluster(args, config);
    params_.k_blocks = k_blocks / config.split_k;
    params_.longer_parts = k_blocks % config.split_k;
    params_.used_stages =
        has_one_tile ? std::min(kernel.stages, ceil_div(k_blocks, config.split_k)) : kernel.stages;
    params_.a_lines = loaded_lines(args.a, shape.m, loaded_lines_m(kernel), kernel.cluster_n);
    params_.b_lines = loaded_lines(args.b, shape.n, kernel.block_n, kernel.cluster_m);
    // Keeps loads of MN-major rows and vector accesses to D and C aligned.
    constexpr int kVectorElems = 8;
    const bool may_end_with_m = args.a.major == OperandMajor::K || shape.m % kVectorElems == 0;
    const bool may_end_with_n = shape.n % kVectorElems == 0;
    params_.last_m0 = may_end_with_m ? last_start(shape.m, kernel.block_m) : kNoLastStart;
    params_.last_n0 = may_end_with_n ? last_start(shape.n, kernel.block_n) : kNoLastStart;
    params_.prefetched_k_blocks = overlaps && has_one_tile ? prefetched_stages(args, config) : 0;
    params_.shared_loads = shared_loads_of(kernel, args);
    params_.triggers_dependents = problem.programmatic_dependent_launch;
    params_.workspace_split_k = config.workspace_split_k;
    params_.cluster_k_blocks = k_blocks;

    // Plain loads of the same line by clusters of one GPC become one read of L2, but multicasts do not. The clusters of a
    // GPC therefore take neighbouring tiles that share what no cluster loads by multicast.
    int band_m = grid.m;
    if (by_gpc && kernel.cluster_m > 1) band_m = 1;
    if (by_gpc && size == 1) {
      constexpr int kSideOfABlock = 4;  // a GPC has 16 or 18 SMs
      band_m = kSideOfABlock;
      // The GPCs are known of clusters of two.
      launch_.cluster_size = 2;
      launch_.ctas += launch_.ctas % 2;
    }
    starts_ = starts_in_order(grid, matrices, band_m, has_one_tile);
    const int clusters = static_cast<int>(launch_.ctas) / launch_.cluster_size;
    const bool takes_more_tiles = !has_one_tile && cluster_size(kernel) == 2;
    if ((by_gpc || takes_more_tiles) && clusters <= ClusterPositions::kMaxClusters) by_gpc_.emplace(clusters);
  }

  /// See make_prepared().
  Status prepare(const KernelArgs& args) {
    const auto load = [this](auto function) -> Status {
      if (function == nullptr) return {};
      HG_RETURN_IF_ERROR(load_kernel(function));
      return allow_dynamic_shared_memory(function, instance_.smem_bytes);
    };
    HG_RETURN_IF_ERROR(load(instance_.alpha_only));
    // The alpha-only kernel writes the partials.
    if (params_.workspace_split_k == 1) HG_RETURN_IF_ERROR(load(instance_.general));
    HG_RETURN_IF_ERROR(
        encode_input("A", args.a, args, args.shape.m, params_.a_lines, kernel_.cluster_n, &map_a_));
    HG_RETURN_IF_ERROR(
        encode_input("B", args.b, args, args.shape.n, params_.b_lines, kernel_.cluster_m, &map_b_));
    constexpr int kBoxRows = 16;  // of a warp
    // The reduction kernel handles D, C and aux.
    if (params_.workspace_split_k > 1) return {};
    if (loads_c_by_tma()) HG_RETURN_IF_ERROR(encode_c(args, kBoxRows, &matrices_.tensor_map_c));
    if (stores_aux_by_tma(args.epilogue)) {
      HG_RETURN_IF_ERROR(encode_aux(args, kBoxRows, &matrices_.tensor_map_aux));
    }
    return stores_d_by_tma()
               ? encode_output(args, kernel_.swap_ab ? swapped_rows(kernel_) : kBoxRows, &map_d_)
               : Status();
  }

  Status launch(const KernelArgs& args, const GemmEpilogue& epilogue, EpilogueKind kind,
                cudaStream_t stream) const override {
    TensorMap map_a = map_a_;
    TensorMap map_b = map_b_;
    TensorMap map_d = map_d_;
    HG_RETURN_IF_ERROR(replace_tensor_map_address(args.a.data, &map_a));
    HG_RETURN_IF_ERROR(replace_tensor_map_address(args.b.data, &map_b));
    if (stores_d_by_tma()) HG_RETURN_IF_ERROR(replace_tensor_map_address(epilogue.d, &map_d));
    Params params = params_;
    params.epilogue.operations = epilogue;
    if (kind == EpilogueKind::AlphaOnly) {
      return enqueue(instance_.alpha_only, launch_, stream, map_a, map_b, map_d, params, NoMatrixParams{},
                     starts());
    }
    MatrixParams matrices = matrices_;
    if (epilogue.beta != 0) {
      params.last_m0 = params.last_n0 = kNoLastStart;
      if (loads_c_by_tma()) {
        HG_RETURN_IF_ERROR(replace_tensor_map_address(epilogue.c, &matrices.tensor_map_c));
      }
    }
    if (stores_aux_by_tma(epilogue)) {
      HG_RETURN_IF_ERROR(replace_tensor_map_address(epilogue.aux, &matrices.tensor_map_aux));
    }
    return enqueue(instance_.general, launch_, stream, map_a, map_b, map_d, params, matrices, starts());
  }

 private:
  bool stores_d_by_tma() const { return params_.epilogue.d_tma_columns != 0; }
  bool stores_aux_by_tma(const GemmEpilogue& epilogue) const {
    return epilogue.has_aux && matrices_.aux_tma_columns != 0;
  }
  ClusterStarts starts() const {
    if (!by_gpc_) return starts_;
    const int clusters = static_cast<int>(launch_.ctas) / launch_.cluster_size;
    return starts_at(by_gpc_->get(), clusters, launch_.cluster_size / cluster_size(kernel_), starts_);
  }
  bool loads_c_by_tma() const { return instance_.general != nullptr && matrices_.loads_c_by_tma; }

  KernelConfig kernel_;
  const Instance& instance_;
  LaunchShape launch_{};
  TensorMap map_a_{};
  TensorMap map_b_{};
  TensorMap map_d_{};
  Params params_{};  // for beta = 0
  MatrixParams matrices_{};
  ClusterStarts starts_{};                         // of clusters in their order
  std::optional<LastingClusterPositions> by_gpc_;  // none: the clusters keep their order
};

Status active_clusters(const GemmConfig& config, int* clusters) {
  const Instance& instance = instance_of(config.kernel);
  return max_active_clusters(instance.alpha_only, cluster_size(config), num_threads(config.kernel),
                             instance.smem_bytes, clusters);
}

}  // namespace

const KernelFamily kFamily = {active_clusters, make_prepared<Launcher>};

}  // namespace hopper_gemm::library::cooperative
