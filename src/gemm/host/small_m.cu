// The host's half of the kernel for small M.

#include "gemm/host/small_m.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/ceil_div.hpp"
#include "device/launch.hpp"
#include "gemm/heuristics/candidates.hpp"
#include "gemm/instances/small_m_configs.hpp"
#include "gemm/kernel/small_m.cuh"

namespace hopper_gemm::library {
namespace {

using Kernel = void (*)(TensorMap, TensorMap, small_m::Params);

struct Instance {
  KernelConfig kernel;
  std::array<Kernel, 2> bf16;  // plain, general
  std::array<Kernel, 2> fp16;
  std::size_t smem_bytes;  // of all of them

  const std::array<Kernel, 2>& of(DataType type) const { return type == DataType::Float16 ? fp16 : bf16; }
};

template <typename Config, typename T>
constexpr std::array<Kernel, 2> kernels_of() {
  return {small_m::gemm_kernel<Config, T, EpilogueKind::AlphaOnly>,
          small_m::gemm_kernel<Config, T, EpilogueKind::General>};
}

template <KernelConfig kKernel>
constexpr Instance instance_of() {
  using Config = small_m::Config<kKernel>;
  // 1 KiB of each CTA is the system's.
  constexpr int kCtasOfAnSm = shares_an_sm(kKernel) ? 2 : 1;
  static_assert(kCtasOfAnSm * (sizeof(small_m::SharedStorage<Config>) + 1024) <= 228 * 1024);
  return {kKernel, kernels_of<Config, __nv_bfloat16>(), kernels_of<Config, __half>(),
          sizeof(small_m::SharedStorage<Config>)};
}

constexpr std::array kInstances = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array{instance_of<kSmallMInstances[kIndex]>()...};
}
(std::make_index_sequence<kSmallMInstances.size()>{});

const Instance& instance_of(const KernelConfig& kernel) {
  return *std::find_if(kInstances.begin(), kInstances.end(),
                       [&](const Instance& instance) { return instance.kernel == compiled(kernel); });
}

}  // namespace

Status load_small_m(const KernelConfig& kernel) {
  const Instance& instance = instance_of(kernel);
  for (const DataType type : {DataType::BFloat16, DataType::Float16}) {
    for (const Kernel function : instance.of(type)) {
      HG_RETURN_IF_ERROR(load_kernel(function));
      HG_RETURN_IF_ERROR(allow_dynamic_shared_memory(function, instance.smem_bytes));
    }
  }
  return {};
}

Status small_m_clusters(const KernelConfig& kernel, int split, int* clusters) {
  const Instance& instance = instance_of(kernel);
  return max_active_clusters(instance.bf16.back(), split, num_threads(kernel), instance.smem_bytes, clusters);
}

bool loads_whole_stages(const KernelConfig& kernel, int k) {
  return kernel.block_k > kBlockK && k % kBlockK == 0;
}

Status launch_small_m(const KernelConfig& kernel, int split, const TensorMap& tensor_map_a,
                      const TensorMap& tensor_map_b, const KernelArgs& args, const SmallMLaunch& launch,
                      cudaStream_t stream) {
  const Instance& instance = instance_of(kernel);
  small_m::Params params;
  params.shape = args.shape;
  params.tiles_m = ceil_div(args.shape.m, kernel.block_m);
  params.tiles_n = ceil_div(args.shape.n, kernel.block_n);
  params.columns = kernel.block_n;
  params.split = split;
  params.a_rows = loaded_lines(args.a, args.shape.m, kernel.block_m, 1);
  params.k_stages = ceil_div(args.shape.k, kernel.block_k);
  params.loads_whole_stages = loads_whole_stages(kernel, args.shape.k);
  params.a_is_batched = args.a.batch_stride != 0;
  params.b_is_batched = args.b.batch_stride != 0;
  params.prefetched_stages =
      launch.overlaps ? prefetched_stages(args, {.kernel = kernel, .split_k = split}) : 0;
  params.triggers_dependents = launch.triggers_dependents;
  params.epilogue = args.epilogue;
  const auto num_ctas = static_cast<unsigned>(params.tiles_m * params.tiles_n * args.batch_count * split);
  std::array<cudaLaunchAttribute, 2> attributes{};
  unsigned num_attributes = 0;
  if (split > 1) attributes[num_attributes++] = cluster_attribute(split);
  if (launch.overlaps) attributes[num_attributes++] = programmatic_dependent_launch_attribute();
  cudaLaunchConfig_t config =
      launch_config(dim3(num_ctas), num_threads(kernel), instance.smem_bytes, attributes.data());
  config.numAttrs = num_attributes;
  config.stream = stream;
  const auto& [plain, general] = instance.of(args.input_type);
  HG_RETURN_IF_CUDA_ERROR(cudaLaunchKernelEx(&config, launch.is_alpha_only ? plain : general, tensor_map_a,
                                             tensor_map_b, params));
  return {};
}

}  // namespace hopper_gemm::library
