// The host's half of the kernel for small M.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "common/ceil_div.hpp"
#include "device/launch.hpp"
#include "gemm/heuristics/candidates.hpp"
#include "gemm/host/enqueue.hpp"
#include "gemm/host/kernel_launcher.hpp"
#include "gemm/host/operand_maps.hpp"
#include "gemm/instances/small_m_configs.hpp"
#include "gemm/kernel/small_m.cuh"

namespace hopper_gemm::library::small_m {
namespace {

using Kernel = void (*)(TensorMap, TensorMap, Params);

/// The kernels of one type.
struct Kernels {
  Kernel alpha_only;
  Kernel general;
};

struct Instance {
  KernelConfig config;
  Kernels bf16;
  Kernels fp16;
  std::size_t smem_bytes;  // all kernels take the same
};

template <typename Config, typename T>
constexpr Kernels kernels_of() {
  return {gemm_kernel<Config, T, EpilogueKind::AlphaOnly>, gemm_kernel<Config, T, EpilogueKind::General>};
}

template <KernelConfig kKernel>
constexpr Instance instance_of() {
  using ThisConfig = Config<kKernel>;
  // The system reserves 1 KiB of each CTA.
  constexpr int kCtasOfAnSm = shares_an_sm(kKernel) ? 2 : 1;
  static_assert(kCtasOfAnSm * (sizeof(SharedStorage<ThisConfig>) + 1024) <= 228 * 1024);
  return {kKernel, kernels_of<ThisConfig, __nv_bfloat16>(), kernels_of<ThisConfig, __half>(),
          sizeof(SharedStorage<ThisConfig>)};
}

constexpr std::array kInstances = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array{instance_of<kSmallMInstances[kIndex]>()...};
}
(std::make_index_sequence<kSmallMInstances.size()>{});

const Instance& instance_of(const KernelConfig& kernel) {
  return *std::find_if(kInstances.begin(), kInstances.end(),
                       [&](const Instance& instance) { return instance.config == compiled(kernel); });
}

/// Whether TMA brings all K blocks of a stage in one box. The blocks of 64 along K are then a dimension of the tensor
/// map. They must be whole blocks, because behind the end of a line the next line begins.
bool loads_whole_stages(const KernelConfig& kernel, int k) {
  return kernel.block_k > kBlockK && k % kBlockK == 0;
}

/// The map of A or B. If loads_whole_stages() it is [batch, K / 64, lines, 64], with boxes of all K blocks of a stage.
/// Otherwise it is [batch, 1, lines, K], with boxes of one K block. lines: of the operand; box_lines: of a stage.
Status encode_stages(const char* name, const OperandArgs& operand, const KernelArgs& args,
                     const KernelConfig& kernel, int lines, int box_lines, TensorMap* tensor_map) {
  constexpr std::int64_t kBlockBytes = kBlockK * kInputBytes;
  const bool is_whole = loads_whole_stages(kernel, args.shape.k);
  const std::int64_t block = is_whole ? kBlockK : args.shape.k;
  const std::int64_t batches = operand.batch_stride == 0 ? 1 : args.batch_count;
  const std::array<std::int64_t, 4> extents = {block, lines, args.shape.k / block, batches};
  const std::int64_t line_stride_bytes = operand.leading_dimension * kInputBytes;
  // According to the manual of cuTensorMapEncodeTiled, each stride spans the dimension before it. K blocks lie within
  // lines, so their stride is smaller than that of lines. Drivers accept that.
  const std::array<std::int64_t, 3> strides_bytes = {
      line_stride_bytes, kBlockBytes,
      batch_stride_bytes(batches, operand.batch_stride * kInputBytes, lines, line_stride_bytes)};
  const std::array<int, 4> box = {kBlockK, box_lines, is_whole ? kernel.block_k / kBlockK : 1, 1};
  return encode_map(name, args.input_type, extents, strides_bytes, box, tensor_map);
}

class Launcher final : public KernelLauncher {
 public:
  explicit Launcher(const LauncherRequest& request)
      : kernel_(request.config.kernel),
        kernels_(request.problem.args.input_type == DataType::Float16 ? instance_of(kernel_).fp16
                                                                      : instance_of(kernel_).bf16) {
    const KernelArgs& args = request.problem.args;
    const GemmShape shape = args.shape;
    const int split = request.config.split_k;
    params_.shape = shape;
    params_.tiles_m = ceil_div(shape.m, kernel_.block_m);
    params_.tiles_n = ceil_div(shape.n, kernel_.block_n);
    params_.columns = kernel_.block_n;
    params_.split = split;
    params_.a_rows = loaded_lines(args.a, shape.m, kernel_.block_m, 1);
    params_.k_stages = ceil_div(shape.k, kernel_.block_k);
    params_.loads_whole_stages = loads_whole_stages(kernel_, shape.k);
    params_.a_is_batched = args.a.batch_stride != 0;
    params_.b_is_batched = args.b.batch_stride != 0;
    params_.prefetched_stages = request.overlaps ? prefetched_stages(args, request.config) : 0;
    params_.triggers_dependents = request.problem.programmatic_dependent_launch;
    launch_ = {.ctas = static_cast<unsigned>(params_.tiles_m * params_.tiles_n * args.batch_count * split),
               .cluster_size = split,
               .threads = num_threads(kernel_),
               .smem_bytes = instance_of(kernel_).smem_bytes,
               .overlaps = request.overlaps};
  }

  /// See make_prepared().
  Status prepare(const KernelArgs& args) {
    for (const Kernel function : {kernels_.alpha_only, kernels_.general}) {
      HG_RETURN_IF_ERROR(load_kernel(function));
      HG_RETURN_IF_ERROR(allow_dynamic_shared_memory(function, launch_.smem_bytes));
    }
    HG_RETURN_IF_ERROR(encode_stages("A", args.a, args, kernel_, args.shape.m, params_.a_rows, &map_a_));
    return encode_stages("B", args.b, args, kernel_, args.shape.n, kernel_.block_n, &map_b_);
  }

  Status launch(const KernelArgs& args, const GemmEpilogue& epilogue, EpilogueKind kind,
                cudaStream_t stream) const override {
    TensorMap map_a = map_a_;
    TensorMap map_b = map_b_;
    HG_RETURN_IF_ERROR(replace_tensor_map_address(args.a.data, &map_a));
    HG_RETURN_IF_ERROR(replace_tensor_map_address(args.b.data, &map_b));
    Params params = params_;
    params.epilogue = epilogue;
    return enqueue(kind == EpilogueKind::AlphaOnly ? kernels_.alpha_only : kernels_.general, launch_, stream,
                   map_a, map_b, params);
  }

 private:
  KernelConfig kernel_;
  Kernels kernels_;
  LaunchShape launch_{};
  TensorMap map_a_{};
  TensorMap map_b_{};
  Params params_{};
};

Status active_clusters(const GemmConfig& config, int* clusters) {
  const Instance& instance = instance_of(config.kernel);
  return max_active_clusters(instance.bf16.general, config.split_k, num_threads(config.kernel),
                             instance.smem_bytes, clusters);
}

}  // namespace

const KernelFamily kFamily = {active_clusters, make_prepared<Launcher>};

}  // namespace hopper_gemm::library::small_m
