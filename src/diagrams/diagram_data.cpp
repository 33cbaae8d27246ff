// Prints what the diagrams in docs/images show, as JSON: what the project's own code computes.
//
//   diagram_data > docs/images/diagrams.json
//
// tools/plot.py draws them from that file. A test compares it with what this prints.

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "common/gemm_shape.hpp"
#include "device/schedule_cost.hpp"
#include "device/smem_descriptor.hpp"
#include "device/tile_scheduler.hpp"
#include "diagrams/ladder_diagrams.hpp"

namespace {

using namespace hopper_gemm;
using Json = nlohmann::ordered_json;
using Order = std::function<TileCoord(std::uint32_t, TileGrid)>;

constexpr GemmShape kShape = {8192, 8192, 8192};
constexpr int kElementBytes = 2;

/// One order of the tiles of D, as `versions` walk over them on the 132 SMs of an H200.
Json tile_order(const char* title, const char* call, const char* versions, const Order& order, int block_m,
                int block_n, int workers) {
  const TileGrid grid = make_tile_grid(kShape, block_m, block_n);
  Json path = Json::array();
  for (std::uint32_t index = 0; index < grid.num_tiles(); ++index) {
    const TileCoord tile = order(index, grid);
    path.push_back({tile.m, tile.n});
  }
  const FetchedStrips strips = fetched_strips(order, grid, workers, 0);
  const std::int64_t strip_bytes = std::int64_t{kShape.k} * kElementBytes;
  return {{"title", title},
          {"call", call},
          {"versions", versions},
          {"block_m", block_m},
          {"block_n", block_n},
          {"workers", workers},
          {"strips_a", strips.a},
          {"strips_b", strips.b},
          {"fetched_bytes", (strips.a * block_m + strips.b * block_n) * strip_bytes},
          {"path", path}};
}

Json tile_orders() {
  // Tiles, bands and leaves are those of the versions that are named. The two tiles of a cluster count as one.
  constexpr int kSms = 132;
  constexpr int kClusters = kSms / 2;
  constexpr int kBandM = 8;
  constexpr int kLeaf = 8;
  const auto bands = [](std::uint32_t index, TileGrid grid) { return supertile_order(index, grid, kBandM); };
  const auto squares = [](std::uint32_t index, TileGrid grid) { return hilbert_order(index, grid, kLeaf); };
  const auto curve = [](std::uint32_t index, TileGrid grid) { return hilbert_order(index, grid); };
  const int even_clusters = even_waves(make_tile_grid(kShape, 256, 256).num_tiles(), kClusters);
  return {{"shape", fmt::format("{}x{}x{}", kShape.m, kShape.n, kShape.k)},
          {"element_bytes", kElementBytes},
          {"orders",
           {tile_order("Row by row", "linear_order", "v04", linear_order, 128, 256, kSms),
            tile_order("Bands of 8 rows", "supertile_order", "v07 to v09", bands, 256, 256, kClusters),
            tile_order("Hilbert curve of 8x8 squares", "hilbert_order, leaf 8", "v10 to v12", squares, 256,
                       256, even_clusters),
            tile_order("Hilbert curve", "hilbert_order, leaf 1", "", curve, 256, 256, even_clusters)}}};
}

Json swizzle() {
  constexpr std::uint32_t kChunkBytes = 16;
  const auto row_bytes = static_cast<std::uint32_t>(swizzle_span_bytes(Swizzle::B128));
  const std::uint32_t rows = static_cast<std::uint32_t>(swizzle_alignment_bytes(Swizzle::B128)) / row_bytes;
  Json offsets = Json::array();
  for (std::uint32_t row = 0; row < rows; ++row) {
    Json of_row = Json::array();
    for (std::uint32_t offset = row * row_bytes; offset < (row + 1) * row_bytes; offset += kChunkBytes)
      of_row.push_back(swizzle_offset(offset, Swizzle::B128));
    offsets.push_back(of_row);
  }
  return {{"chunk_bytes", kChunkBytes}, {"row_bytes", row_bytes}, {"offsets", offsets}};
}

/// 64-bit values as text, since JSON's numbers are doubles to many readers.
std::string hex(std::uint64_t value) { return fmt::format("{:#018x}", value); }

Json smem_descriptor() {
  constexpr std::uint32_t kAllBits = ~std::uint32_t{0};  // each field keeps what it can hold
  Json modes = Json::object();
  std::uint64_t mode_bits = 0;
  for (const auto& [name, swizzle] : {std::pair{"none", Swizzle::None}, std::pair{"128 B", Swizzle::B128},
                                      std::pair{"64 B", Swizzle::B64}, std::pair{"32 B", Swizzle::B32}}) {
    const std::uint64_t bits = make_smem_desc(0, 0, 0, swizzle);
    modes[name] = hex(bits);
    mode_bits |= bits;
  }
  const auto field = [](const char* name, std::uint64_t mask) {
    return Json{{"name", name}, {"mask", hex(mask)}};
  };
  // A tile in the second KiB of shared memory; if MN-major, in spans of 64 rows of K.
  constexpr std::uint32_t kTileAddress = 0x400;
  constexpr std::uint32_t kSpanBytes = 64 * 128;
  const auto example = [](const char* title, const std::string& call, std::uint64_t value) {
    return Json{{"title", title}, {"call", call}, {"value", hex(value)}};
  };
  return {
      {"fields",
       {field("start address", make_smem_desc(kAllBits, 0, 0, Swizzle::None)),
        field("leading byte offset", make_smem_desc(0, kAllBits, 0, Swizzle::None)),
        field("stride byte offset", make_smem_desc(0, 0, kAllBits, Swizzle::None)),
        field("base offset", make_smem_desc(0, 0, 0, Swizzle::None, kAllBits)), field("swizzle", mode_bits)}},
      {"modes", modes},
      {"examples",
       {example("K-major", fmt::format("make_k_major_b128_desc({:#x})", kTileAddress),
                make_k_major_b128_desc(kTileAddress)),
        example("MN-major", fmt::format("make_mn_major_b128_desc({:#x}, {})", kTileAddress, kSpanBytes),
                make_mn_major_b128_desc(kTileAddress, kSpanBytes))}}};
}

}  // namespace

int main() {
  Json data = {
      {"tile_orders", tile_orders()}, {"swizzle", swizzle()}, {"smem_descriptor", smem_descriptor()}};
  data.update(diagrams::simt_diagrams());
  data.update(diagrams::ampere_diagrams());
  data.update(diagrams::hopper_diagrams());
  std::cout << data.dump() << '\n';
  return std::cout.flush() ? 0 : 1;
}
