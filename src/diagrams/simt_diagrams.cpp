// What the diagrams of the SIMT ladder show.
//
// The index formulas are inside of the kernels. The lines between "From" and "End" are copies of them, and
// tests/plot_test.py fails if a kernel does not have these lines any more.

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "common/tile_config.hpp"
#include "diagrams/ladder_diagrams.hpp"

namespace hopper_gemm::diagrams {
namespace {

constexpr int kWarpThreads = 32;
// From src/ladder/simt/simt_gemm.cuh
constexpr int kVectorElems = 4;
// End

/// What function(thread) returns, of each thread of a warp.
template <typename Function>
auto of_warp(const Function& function) {
  std::vector<decltype(function(0))> values;
  values.reserve(kWarpThreads);
  for (int thread = 0; thread < kWarpThreads; ++thread) values.push_back(function(thread));
  return values;
}

// --- Each version: which elements of D a thread computes, of a tile that starts at (0, 0) ------------------------

namespace v1 {

struct Config {
  // From src/ladder/simt/v1_naive.cu
  static constexpr int BLOCK_M = 32;
  static constexpr int BLOCK_N = 32;
  // End
};

Place element_of(int thread) {
  constexpr int tile_m = 0;
  constexpr int tile_n = 0;
  // From src/ladder/simt/v1_naive.cu
  const int row = tile_m * Config::BLOCK_M + thread % Config::BLOCK_M;
  const int col = tile_n * Config::BLOCK_N + thread / Config::BLOCK_M;
  // End
  return {row, col};
}

}  // namespace v1

namespace v2 {

struct Config {
  // From src/ladder/simt/v2_coalesced.cu
  static constexpr int BLOCK_M = 32;
  static constexpr int BLOCK_N = 32;
  // End
};

Place element_of(int thread) {
  constexpr int tile_m = 0;
  constexpr int tile_n = 0;
  // From src/ladder/simt/v2_coalesced.cu
  const int row = tile_m * Config::BLOCK_M + thread / Config::BLOCK_N;
  const int col = tile_n * Config::BLOCK_N + thread % Config::BLOCK_N;
  // End
  return {row, col};
}

}  // namespace v2

namespace v3 {

struct Config {
  // From src/ladder/simt/v3_smem_tiles.cu
  static constexpr int BLOCK_M = 32;
  static constexpr int BLOCK_N = 32;
  // End
};

std::vector<Place> elements_of(int thread) {
  // From src/ladder/simt/v3_smem_tiles.cu
  const int thread_row = thread / Config::BLOCK_N;
  const int thread_col = thread % Config::BLOCK_N;
  // End
  return {{thread_row, thread_col}};
}

}  // namespace v3

namespace v4 {

struct Config {
  // From src/ladder/simt/v4_block_tiling_1d.cu
  static constexpr int BLOCK_M = 64;
  static constexpr int BLOCK_N = 64;
  static constexpr int kThreadM = 8;
  // End
};

std::vector<Place> elements_of(int thread) {
  // From src/ladder/simt/v4_block_tiling_1d.cu
  const int thread_row = thread / Config::BLOCK_N * Config::kThreadM;
  const int thread_col = thread % Config::BLOCK_N;
  // End
  std::vector<Place> elements;
  elements.reserve(Config::kThreadM);
  for (int i = 0; i < Config::kThreadM; ++i) elements.emplace_back(thread_row + i, thread_col);
  return elements;
}

}  // namespace v4

// simt.5 has the same tiles.
namespace v6 {

struct Config {
  // From src/ladder/simt/v6_vectorized.cu
  static constexpr int BLOCK_M = 128;
  static constexpr int BLOCK_N = 128;
  static constexpr int BLOCK_K = 8;
  static constexpr int kThreadM = 8;
  static constexpr int kThreadN = 8;
  static constexpr int kThreadsN = BLOCK_N / kThreadN;
  // End
};

struct SharedStorage {
  // From src/ladder/simt/v6_vectorized.cu
  float a[Config::BLOCK_K][Config::BLOCK_M + kVectorElems];
  float b[Config::BLOCK_K][Config::BLOCK_N];
  // End
};

Place first_element_of(int thread) {
  // From src/ladder/simt/v6_vectorized.cu
  const int thread_row = thread / Config::kThreadsN * Config::kThreadM;
  const int thread_col = thread % Config::kThreadsN * Config::kThreadN;
  // End
  return {thread_row, thread_col};
}

std::vector<Place> elements_of(int thread) {
  const auto [thread_row, thread_col] = first_element_of(thread);
  std::vector<Place> elements;
  for (int i = 0; i < Config::kThreadM; ++i) {
    for (int j = 0; j < Config::kThreadN; ++j) elements.emplace_back(thread_row + i, thread_col + j);
  }
  return elements;
}

/// Where in A's tile the thread stores the first element that it loads: (k, row).
Place stored_place(int thread) {
  const int i = thread;
  // From src/ladder/simt/v6_vectorized.cu
  const int row = i / (Config::BLOCK_K / kVectorElems);
  const int k = i % (Config::BLOCK_K / kVectorElems) * kVectorElems;
  // End
  return {k, row};
}

}  // namespace v6

/// What simt.7 and simt.8 have in common: these lines are in both.
namespace warp_tiles {

// From src/ladder/simt/v7_warp_tiling.cu src/ladder/simt/v8_cp_async.cu
inline constexpr int kLanesM = 8;
inline constexpr int kLanesN = 4;
// End

int lane_m(int thread) {
  // From src/ladder/simt/v7_warp_tiling.cu src/ladder/simt/v8_cp_async.cu
  return thread / 2 % 2 + thread / 8 % 4 * 2;
  // End
}

int lane_n(int thread) {
  // From src/ladder/simt/v7_warp_tiling.cu src/ladder/simt/v8_cp_async.cu
  return thread % 2 + thread / 4 % 2 * 2;
  // End
}

template <TileConfig kConfig>
struct ConfigOf {
  // From src/ladder/simt/v7_warp_tiling.cu src/ladder/simt/v8_cp_async.cu
  static constexpr int BLOCK_M = kConfig.block_m;
  static constexpr int BLOCK_N = kConfig.block_n;
  static constexpr int BLOCK_K = kConfig.block_k;
  static constexpr int kWarpM = kConfig.warp_m;
  static constexpr int kWarpN = kConfig.warp_n;
  static constexpr int kThreadM = kConfig.thread_m;
  static constexpr int kThreadN = kConfig.thread_n;
  static constexpr int kPatchM = kLanesM * kThreadM;
  static constexpr int kPatchN = kLanesN * kThreadN;
  static constexpr int kAccumM = kWarpM / kLanesM;
  static constexpr int kAccumN = kWarpN / kLanesN;
  static constexpr int kWarpsN = BLOCK_N / kWarpN;
  static constexpr int kNumThreads = BLOCK_M / kWarpM * kWarpsN * kWarpThreads;
  // End
};

template <typename Config>
struct Tiles {
  // From src/ladder/simt/v7_warp_tiling.cu src/ladder/simt/v8_cp_async.cu
  float a[Config::BLOCK_K][Config::BLOCK_M + kVectorElems];
  float b[Config::BLOCK_K][Config::BLOCK_N];
  // End
};

template <typename Config>
Place first_element_of(int thread) {
  // From src/ladder/simt/v7_warp_tiling.cu src/ladder/simt/v8_cp_async.cu
  const int warp = thread / kWarpThreads;
  const int thread_row = warp / Config::kWarpsN * Config::kWarpM + lane_m(thread) * Config::kThreadM;
  const int thread_col = warp % Config::kWarpsN * Config::kWarpN + lane_n(thread) * Config::kThreadN;
  // End
  return {thread_row, thread_col};
}

template <typename Config>
std::vector<Place> elements_of(int thread) {
  const auto [thread_row, thread_col] = first_element_of<Config>(thread);
  // From src/ladder/simt/v7_warp_tiling.cu src/ladder/simt/v8_cp_async.cu
  const auto row_of = [](int i) { return i / Config::kThreadM * Config::kPatchM + i % Config::kThreadM; };
  const auto col_of = [](int j) { return j / Config::kThreadN * Config::kPatchN + j % Config::kThreadN; };
  // End
  std::vector<Place> elements;
  for (int i = 0; i < Config::kAccumM; ++i) {
    for (int j = 0; j < Config::kAccumN; ++j)
      elements.emplace_back(thread_row + row_of(i), thread_col + col_of(j));
  }
  return elements;
}

}  // namespace warp_tiles

namespace v7 {

// From src/ladder/simt/v7_warp_tiling.cu
constexpr TileConfig kDefaultConfig = {.block_m = 64,
                                       .block_n = 128,
                                       .block_k = 16,
                                       .warp_m = 64,
                                       .warp_n = 32,
                                       .thread_m = 4,
                                       .thread_n = 4,
                                       .stages = 1,
                                       .band_m = 8};
// End
using Config = warp_tiles::ConfigOf<kDefaultConfig>;

Place stored_place(int thread) {
  const int i = thread;
  // From src/ladder/simt/v7_warp_tiling.cu
  const int row = i / (Config::BLOCK_K / kVectorElems);
  const int k = i % (Config::BLOCK_K / kVectorElems) * kVectorElems;
  // End
  return {k, row};
}

}  // namespace v7

namespace v8 {

// From src/ladder/simt/v8_cp_async.cu
inline constexpr int kCopyK = 8;
constexpr TileConfig kLargeConfig = {.block_m = 128,
                                     .block_n = 256,
                                     .block_k = 8,
                                     .warp_m = 64,
                                     .warp_n = 64,
                                     .thread_m = 4,
                                     .thread_n = 4,
                                     .stages = 3,
                                     .band_m = 8};
// End
struct Config : warp_tiles::ConfigOf<kLargeConfig> {
  static constexpr int kNumStages = kLargeConfig.stages;
};

Place stored_place(int thread) {
  // From src/ladder/simt/v8_cp_async.cu
  const int copy_row = thread / kCopyK;
  const int copy_k = thread % kCopyK;
  // End
  return {copy_k, copy_row};
}

}  // namespace v8

// --- The pictures ------------------------------------------------------------------------------------------------

/// What a warp touches in one step of the loop over K, the first: A[row][0], B[0][column] and D[row][column].
Json coalescing_of(const char* title, const std::vector<Place>& elements) {
  std::vector<Place> a;
  std::vector<Place> b;
  for (const auto& [row, column] : elements) {
    a.emplace_back(row, 0);
    b.emplace_back(0, column);
  }
  return {{"title", title}, {"a", json_of(a)}, {"b", json_of(b)}, {"d", json_of(elements)}};
}

Json coalescing() {
  return {
      {"sector_elems", 8},
      {"versions",
       {coalescing_of("simt.1", of_warp(v1::element_of)), coalescing_of("simt.2", of_warp(v2::element_of))}}};
}

/// The rectangle that the elements fill: its first row and column, its height and its width.
Json box_of(const std::vector<Place>& elements) {
  auto [top, left] = elements.front();
  auto [bottom, right] = elements.front();
  for (const auto& [row, column] : elements) {
    top = std::min(top, row);
    left = std::min(left, column);
    bottom = std::max(bottom, row);
    right = std::max(right, column);
  }
  const int height = bottom - top + 1;
  const int width = right - left + 1;
  const int area = height * width;
  if (elements.size() != static_cast<std::size_t>(area))
    throw std::logic_error("a warp's elements are no rectangle");
  return {top, left, height, width};
}

template <typename Function>
Json tiles_of(const char* title, int block_m, int block_n, const Function& elements_of) {
  std::vector<Place> warp;
  for (int thread = 0; thread < kWarpThreads; ++thread) {
    const std::vector<Place> own = elements_of(thread);
    warp.insert(warp.end(), own.begin(), own.end());
  }
  return {{"title", title},
          {"block_m", block_m},
          {"block_n", block_n},
          {"warp", box_of(warp)},
          {"thread", json_of(elements_of(0))}};
}

Json tiles() {
  return {tiles_of("simt.3", v3::Config::BLOCK_M, v3::Config::BLOCK_N, v3::elements_of),
          tiles_of("simt.4", v4::Config::BLOCK_M, v4::Config::BLOCK_N, v4::elements_of),
          tiles_of("simt.5, simt.6", v6::Config::BLOCK_M, v6::Config::BLOCK_N, v6::elements_of),
          tiles_of("simt.7", v7::Config::BLOCK_M, v7::Config::BLOCK_N, warp_tiles::elements_of<v7::Config>),
          tiles_of("simt.8", v8::Config::BLOCK_M, v8::Config::BLOCK_N, warp_tiles::elements_of<v8::Config>)};
}

/// The word of its tile, a 4-byte element, at which each lane begins a load of 16 bytes.
template <typename Tiles>
Json fragment_words(const char* title, const Tiles& smem, Place (*first_element_of)(int)) {
  Json a = Json::array();
  Json b = Json::array();
  for (const auto& [thread_row, thread_col] : of_warp(first_element_of)) {
    constexpr int k = 0;
    constexpr int i = 0;
    constexpr int j = 0;
    std::array<float, 1> fragment_a{};
    std::array<float, 1> fragment_b{};
    const float* source = nullptr;
    const auto load_vector = [&source](const float* from, const float* /*fragment*/) { source = from; };
    // In simt.7 the offsets are row_of(i) and col_of(j), which are 0 here.
    // From src/ladder/simt/v6_vectorized.cu
    load_vector(&smem.a[k][thread_row + i], &fragment_a[i]);
    // End
    a.push_back(source - &smem.a[0][0]);
    // From src/ladder/simt/v6_vectorized.cu
    load_vector(&smem.b[k][thread_col + j], &fragment_b[j]);
    // End
    b.push_back(source - &smem.b[0][0]);
  }
  return {{"title", title}, {"a", a}, {"b", b}};
}

Json fragment_banks() {
  static const v6::SharedStorage tiles_v6{};
  static const warp_tiles::Tiles<v7::Config> tiles_v7{};
  return {fragment_words("simt.6", tiles_v6, v6::first_element_of),
          fragment_words("simt.7", tiles_v7, warp_tiles::first_element_of<v7::Config>)};
}

/// Where each lane stores an element of A, as (k, row), in a tile whose rows of K have `pitch` words.
Json stored_words(const char* title, int pitch, const std::vector<Place>& places) {
  Json words = Json::array();
  for (const auto& [k, row] : places) words.push_back(k * pitch + row);
  return {{"title", title}, {"pitch", pitch}, {"places", json_of(places)}, {"words", words}};
}

/// The words from one k of A's transposed tile to the next.
template <typename Tiles>
constexpr int kPitch = static_cast<int>(sizeof(Tiles{}.a[0]) / sizeof(float));

Json transpose_banks() {
  return {stored_words("simt.6 without its padding", v6::Config::BLOCK_M, of_warp(v6::stored_place)),
          stored_words("simt.6", kPitch<v6::SharedStorage>, of_warp(v6::stored_place)),
          stored_words("simt.7", kPitch<warp_tiles::Tiles<v7::Config>>, of_warp(v7::stored_place)),
          stored_words("simt.8", kPitch<warp_tiles::Tiles<v8::Config>>, of_warp(v8::stored_place))};
}

Json stages() {
  using v8::Config;
  const auto copied_with = [](int k_block) {
    return
        // From src/ladder/simt/v8_cp_async.cu
        k_block + Config::kNumStages - 1
        // End
        ;
  };
  return {stages_of("simt.7", v7::kDefaultConfig.stages, [](int k_block) { return k_block; }),
          stages_of("simt.8", Config::kNumStages, copied_with)};
}

}  // namespace

Json simt_diagrams() {
  return {{"simt_coalescing", coalescing()},
          {"simt_tiles", tiles()},
          {"simt_fragment_banks", fragment_banks()},
          {"simt_transpose_banks", transpose_banks()},
          {"simt_stages", stages()}};
}

}  // namespace hopper_gemm::diagrams
