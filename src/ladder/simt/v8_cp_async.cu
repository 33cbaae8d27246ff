// simt.8 cp_async   prev: simt.7   Change: cp.async fills one stage while another is multiplied
// Why: in v7 all warps wait for global memory, then for each other, twice a K block. cp.async copies the next
//   K block into another stage, with no register in between, while this one is multiplied; fragments are
//   loaded a step ahead in the same way, so that one barrier a K block is left. A is transposed by copies of
//   4 bytes: 8 neighbours of 4 rows a warp, whole sectors of global memory and 32 different banks.
// Expected: bound by the rate of multiply-adds. With 128 accumulators a thread they are nine tenths of the
//   main loop's instructions (sm_90: 2048 of 2229 in a K block of 16; 96 load fragments, 12 copy).
// Measured: 50.2 TFLOP/s, 97.9 % of cublasSgemm, 36 % more than v7 (H200, 4096³, burst: profiles/h200/). The
//   multiply-adds take 75 % of what the SM could do, cublasSgemm's 77 %.
// Limits: none. Before sm_80, which has no cp.async, the copies go through registers.
// Diff: the copies are a thread's own part of the work now, set up once, where v7 has two loops over the
//   tile.

#include "common/gemm_shape.hpp"
#include "common/tile_config.hpp"
#include "device/copy_async.cuh"
#include "device/device_common.cuh"
#include "device/launch.hpp"
#include "device/tile_scheduler.hpp"
#include "ladder/config_space.hpp"
#include "ladder/simt/simt_gemm.cuh"

namespace hopper_gemm::simt::v8 {

inline constexpr int kCopyK = 8;  // elements of a row of A, 32 bytes, that neighbouring threads copy
inline constexpr int kMaxSharedBytes = 64 << 10;  // of a CTA: sm_75

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
  if (threads < 128 || threads > 256) return "a CTA has 128 to 256 threads";
  if (accumulators > 128) return "more than 128 accumulators leave no registers for anything else";
  if (config.block_k % kCopyK != 0 || config.block_m % (threads / kCopyK) != 0) {
    return "the threads' copies do not divide A's tile";
  }
  if (threads % config.block_n != 0 || config.block_k % (threads * kVectorElems / config.block_n) != 0) {
    return "the threads' copies do not divide B's tile";
  }
  if (config.block_n > 2 * config.block_m) {
    return "the copies of so wide a tile take registers that are not left on sm_86";
  }
  if (config.stages < 2) return "one stage is filled while another is read";
  if (config.stages * config.block_k * (config.block_m + kVectorElems + config.block_n) * int{sizeof(float)} >
      kMaxSharedBytes) {
    return "the stages do not fit in the shared memory of an SM";
  }
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
  static constexpr int kNumStages = kConfig.stages;
  static constexpr int kThreadM = kConfig.thread_m;
  static constexpr int kThreadN = kConfig.thread_n;
  static constexpr int kPatchM = kLanesM * kThreadM;  // the lanes' patches side by side
  static constexpr int kPatchN = kLanesN * kThreadN;
  static constexpr int kAccumM = kWarpM / kLanesM;
  static constexpr int kAccumN = kWarpN / kLanesN;
  static constexpr int kWarpsN = BLOCK_N / kWarpN;
  static constexpr int kNumThreads = BLOCK_M / kWarpM * kWarpsN * kWarpThreads;
  // As many CTAs as leave 255 registers a thread to 128 accumulators, and 128 or 168 to 64.
  static constexpr int kMinCtas = 256 / kNumThreads + (kAccumM * kAccumN > 64 ? 0 : 1);
};

template <typename Config>
struct alignas(16) Stage {
  // K is the outer index. Padded, so that the 4 x 8 elements of A that a warp copies go to different banks.
  float a[Config::BLOCK_K][Config::BLOCK_M + kVectorElems];
  float b[Config::BLOCK_K][Config::BLOCK_N];
};

template <typename Config>
struct alignas(16) SharedStorage {
  Stage<Config> stages[Config::kNumStages];
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

  // What the thread copies of each K block: single elements of A, which lie transposed in shared memory, and
  // vectors or elements of B. Rows and columns outside of A and B are replaced by the last ones, since what
  // comes of them is not stored.
  constexpr int kCopyN = kVector ? kVectorElems : 1;
  constexpr int kCopyRows = Config::kNumThreads / kCopyK;                     // of A, in a step
  constexpr int kCopyDepth = Config::kNumThreads * kCopyN / Config::BLOCK_N;  // of B, in a step
  const int copy_row = thread / kCopyK;
  const int copy_k = thread % kCopyK;
  const int copy_depth = thread / (Config::BLOCK_N / kCopyN);
  const int copy_col = thread % (Config::BLOCK_N / kCopyN) * kCopyN;
  constexpr int kCopyRowsPerThread = Config::BLOCK_M / kCopyRows;
  const float* source_a[kCopyRowsPerThread];
#pragma unroll
  for (int i = 0; i < kCopyRowsPerThread; ++i) {
    const int row = at_most(first_row + copy_row + i * kCopyRows, gemm.shape.m - 1);
    source_a[i] = gemm.a + row * gemm.lda + copy_k;
  }
  const float* source_b =
      gemm.b + copy_depth * gemm.ldb + at_most(first_col + copy_col, gemm.shape.n - kCopyN);

  // The first K block is the one that may be shorter, so that the others need no guards.
  const int first_depth = gemm.shape.k - (num_k_blocks - 1) * Config::BLOCK_K;
  const auto copy_first_k_block = [&] {
#pragma unroll
    for (int i = 0; i < kCopyRowsPerThread; ++i) {
#pragma unroll
      for (int k = 0; k < Config::BLOCK_K; k += kCopyK) {
        const bool valid = copy_k + k < first_depth;
        copy_async_or_zero<1>(&smem.stages[0].a[copy_k + k][copy_row + i * kCopyRows],
                              valid ? source_a[i] + k : gemm.a, valid);
      }
      source_a[i] += first_depth;
    }
#pragma unroll
    for (int k = 0; k < Config::BLOCK_K; k += kCopyDepth) {
      const bool valid = copy_depth + k < first_depth;
      copy_async_or_zero<kCopyN>(&smem.stages[0].b[copy_depth + k][copy_col],
                                 valid ? source_b + k * gemm.ldb : gemm.b, valid);
    }
    source_b += first_depth * gemm.ldb;
  };
  // In steps, for them to be spread between the multiply-adds.
  constexpr int kStepsPerRow = Config::BLOCK_K / kCopyK;
  constexpr int kCopyStepsA = kCopyRowsPerThread * kStepsPerRow;
  constexpr int kCopySteps = kCopyStepsA + Config::BLOCK_K / kCopyDepth;
  constexpr int kCopySpan = 4;  // that many steps of k
  const auto copy_step = [&](Stage<Config>& stage, int step) {
    if (step < kCopyStepsA) {
      const int i = step / kStepsPerRow;
      const int k = step % kStepsPerRow * kCopyK;
      copy_async<1>(&stage.a[copy_k + k][copy_row + i * kCopyRows], source_a[i] + k);
      if (k + kCopyK == Config::BLOCK_K) source_a[i] += Config::BLOCK_K;
    } else {
      const int k = (step - kCopyStepsA) * kCopyDepth;
      copy_async<kCopyN>(&stage.b[copy_depth + k][copy_col], source_b);
      source_b += kCopyDepth * gemm.ldb;
    }
  };

  float accum[Config::kAccumM][Config::kAccumN] = {};
  float fragment_a[2][Config::kAccumM];
  float fragment_b[2][Config::kAccumN];
  const auto load_fragments = [&](const Stage<Config>& stage, int k) {
#pragma unroll
    for (int i = 0; i < Config::kAccumM; i += kVectorElems) {
      load_vector(&stage.a[k][thread_row + row_of(i)], &fragment_a[k % 2][i]);
    }
#pragma unroll
    for (int j = 0; j < Config::kAccumN; j += kVectorElems) {
      load_vector(&stage.b[k][thread_col + col_of(j)], &fragment_b[k % 2][j]);
    }
  };

  Stage<Config>* stage = smem.stages;
  Stage<Config>* copy_stage = smem.stages + Config::kNumStages - 1;
  const auto advance = [&](Stage<Config>*& position) {
    position = position == smem.stages + Config::kNumStages - 1 ? smem.stages : position + 1;
  };

  if (num_k_blocks > 0) {
    copy_first_k_block();
    copy_async_commit_group();
#pragma unroll
    for (int k_block = 1; k_block < Config::kNumStages - 1; ++k_block) {
#pragma unroll
      for (int step = 0; step < kCopySteps; ++step) {
        if (k_block < num_k_blocks) copy_step(smem.stages[k_block], step);
      }
      copy_async_commit_group();
    }
    copy_async_wait_group<Config::kNumStages - 2>();
    __syncthreads();
    load_fragments(*stage, 0);
  }
  for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
    const bool is_copying = k_block + Config::kNumStages - 1 < num_k_blocks;
#pragma unroll
    for (int k = 0; k < Config::BLOCK_K; ++k) {
      if (k == Config::BLOCK_K - 1) {
        // The next K block has come, and all threads have read the last of this one.
        copy_async_wait_group<Config::kNumStages - 2>();
        __syncthreads();
        if (k_block + 1 < num_k_blocks) advance(stage);
      }
      load_fragments(*stage, (k + 1) % Config::BLOCK_K);
      if (k < kCopySpan) {
#pragma unroll
        for (int step = 0; step < kCopySteps; ++step) {
          if (is_copying && step * kCopySpan / kCopySteps == k) copy_step(*copy_stage, step);
        }
        if (k + 1 == kCopySpan) copy_async_commit_group();
      }
#pragma unroll
      for (int i = 0; i < Config::kAccumM; ++i) {
#pragma unroll
        for (int j = 0; j < Config::kAccumN; ++j) accum[i][j] += fragment_a[k % 2][i] * fragment_b[k % 2][j];
      }
    }
    advance(copy_stage);
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
                              .block_n = {64, 128, 256},
                              .block_k = {8, 16},
                              .warp_m = {64},
                              .warp_n = {32, 64},
                              .thread_m = {4},
                              .thread_n = {4},
                              .stages = {2, 3},
                              .band_m = {8}};
constexpr auto kConfigs = valid_configs<kAxes, fault_of>();
constexpr TileConfig kLargeConfig = {.block_m = 128,
                                     .block_n = 256,
                                     .block_k = 8,
                                     .warp_m = 64,
                                     .warp_n = 64,
                                     .thread_m = 4,
                                     .thread_n = 4,
                                     .stages = 3,
                                     .band_m = 8};
constexpr TileConfig kSmallConfig = {.block_m = 64,
                                     .block_n = 128,
                                     .block_k = 16,
                                     .warp_m = 64,
                                     .warp_n = 32,
                                     .thread_m = 4,
                                     .thread_n = 4,
                                     .stages = 3,
                                     .band_m = 8};
static_assert(index_of(kConfigs, kLargeConfig) < kConfigs.size());
static_assert(index_of(kConfigs, kSmallConfig) < kConfigs.size());

/// Large tiles, unless there would be too few of them for a GPU of some 128 SMs.
const TileConfig& default_config(GemmShape shape) {
  return num_tiles(shape, kLargeConfig.block_m, kLargeConfig.block_n) < 128 ? kSmallConfig : kLargeConfig;
}

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
  return check_simt_gemm(args, kLargeConfig.block_m, kLargeConfig.block_n, kLargeConfig.block_k);
}

Status launch(const GemmArgs& args, cudaStream_t stream) {
  HG_RETURN_IF_ERROR(can_implement(args));
  return launch_config(default_config(args.shape), args, stream);
}

}  // namespace hopper_gemm::simt::v8
