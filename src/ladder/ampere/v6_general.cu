// The host's half of version 6: what it takes, and which configuration it runs. The kernel is in v6_general.cuh.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>

#include "ladder/ampere/v6_configs.hpp"
#include "ladder/ampere/versions.hpp"

namespace hopper_gemm::ampere::v6 {
namespace {

// For rows that are not 16-byte aligned: their copies, not their tiles, are what takes the time.
constexpr TileConfig kNarrowCopiesConfig = warp_tile(64, 64, 32, 32, 32, 3);

struct Preference {
  TileConfig config;
  // Products per time when all SMs are busy, relative to the best: what a larger tile saves in loads. From `matmul tune
  // ampere.6 --size 4096` on an H200.
  double relative_speed;
};

constexpr std::array kPreferences = {
    Preference{warp_tile(256, 128, 64, 64, 64, 3), 1.0},  // 144 KiB of shared memory: not for sm_86 and sm_89
    Preference{warp_tile(128, 256, 64, 64, 64, 3), 0.99},  // 144 KiB
    Preference{warp_tile(128, 128, 64, 64, 64, 3), 0.94},  // 96 KiB
    Preference{warp_tile(128, 64, 64, 64, 32, 4), 0.77},   // 96 KiB
    Preference{warp_tile(64, 64, 64, 32, 32, 4), 0.6},     // 64 KiB
    Preference{warp_tile(128, 128, 32, 64, 64, 3),
               0.83},  // 48 KiB: for less shared memory than sm_80 to sm_90 have
    Preference{warp_tile(64, 64, 32, 32, 32, 3), 0.57},  // 24 KiB
};
static_assert(std::all_of(kPreferences.begin(), kPreferences.end(), [](const Preference& preference) {
  return index_of(kConfigs, preference.config) < kConfigs.size();
}));

/// The most elements, of 8, 2 and 1, that a copy of a row may have: every row starts at a multiple of them.
int copy_elems_of(const void* matrix, std::int64_t leading_dimension) {
  const auto allows = [&](int elems) {
    return std::bit_cast<std::uintptr_t>(matrix) % static_cast<unsigned>(elems * 2) == 0 &&
           leading_dimension % elems == 0;
  };
  // Offsets within a tile are counted in 32 bits where copies have 16 bytes.
  constexpr std::int64_t kMostRows = 256;
  const bool countable = leading_dimension / 8 <= std::numeric_limits<std::uint32_t>::max() / kMostRows;
  return allows(8) && countable ? 8 : allows(2) ? 2 : 1;
}

int copy_elems_of(const GemmArgs& args) {
  // Neither is read then.
  if (args.alpha == 0 || args.shape.k == 0) return 8;
  return std::min(copy_elems_of(args.a, args.lda), copy_elems_of(args.b, args.ldb));
}

/// Time in which the GPU computes D, in some unit: the SM that has the most tiles is the last.
double estimated_time(const Preference& preference, GemmShape shape, int sm_count) {
  const auto& [config, relative_speed] = preference;
  const std::int64_t rounds =
      ceil_div(num_tiles(shape, config.block_m, config.block_n), std::int64_t{sm_count});
  return static_cast<double>(rounds * config.block_m * config.block_n) / relative_speed;
}

struct Device {
  int sm_count;
  int max_shared_bytes;
};

Status current_device(Device* device) {
  int id = 0;
  HG_RETURN_IF_CUDA_ERROR(cudaGetDevice(&id));
  HG_RETURN_IF_CUDA_ERROR(cudaDeviceGetAttribute(&device->sm_count, cudaDevAttrMultiProcessorCount, id));
  HG_RETURN_IF_CUDA_ERROR(
      cudaDeviceGetAttribute(&device->max_shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, id));
  return {};
}

Status too_little_shared_memory(const TileConfig& config, int max_shared_bytes) {
  return unsupported("a tile of " + std::to_string(config.block_m) + "x" + std::to_string(config.block_n) +
                     " with " + std::to_string(config.stages) + " stages takes " +
                     std::to_string(shared_bytes(config)) +
                     " bytes of shared memory, and this GPU gives a CTA " + std::to_string(max_shared_bytes));
}

LaunchFunction tuned_launcher(std::size_t index, DataType type) {
  const bool is_fp16 = type == DataType::Float16;
  if (index < kFirstConfigs.size()) return (is_fp16 ? kFirstLaunchersFp16 : kFirstLaunchersBf16)[index];
  return (is_fp16 ? kOtherLaunchersFp16 : kOtherLaunchersBf16)[index - kFirstConfigs.size()];
}

template <typename T>
LaunchFunction narrow_launcher(int copy_elems) {
  return copy_elems == 2 ? launch_tile<kNarrowCopiesConfig, T, 2> : launch_tile<kNarrowCopiesConfig, T, 1>;
}

LaunchFunction launcher_of(const Choice& choice, DataType type) {
  if (choice.copy_elems == 8) return tuned_launcher(index_of(kConfigs, choice.config), type);
  return type == DataType::Float16 ? narrow_launcher<__half>(choice.copy_elems)
                                   : narrow_launcher<__nv_bfloat16>(choice.copy_elems);
}

bool is_empty(GemmShape shape) { return shape.m == 0 || shape.n == 0; }

}  // namespace

std::span<const TileConfig> configs() { return kConfigs; }

std::optional<Choice> choose(const GemmArgs& args, int sm_count, int max_shared_bytes) {
  const int copy_elems = copy_elems_of(args);
  if (copy_elems < 8) {
    if (shared_bytes(kNarrowCopiesConfig) > max_shared_bytes) return std::nullopt;
    return Choice{kNarrowCopiesConfig, copy_elems};
  }
  const Preference* best = nullptr;
  for (const Preference& preference : kPreferences) {
    if (shared_bytes(preference.config) > max_shared_bytes) continue;
    if (best == nullptr ||
        estimated_time(preference, args.shape, sm_count) < estimated_time(*best, args.shape, sm_count)) {
      best = &preference;
    }
  }
  if (best == nullptr) return std::nullopt;
  return Choice{best->config, copy_elems};
}

Status can_implement(const GemmArgs& args) {
  HG_RETURN_IF_ERROR(check_gemm(args));
  HG_RETURN_IF_ERROR(check_ladder_operation(args));
  if (args.input_type == DataType::Float32) {
    return unsupported("the Ampere ladder multiplies bf16 or fp16, not fp32");
  }
  if (args.a_layout != Layout::RowMajor) {
    return unsupported(
        "A is column-major, but the Ampere ladder takes a row-major A, [M, K] with K contiguous");
  }
  if (args.b_layout != Layout::ColumnMajor) {
    return unsupported(
        "B is row-major, but the Ampere ladder takes a column-major B, [N, K] with K contiguous");
  }
  if (is_empty(args.shape)) return {};
  // The smallest tile makes the largest grid.
  return check_tile_grid(args.shape, kNarrowCopiesConfig.block_m, kNarrowCopiesConfig.block_n);
}

Status launch(const GemmArgs& args, cudaStream_t stream) {
  HG_RETURN_IF_ERROR(can_implement(args));
  if (is_empty(args.shape)) return {};
  Device device{};
  HG_RETURN_IF_ERROR(current_device(&device));
  const std::optional<Choice> choice = choose(args, device.sm_count, device.max_shared_bytes);
  if (!choice) {
    return unsupported("this GPU gives a CTA " + std::to_string(device.max_shared_bytes) +
                       " bytes of shared memory, too little for any tile of version 6");
  }
  return launcher_of(*choice, args.input_type)(args, stream);
}

Status launch_config(const TileConfig& config, const GemmArgs& args, cudaStream_t stream) {
  const std::size_t index = index_of(kConfigs, config);
  if (index == kConfigs.size()) {
    const char* const fault = fault_of(config);
    return invalid_argument(fault == nullptr ? "version 6 is not compiled for this configuration" : fault);
  }
  HG_RETURN_IF_ERROR(can_implement(args));
  if (is_empty(args.shape)) return {};
  if (copy_elems_of(args) < 8) {
    return unsupported("the configurations are for rows of A and B that start 16-byte aligned");
  }
  Device device{};
  HG_RETURN_IF_ERROR(current_device(&device));
  if (shared_bytes(config) > device.max_shared_bytes)
    return too_little_shared_memory(config, device.max_shared_bytes);
  return tuned_launcher(index, args.input_type)(args, stream);
}

}  // namespace hopper_gemm::ampere::v6
