// The host's half of the skinny kernel.

#include "library/skinny_gemm.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/launch.hpp"
#include "library/skinny_gemm.cuh"
#include "library/wgmma_choice.hpp"

namespace hopper_gemm::library {
namespace {

using Kernel = void (*)(TensorMap, TensorMap, skinny::Params);

struct Instance {
  wgmma::Tile tile;
  Kernel bf16;
  Kernel fp16;
  std::size_t smem_bytes;

  Kernel of(DataType type) const { return type == DataType::Float16 ? fp16 : bf16; }
};

template <wgmma::Tile kTile>
constexpr Instance instance_of() {
  using Config = skinny::Config<kTile>;
  return {kTile, skinny::gemm_kernel<Config, __nv_bfloat16>, skinny::gemm_kernel<Config, __half>,
          sizeof(skinny::SharedStorage<Config>)};
}

constexpr std::array kInstances = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array{instance_of<kSkinnyTiles[kIndex]>()...};
}
(std::make_index_sequence<kSkinnyTiles.size()>{});

const Instance& instance_of(const wgmma::Tile& tile) {
  return *std::find_if(kInstances.begin(), kInstances.end(),
                       [&](const Instance& instance) { return instance.tile == tile; });
}

}  // namespace

Status load_skinny_gemm(const wgmma::Tile& tile) {
  const Instance& instance = instance_of(tile);
  for (const Kernel kernel : {instance.bf16, instance.fp16}) {
    HG_RETURN_IF_ERROR(load_kernel(kernel));
    HG_RETURN_IF_ERROR(allow_dynamic_shared_memory(kernel, instance.smem_bytes));
  }
  return {};
}

Status skinny_gemm_clusters(const wgmma::Tile& tile, int split, int* clusters) {
  const Instance& instance = instance_of(tile);
  return max_active_clusters(instance.bf16, split, wgmma::num_threads(tile), instance.smem_bytes, clusters);
}

Status launch_skinny_gemm(const wgmma::Tile& tile, int split, const TensorMap& tensor_map_a,
                          const TensorMap& tensor_map_b, const KernelArgs& args, bool overlaps,
                          cudaStream_t stream) {
  const Instance& instance = instance_of(tile);
  skinny::Params params;
  params.shape = args.shape;
  params.tiles_m = ceil_div(args.shape.m, tile.block_m);
  params.tiles_n = ceil_div(args.shape.n, tile.block_n);
  params.split = split;
  params.a_rows = wgmma::loaded_lines(args.a, args.shape.m, tile.block_m, 1);
  params.k_blocks = ceil_div(args.shape.k, 64);
  params.a_is_batched = args.a.batch_stride != 0;
  params.b_is_batched = args.b.batch_stride != 0;
  params.prefetched_k_blocks = overlaps ? wgmma::prefetched_k_blocks(args, {tile, split}) : 0;
  params.epilogue = args.epilogue;
  const auto num_ctas = static_cast<unsigned>(params.tiles_m * params.tiles_n * args.batch_count * split);
  std::array<cudaLaunchAttribute, 2> attributes{};
  unsigned num_attributes = 0;
  if (split > 1) attributes[num_attributes++] = cluster_attribute(split);
  if (overlaps) attributes[num_attributes++] = programmatic_dependent_launch_attribute();
  cudaLaunchConfig_t config =
      launch_config(dim3(num_ctas), wgmma::num_threads(tile), instance.smem_bytes, attributes.data());
  config.numAttrs = num_attributes;
  config.stream = stream;
  HG_RETURN_IF_CUDA_ERROR(
      cudaLaunchKernelEx(&config, instance.of(args.input_type), tensor_map_a, tensor_map_b, params));
  return {};
}

}  // namespace hopper_gemm::library
