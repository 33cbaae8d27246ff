// The table behind all_kernels().

#include <algorithm>
#include <array>

#include "common/tile_config_name.hpp"
#include "ladder/ampere/versions.hpp"
#include "ladder/hopper/versions.hpp"
#include "ladder/simt/versions.hpp"
#include "registry/best.hpp"
#include "registry/registry.hpp"

namespace hopper_gemm {
namespace {

constexpr KernelTarget kHopper = {.compute_capability = {9, 0},
                                  .or_newer = false,
                                  .input_type = DataType::BFloat16,
                                  .b_layout = Layout::ColumnMajor};

constexpr KernelTarget kAmpere = {.compute_capability = {8, 0},
                                  .or_newer = true,
                                  .input_type = DataType::BFloat16,
                                  .b_layout = Layout::ColumnMajor};
constexpr KernelTarget kSimt = {.compute_capability = {7, 5},
                                .or_newer = true,
                                .input_type = DataType::Float32,
                                .b_layout = Layout::RowMajor};

// The library's default for measurements. It also takes other types and layouts.
constexpr KernelTarget kLibrary = {.compute_capability = {8, 0},
                                   .or_newer = true,
                                   .input_type = DataType::BFloat16,
                                   .b_layout = Layout::ColumnMajor};

using TileConfigs = std::span<const TileConfig> (*)();
using LaunchTileConfig = Status (*)(const TileConfig&, const GemmArgs&, cudaStream_t);

template <TileConfigs kConfigs>
const TileConfig* find_config(const std::string& name) {
  const std::span<const TileConfig> configs = kConfigs();
  const auto found = std::find_if(configs.begin(), configs.end(),
                                  [&](const TileConfig& config) { return to_string(config) == name; });
  return found == configs.end() ? nullptr : &*found;
}

/// The configurations of a version of a ladder. There are few, so that all of them are measured.
template <TileConfigs kConfigs, LaunchTileConfig kLaunch>
constexpr TuningSpace tuning_space() {
  return {.configs =
              [](const GemmArgs&) {
                std::vector<std::string> names;
                for (const TileConfig& config : kConfigs()) names.push_back(to_string(config));
                return names;
              },
          .has_config = [](const std::string& name) { return find_config<kConfigs>(name) != nullptr; },
          .launch = [](const std::string& name, const GemmArgs& args, cudaStream_t stream) -> Status {
            const TileConfig* const config = find_config<kConfigs>(name);
            if (config == nullptr) return invalid_argument("there is no configuration '" + name + "'");
            return kLaunch(*config, args, stream);
          }};
}

constexpr TuningSpace kAmpereGeneral = tuning_space<ampere::v6::configs, ampere::v6::launch_config>();
constexpr TuningSpace kSimtWarpTiling = tuning_space<simt::v7::configs, simt::v7::launch_config>();
constexpr TuningSpace kSimtCpAsync = tuning_space<simt::v8::configs, simt::v8::launch_config>();
constexpr TuningSpace kLibraryConfigs = {best::configs, best::has_config, best::launch_config};

constexpr std::array kKernels = {
    KernelInfo{"1", "tma_wgmma", "TMA tiles into swizzled shared memory, wgmma m64n64k16, one warpgroup",
               kHopper, v01::can_implement, v01::launch},
    KernelInfo{"2", "large_tile", "128x128 tile, wgmma m64n128k16: more operations per byte", kHopper,
               v02::can_implement, v02::launch},
    KernelInfo{"3", "producer_consumer",
               "a producer warp keeps a ring of stages filled for the consumer warpgroup", kHopper,
               v03::can_implement, v03::launch},
    KernelInfo{"4", "two_consumers",
               "128x256 tile over two consumer warpgroups, registers moved by setmaxnreg", kHopper,
               v04::can_implement, v04::launch},
    KernelInfo{"5", "persistent",
               "one CTA per SM walks over tiles in L2-aware bands, storing one while loading the next",
               kHopper, v05::can_implement, v05::launch},
    KernelInfo{"6", "ptx_mbarrier",
               "mbarriers through ptx/ with one arrival per warpgroup instead of cuda::barrier", kHopper,
               v06::can_implement, v06::launch},
    KernelInfo{"7", "cluster_multicast", "clusters of two CTAs share each B block by TMA multicast", kHopper,
               v07::can_implement, v07::launch},
    KernelInfo{
        "8", "lean_epilogue",
        "less between tiles and K blocks: overwriting first wgmma, one block in flight, advanced descriptors",
        kHopper, v08::can_implement, v08::launch},
    KernelInfo{"9", "tma_store", "D through shared memory and TMA, under the next tile", kHopper,
               v09::can_implement, v09::launch},
    KernelInfo{"10", "hilbert",
               "an order made for L2: squares of a Hilbert curve, even waves, a row to each GPC", kHopper,
               v10::can_implement, v10::launch},
    KernelInfo{"11", "stmatrix", "stmatrix into swizzled staging: no bank conflicts in the epilogue", kHopper,
               v11::can_implement, v11::launch},
    KernelInfo{"12", "uniform", "all lanes wait at the tile queue: descriptors in uniform registers", kHopper,
               v12::can_implement, v12::launch},
    KernelInfo{"13", "wide_tiles", "256x192 tiles move 22 % fewer bytes; SMs of a GPC ask for the same B",
               kHopper, v13::can_implement, v13::launch},
    KernelInfo{"14", "even_columns", "the last columns in narrower tiles, so that the last wave is full",
               kHopper, v14::can_implement, v14::launch},
    KernelInfo{"15", "half_epilogue", "one half of a tile is stored while the other multiplies", kHopper,
               v15::can_implement, v15::launch},
    KernelInfo{"16", "warp_producer", "a whole warp produces: loads from uniform registers, without loops",
               kHopper, v16::can_implement, v16::launch},
    KernelInfo{"17", "pace", "clusters wait for each other along K: less from L2 and DRAM", kHopper,
               v17::can_implement, v17::launch},
    KernelInfo{"18", "fourth_stage", "D through what is left of A: a fourth stage instead of staging buffers",
               kHopper, v18::can_implement, v18::launch},

    KernelInfo{"ampere.1", "wmma",
               "tensor cores through nvcuda::wmma, tiles through registers to shared memory", kAmpere,
               ampere::v1::can_implement, ampere::v1::launch},
    KernelInfo{"ampere.2", "cp_async", "cp.async: the next K block comes while this one is multiplied",
               kAmpere, ampere::v2::can_implement, ampere::v2::launch},
    KernelInfo{"ampere.3", "mma_sync", "ldmatrix and mma.sync.m16n8k16 instead of wmma, from padded rows",
               kAmpere, ampere::v3::can_implement, ampere::v3::launch},
    KernelInfo{"ampere.4", "swizzle",
               "16-byte chunks swizzled by XOR: rows of 128 bytes without padding or bank conflicts", kAmpere,
               ampere::v4::can_implement, ampere::v4::launch},
    KernelInfo{"ampere.5", "multistage", "a ring of stages, and fragments loaded one step ahead", kAmpere,
               ampere::v5::can_implement, ampere::v5::launch},
    KernelInfo{"ampere.6", "general",
               "any shape and alignment, tiles in bands for L2, a configuration for the shape", kAmpere,
               ampere::v6::can_implement, ampere::v6::launch, &kAmpereGeneral},

    KernelInfo{"simt.1", "naive", "one thread an element, straight from global memory", kSimt,
               simt::v1::can_implement, simt::v1::launch},
    KernelInfo{"simt.2", "coalesced", "neighbouring threads in neighbouring columns", kSimt,
               simt::v2::can_implement, simt::v2::launch},
    KernelInfo{"simt.3", "smem_tiles", "tiles of A and B in shared memory", kSimt, simt::v3::can_implement,
               simt::v3::launch},
    KernelInfo{"simt.4", "block_tiling_1d", "a thread computes a column of elements", kSimt,
               simt::v4::can_implement, simt::v4::launch},
    KernelInfo{"simt.5", "block_tiling_2d", "a thread computes a square of elements", kSimt,
               simt::v5::can_implement, simt::v5::launch},
    KernelInfo{"simt.6", "vectorized", "accesses of 16 bytes, A transposed in shared memory", kSimt,
               simt::v6::can_implement, simt::v6::launch},
    KernelInfo{"simt.7", "warp_tiling", "warps have tiles of their own, cut into subtiles", kSimt,
               simt::v7::can_implement, simt::v7::launch, &kSimtWarpTiling},
    KernelInfo{"simt.8", "cp_async", "cp.async: the next K block comes while this one is multiplied", kSimt,
               simt::v8::can_implement, simt::v8::launch, &kSimtCpAsync},

    KernelInfo{kLibraryVersion, "library", "what the library chooses for the operands and the GPU", kLibrary,
               best::can_implement, best::launch, &kLibraryConfigs, best::choose, best::files},
};

}  // namespace

std::span<const KernelInfo> all_kernels() { return kKernels; }

bool has_gpu_kernels() { return true; }

}  // namespace hopper_gemm
