#include "benchmark/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "test_support.hpp"

namespace hopper_gemm {
namespace {

using ::testing::HasSubstr;

RunInfo example_run() {
  RunInfo run;
  run.device = h200();
  run.device.runtime_version = 12080;
  run.driver = "580.95.05";
  run.commit = "0123abcdef";
  run.data = "normal";
  run.seed = 7;
  run.rounds = 3;
  run.date = "2026-01-02T03:04:05Z";
  run.command = "matmul 4 --mode sustained";
  return run;
}

Measurement measurement_of(double seconds) {
  return {.seconds = {.median = seconds, .min = seconds * 0.99, .max = seconds * 1.01},
          .samples_seconds = {seconds, seconds * 1.01, seconds * 0.99},
          .sm_clock_mhz = 1605,
          .temperature_c = 51,
          .watts = 698.5};
}

ResultRow example_row(const char* version, double seconds) {
  ResultRow row;
  row.version = version;
  row.name = "two_consumers";
  row.idea = "128x256 tile, \"two\" consumers";
  row.shape = {8192, 8192, 8192};
  row.mode = Mode::Sustained;
  row.flops = 2.0 * 8192 * 8192 * 8192;
  row.measurement = measurement_of(seconds);
  row.verdict = Verdict::Verified;
  return row;
}

TEST(Report, RatesAndEnergyFollowFromTheMedian) {
  const ResultRow row = example_row("4", 1.4e-3);
  EXPECT_NEAR(row.tflops().value(), 785.37, 0.01);
  EXPECT_NEAR(row.picojoules_per_flop().value(), 0.8894, 0.0001);
}

TEST(Report, PercentagesCompareRatesNotTimes) {
  // The ceiling executes whole tiles: more operations, so that times do not compare.
  std::array rows = {example_row("0", 1.5e-3), example_row("4", 1.25e-3), example_row("ceiling", 1.25e-3)};
  rows[2].flops *= 1.25;
  relate_to_baselines(rows);
  EXPECT_NEAR(rows[1].percent_of_cublas.value(), 120, 1e-9);
  EXPECT_NEAR(rows[1].percent_of_ceiling.value(), 80, 1e-9);
  EXPECT_NEAR(rows[0].percent_of_cublas.value(), 100, 1e-9);
}

TEST(Report, PercentagesStayEmptyWithoutTheirBaseline) {
  std::array rows = {example_row("4", 1e-3)};
  relate_to_baselines(rows);
  EXPECT_FALSE(rows[0].percent_of_cublas.has_value());
  EXPECT_FALSE(rows[0].percent_of_ceiling.has_value());
  EXPECT_THAT(table_line(rows[0]), HasSubstr("        -         -"));
}

TEST(Report, CsvIsAsPublished) {
  std::array rows = {example_row("0", 1.4e-3), example_row("4", 1.4e-3)};
  rows[0].note = "cublasLt #3";
  rows[1].b_layout = Layout::RowMajor;
  rows[1].output_type = DataType::Float32;
  rows[1].bias = Bias::PerColumn;
  rows[1].activation = Activation::GeluTanh;
  rows[1].beta = 0.5F;
  rows[1].batch_count = 3;
  rows[1].variant = "cooperative_128x256_s4_c2x1";
  relate_to_baselines(rows);
  std::istringstream lines(csv_report(example_run(), std::span(rows).subspan(1)));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(
      line,
      "version,name,idea,type,b,out,bias,activation,beta,batch,m,n,k,mode,time_median_us,time_min_us,time_"
      "max_us,"
      "tflops,percent_of_cublas,"
      "percent_of_ceiling,sm_clock_mhz,temperature_c,watts,pj_per_flop,verified,config,note,gpu,sm_count,"
      "driver,"
      "driver_cuda,cuda,cublas,commit,data,rounds,seed,date,command");
  std::getline(lines, line);
  EXPECT_EQ(line,
            "4,two_consumers,\"128x256 tile, \"\"two\"\" "
            "consumers\",bf16,row,fp32,column,gelu_tanh,0.5,3,8192,8192,8192,sustained,1400.0,1386.0,1414.0,"
            "785.37,100.0,,1605,51,698.5,0.8894,yes,cooperative_128x256_s4_c2x1,,NVIDIA "
            "H200,132,580.95.05,13.0,12.8,13.1.0,0123abcdef,normal,3,7,"
            "2026-01-02T03:04:05Z,matmul 4 --mode sustained");
  EXPECT_FALSE(std::getline(lines, line));
}

TEST(Report, JsonHasTheSameFieldsAndTheSamples) {
  const std::array rows = {example_row("4", 1.4e-3)};
  const nlohmann::json parsed = nlohmann::json::parse(json_report(example_run(), rows));
  ASSERT_EQ(parsed.size(), 1U);
  EXPECT_EQ(parsed[0]["version"], "4");
  EXPECT_EQ(parsed[0]["m"], 8192);
  EXPECT_EQ(parsed[0]["time_median_us"], 1400.0);
  EXPECT_TRUE(parsed[0]["percent_of_cublas"].is_null());
  EXPECT_EQ(parsed[0]["samples_us"], (nlohmann::json{1400.0, 1414.0, 1386.0}));
  EXPECT_EQ(parsed[0]["seed"], 7);
}

TEST(Report, JsonTakesACommandThatIsNoUtf8) {
  RunInfo run = example_run();
  run.command = "matmul 4 --csv \xff.csv";
  const std::array rows = {example_row("4", 1.4e-3)};
  const nlohmann::json parsed = nlohmann::json::parse(json_report(run, rows));
  EXPECT_EQ(parsed[0]["command"], "matmul 4 --csv \uFFFD.csv");
  EXPECT_THAT(csv_report(run, rows), HasSubstr(run.command));
}

TEST(Report, WrongKernelHasNoSpeedAnywhere) {
  ResultRow row = example_row("4", 1e-3);
  row.measurement.reset();
  row.verdict = Verdict::Wrong;
  row.note = "normal data: 1 of 64 elements is wrong";
  EXPECT_THAT(table_line(row), HasSubstr("WRONG"));
  EXPECT_THAT(table_line(row), HasSubstr(row.note));
  const std::array rows = {row};
  EXPECT_THAT(csv_report(example_run(), rows), HasSubstr(",sustained,,,,,,,,,,,no,,normal data"));
  const nlohmann::json parsed = nlohmann::json::parse(json_report(example_run(), rows));
  EXPECT_TRUE(parsed[0]["tflops"].is_null());
  EXPECT_TRUE(parsed[0]["samples_us"].empty());
}

TEST(Report, TableLinesAlignWithTheirTitles) {
  const std::string titles = table_titles();
  const std::string line = table_line(example_row("4", 1.4e-3));
  const auto right_edge = [](const std::string& text, const char* word) {
    return text.find(word) + std::string(word).size();
  };
  EXPECT_EQ(right_edge(titles, "TFLOP/s"), right_edge(line, "785.4"));
  EXPECT_EQ(right_edge(titles, "MHz"), right_edge(line, "1605"));
  EXPECT_EQ(titles.find("mode"), line.find("sustained"));
  EXPECT_EQ(titles.find("verified"), line.find("yes"));
}

TEST(Report, HeaderNamesGpuSoftwareAndInputs) {
  const std::string header = report_header(example_run());
  for (const char* part : {"NVIDIA H200, 132 SMs", "580.95.05", "CUDA 13.0", "CUDA 12.8", "cuBLAS 13.1.0",
                           "0123abcdef", "normal, seed 7", "3 rounds", "2026-01-02T03:04:05Z"}) {
    EXPECT_THAT(header, HasSubstr(part));
  }
}

}  // namespace
}  // namespace hopper_gemm
