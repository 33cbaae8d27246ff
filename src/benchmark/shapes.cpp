#include "benchmark/shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <span>

#include "common/ceil_div.hpp"
#include "common/matrix_lines.hpp"

namespace hopper_gemm {
namespace {

constexpr std::array kSquares = {
    GemmShape{1024, 1024, 1024}, GemmShape{2048, 2048, 2048},    GemmShape{4096, 4096, 4096},
    GemmShape{8192, 8192, 8192}, GemmShape{12288, 12288, 12288}, GemmShape{16384, 16384, 16384},
};

// Projections of large language models: prefill and training at 4096 and 8192 tokens, then decode, whose small M leaves
// most of a tile empty.
constexpr std::array kLlm = {
    GemmShape{4096, 24576, 1536}, GemmShape{4096, 32768, 512}, GemmShape{4096, 7168, 16384},
    GemmShape{4096, 4096, 7168},  GemmShape{4096, 2112, 7168}, GemmShape{8192, 28672, 8192},
    GemmShape{16, 7168, 16384},   GemmShape{64, 4096, 7168},   GemmShape{128, 7168, 16384},
};

// Extents that are no multiples of any tile, so that there are residue tiles on each side, and pitches longer than
// their rows.
constexpr std::array kRagged = {
    GemmShape{1000, 1000, 1000}, GemmShape{4095, 4097, 4104}, GemmShape{8191, 8193, 8192},
    GemmShape{4000, 4104, 4096}, GemmShape{17, 5120, 13824},  GemmShape{1752, 4096, 4096},
};

// The shapes that the library is tuned for and measured at: squares; projections of DeepSeek-V3, Llama-3 8B and 70B,
// and Qwen-2.5, for decode, a few requests at a time, and prefill; extents that are no multiples of any tile.
constexpr std::array kLibrary = {
    GemmShape{256, 256, 256},
    GemmShape{512, 512, 512},
    GemmShape{1024, 1024, 1024},
    GemmShape{2048, 2048, 2048},
    GemmShape{4096, 4096, 4096},
    GemmShape{8192, 8192, 8192},
    GemmShape{16384, 16384, 16384},
    // DeepSeek-V3
    GemmShape{4096, 24576, 1536},
    GemmShape{4096, 32768, 512},
    GemmShape{4096, 7168, 16384},
    GemmShape{4096, 4096, 7168},
    GemmShape{4096, 2112, 7168},
    GemmShape{4096, 7168, 2048},
    GemmShape{64, 24576, 1536},
    GemmShape{128, 7168, 16384},
    GemmShape{16, 4096, 7168},
    GemmShape{64, 2112, 7168},
    GemmShape{128, 7168, 2048},
    GemmShape{1, 7168, 16384},
    // Llama-3 8B
    GemmShape{1, 4096, 4096},
    GemmShape{16, 28672, 4096},
    GemmShape{64, 4096, 14336},
    GemmShape{8192, 6144, 4096},
    GemmShape{16384, 4096, 14336},
    // Llama-3 70B
    GemmShape{1, 10240, 8192},
    GemmShape{32, 8192, 8192},
    GemmShape{128, 57344, 8192},
    GemmShape{4096, 8192, 28672},
    GemmShape{2048, 57344, 8192},
    // Qwen-2.5
    GemmShape{1, 4608, 3584},
    GemmShape{16, 37888, 3584},
    GemmShape{64, 3584, 18944},
    GemmShape{128, 8192, 29568},
    GemmShape{4096, 3584, 3584},
    GemmShape{512, 59136, 8192},
    // Ragged
    GemmShape{1000, 1000, 1000},
    GemmShape{4095, 4097, 4104},
    GemmShape{17, 5120, 13824},
    GemmShape{1752, 4096, 4096},
    GemmShape{8191, 8193, 8192},
};

// There are so few tiles that a GPU needs several CTAs for each. Examples are gradients of small weights and sums over
// many rows.
constexpr std::array kLongK = {
    GemmShape{1, 256, 65536},   GemmShape{16, 128, 131072},  GemmShape{64, 64, 65536},
    GemmShape{64, 256, 65536},  GemmShape{128, 128, 65536},  GemmShape{256, 256, 32768},
    GemmShape{512, 512, 16384}, GemmShape{1024, 256, 32768},
};

// K is no multiple of a block of 64. In most of these shapes it is so long, compared with M and N, that a kernel may
// split it.
constexpr std::array kRaggedK = {
    GemmShape{1, 256, 65576},    GemmShape{16, 128, 131080}, GemmShape{32, 1024, 9224},
    GemmShape{64, 64, 65544},    GemmShape{64, 256, 16392},  GemmShape{64, 2112, 7176},
    GemmShape{96, 768, 24584},   GemmShape{128, 128, 11528}, GemmShape{128, 128, 32776},
    GemmShape{128, 4096, 14344}, GemmShape{128, 7168, 2056}, GemmShape{256, 256, 8200},
    GemmShape{256, 512, 16408},  GemmShape{512, 512, 4104},  GemmShape{1024, 1024, 1032},
    GemmShape{2048, 2048, 2056},
};

// Large products of training and prefill, and small ones of decode, which show the cost of an epilogue.
constexpr std::array kEpilogues = {
    GemmShape{4096, 4096, 4096},  GemmShape{8192, 8192, 8192}, GemmShape{4096, 14336, 4096},
    GemmShape{4096, 4096, 14336}, GemmShape{2048, 4096, 4096}, GemmShape{128, 7168, 2048},
    GemmShape{64, 4096, 14336},   GemmShape{16, 4096, 7168},
};

// Widths of layers of language and vision models, from ViT and BERT to Llama-3 405B and DeepSeek-V3.
constexpr std::array kModelExtents = {
    192,   384,   512,   576,   768,   1024,  1152,  1280,  1408,  1536,  1664,  1792,
    2048,  2112,  2304,  2560,  2816,  3072,  3584,  3840,  4096,  4304,  4608,  4864,
    5120,  5504,  5632,  6144,  6400,  6912,  7168,  8192,  8960,  9216,  9728,  10240,
    11008, 12288, 13824, 14336, 15360, 16384, 18432, 18944, 20480, 24576, 28672,
};

/// Draws shapes for the suite "random". The standard defines the generator's numbers, but not those of its own
/// distributions.
class ShapeSource {
 public:
  explicit ShapeSource(std::uint64_t seed) : generator_(seed) {}

  /// M is log-uniform. N and K are extents of models in three quarters of all shapes, multiples of 8 in a fifth, and any
  /// numbers in the others.
  GemmShape next_shape() {
    constexpr int kMostRows = 16384;
    const int m = log_uniform(1, kMostRows);
    const std::uint64_t kind = below(20);
    const int n = next_extent(kind);
    return {m, n, next_extent(kind)};
  }

  Layout next_layout_of_b() { return below(3) == 0 ? Layout::RowMajor : Layout::ColumnMajor; }

 private:
  static constexpr std::uint64_t kModels = 15;  ///< kinds below this one
  static constexpr std::uint64_t kAny = 19;     ///< this kind

  std::uint64_t below(std::uint64_t bound) { return generator_() % bound; }

  int log_uniform(int first, int last) {
    const double fraction = static_cast<double>(generator_() >> 11) * 0x1p-53;
    const double value = first * std::exp(fraction * std::log((last + 1.0) / first));
    return std::min(static_cast<int>(value), last);
  }

  int next_extent(std::uint64_t kind) {
    constexpr int kLeast = 64;
    constexpr int kMost = 16384;
    if (kind < kModels) return kModelExtents[below(kModelExtents.size())];
    const int extent = log_uniform(kLeast, kMost);
    return kind == kAny ? extent : extent / 8 * 8;
  }

  std::mt19937_64 generator_;
};

std::vector<Operation> random_operations(const RandomSuite& random) {
  std::array<Operation, 2> operations;
  operations[0].b_layout = Layout::ColumnMajor;
  operations[1].b_layout = Layout::RowMajor;
  ShapeSource source(random.seed);
  for (int drawn = 0; drawn < random.count;) {
    const GemmShape shape = source.next_shape();
    std::vector<GemmShape>& shapes =
        operations[source.next_layout_of_b() == Layout::ColumnMajor ? 0 : 1].shapes;
    if (std::find(shapes.begin(), shapes.end(), shape) != shapes.end()) continue;
    shapes.push_back(shape);
    ++drawn;
  }
  std::vector<Operation> with_shapes;
  std::copy_if(operations.begin(), operations.end(), std::back_inserter(with_shapes),
               [](const Operation& operation) { return !operation.shapes.empty(); });
  return with_shapes;
}

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return ceil_div(value, multiple) * multiple;
}

constexpr std::string_view kExampleShape = "4096x7168x2048";

Status parse_extent(std::string_view argument, std::string_view what, std::string_view example,
                    std::string_view text, int* extent) {
  const NumberRule rule = {argument, what, 1, std::numeric_limits<int>::max(), example};
  std::uint64_t value = 0;
  HG_RETURN_IF_ERROR(parse_number(rule, text, &value));
  *extent = static_cast<int>(value);
  return {};
}

}  // namespace

LeadingDimensions make_leading_dimensions(const GemmProblem& problem) {
  const auto pitch = [](const MatrixLines& matrix, DataType type) {
    constexpr int kAlignmentBytes = 16;
    return round_up(matrix.elems, kAlignmentBytes / size_of(type));
  };
  return {.a = pitch(lines_of_a(problem), problem.input_type),
          .b = pitch(lines_of_b(problem), problem.input_type),
          .d = pitch(lines_of_d(problem), problem.output_type)};
}

double flops_of(const GemmProblem& problem) { return problem.batch_count * gemm_flops(problem.shape); }

double gemm_flops(const GemmShape& shape) {
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
}

std::string to_string(const GemmShape& shape) { return fmt::format("{}x{}x{}", shape.m, shape.n, shape.k); }

std::string_view to_string(Layout layout) { return layout == Layout::RowMajor ? "row" : "col"; }

std::optional<Layout> layout_of_name(std::string_view name) {
  for (const Layout layout : {Layout::RowMajor, Layout::ColumnMajor}) {
    if (name == to_string(layout)) return layout;
  }
  return std::nullopt;
}

Status parse_number(const NumberRule& rule, std::string_view text, std::uint64_t* value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  if (stop == end && error == std::errc{} && *value >= rule.min && *value <= rule.max) return {};
  return invalid_argument(
      fmt::format("{} got '{}' for {}, which must be a whole number from {} to {}; type for example {} {}",
                  rule.argument, text, rule.what, rule.min, rule.max, rule.argument, rule.example));
}

Status parse_shape(std::string_view argument, std::string_view text, GemmShape* shape) {
  constexpr std::string_view kTimes = "xX";
  const std::size_t first = text.find_first_of(kTimes);
  const std::size_t second = first == std::string_view::npos ? first : text.find_first_of(kTimes, first + 1);
  if (second == std::string_view::npos || text.find_first_of(kTimes, second + 1) != std::string_view::npos) {
    return invalid_argument(fmt::format("{} got '{}', which is not MxNxK; type for example {} {}", argument,
                                        text, argument, kExampleShape));
  }
  const auto parse = [&](std::string_view what, std::size_t begin, std::size_t end, int* extent) {
    return parse_extent(argument, what, kExampleShape, text.substr(begin, end - begin), extent);
  };
  HG_RETURN_IF_ERROR(parse("M", 0, first, &shape->m));
  HG_RETURN_IF_ERROR(parse("N", first + 1, second, &shape->n));
  return parse("K", second + 1, text.size(), &shape->k);
}

Status parse_size(std::string_view argument, std::string_view text, GemmShape* shape) {
  if (text.find_first_of("xX") != std::string_view::npos) {
    return invalid_argument(fmt::format(
        "{} got '{}', but it takes one N for the shape NxNxN; type for example {} 8192, or --shape {}",
        argument, text, argument, kExampleShape));
  }
  int extent = 0;
  HG_RETURN_IF_ERROR(parse_extent(argument, "M, N and K", "8192", text, &extent));
  *shape = {extent, extent, extent};
  return {};
}

Status find_suite(std::string_view name, std::vector<GemmShape>* shapes) {
  std::span<const GemmShape> suite;
  if (name == "squares") suite = kSquares;
  if (name == "llm") suite = kLlm;
  if (name == "ragged") suite = kRagged;
  if (name == "library") suite = kLibrary;
  if (name == "long_k") suite = kLongK;
  if (name == "ragged_k") suite = kRaggedK;
  if (suite.empty() && find_operations(name).empty()) {
    return invalid_argument(
        fmt::format("--suite got '{}', but the suites are squares, llm, ragged, library, long_k, ragged_k, "
                    "epilogues, gated, batches and random; type one of these",
                    name));
  }
  shapes->assign(suite.begin(), suite.end());
  return {};
}

std::vector<Operation> find_operations(std::string_view name, const RandomSuite& random) {
  if (name == kRandomSuite) return random_operations(random);
  if (name == "epilogues") {
    std::vector<Operation> operations = {{},
                                         {.bias = Bias::PerColumn},
                                         {.bias = Bias::PerColumn, .activation = Activation::Relu},
                                         {.bias = Bias::PerColumn, .activation = Activation::GeluTanh},
                                         {.beta = 1},
                                         {.output_type = DataType::Float32}};
    for (Operation& operation : operations) operation.shapes = {kEpilogues.begin(), kEpilogues.end()};
    return operations;
  }
  if (name == "gated") {
    // The first product of an MLP in prefill and in decode.
    const std::vector<GemmShape> shapes = {{4096, 28672, 4096}, {8192, 28672, 8192}, {64, 28672, 4096}};
    return {{.shapes = shapes},
            {.activation = Activation::Silu, .gated = true, .shapes = shapes},
            {.activation = Activation::GeluTanh, .gated = true, .shapes = shapes}};
  }
  if (name == "batches") {
    // Products of attention, experts of equal size, and blocks of a blocked algorithm.
    return {{.batch_count = 32, .shapes = {{1024, 1024, 1024}}},
            {.batch_count = 64, .shapes = {{2048, 2048, 128}, {2048, 128, 2048}}},
            {.batch_count = 128, .shapes = {{512, 512, 64}}},
            {.batch_count = 256, .shapes = {{128, 128, 4096}}},
            {.batch_count = 16, .shapes = {{4096, 512, 512}}}};
  }
  return {};
}

}  // namespace hopper_gemm
