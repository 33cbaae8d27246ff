// Version 6 of the Ampere ladder with one tile, what mutants of its header are compiled from: the kernel for all of its
// configurations takes minutes.

#include <bit>
#include <cstdint>

#include "ladder/ampere/v6_general.cuh"

namespace hopper_gemm::ampere::v6 {

Status launch(const GemmArgs& args, cudaStream_t stream) {
  constexpr TileConfig kTile = {.block_m = 64,
                                .block_n = 64,
                                .block_k = 32,
                                .warp_m = 32,
                                .warp_n = 32,
                                .thread_m = 0,
                                .thread_n = 0,
                                .stages = 3,
                                .band_m = 8};
  const auto starts_chunks = [](const void* matrix, std::int64_t leading_dimension) {
    return std::bit_cast<std::uintptr_t>(matrix) % 16 == 0 && leading_dimension % 8 == 0;
  };
  const bool is_aligned = starts_chunks(args.a, args.lda) && starts_chunks(args.b, args.ldb);
  return is_aligned ? launch_tile<kTile, __nv_bfloat16, 8>(args, stream)
                    : launch_tile<kTile, __nv_bfloat16, 1>(args, stream);
}

}  // namespace hopper_gemm::ampere::v6
