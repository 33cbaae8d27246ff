// The host's half of the skinny kernel.

#include "gemm/host/swap_ab.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/ceil_div.hpp"
#include "device/launch.hpp"
#include "gemm/heuristics/candidates.hpp"
#include "gemm/kernel/swap_ab.cuh"

namespace hopper_gemm::library {
namespace {

using Kernel = void (*)(TensorMap, TensorMap, skinny::Params);

struct Instance {
  wgmma::Tile tile;
  std::array<Kernel, 2> bf16;  // plain, general
  std::array<Kernel, 2> fp16;
  std::size_t smem_bytes;  // of all of them

  const std::array<Kernel, 2>& of(DataType type) const { return type == DataType::Float16 ? fp16 : bf16; }
};

template <typename Config, typename T>
constexpr std::array<Kernel, 2> kernels_of() {
  using wgmma::EpilogueKind;
  return {skinny::gemm_kernel<Config, T, EpilogueKind::Plain>,
          skinny::gemm_kernel<Config, T, EpilogueKind::General>};
}

template <wgmma::Tile kTile>
constexpr Instance instance_of() {
  using Config = skinny::Config<kTile>;
  // 1 KiB of each CTA is the system's.
  constexpr int kCtasOfAnSm = wgmma::shares_an_sm(kTile) ? 2 : 1;
  static_assert(kCtasOfAnSm * (sizeof(skinny::SharedStorage<Config>) + 1024) <= 228 * 1024);
  return {kTile, kernels_of<Config, __nv_bfloat16>(), kernels_of<Config, __half>(),
          sizeof(skinny::SharedStorage<Config>)};
}

constexpr std::array kInstances = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array{instance_of<kSkinnyInstances[kIndex]>()...};
}
(std::make_index_sequence<kSkinnyInstances.size()>{});

const Instance& instance_of(const wgmma::Tile& tile) {
  return *std::find_if(kInstances.begin(), kInstances.end(),
                       [&](const Instance& instance) { return instance.tile == instance_tile(tile); });
}

}  // namespace

Status load_skinny_gemm(const wgmma::Tile& tile) {
  const Instance& instance = instance_of(tile);
  for (const DataType type : {DataType::BFloat16, DataType::Float16}) {
    for (const Kernel kernel : instance.of(type)) {
      HG_RETURN_IF_ERROR(load_kernel(kernel));
      HG_RETURN_IF_ERROR(allow_dynamic_shared_memory(kernel, instance.smem_bytes));
    }
  }
  return {};
}

Status skinny_gemm_clusters(const wgmma::Tile& tile, int split, int* clusters) {
  const Instance& instance = instance_of(tile);
  return max_active_clusters(instance.bf16.back(), split, wgmma::num_threads(tile), instance.smem_bytes,
                             clusters);
}

bool loads_whole_stages(const wgmma::Tile& tile, int k) {
  return tile.block_k > wgmma::kBlockK && k % wgmma::kBlockK == 0;
}

Status launch_skinny_gemm(const wgmma::Tile& tile, int split, const TensorMap& tensor_map_a,
                          const TensorMap& tensor_map_b, const KernelArgs& args, const SkinnyLaunch& launch,
                          cudaStream_t stream) {
  const Instance& instance = instance_of(tile);
  skinny::Params params;
  params.shape = args.shape;
  params.tiles_m = ceil_div(args.shape.m, tile.block_m);
  params.tiles_n = ceil_div(args.shape.n, tile.block_n);
  params.columns = tile.block_n;
  params.split = split;
  params.a_rows = wgmma::loaded_lines(args.a, args.shape.m, tile.block_m, 1);
  params.k_stages = ceil_div(args.shape.k, tile.block_k);
  params.loads_whole_stages = loads_whole_stages(tile, args.shape.k);
  params.a_is_batched = args.a.batch_stride != 0;
  params.b_is_batched = args.b.batch_stride != 0;
  params.prefetched_stages = launch.overlaps ? wgmma::prefetched_stages(args, {tile, split}) : 0;
  params.triggers_dependents = launch.triggers_dependents;
  params.epilogue = args.epilogue;
  const auto num_ctas = static_cast<unsigned>(params.tiles_m * params.tiles_n * args.batch_count * split);
  std::array<cudaLaunchAttribute, 2> attributes{};
  unsigned num_attributes = 0;
  if (split > 1) attributes[num_attributes++] = cluster_attribute(split);
  if (launch.overlaps) attributes[num_attributes++] = programmatic_dependent_launch_attribute();
  cudaLaunchConfig_t config =
      launch_config(dim3(num_ctas), wgmma::num_threads(tile), instance.smem_bytes, attributes.data());
  config.numAttrs = num_attributes;
  config.stream = stream;
  const auto& [plain, general] = instance.of(args.input_type);
  HG_RETURN_IF_CUDA_ERROR(
      cudaLaunchKernelEx(&config, launch.is_plain ? plain : general, tensor_map_a, tensor_map_b, params));
  return {};
}

}  // namespace hopper_gemm::library
