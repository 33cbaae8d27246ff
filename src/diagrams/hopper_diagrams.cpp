// What the diagrams of the Hopper ladder show.
//
// The constants and the index formulas are inside of the kernels. The lines between "From" and "End" are copies of
// them, and tests/plot_test.py fails if a kernel does not have these lines any more.

#include <cstdint>
#include <cuda/std/cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/ceil_div.hpp"
#include "common/gemm_shape.hpp"
#include "device/column_split.hpp"
#include "device/smem_descriptor.hpp"
#include "device/tile_scheduler.hpp"
#include "diagrams/ladder_diagrams.hpp"

namespace hopper_gemm::diagrams {
namespace {

constexpr int kElementBytes = 2;
// From src/device/device_common.cuh
inline constexpr int kWarpThreads = 32;
inline constexpr int kWarpgroupThreads = 128;
// End
constexpr GemmShape kShape = {8192, 8192, 8192};
constexpr int kSms = 132;

namespace v01 {

struct Config {
  // From src/ladder/hopper/v01_tma_wgmma.cu
  static constexpr int BLOCK_M = 64;
  static constexpr int BLOCK_N = 64;
  static constexpr int BLOCK_K = 64;
  static constexpr int kWgmmaK = 16;
  // End
};

}  // namespace v01

namespace v02 {

struct Config {
  // From src/ladder/hopper/v02_large_tile.cu
  static constexpr int BLOCK_M = 128;
  static constexpr int BLOCK_N = 128;
  static constexpr int kWgmmaM = 64;
  // End
};

}  // namespace v02

namespace v04 {

struct Config {
  // From src/ladder/hopper/v04_two_consumers.cu src/ladder/hopper/v05_persistent.cu
  static constexpr int BLOCK_M = 128;
  static constexpr int BLOCK_N = 256;
  static constexpr int kWgmmaM = 64;
  static constexpr int kNumStages = 4;
  static constexpr int kNumConsumers = BLOCK_M / kWgmmaM;
  // End
};

}  // namespace v04

namespace v07 {

struct Config {
  // From src/ladder/hopper/v07_cluster_multicast.cu
  static constexpr int BLOCK_M = 128;
  static constexpr int BLOCK_N = 256;
  static constexpr int kClusterM = 2;
  static constexpr int kMulticastN = BLOCK_N / kClusterM;
  // End
};

}  // namespace v07

namespace v13 {

struct Config {
  // From src/ladder/hopper/v13_wide_tiles.cu
  static constexpr int BLOCK_M = 256;
  static constexpr int BLOCK_N = 192;
  static constexpr int kWgmmaM = 64;
  static constexpr int kClusterN = 2;
  static constexpr int kBandM = 8;
  static constexpr int kNumConsumers = 2;
  static constexpr int kConsumerBlocks = BLOCK_M / kNumConsumers / kWgmmaM;
  static constexpr int kMulticastM = BLOCK_M / kClusterN;
  // End
};

}  // namespace v13

namespace v14 {

struct Config {
  // From src/ladder/hopper/v14_even_columns.cu src/ladder/hopper/v15_half_epilogue.cu
  static constexpr int BLOCK_M = 256;
  static constexpr int WIDE_N = 192;
  static constexpr int NARROW_N = 128;
  static constexpr int BLOCK_K = 64;
  static constexpr int kNumStages = 3;
  static constexpr int kClusterN = 2;
  static constexpr int kBandM = 8;
  // End
};

}  // namespace v14

namespace v17 {

struct Config {
  // From src/ladder/hopper/v17_pace.cu
  static constexpr int BLOCK_M = 256;
  static constexpr int WIDE_N = 192;
  static constexpr int BLOCK_K = 64;
  static constexpr int kNumStages = 3;
  static constexpr int kNumConsumers = 2;
  static constexpr int kNumConsumerThreads = kNumConsumers * kWarpgroupThreads;
  static constexpr int kStoreM = 16;
  static constexpr int kStoreN = 64;
  static constexpr int kStoreBuffers = 2;
  static constexpr int kNumConsumerWarps = kNumConsumerThreads / kWarpThreads;
  // End
};

}  // namespace v17

namespace v18 {

struct Config {
  // From src/ladder/hopper/v18_fourth_stage.cu
  static constexpr int BLOCK_M = 256;
  static constexpr int WIDE_N = 192;
  static constexpr int BLOCK_K = 64;
  static constexpr int kWgmmaM = 64;
  static constexpr int kNumStages = 4;
  static constexpr int kEndKBlocks = 2;
  static constexpr int kNumConsumers = 2;
  static constexpr int kConsumerM = BLOCK_M / kNumConsumers;
  static constexpr int kConsumerBlocks = kConsumerM / kWgmmaM;
  static constexpr int kWarpgroupWarps = kWarpgroupThreads / kWarpThreads;
  static constexpr int kStoreM = 16;
  // End
};

}  // namespace v18

// --- Swizzle -----------------------------------------------------------------------------------------------------

/// Which bits of an offset each of its bits moves, and the way of one element.
Json swizzle_bits() {
  constexpr std::uint32_t kBits = 10;  // of the 1024 bytes after which the pattern repeats
  constexpr std::uint32_t kRow = 3;
  constexpr std::uint32_t kColumn = 41;
  constexpr auto kRowBytes = static_cast<std::uint32_t>(swizzle_span_bytes(Swizzle::B128));
  constexpr std::uint32_t kOffset = kRow * kRowBytes + kColumn * kElementBytes;
  Json bits = Json::array();
  for (std::uint32_t bit = 0; bit < kBits; ++bit)
    bits.push_back(swizzle_offset(std::uint32_t{1} << bit, Swizzle::B128));
  return {{"row", kRow},
          {"column", kColumn},
          {"offset", kOffset},
          {"stored", swizzle_offset(kOffset, Swizzle::B128)},
          {"bits", bits}};
}

// --- The wgmmas of a K block -------------------------------------------------------------------------------------

Json wgmma_k_block() {
  using v01::Config;
  constexpr std::uint32_t kTileAddress = 0x400;
  constexpr std::uint64_t kAddressField = 0x3FFF;
  constexpr std::uint32_t kChunkBytes = 16;
  constexpr std::uint32_t kRows = 8;
  constexpr auto kRowBytes = static_cast<std::uint32_t>(Config::BLOCK_K * kElementBytes);
  Json steps = Json::array();
  // From src/ladder/hopper/v01_tma_wgmma.cu
  for (int k = 0; k < Config::BLOCK_K; k += Config::kWgmmaK) {
    // End
    const auto first = static_cast<std::uint32_t>(k * kElementBytes);
    Json chunks = Json::array();  // by row: where its chunks lie in a line of 128 bytes
    for (std::uint32_t row = 0; row < kRows; ++row) {
      Json of_row = Json::array();
      for (std::uint32_t at = first; at < first + Config::kWgmmaK * kElementBytes; at += kChunkBytes)
        of_row.push_back(swizzle_offset(row * kRowBytes + at, Swizzle::B128) % kRowBytes / kChunkBytes);
      chunks.push_back(of_row);
    }
    steps.push_back({{"k", k},
                     {"address", make_k_major_b128_desc(kTileAddress + first) & kAddressField},
                     {"chunks", chunks}});
  }
  return {{"block_m", Config::BLOCK_M},
          {"block_n", Config::BLOCK_N},
          {"block_k", Config::BLOCK_K},
          {"wgmma_k", Config::kWgmmaK},
          {"steps", steps}};
}

// --- Consumers ---------------------------------------------------------------------------------------------------

/// A tile, and the block of D of each wgmma: (its warpgroup, its first row).
template <typename Config>
Json consumers_of(const char* title, int consumers, int blocks) {
  std::vector<Place> parts;
  for (int consumer = 0; consumer < consumers; ++consumer)
    for (int block = 0; block < blocks; ++block)
      parts.emplace_back(consumer, (consumer * blocks + block) * Config::kWgmmaM);
  return {{"title", title},
          {"block_m", Config::BLOCK_M},
          {"block_n", Config::BLOCK_N},
          {"wgmma_m", Config::kWgmmaM},
          {"blocks", json_of(parts)}};
}

Json consumers() {
  return {
      consumers_of<v02::Config>("v02, v03: one warpgroup", 1, v02::Config::BLOCK_M / v02::Config::kWgmmaM),
      consumers_of<v04::Config>("v04 to v12: two consumers", v04::Config::kNumConsumers, 1),
      consumers_of<v13::Config>("from v13: two, of two blocks each", v13::Config::kNumConsumers,
                                v13::Config::kConsumerBlocks)};
}

// --- Multicast ---------------------------------------------------------------------------------------------------

/// What the CTAs of a cluster load, as [rank, first row of its part of the shared operand].
Json multicast() {
  Json of_v07 = Json::array();
  Json of_v13 = Json::array();
  for (int cta_rank = 0; cta_rank < v07::Config::kClusterM; ++cta_rank) {
    using v07::Config;
    // From src/ladder/hopper/v07_cluster_multicast.cu
    const int first_row = cta_rank * Config::kMulticastN;
    // End
    of_v07.push_back({cta_rank, first_row});
  }
  for (int cta_rank = 0; cta_rank < v13::Config::kClusterN; ++cta_rank) {
    using v13::Config;
    // From src/ladder/hopper/v13_wide_tiles.cu
    const int first_row = cta_rank * Config::kMulticastM;
    // End
    of_v13.push_back({cta_rank, first_row});
  }
  return {{{"title", "v07 to v12: one above the other, sharing B"},
           {"shared", "B"},
           {"block_m", v07::Config::BLOCK_M},
           {"block_n", v07::Config::BLOCK_N},
           {"part", v07::Config::kMulticastN},
           {"ctas", of_v07}},
          {{"title", "from v13: side by side, sharing A"},
           {"shared", "A"},
           {"block_m", v13::Config::BLOCK_M},
           {"block_n", v13::Config::BLOCK_N},
           {"part", v13::Config::kMulticastM},
           {"ctas", of_v13}}};
}

// --- Mixed tile N ------------------------------------------------------------------------------------------------

/// A cluster's tiles: [first row, first column, columns, the wave in which it runs].
struct ClusterTiles {
  Json tiles = Json::array();
  int count = 0;
  int workers;

  void add(TileGrid grid, int band_m, int block_m, int block_n, int first_column) {
    for (std::uint32_t index = 0; index < grid.num_tiles(); ++index) {
      const TileCoord tile = supertile_order(index, grid, band_m);
      tiles.push_back({tile.m * block_m, first_column + tile.n * block_n, block_n, count++ / workers});
    }
  }
};

Json waves_of(const char* title, int block_m, const ClusterTiles& cluster_tiles) {
  return {{"title", title},
          {"m", kShape.m},
          {"n", kShape.n},
          {"block_m", block_m},
          {"workers", cluster_tiles.workers},
          {"tiles", cluster_tiles.tiles}};
}

Json of_one_tile_n() {
  using v13::Config;
  const struct { GemmShape shape; } args = {kShape};
  // From src/ladder/hopper/v13_wide_tiles.cu
  const TileGrid grid = make_tile_grid(args.shape, Config::BLOCK_M, Config::kClusterN * Config::BLOCK_N);
  // End
  ClusterTiles tiles{.workers = even_waves(grid.num_tiles(), kSms / Config::kClusterN)};
  tiles.add(grid, Config::kBandM, Config::BLOCK_M, Config::kClusterN * Config::BLOCK_N, 0);
  return waves_of("v13: one tile N, 192", Config::BLOCK_M, tiles);
}

Json of_mixed_tile_n() {
  using v14::Config;
  const auto [m, n, k] = kShape;
  const ColumnSplit columns = split_columns(kShape,
                                            // From src/ladder/hopper/v14_even_columns.cu
                                            {.cluster_m = Config::BLOCK_M,
                                             .wide_n = Config::kClusterN * Config::WIDE_N,
                                             .narrow_n = Config::kClusterN * Config::NARROW_N},
                                            // End
                                            ceil_div(k, Config::BLOCK_K), kSms / Config::kClusterN);
  // From src/ladder/hopper/v14_even_columns.cu
  const int rows = ceil_div(m, Config::BLOCK_M);
  // End
  const TileGrid wide = {rows, columns.wide_columns};
  const TileGrid narrow = {rows, columns.narrow_columns};
  ClusterTiles tiles{.workers = columns.workers};
  tiles.add(wide, Config::kBandM, Config::BLOCK_M, Config::kClusterN * Config::WIDE_N, 0);
  // From src/ladder/hopper/v14_even_columns.cu
  const int first_narrow = wide.n * Config::kClusterN * Config::WIDE_N;
  // End
  tiles.add(narrow, Config::kBandM, Config::BLOCK_M, Config::kClusterN * Config::NARROW_N, first_narrow);
  return waves_of("v14: mixed tile N, 192 and 128", Config::BLOCK_M, tiles);
}

// --- The ends of tiles -------------------------------------------------------------------------------------------

/// The ring of a version, and the K blocks at either end of a tile in which one half multiplies at a time.
Json ring_of(const char* title, int stages, int end_k_blocks) {
  return {{"title", title}, {"stages", stages}, {"end_k_blocks", end_k_blocks}};
}

Json persistent() {
  return {ring_of("v04: a CTA for each tile", v04::Config::kNumStages, 0),
          ring_of("v05: a persistent CTA", v04::Config::kNumStages, 0)};
}

Json tile_ends() {
  return {ring_of("v14: both halves at once", v14::Config::kNumStages, 0),
          ring_of("v15: half an epilogue at a time", v14::Config::kNumStages, 1),
          ring_of("v18: two K blocks at either end", v18::Config::kNumStages, v18::Config::kEndKBlocks)};
}

// --- Shared memory of the fourth stage ---------------------------------------------------------------------------

/// Shared memory as its parts: [what, bytes]. Barriers and the tile queue are left out.
template <typename Config>
Json stages_in_memory() {
  Json parts = Json::array();
  for (int stage = 0; stage < Config::kNumStages; ++stage) {
    parts.push_back({"A", Config::BLOCK_M * Config::BLOCK_K * kElementBytes});
    parts.push_back({"B", Config::WIDE_N * Config::BLOCK_K * kElementBytes});
  }
  return parts;
}

Json fourth_stage() {
  Json of_v17 = stages_in_memory<v17::Config>();
  of_v17.push_back({"D", v17::Config::kNumConsumerWarps * v17::Config::kStoreBuffers * v17::Config::kStoreM *
                             v17::Config::kStoreN * kElementBytes});
  Json rows = Json::array();  // of A's stage: [consumer, block, warp, first row]
  for (int number = 0; number < v18::Config::kNumConsumers; ++number)
    for (int block = 0; block < v18::Config::kConsumerBlocks; ++block)
      for (int warp = 0; warp < v18::Config::kWarpgroupWarps; ++warp) {
        using v18::Config;
        // From src/ladder/hopper/v18_fourth_stage.cu
        const int staging_row =
            number * Config::kConsumerM + block * Config::kWgmmaM + warp * Config::kStoreM;
        // End
        rows.push_back({number, block, warp, staging_row});
      }
  return {{"memory",
           {{{"title", "v17: three stages and staging buffers"}, {"parts", of_v17}},
            {{"title", "v18: four stages"}, {"parts", stages_in_memory<v18::Config>()}}}},
          {"block_m", v18::Config::BLOCK_M},
          {"store_m", v18::Config::kStoreM},
          {"rows", rows}};
}

// --- Wave throttle -----------------------------------------------------------------------------------------------

/// How many steps of all clusters a cluster waits for when it has issued so many K blocks, by the K blocks.
Json wave_throttle() {
  // From src/device/wave_pace.cuh
  static constexpr cuda::std::uint32_t kStep = 2;
  // End
  constexpr cuda::std::uint32_t kKBlocks = 16;
  constexpr cuda::std::uint32_t num_clusters_ = 4;
  Json waits = Json::array();
  for (cuda::std::uint32_t k_blocks_ = kStep; k_blocks_ <= kKBlocks; k_blocks_ += kStep) {
    // From src/device/wave_pace.cuh
    const cuda::std::uint32_t enough = (k_blocks_ / kStep - 1) * num_clusters_;
    // End
    waits.push_back({k_blocks_, enough});
  }
  return {{"step", kStep}, {"clusters", num_clusters_}, {"waits", waits}};
}

}  // namespace

Json hopper_diagrams() {
  return {
      {"swizzle_bits", swizzle_bits()},         {"wgmma_k_block", wgmma_k_block()},
      {"hopper_consumers", consumers()},        {"hopper_persistent", persistent()},
      {"hopper_multicast", multicast()},        {"hopper_mixed_tile_n", {of_one_tile_n(), of_mixed_tile_n()}},
      {"hopper_tile_ends", tile_ends()},        {"hopper_fourth_stage", fourth_stage()},
      {"hopper_wave_throttle", wave_throttle()}};
}

}  // namespace hopper_gemm::diagrams
