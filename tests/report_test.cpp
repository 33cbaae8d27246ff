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
using ::testing::Not;

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
  EXPECT_THAT(table_line(example_run(), rows[0]), HasSubstr("        -         -"));
}

TEST(Report, CsvIsAsPublished) {
  std::array rows = {example_row("0", 1.4e-3), example_row("4", 1.4e-3)};
  rows[0].note = "cublasLt #3";
  rows[1].a_layout = Layout::ColumnMajor;
  rows[1].b_layout = Layout::RowMajor;
  rows[1].output_type = DataType::Float32;
  rows[1].bias = Bias::PerColumn;
  rows[1].activation = Activation::GeluTanh;
  rows[1].gated = true;
  rows[1].beta = 0.5F;
  rows[1].batch_count = 3;
  rows[1].variant = "cooperative_128x256_s4_c2x1";
  relate_to_baselines(rows);
  std::istringstream lines(csv_report(example_run(), std::span(rows).subspan(1)));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(
      line,
      "version,name,idea,type,a,b,out,bias,activation,gated,beta,batch,m,n,k,mode,time_median_us,time_min_us,"
      "time_"
      "max_us,"
      "tflops,percent_of_cublas,"
      "percent_of_ceiling,percent_of_against,sm_clock_mhz,temperature_c,watts,pj_per_flop,verified,config,"
      "note,gpu,sm_count,"
      "driver,"
      "driver_cuda,cuda,cublas,commit,data,rounds,seed,date,command");
  std::getline(lines, line);
  EXPECT_EQ(line,
            "4,two_consumers,\"128x256 tile, \"\"two\"\" "
            "consumers\",bf16,col,row,fp32,column,gelu_tanh,true,0.5,3,8192,8192,8192,sustained,1400.0,1386."
            "0,1414.0,"
            "785.37,100.0,,,1605,51,698.5,0.8894,yes,cooperative_128x256_s4_c2x1,,NVIDIA "
            "H200,132,580.95.05,13.0,12.8,13.1.0,0123abcdef,normal,3,7,"
            "2026-01-02T03:04:05Z,matmul 4 --mode sustained");
  EXPECT_FALSE(std::getline(lines, line));
}

TEST(Report, JsonHasTheSameFieldsAndTheSamples) {
  const std::array rows = {example_row("4", 1.4e-3)};
  const nlohmann::json parsed = nlohmann::json::parse(json_report(example_run(), rows));
  ASSERT_EQ(parsed.size(), 1U);
  EXPECT_EQ(parsed[0]["version"], "4");
  EXPECT_EQ(parsed[0]["a"], "row");
  EXPECT_EQ(parsed[0]["b"], "col");
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
  EXPECT_THAT(table_line(example_run(), row), HasSubstr("WRONG"));
  EXPECT_THAT(table_line(example_run(), row), HasSubstr(row.note));
  const std::array rows = {row};
  EXPECT_THAT(csv_report(example_run(), rows), HasSubstr(",sustained,,,,,,,,,,,,no,,normal data"));
  const nlohmann::json parsed = nlohmann::json::parse(json_report(example_run(), rows));
  EXPECT_TRUE(parsed[0]["tflops"].is_null());
  EXPECT_TRUE(parsed[0]["samples_us"].empty());
}

TEST(Report, TableLinesAlignWithTheirTitles) {
  const std::string titles = table_titles(example_run());
  const std::string line = table_line(example_run(), example_row("4", 1.4e-3));
  const auto right_edge = [](const std::string& text, const char* word) {
    return text.find(word) + std::string(word).size();
  };
  EXPECT_EQ(right_edge(titles, "TFLOP/s"), right_edge(line, "785.4"));
  EXPECT_EQ(right_edge(titles, "MHz"), right_edge(line, "1605"));
  EXPECT_EQ(titles.find("mode"), line.find("sustained"));
  EXPECT_EQ(titles.find("verified"), line.find("yes"));
}

TEST(Report, AnotherBuildHasAColumnWhereItTakesPart) {
  std::array rows = {example_row("best", 1.25e-3), example_row("against", 1.5e-3)};
  relate_to_baselines(rows);
  EXPECT_NEAR(rows[0].percent_of_against.value(), 120, 1e-9);
  EXPECT_NEAR(rows[1].percent_of_against.value(), 100, 1e-9);
  RunInfo run = example_run();
  EXPECT_THAT(report_header(run), Not(HasSubstr("against")));
  EXPECT_THAT(table_titles(run), Not(HasSubstr("% against")));
  EXPECT_THAT(table_line(run, rows[0]), Not(HasSubstr("120.00")));
  run.against = "before.so, version 0.1.0 of the library";
  EXPECT_THAT(report_header(run), HasSubstr("\nagainst before.so, version 0.1.0 of the library\n"));
  const std::string titles = table_titles(run);
  const std::string line = table_line(run, rows[0]);
  EXPECT_EQ(titles.find("% against") + 9, line.find("120.00") + 6);
  EXPECT_EQ(titles.find("verified"), line.find("yes"));
  EXPECT_EQ(nlohmann::json::parse(json_report(run, rows))[0]["percent_of_against"], 120);
}

ResultRow row_of_best(Mode mode, int extent, std::optional<double> percent_of_against) {
  ResultRow row = example_row("best", 1e-3);
  row.shape = {extent, extent, extent};
  row.mode = mode;
  row.percent_of_against = percent_of_against;
  return row;
}

TEST(Report, SummaryHasTheGeometricMeanOfEachMode) {
  std::array rows = {row_of_best(Mode::Burst, 64, 125), row_of_best(Mode::Burst, 128, 80),
                     row_of_best(Mode::Burst, 256, std::nullopt), row_of_best(Mode::Sustained, 64, 99.5),
                     example_row("against", 1e-3)};
  rows[4].percent_of_against = 100;
  EXPECT_EQ(against_summary(rows),
            "best in % of against, burst: geometric mean 100.00 over 2 of 3 problems, "
            "from 80.00 (128x128x128) to 125.00 (64x64x64)\n"
            "best in % of against, sustained: geometric mean 99.50 over 1 of 1 problems, "
            "from 99.50 (64x64x64) to 99.50 (64x64x64)\n");
  EXPECT_EQ(against_summary(std::span(rows).subspan(2, 1)),
            "best in % of against, burst: no problem that both of them ran\n");
}

TEST(Report, SummaryHasAMeanOfEachOperation) {
  std::array rows = {row_of_best(Mode::Burst, 64, 101), row_of_best(Mode::Burst, 64, 102),
                     row_of_best(Mode::Burst, 64, 103)};
  rows[1].activation = Activation::Relu;
  rows[2].activation = Activation::Relu;
  rows[2].batch_count = 16;  // of the same operation
  const std::string summary = against_summary(rows);
  EXPECT_THAT(summary, HasSubstr("geometric mean 102.00 over 3 of 3 problems"));
  EXPECT_THAT(summary, HasSubstr("\n  D = A·B, bf16 to bf16: geometric mean 101.00 over 1 of 1 problems"));
  EXPECT_THAT(summary,
              HasSubstr("\n  D = relu(A·B), bf16 to bf16: geometric mean 102.50 over 2 of 2 problems"));
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
