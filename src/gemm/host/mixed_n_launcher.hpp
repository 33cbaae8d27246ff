#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "device/cluster_placement.hpp"
#include "device/launch.hpp"
#include "gemm/heuristics/candidates.hpp"
#include "gemm/host/enqueue.hpp"
#include "gemm/host/kernel_launcher.hpp"
#include "gemm/host/operand_maps.hpp"
#include "gemm/kernel/mixed_n.cuh"
#include "gemm/scheduler/mixed_n.hpp"

namespace hopper_gemm::library {

/// The host code of a kernel with a mixed tile N. Config, SharedStorage: the kernel's. Kernels::of<Operands,
/// EpilogueKind>(): its instance. Kernels::begin_steps(): makes the counter of the wave throttle for a launch, or null,
/// see wave_pace.cuh. Kernels::load(): loads what begin_steps() needs.
template <typename Config, typename SharedStorage, typename Kernels>
class MixedNLauncher final : public KernelLauncher {
 public:
  explicit MixedNLauncher(const LauncherRequest& request)
      : MixedNLauncher(request.problem.args,
                       split_columns(shape_of_batches(Config::kKernel, request.problem.args.shape,
                                                      request.problem.args.batch_count),
                                     wide_and_narrow(Config::kKernel, request.problem.args.batch_count),
                                     k_blocks_of(Config::kKernel, request.problem.args.shape.k),
                                     std::min(request.active_clusters, ClusterPositions::kMaxClusters)),
                       can_add_c(Config::kKernel, request.problem)) {
    params_.epilogue = {.operations = {},
                        .shape = request.problem.args.shape,
                        .d_tma_columns = d_tma_columns(request.problem)};
    if constexpr (kHasMatrices) {
      auto& matrices = params_.matrices;
      matrices.c_is_batched = request.problem.args.epilogue.c_batch_stride != 0;
      matrices.loads_c_by_tma = is_tma_c(request.problem);
      matrices.aux_tma_columns = aux_tma_columns(request.problem);
    }
  }

  /// See make_prepared().
  Status prepare(const KernelArgs& args) {
    for (const Kernel function : {alpha_only_, general_}) {
      HG_RETURN_IF_ERROR(load_kernel(function));
      HG_RETURN_IF_ERROR(allow_dynamic_shared_memory(function, sizeof(SharedStorage)));
    }
    HG_RETURN_IF_ERROR(Kernels::load());
    const auto [m, n, k] = args.shape;
    HG_RETURN_IF_ERROR(encode_input("A", args.a, args, m, Config::kMulticastM, 1, &map_a_));
    HG_RETURN_IF_ERROR(encode_input("B", args.b, args, n, Config::WIDE_N, 1, &map_b_));
    HG_RETURN_IF_ERROR(encode_input("B", args.b, args, n, Config::NARROW_N, 1, &map_b_narrow_));
    if constexpr (kHasMatrices) {
      auto& matrices = params_.matrices;
      if (can_add_c_) HG_RETURN_IF_ERROR(encode_c(args, Config::kStoreM, &matrices.tensor_map_c));
      if (stores_aux_by_tma(args.epilogue)) {
        HG_RETURN_IF_ERROR(encode_aux(args, Config::kStoreM, &matrices.tensor_map_aux));
      }
    }
    map_d_ = map_a_;  // the kernel prefetches this map even if it is not used, so it must be a valid one
    return stores_d_by_tma() ? encode_output(args, Config::kStoreM, &map_d_) : Status();
  }

  Status launch(const KernelArgs& args, const GemmEpilogue& epilogue, EpilogueKind kind,
                cudaStream_t stream) const override {
    TensorMap map_a = map_a_;
    TensorMap map_b = map_b_;
    TensorMap map_b_narrow = map_b_narrow_;
    TensorMap map_d = map_d_;
    HG_RETURN_IF_ERROR(replace_tensor_map_address(args.a.data, &map_a));
    HG_RETURN_IF_ERROR(replace_tensor_map_address(args.b.data, &map_b));
    HG_RETURN_IF_ERROR(replace_tensor_map_address(args.b.data, &map_b_narrow));
    if (stores_d_by_tma()) HG_RETURN_IF_ERROR(replace_tensor_map_address(epilogue.d, &map_d));
    Params params = params_;
    params.alpha = epilogue.alpha;
    params.epilogue.operations = epilogue;
    if constexpr (kHasMatrices) {
      auto& matrices = params.matrices;
      if (epilogue.beta != 0)
        HG_RETURN_IF_ERROR(replace_tensor_map_address(epilogue.c, &matrices.tensor_map_c));
      if (stores_aux_by_tma(epilogue))
        HG_RETURN_IF_ERROR(replace_tensor_map_address(epilogue.aux, &matrices.tensor_map_aux));
    }
    HG_RETURN_IF_ERROR(
        Kernels::begin_steps(params.tiles, params.num_k_blocks, workers_, stream, &params.steps));
    const LaunchShape launch = {.ctas = static_cast<unsigned>(workers_ * Config::kClusterN),
                                .cluster_size = Config::kClusterN,
                                .threads = Config::kNumThreads,
                                .smem_bytes = sizeof(SharedStorage),
                                .overlaps = false};
    return enqueue(kind == EpilogueKind::AlphaOnly ? alpha_only_ : general_, launch, stream, map_a, map_b,
                   map_b_narrow, map_d, params, positions_.get());
  }

  /// All instances have the same threads and shared memory.
  static Status active_clusters(int* clusters) {
    constexpr OperandArgs kKMajor = {nullptr, OperandMajor::K, 0, 0};
    KernelArgs args{};
    args.input_type = DataType::BFloat16;
    args.a = args.b = kKMajor;
    return max_active_clusters(kernel_of(args, EpilogueKind::AlphaOnly), Config::kClusterN,
                               Config::kNumThreads, sizeof(SharedStorage), clusters);
  }

 private:
  static constexpr bool kHasMatrices = Config::kKernel.epilogues == Epilogues::All;
  using Params = MixedNParams<Config>;
  using Kernel = void (*)(TensorMap, TensorMap, TensorMap, TensorMap, Params, ClusterPositions);

  MixedNLauncher(const KernelArgs& args, const ColumnSplit& columns, bool can_add_c)
      : alpha_only_(kernel_of(args, EpilogueKind::AlphaOnly)),
        general_(kernel_of(args, EpilogueKind::General)),
        workers_(columns.workers),
        positions_(columns.workers),
        can_add_c_(can_add_c) {
    MixedNTiles<Config>& tiles = params_.tiles;
    tiles.batch_count = args.batch_count;
    tiles.batch_m = ceil_div(args.shape.m, Config::BLOCK_M);
    tiles.wide = {tiles.batch_m * args.batch_count, columns.wide_columns};
    tiles.narrow = {tiles.wide.m, columns.narrow_columns};
    params_.a_is_batched = args.a.batch_stride != 0;
    params_.b_is_batched = args.b.batch_stride != 0;
    // TMA fills in zeros beyond K.
    params_.num_k_blocks = k_blocks_of(Config::kKernel, args.shape.k);
  }

  template <typename T, EpilogueKind kEpilogueKind>
  static Kernel kernel_of_majors(OperandMajor a, OperandMajor b) {
    using ptx::Major;
    if constexpr (Config::kKernel.majors == Majors::Any) {
      if (b == OperandMajor::MN) {
        return a == OperandMajor::MN
                   ? Kernels::template of<Operands<T, Major::MN, Major::MN>, kEpilogueKind>()
                   : Kernels::template of<Operands<T, Major::K, Major::MN>, kEpilogueKind>();
      }
    }
    return a == OperandMajor::MN ? Kernels::template of<Operands<T, Major::MN, Major::K>, kEpilogueKind>()
                                 : Kernels::template of<Operands<T, Major::K, Major::K>, kEpilogueKind>();
  }

  template <EpilogueKind kEpilogueKind>
  static Kernel kernel_of_type(const KernelArgs& args) {
    return args.input_type == DataType::Float16
               ? kernel_of_majors<__half, kEpilogueKind>(args.a.major, args.b.major)
               : kernel_of_majors<__nv_bfloat16, kEpilogueKind>(args.a.major, args.b.major);
  }

  static Kernel kernel_of(const KernelArgs& args, EpilogueKind kind) {
    if constexpr (Config::kKernel.epilogues != Epilogues::AlphaOnly) {
      if (kind == EpilogueKind::General) return kernel_of_type<EpilogueKind::General>(args);
    }
    return kernel_of_type<EpilogueKind::AlphaOnly>(args);
  }

  bool stores_d_by_tma() const { return params_.epilogue.d_tma_columns != 0; }
  bool stores_aux_by_tma(const GemmEpilogue& epilogue) const {
    return epilogue.has_aux && params_.matrices.aux_tma_columns != 0;
  }

  Kernel alpha_only_;
  Kernel general_;  // alpha_only_ if that is all that is compiled
  int workers_;
  LastingClusterPositions positions_;
  bool can_add_c_;
  TensorMap map_a_{};
  TensorMap map_b_{};
  TensorMap map_b_narrow_{};
  TensorMap map_d_{};
  Params params_{};
};

}  // namespace hopper_gemm::library
