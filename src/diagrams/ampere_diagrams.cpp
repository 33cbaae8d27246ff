// What the diagrams of the Ampere ladder show.
//
// The index formulas are inside of the kernels. The lines between "From" and "End" are copies of them, and
// tests/plot_test.py fails if a kernel does not have these lines any more.

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "common/tile_config.hpp"
#include "diagrams/ladder_diagrams.hpp"

namespace hopper_gemm::diagrams {
namespace {

constexpr int kWarpThreads = 32;
constexpr int kElementBytes = 2;
// From src/device/mma_epilogue.cuh
inline constexpr int kChunkElems = 8;
// End

// --- Tiles -------------------------------------------------------------------------------------------------------

/// How a CTA's tile is divided among its warps, and a warp's among its multiplications.
template <typename Config>
Json tiles_of(const char* title) {
  Json warps = Json::array();
  for (int warp = 0; warp < Config::kNumWarps; ++warp) {
    // From src/ladder/ampere/v1_wmma.cu src/ladder/ampere/v3_mma_sync.cu src/ladder/ampere/v6_general.cuh
    const int warp_m = warp / Config::kWarpsN * Config::WARP_M;
    const int warp_n = warp % Config::kWarpsN * Config::WARP_N;
    // End
    warps.push_back({warp_m, warp_n});
  }
  return {{"title", title},
          {"block_m", Config::BLOCK_M},
          {"block_n", Config::BLOCK_N},
          {"warp_m", Config::WARP_M},
          {"warp_n", Config::WARP_N},
          {"mma_m", Config::kMmaM},
          {"mma_n", Config::kMmaN},
          {"warps", warps}};
}

namespace v1 {

struct Config {
  // From src/ladder/ampere/v1_wmma.cu src/ladder/ampere/v2_cp_async.cu
  static constexpr int BLOCK_M = 128;
  static constexpr int BLOCK_N = 128;
  static constexpr int BLOCK_K = 32;
  static constexpr int WARP_M = 64;
  static constexpr int WARP_N = 64;
  static constexpr int kMmaM = 16;
  static constexpr int kMmaN = 16;
  static constexpr int kWarpsN = BLOCK_N / WARP_N;
  static constexpr int kNumWarps = BLOCK_M / WARP_M * kWarpsN;
  // End
};

}  // namespace v1

namespace v3 {

struct Config {
  // From src/ladder/ampere/v3_mma_sync.cu
  static constexpr int BLOCK_M = 128;
  static constexpr int BLOCK_N = 128;
  static constexpr int BLOCK_K = 32;
  static constexpr int kRowPitch = BLOCK_K + kChunkElems;
  static constexpr int WARP_M = 64;
  static constexpr int WARP_N = 64;
  static constexpr int kMmaM = 16;
  static constexpr int kMmaN = 8;
  static constexpr int kWarpsN = BLOCK_N / WARP_N;
  static constexpr int kNumWarps = BLOCK_M / WARP_M * kWarpsN;
  // End
};

}  // namespace v3

namespace v4 {

struct Config {
  // From src/ladder/ampere/v4_swizzle.cu src/ladder/ampere/v5_multistage.cu
  static constexpr int BLOCK_K = 64;
  static constexpr int kMmaM = 16;
  // End
};

int swizzled(int row, int column) {
  // From src/ladder/ampere/v4_swizzle.cu src/ladder/ampere/v5_multistage.cu
  constexpr int kChunksPerRow = Config::BLOCK_K / kChunkElems;
  const int chunk = column / kChunkElems ^ row % kChunksPerRow;
  return row * Config::BLOCK_K + chunk * kChunkElems;
  // End
}

}  // namespace v4

namespace v5 {

struct Config {
  // From src/ladder/ampere/v5_multistage.cu
  static constexpr int kNumStages = 3;
  // End
};

}  // namespace v5

namespace v6 {

/// What version 6 takes for a large D on an H200.
constexpr TileConfig kTile =
    // From src/ladder/ampere/v6_general.cu
    warp_tile(256, 128, 64, 64, 64, 3)
    // End
    ;

struct Config {
  // From src/ladder/ampere/v6_general.cuh
  static constexpr int BLOCK_M = kTile.block_m;
  static constexpr int BLOCK_N = kTile.block_n;
  static constexpr int WARP_M = kTile.warp_m;
  static constexpr int WARP_N = kTile.warp_n;
  static constexpr int kMmaM = 16;
  static constexpr int kMmaN = 8;
  static constexpr int kWarpsN = BLOCK_N / WARP_N;
  // End
  static constexpr int kNumWarps = BLOCK_M / WARP_M * kWarpsN;
};

}  // namespace v6

Json tiles() {
  return {tiles_of<v1::Config>("ampere.1, ampere.2"), tiles_of<v3::Config>("ampere.3 to ampere.5"),
          tiles_of<v6::Config>("ampere.6")};
}

// --- Shared memory -----------------------------------------------------------------------------------------------

/// Where the 16 bytes lie, in a tile, that begin at this row and column.
using Layout = int (*)(int row, int column);

int unpadded(int tile_row, int tile_column) {
  using v1::Config;
  return
      // From src/ladder/ampere/v1_wmma.cu src/ladder/ampere/v2_cp_async.cu
      tile_row * Config::BLOCK_K + tile_column
      // End
      ;
}

int padded(int tile_row, int tile_column) {
  using v3::Config;
  return
      // From src/ladder/ampere/v3_mma_sync.cu
      tile_row * Config::kRowPitch + tile_column
      // End
      ;
}

/// Bytes from the start of A's tile: of each lane's row for ldmatrix, and of each lane's copy to shared memory.
template <typename Config>
Json layout_of(const char* title, Layout layout) {
  Json rows = Json::array();
  Json copies = Json::array();
  for (int lane = 0; lane < kWarpThreads; ++lane) {
    constexpr int i = 0;
    constexpr int k = 0;
    // From src/ladder/ampere/v3_mma_sync.cu src/ladder/ampere/v4_swizzle.cu
    const int row = i * Config::kMmaM + lane % 16;
    const int column = k + lane / 16 * kChunkElems;
    // End
    rows.push_back(layout(row, column) * kElementBytes);
  }
  for (int i = 0; i < kWarpThreads; ++i) {
    // From src/ladder/ampere/v2_cp_async.cu src/ladder/ampere/v3_mma_sync.cu src/ladder/ampere/v4_swizzle.cu
    constexpr int kChunksPerRow = Config::BLOCK_K / kChunkElems;
    const int tile_row = i / kChunksPerRow;
    const int tile_column = i % kChunksPerRow * kChunkElems;
    // End
    copies.push_back(layout(tile_row, tile_column) * kElementBytes);
  }
  return {{"title", title}, {"ldmatrix", rows}, {"copies", copies}};
}

Json layouts() {
  return {layout_of<v1::Config>("ampere.2: rows of 64 bytes", unpadded),
          layout_of<v3::Config>("ampere.3: padded to 80 bytes", padded),
          layout_of<v4::Config>("ampere.4: 128 bytes, swizzled", v4::swizzled)};
}

// --- Fragments ---------------------------------------------------------------------------------------------------

/// The lane and the register of an element: lane * kRegisters + register.
constexpr std::size_t kRegisters = 4;

template <std::size_t kRows, std::size_t kColumns>
Json owners_of(const std::array<std::array<std::size_t, kColumns>, kRows>& matrix) {
  Json json = Json::array();
  for (const auto& row : matrix) {
    Json of_row = Json::array();
    for (const std::size_t owner : row) of_row.push_back({owner / kRegisters, owner % kRegisters});
    json.push_back(of_row);
  }
  return json;
}

/// Who holds each element of A[16,16], B[16,8] and D[16,8] of mma.m16n8k16.
Json fragments() {
  constexpr std::size_t depth = 16;
  std::array<std::array<std::size_t, 16>, 16> a{};
  std::array<std::array<std::size_t, 8>, 16> b{};
  std::array<std::array<std::size_t, 8>, 16> d{};
  struct Lane {
    std::array<std::size_t, kRegisters> a;
    std::array<std::size_t, kRegisters> b;
  };
  const auto to_float = [](std::size_t owner, std::size_t /*half*/) { return owner; };
  for (std::size_t t = 0; t < kWarpThreads; ++t) {
    const std::size_t first = t * kRegisters;
    const Lane lane = {.a = {first, first + 1, first + 2, first + 3},
                       .b = {first, first + 1, first + 2, first + 3}};
    for (std::size_t i = 0; i < 2; ++i) {
      // From src/emulator/warp.cpp
      const std::size_t k = t % 4 * 2 + i;
      for (std::size_t r = 0; r < depth / 4; ++r)
        a[t / 4 + r % 2 * 8][k + r / 2 * 8] = to_float(lane.a[r], i);
      for (std::size_t r = 0; r < depth / 8; ++r) b[k + r * 8][t / 4] = to_float(lane.b[r], i);
      // End
    }
  }
  constexpr int m0 = 0;
  constexpr int n0 = 0;
  constexpr int tile_m = 0;
  constexpr int tile_n = 0;
  for (int lane = 0; lane < kWarpThreads; ++lane) {
    for (int half = 0; half < 2; ++half) {
      // From src/device/mma_epilogue.cuh
      const int row = m0 + tile_m * 16 + half * 8 + lane / 4;
      const int column = n0 + tile_n * 8 + lane % 4 * 2;
      // End
      for (std::size_t i = 0; i < 2; ++i) {
        const std::size_t owner =
            static_cast<std::size_t>(lane) * kRegisters + static_cast<std::size_t>(half) * 2 + i;
        d[static_cast<std::size_t>(row)][static_cast<std::size_t>(column) + i] = owner;
      }
    }
  }
  return {{"a", owners_of(a)}, {"b", owners_of(b)}, {"d", owners_of(d)}};
}

// --- Stages ------------------------------------------------------------------------------------------------------

int copied_by_v2(int k_block) {
  int copied = 0;
  const auto load_k_block = [&copied](int block) { copied = block; };
  // From src/ladder/ampere/v2_cp_async.cu src/ladder/ampere/v3_mma_sync.cu src/ladder/ampere/v4_swizzle.cu
  load_k_block(k_block + 1);
  // End
  return copied;
}

int copied_by_v5(int k_block) {
  using v5::Config;
  int copied = 0;
  const auto load_k_block = [&copied](int block) { copied = block; };
  // From src/ladder/ampere/v5_multistage.cu
  load_k_block(k_block + Config::kNumStages - 1);
  // End
  return copied;
}

Json stages() {
  return {stages_of("ampere.1", 1, [](int k_block) { return k_block; }),
          stages_of("ampere.2", 2, copied_by_v2),
          stages_of("ampere.5", v5::Config::kNumStages, copied_by_v5)};
}

}  // namespace

Json ampere_diagrams() {
  return {{"ampere_tiles", tiles()},
          {"ampere_banks", layouts()},
          {"mma_fragments", fragments()},
          {"ampere_stages", stages()}};
}

}  // namespace hopper_gemm::diagrams
