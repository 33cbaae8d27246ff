// simt.7 warp_tiling   prev: simt.6   Change: warps have tiles of their own, and the tiling is an argument
// Why: a thread's 8x8 elements need not be one patch. In four patches of 4x4, those of a warp's lanes side by
//   side, a warp's load from shared memory takes neighbouring vectors: no bank conflicts, few different
//   addresses. How a tile is best cut up depends on the GPU, so the extents are a TileConfig, and the valid
//   ones are all compiled.
// Expected: the loads from shared memory disappear behind the multiply-adds. The wait for global memory
//   remains.
// Measured: 36.8 TFLOP/s, 71.9 % of cublasSgemm, 33 % more than v6 (H200, 4096³, burst: profiles/h200/). The loads'
//   conflicts are gone; those of the stores that transpose A came.
// Limits: none.
// Diff: half of it is the space of configurations and the table of its kernels, on the host.

#include "common/gemm_shape.hpp"
#include "common/tile_config.hpp"
#include "device/device_common.cuh"
#include "device/launch.hpp"
#include "device/tile_scheduler.hpp"
#include "ladder/config_space.hpp"
#include "ladder/simt/simt_gemm.cuh"

namespace hopper_gemm::simt::v7 {

// A warp's lanes are 8 x 4. Lanes i and i ^ 1 are in the same row of them, and i and i ^ 2 in the same
// column: a 16-byte load from shared memory takes two cycles instead of four where one or the other pair has
// one address.
inline constexpr int kLanesM = 8;
inline constexpr int kLanesN = 4;

__device__ __forceinline__ int lane_m(int thread) { return thread / 2 % 2 + thread / 8 % 4 * 2; }
__device__ __forceinline__ int lane_n(int thread) { return thread % 2 + thread / 4 % 2 * 2; }

/// Why the kernel cannot be compiled for `config`; nullptr if it can.
HG_HOST_DEVICE constexpr const char* fault_of(const TileConfig& config) {
  const int threads = config.block_m / config.warp_m * (config.block_n / config.warp_n) * kWarpThreads;
  const int accumulators = config.warp_m * config.warp_n / kWarpThreads;
  if (config.thread_m % kVectorElems != 0 || config.thread_n % kVectorElems != 0) {
    return "a thread's patch is not made of 16-byte vectors";
  }
  if (config.warp_m % (kLanesM * config.thread_m) != 0 || config.warp_n % (kLanesN * config.thread_n) != 0) {
    return "a warp's tile is not made of patches";
  }
  if (config.block_m % config.warp_m != 0 || config.block_n % config.warp_n != 0) {
    return "the CTA's tile is not made of warps' tiles";
  }
  if (config.block_k % kVectorElems != 0) return "a row of A's tile is not made of 16-byte vectors";
  if (threads < 128 || threads > 256) return "a CTA has 128 to 256 threads, so that two or four fit an SM";
  if (accumulators > 128) return "more than 128 accumulators leave no registers for anything else";
  if (config.stages != 1) return "there is one stage";
  return nullptr;
}

template <TileConfig kConfig>
struct ConfigOf {
  static_assert(fault_of(kConfig) == nullptr);
  static constexpr int BLOCK_M = kConfig.block_m;
  static constexpr int BLOCK_N = kConfig.block_n;
  static constexpr int BLOCK_K = kConfig.block_k;
  static constexpr int kBandM = kConfig.band_m;
  static constexpr int kWarpM = kConfig.warp_m;
  static constexpr int kWarpN = kConfig.warp_n;
  static constexpr int kThreadM = kConfig.thread_m;
  static constexpr int kThreadN = kConfig.thread_n;
  static constexpr int kPatchM = kLanesM * kThreadM;  // the lanes' patches side by side
  static constexpr int kPatchN = kLanesN * kThreadN;
  static constexpr int kAccumM = kWarpM / kLanesM;
  static constexpr int kAccumN = kWarpN / kLanesN;
  static constexpr int kWarpsN = BLOCK_N / kWarpN;
  static constexpr int kNumThreads = BLOCK_M / kWarpM * kWarpsN * kWarpThreads;
  // 128 registers a thread are enough for 64 accumulators, 255 for 128.
  static constexpr int kMinCtas = kRegistersPerSm / (kAccumM * kAccumN > 64 ? 256 : 128) / kNumThreads;
};

template <typename Config>
struct alignas(16) SharedStorage {
  // K is the outer index. Padded, so that the two halves of a row of A that a warp stores lie in different
  // banks.
  float a[Config::BLOCK_K][Config::BLOCK_M + kVectorElems];
  float b[Config::BLOCK_K][Config::BLOCK_N];
};

template <typename Config, bool kVector>
__global__ void __launch_bounds__(Config::kNumThreads, Config::kMinCtas) gemm_kernel(Gemm gemm) {
  SharedStorage<Config>& smem = dynamic_shared_storage<SharedStorage<Config>>();
  const int thread = static_cast<int>(threadIdx.x);
  const TileCoord tile = supertile_order(
      blockIdx.x, make_tile_grid(gemm.shape, Config::BLOCK_M, Config::BLOCK_N), Config::kBandM);
  const int first_row = tile.m * Config::BLOCK_M;
  const int first_col = tile.n * Config::BLOCK_N;
  const int num_k_blocks = ceil_div(gemm.shape.k, Config::BLOCK_K);
  const int warp = thread / kWarpThreads;
  const int thread_row = warp / Config::kWarpsN * Config::kWarpM + lane_m(thread) * Config::kThreadM;
  const int thread_col = warp % Config::kWarpsN * Config::kWarpN + lane_n(thread) * Config::kThreadN;
  // The first of the thread's accumulators is at (thread_row, thread_col).
  const auto row_of = [](int i) { return i / Config::kThreadM * Config::kPatchM + i % Config::kThreadM; };
  const auto col_of = [](int j) { return j / Config::kThreadN * Config::kPatchN + j % Config::kThreadN; };

  float accum[Config::kAccumM][Config::kAccumN] = {};
  for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
    const int first_k = k_block * Config::BLOCK_K;
    for (int i = thread; i < Config::BLOCK_M * Config::BLOCK_K / kVectorElems; i += Config::kNumThreads) {
      const int row = i / (Config::BLOCK_K / kVectorElems);
      const int k = i % (Config::BLOCK_K / kVectorElems) * kVectorElems;
      const float4 vector = load_a_vector<kVector>(gemm, first_row + row, first_k + k);
      smem.a[k][row] = vector.x;
      smem.a[k + 1][row] = vector.y;
      smem.a[k + 2][row] = vector.z;
      smem.a[k + 3][row] = vector.w;
    }
    for (int i = thread; i < Config::BLOCK_K * Config::BLOCK_N / kVectorElems; i += Config::kNumThreads) {
      const int k = i / (Config::BLOCK_N / kVectorElems);
      const int col = i % (Config::BLOCK_N / kVectorElems) * kVectorElems;
      const float4 vector = load_b_vector<kVector>(gemm, first_k + k, first_col + col);
      *reinterpret_cast<float4*>(&smem.b[k][col]) = vector;
    }
    __syncthreads();

    // Unrolled further, the loads of later steps would take the registers that 64 accumulators leave of 128.
#pragma unroll 2
    for (int k = 0; k < Config::BLOCK_K; ++k) {
      float fragment_a[Config::kAccumM];
      float fragment_b[Config::kAccumN];
#pragma unroll
      for (int i = 0; i < Config::kAccumM; i += kVectorElems) {
        load_vector(&smem.a[k][thread_row + row_of(i)], &fragment_a[i]);
      }
#pragma unroll
      for (int j = 0; j < Config::kAccumN; j += kVectorElems) {
        load_vector(&smem.b[k][thread_col + col_of(j)], &fragment_b[j]);
      }
#pragma unroll
      for (int i = 0; i < Config::kAccumM; ++i) {
#pragma unroll
        for (int j = 0; j < Config::kAccumN; ++j) accum[i][j] += fragment_a[i] * fragment_b[j];
      }
    }
    // All threads have read the tiles before the next ones replace them.
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < Config::kAccumM; ++i) {
#pragma unroll
    for (int j = 0; j < Config::kAccumN; j += kVectorElems) {
      store_d_vector<kVector>(gemm, first_row + thread_row + row_of(i), first_col + thread_col, col_of(j),
                              &accum[i][j]);
    }
  }
}

// Host side
namespace {

constexpr ConfigAxes kAxes = {.block_m = {64, 128},
                              .block_n = {64, 128},
                              .block_k = {16},
                              .warp_m = {32, 64},
                              .warp_n = {32, 64},
                              .thread_m = {4},
                              .thread_n = {4},
                              .stages = {1},
                              .band_m = {8}};
constexpr auto kConfigs = valid_configs<kAxes, fault_of>();
constexpr TileConfig kDefaultConfig = {.block_m = 64,
                                       .block_n = 128,
                                       .block_k = 16,
                                       .warp_m = 64,
                                       .warp_n = 32,
                                       .thread_m = 4,
                                       .thread_n = 4,
                                       .stages = 1,
                                       .band_m = 8};
static_assert(index_of(kConfigs, kDefaultConfig) < kConfigs.size());

template <TileConfig kConfig>
Status launch_as(const GemmArgs& args, cudaStream_t stream) {
  using Config = ConfigOf<kConfig>;
  HG_RETURN_IF_ERROR(check_simt_gemm(args, Config::BLOCK_M, Config::BLOCK_N, Config::BLOCK_K));
  const dim3 grid = tile_grid(args.shape, Config::BLOCK_M, Config::BLOCK_N);
  if (grid.x == 0) return {};
  const Gemm gemm = gemm_of(args);
  const auto kernel = holds_whole_vectors(gemm) ? gemm_kernel<Config, true> : gemm_kernel<Config, false>;
  return launch_kernel(kernel, grid, Config::kNumThreads, sizeof(SharedStorage<Config>), stream, gemm);
}

constexpr auto kLaunchers = for_each_config<kConfigs>([](auto config) { return &launch_as<config.kConfig>; });

}  // namespace

std::span<const TileConfig> configs() { return kConfigs; }

Status launch_config(const TileConfig& config, const GemmArgs& args, cudaStream_t stream) {
  const std::size_t index = index_of(kConfigs, config);
  if (index == kConfigs.size()) return invalid_argument("the kernel is not compiled for this configuration");
  return kLaunchers[index](args, stream);
}

Status can_implement(const GemmArgs& args) {
  using Config = ConfigOf<kDefaultConfig>;
  return check_simt_gemm(args, Config::BLOCK_M, Config::BLOCK_N, Config::BLOCK_K);
}

Status launch(const GemmArgs& args, cudaStream_t stream) { return launch_as<kDefaultConfig>(args, stream); }

}  // namespace hopper_gemm::simt::v7
