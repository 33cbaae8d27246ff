// What `./matmul tune` writes must be what --config reads, and nothing else must pass for it.

#include "benchmark/tuning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/tile_config_name.hpp"
#include "test_support.hpp"

namespace hopper_gemm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr TileConfig kTensorConfig = {.block_m = 128,
                                      .block_n = 256,
                                      .block_k = 32,
                                      .warp_m = 64,
                                      .warp_n = 64,
                                      .thread_m = 0,
                                      .thread_n = 0,
                                      .stages = 4,
                                      .band_m = 8};
constexpr TileConfig kThreadConfig = {.block_m = 64,
                                      .block_n = 128,
                                      .block_k = 16,
                                      .warp_m = 64,
                                      .warp_n = 32,
                                      .thread_m = 4,
                                      .thread_n = 8,
                                      .stages = 2,
                                      .band_m = 1};

const std::array kTuned = {
    TunedConfig{"ampere.6",
                DataType::BFloat16,
                Layout::RowMajor,
                Layout::ColumnMajor,
                {8192, 4096, 2048},
                to_string(kTensorConfig),
                612.25},
    TunedConfig{"best",
                DataType::Float16,
                Layout::ColumnMajor,
                Layout::RowMajor,
                {1, 2, 3},
                "cooperative_128x256_s4_c2x1",
                0.5},
    TunedConfig{"simt.8",
                DataType::Float32,
                Layout::RowMajor,
                Layout::RowMajor,
                {4096, 4096, 4096},
                to_string(kThreadConfig),
                40.125},
    TunedConfig{"best",
                DataType::BFloat16,
                Layout::RowMajor,
                Layout::ColumnMajor,
                {16, 4096, 7168},
                "small_m_16x32x128_t_s5_k2",
                1.5,
                {.output_type = DataType::Float32,
                 .bias = Bias::PerColumn,
                 .activation = Activation::GeluTanh,
                 .gated = true,
                 .batch_count = 3}},
};

RunInfo tuning_run() {
  return {.device = h200(),
          .driver = "",
          .commit = "0123abc",
          .data = "normal",
          .seed = 0,
          .rounds = 7,
          .date = "2026-01-02T03:04:05Z",
          .command = "matmul tune ampere.6 --json \xff.json"};
}

TEST(TileConfigText, NamesThreadsOnlyWhereTheyAreChosen) {
  EXPECT_EQ(to_string(kTensorConfig), "128x256x32, warps 64x64, 4 stages, bands of 8");
  EXPECT_EQ(to_string(kThreadConfig), "64x128x16, warps 64x32, threads 4x8, 2 stages, bands of 1");
}

// The text is what rows and measurements are told apart by.
TEST(TileConfigText, DiffersInEveryField) {
  constexpr int TileConfig::*kFields[] = {&TileConfig::block_m,  &TileConfig::block_n, &TileConfig::block_k,
                                          &TileConfig::warp_m,   &TileConfig::warp_n,  &TileConfig::thread_m,
                                          &TileConfig::thread_n, &TileConfig::stages,  &TileConfig::band_m};
  static_assert(sizeof(TileConfig) == sizeof(int) * std::size(kFields));
  for (int TileConfig::*const field : kFields) {
    TileConfig other = kThreadConfig;
    other.*field += 1;
    EXPECT_NE(to_string(other), to_string(kThreadConfig));
  }
}

TEST(TunedJson, IsReadAsItWasWritten) {
  std::vector<TunedConfig> read = {kTuned[0]};  // what was there goes
  const Status status = parse_tuned_json("best.json", tuned_json(tuning_run(), kTuned), &read);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(read, ElementsAreArray(kTuned));
}

TEST(TunedJson, SaysWhereItIsFrom) {
  const nlohmann::json parsed = nlohmann::json::parse(tuned_json(tuning_run(), kTuned));
  EXPECT_EQ(parsed["format"], "hopper-gemm tuning");
  EXPECT_EQ(parsed["version"], 1);
  EXPECT_EQ(parsed["gpu"], "NVIDIA H200");
  EXPECT_EQ(parsed["sm_count"], 132);
  EXPECT_EQ(parsed["memory_bytes_per_us"], 4.9e6);
  EXPECT_EQ(parsed["commit"], "0123abc");
  EXPECT_EQ(parsed["date"], "2026-01-02T03:04:05Z");
  EXPECT_EQ(parsed["command"], "matmul tune ampere.6 --json \uFFFD.json");
  const nlohmann::json& configs = parsed["configs"];
  ASSERT_EQ(configs.size(), kTuned.size());
  EXPECT_EQ(configs[2]["version"], "simt.8");
  EXPECT_EQ(configs[2]["type"], "fp32");
  EXPECT_EQ(configs[0]["a"], "row");
  EXPECT_EQ(configs[1]["a"], "col");
  EXPECT_EQ(configs[1]["b"], "row");
  EXPECT_EQ(configs[1]["out"], "fp16");
  EXPECT_EQ(configs[1]["bias"], "none");
  EXPECT_EQ(configs[1]["batch"], 1);
  EXPECT_EQ(configs[1]["config"], "cooperative_128x256_s4_c2x1");
  EXPECT_EQ(configs[3]["out"], "fp32");
  EXPECT_EQ(configs[3]["activation"], "gelu_tanh");
  EXPECT_EQ(configs[3]["gated"], true);
}

// An array of configurations, each with the GPU and no operation. Records of measurements have this format.
TEST(TunedJson, OfAnEarlierVersionIsRead) {
  nlohmann::json array = nlohmann::json::parse(tuned_json(tuning_run(), kTuned))["configs"];
  std::vector<TunedConfig> expected(kTuned.begin(), kTuned.end());
  for (std::size_t i = 0; i < array.size(); ++i) {
    for (const char* field : {"out", "bias", "activation", "gated", "batch"}) array[i].erase(field);
    array[i]["gpu"] = "NVIDIA H200";
    expected[i].operation = {};
  }
  std::vector<TunedConfig> read;
  const Status status = parse_tuned_json("best.json", array.dump(), &read);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(read, ElementsAreArray(expected));
}

// As all files were before there was a choice.
TEST(TunedJson, WithoutALayoutOfAIsOfARowMajorOne) {
  nlohmann::json changed = nlohmann::json::parse(tuned_json(tuning_run(), kTuned))["configs"];
  changed[1].erase("a");
  std::vector<TunedConfig> read;
  const Status status = parse_tuned_json("best.json", changed.dump(), &read);
  ASSERT_TRUE(status.ok()) << status.message();
  TunedConfig expected = kTuned[1];
  expected.a_layout = Layout::RowMajor;
  EXPECT_EQ(read[1], expected);
  changed[1]["a"] = nlohmann::json::array();
  EXPECT_EQ(parse_tuned_json("best.json", changed.dump(), &read).code(), StatusCode::InvalidArgument);
}

TEST(TunedJson, OfNothingHasNoConfiguration) {
  std::vector<TunedConfig> read = {kTuned[0]};
  ASSERT_TRUE(parse_tuned_json("best.json", tuned_json(tuning_run(), {}), &read).ok());
  EXPECT_THAT(read, IsEmpty());
}

void expect_unreadable(const std::string& text, const std::string& reason) {
  SCOPED_TRACE(text.substr(0, 80));
  std::vector<TunedConfig> configs;
  const Status status = parse_tuned_json("some/file", text, &configs);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("--config cannot parse 'some/file'"), HasSubstr(reason),
                                      HasSubstr("`./matmul tune`")));
}

TEST(TunedJson, ThatIsNoneIsRefused) {
  expect_unreadable("", "parse error");
  expect_unreadable("version,name\n1,first\n", "parse error");
  expect_unreadable("[{]", "parse error");
  expect_unreadable("[1]", "");
  expect_unreadable("[[]]", "");
  expect_unreadable("{\"version\": \"ampere.6\"}", "");
  expect_unreadable("3", "");
}

TEST(TunedJson, OfAnotherFormatIsRefused) {
  nlohmann::json changed = nlohmann::json::parse(tuned_json(tuning_run(), kTuned));
  changed["version"] = 2;
  expect_unreadable(changed.dump(), "the version of the format is 2, but this matmul reads 1");
  changed["format"] = "another";
  expect_unreadable(changed.dump(), "the format is 'another'");
  changed.erase("format");
  expect_unreadable(changed.dump(), "format");
  changed = nlohmann::json::parse(tuned_json(tuning_run(), kTuned));
  changed["configs"] = 3;
  expect_unreadable(changed.dump(), "configs is no array");
}

TEST(TunedJson, WithoutAFieldNamesIt) {
  const nlohmann::json whole = nlohmann::json::parse(tuned_json(tuning_run(), kTuned));
  for (const char* field : {"version", "type", "b", "m", "n", "k", "config", "tflops"}) {
    nlohmann::json changed = whole;
    changed["configs"][1].erase(field);
    expect_unreadable(changed.dump(), field);
    changed = whole;
    changed["configs"][1][field] = nlohmann::json::array();
    const bool is_extent = std::string_view("mnk").find(field) != std::string_view::npos;
    expect_unreadable(changed.dump(), is_extent ? std::string(field) + " is []" : "array");
  }
}

TEST(TunedJson, OfAnUnknownTypeNamesIt) {
  nlohmann::json changed = nlohmann::json::parse(tuned_json(tuning_run(), kTuned));
  changed["configs"][0]["type"] = "fp8";
  expect_unreadable(changed.dump(), "there is no type 'fp8'");
}

TEST(TunedJson, OfAnUnknownOperationNamesIt) {
  const nlohmann::json whole = nlohmann::json::parse(tuned_json(tuning_run(), kTuned));
  const auto with = [&](const char* field, const nlohmann::json& value) {
    nlohmann::json changed = whole;
    changed["configs"][3][field] = value;
    return changed.dump();
  };
  expect_unreadable(with("out", "fp8"), "there is no type 'fp8'");
  expect_unreadable(with("bias", "col"), "there is no bias 'col'");
  expect_unreadable(with("activation", "tanh"), "there is no activation 'tanh'");
  expect_unreadable(with("gated", 1), "boolean");
  expect_unreadable(with("batch", 0), "batch is 0");
}

TEST(TunedJson, OfAnUnknownLayoutNamesIt) {
  for (const char* operand : {"a", "b"}) {
    nlohmann::json changed = nlohmann::json::parse(tuned_json(tuning_run(), kTuned));
    changed["configs"][0][operand] = "tiled";
    expect_unreadable(changed.dump(), "there is no layout 'tiled'");
  }
}

}  // namespace
}  // namespace hopper_gemm
