#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "benchmark/probe.hpp"
#include "benchmark/probe_report.hpp"
#include "common/memory_rate.hpp"
#include "test_support.hpp"

namespace hopper_gemm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two groups of latencies.

/// `count` values around `mean`. Irwin and Hall's sum of twelve uniform numbers has variance 1.
void add_group(double mean, double deviation, int count, std::vector<double>* values) {
  std::mt19937_64 generator(7);
  for (int i = 0; i < count; ++i) {
    double sum = -6;
    for (int j = 0; j < 12; ++j) sum += static_cast<double>(generator()) / 0x1p64;
    values->push_back(std::round(mean + deviation * sum));
  }
}

TEST(SplitLatencies, FindsTwoGroups) {
  std::vector<double> values;
  add_group(210, 10, 900, &values);
  add_group(270, 10, 1100, &values);
  const std::optional<LatencyGroups> groups = split_latencies(values);
  ASSERT_TRUE(groups.has_value());
  EXPECT_NEAR(groups->near_mean, 210, 2);
  EXPECT_NEAR(groups->far_mean, 270, 2);
  EXPECT_NEAR(groups->boundary, 240, 6);
}

TEST(SplitLatencies, TakesUnequalGroups) {
  std::vector<double> values;
  add_group(400, 12, 400, &values);
  add_group(200, 12, 1600, &values);
  const std::optional<LatencyGroups> groups = split_latencies(values);
  ASSERT_TRUE(groups.has_value());
  EXPECT_NEAR(groups->near_mean, 200, 2);
  EXPECT_NEAR(groups->far_mean, 400, 3);
}

TEST(SplitLatencies, IgnoresAFewOutliers) {
  std::vector<double> values;
  add_group(210, 10, 1000, &values);
  add_group(270, 10, 1000, &values);
  for (int i = 0; i < 10; ++i) values.push_back(20000);
  const std::optional<LatencyGroups> groups = split_latencies(values);
  ASSERT_TRUE(groups.has_value());
  EXPECT_NEAR(groups->far_mean, 270, 2);
}

TEST(SplitLatencies, SeesOneGroup) {
  std::vector<double> normal;
  add_group(230, 15, 4000, &normal);
  EXPECT_FALSE(split_latencies(normal).has_value());
  std::vector<double> uniform(1000);
  std::iota(uniform.begin(), uniform.end(), 200.0);
  EXPECT_FALSE(split_latencies(uniform).has_value());
  std::vector<double> with_few_others;
  add_group(210, 10, 1900, &with_few_others);
  add_group(300, 10, 100, &with_few_others);
  EXPECT_FALSE(split_latencies(with_few_others).has_value());
}

TEST(SplitLatencies, TakesDegenerateInput) {
  EXPECT_FALSE(split_latencies({}).has_value());
  EXPECT_FALSE(split_latencies(std::vector{200.0}).has_value());
  EXPECT_FALSE(split_latencies(std::vector<double>(100, 200.0)).has_value());
  const std::optional<LatencyGroups> two = split_latencies(std::vector{300.0, 200.0});
  ASSERT_TRUE(two.has_value());
  EXPECT_EQ(two->near_mean, 200);
  EXPECT_EQ(two->boundary, 250);
  EXPECT_EQ(two->far_mean, 300);
}

TEST(HistogramOf, CountsEachValueOnce) {
  const LatencyHistogram histogram = histogram_of(std::vector{215.0, 200.0, 208.0, 207.0, 231.0}, 8);
  EXPECT_EQ(histogram.first_cycles, 200);
  EXPECT_EQ(histogram.bin_cycles, 8);
  EXPECT_THAT(histogram.lines, ElementsAre(2, 3)) << "the largest value is beyond the 99th percentile";
  EXPECT_THAT(histogram_of({}, 8).lines, IsEmpty());
  std::vector<double> with_outlier(1000, 200.0);
  with_outlier.push_back(1e6);
  EXPECT_THAT(histogram_of(with_outlier, 8).lines, ElementsAre(1001));
}

// Chains.

TEST(LinkCycle, VisitsEachLineOnce) {
  const std::vector<std::uint32_t> lines = {3, 5, 8, 13, 21, 34};
  std::vector<std::uint32_t> next(40);
  std::iota(next.begin(), next.end(), 0U);
  const std::vector<std::uint32_t> order = link_cycle(lines, 42, next);
  EXPECT_THAT(order, ::testing::UnorderedElementsAreArray(lines));
  for (std::size_t i = 0; i + 1 < order.size(); ++i) EXPECT_EQ(next[order[i]], order[i + 1]);
  EXPECT_EQ(next[order.back()], order.front());
  EXPECT_EQ(next[4], 4U) << "other lines stay as they were";
  for (std::size_t steps = 0; steps < 20; ++steps) {
    EXPECT_EQ(end_of_walk(next, order.front(), static_cast<std::int64_t>(steps)),
              order[steps % order.size()]);
  }
}

TEST(LinkCycle, DependsOnTheSeedAlone) {
  std::vector<std::uint32_t> lines(100);
  std::iota(lines.begin(), lines.end(), 0U);
  std::vector<std::uint32_t> next(100);
  const std::vector<std::uint32_t> order = link_cycle(lines, 1, next);
  EXPECT_EQ(link_cycle(lines, 1, next), order);
  EXPECT_NE(link_cycle(lines, 2, next), order);
}

// Reports.

TEST(MemoryRate, CountsBothEdgesOfTheClock) {
  EXPECT_DOUBLE_EQ(memory_bytes_per_us(2619000, 5120), 3352320.0);  // an H100's HBM3
  EXPECT_EQ(memory_bytes_per_us(0, 5120), 0);
}

RunInfo probe_run() {
  RunInfo run;
  run.device = h200();
  run.device.shared_bytes_per_sm = 228 << 10;
  run.device.max_sm_clock_khz = 1980000;
  run.device.memory_clock_khz = 3201000;
  run.device.memory_bus_bits = 6144;
  run.device.memory_bytes_per_us = memory_bytes_per_us(3201000, 6144);
  run.driver = "580.95.05";
  run.commit = "0123456789ab";
  run.rounds = 2;
  run.seed = 42;
  run.date = "2026-11-26T12:00:00Z";
  run.command = "matmul probe --json probe.json";
  return run;
}

ProbeRow row_of(ProbeQuantity quantity, double value, std::optional<double> other = {},
                std::optional<double> clock = {}) {
  return {
      .quantity = quantity, .readings = {{value - 1, other, clock}, {value + 1, other, clock}}, .note = ""};
}

ProbeReport example_report() {
  ProbeReport report;
  report.rows = {
      row_of(ProbeQuantity::SharedLatency, 29, 16.5, 1755),
      row_of(ProbeQuantity::L2NearLatency, 210, 120.0, 1755),
      {.quantity = ProbeQuantity::L2FarLatency, .readings = {}, .note = "all lines are alike"},
      {.quantity = ProbeQuantity::MemoryLatency, .readings = {}, .note = "wrong end", .is_wrong = true},
      row_of(ProbeQuantity::SharedBandwidth, 127, 26.4, 1755),
      row_of(ProbeQuantity::L2SmBandwidth, 112),
      row_of(ProbeQuantity::L2Bandwidth, 5.5),
      row_of(ProbeQuantity::MemoryReadBandwidth, 4.4, 89.5),
      row_of(ProbeQuantity::WgmmaRate, 924, 3900.0, 1740),
      row_of(ProbeQuantity::EmptyLaunch, 1.625),
  };
  report.l2_lines = {.near = 8000,
                     .far = 7900,
                     .first_reads = {.first_cycles = 200, .bin_cycles = 8, .lines = {8000, 0, 7900}},
                     .again = {}};
  return report;
}

TEST(ProbeRow, TakesMedians) {
  ProbeRow row = row_of(ProbeQuantity::L1Latency, 35, 20.0);
  EXPECT_EQ(row.value()->median, 35);
  EXPECT_EQ(row.value()->min, 34);
  EXPECT_EQ(row.value()->max, 36);
  EXPECT_EQ(row.other_value(), 20);
  EXPECT_FALSE(row.sm_clock_mhz().has_value());
  row.readings[1].sm_clock_mhz = 1755;
  EXPECT_EQ(row.sm_clock_mhz(), 1755) << "a reading without a clock does not count";
  EXPECT_FALSE(ProbeRow{}.value().has_value());
}

TEST(ProbeReport, EachQuantityHasNames) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kNumProbeQuantities; ++i) {
    const ProbeNames& of_quantity = names_of(static_cast<ProbeQuantity>(i));
    EXPECT_FALSE(of_quantity.title.empty() || of_quantity.unit.empty());
    names.push_back(of_quantity.name);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(ProbeReport, HeaderHasWhatTheGpuSays) {
  const std::string header = probe_header(probe_run());
  for (const char* part : {"NVIDIA H200, sm_90, 132 SMs of up to 1980 MHz", "L2 60.0 MiB",
                           "228 KiB of shared memory an SM", "clock 3201 MHz, bus 6144 bits, peak 4.917 TB/s",
                           "driver  580.95.05, up to CUDA 13.0", "of 2 rounds, seed 42"}) {
    EXPECT_THAT(header, HasSubstr(part));
  }
  RunInfo silent = probe_run();
  silent.device.memory_clock_khz = 0;
  silent.device.memory_bytes_per_us = 0;
  silent.driver = "";
  EXPECT_THAT(probe_header(silent), HasSubstr("clock unknown, bus 6144 bits, peak unknown"));
  EXPECT_THAT(probe_header(silent), HasSubstr("driver  unknown version"));
}

TEST(ProbeReport, TableHasALineForEachQuantity) {
  const std::string table = probe_table(example_report());
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 11);
  EXPECT_THAT(table, HasSubstr("latency of shared memory                  29.0 (28.0-30.0)         cycles "));
  EXPECT_THAT(table, HasSubstr("16.5 ns               1755\n"));
  EXPECT_THAT(table, HasSubstr("-  all lines are alike\n"));
  EXPECT_THAT(table, HasSubstr("-  WRONG: wrong end\n"));
  EXPECT_THAT(table, HasSubstr("89.5 % of peak"));
}

TEST(ProbeReport, CsvHasALineForEachQuantity) {
  const std::string csv = probe_csv(probe_run(), example_report());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 11);
  EXPECT_THAT(csv,
              ::testing::StartsWith("name,title,value,min,max,unit,other_value,other_unit,sm_clock_mhz,note,"
                                    "gpu,sm_count,compute_capability,l2_bytes,shared_bytes_per_sm,"));
  EXPECT_THAT(
      csv,
      HasSubstr("\nl2_far_latency,\"latency of L2, far partition\",,,,cycles,,ns,,all lines are alike,"));
  EXPECT_THAT(
      csv, HasSubstr("\nempty_launch,time of an empty kernel,1.625,0.625,2.625,us,,,,,NVIDIA H200,132,9.0,"));
}

TEST(ProbeReport, JsonHasTheRatesOfTheCostModel) {
  const auto json = nlohmann::json::parse(probe_json(probe_run(), example_report()));
  EXPECT_EQ(json["format"], "hopper-gemm probe");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["gpu"], "NVIDIA H200");
  EXPECT_EQ(json["sm_count"], 132);
  EXPECT_EQ(json["compute_capability"], "9.0");
  EXPECT_EQ(json["max_sm_clock_mhz"], 1980);
  const auto& rates = json["rates"];
  EXPECT_EQ(rates["memory_peak_bytes_per_us"], 4916736);
  EXPECT_EQ(rates["memory_read_bytes_per_us"], 4400000);
  EXPECT_TRUE(rates["memory_write_bytes_per_us"].is_null());
  EXPECT_EQ(rates["l2_bytes_per_us"], 5500000);
  EXPECT_EQ(rates["sm_bytes_per_us"], 112000);
  EXPECT_EQ(rates["sm_shared_bytes_per_us"], 200000);
  EXPECT_EQ(rates["sm_flops_per_us"], 7000000);
  EXPECT_TRUE(rates["sm_fp32_flops_per_us"].is_null());
  EXPECT_EQ(rates["launch_us"], 1.625);
  EXPECT_EQ(rates["sm_clock_mhz"], 1740);
  EXPECT_EQ(json["latencies"]["shared"]["cycles"], 29);
  EXPECT_EQ(json["latencies"]["shared"]["ns"], 16.5);
  EXPECT_TRUE(json["latencies"]["l2_far"]["cycles"].is_null());
  EXPECT_EQ(json["l2_lines"]["near"], 8000);
  EXPECT_EQ(json["l2_lines"]["first_reads"]["lines"], (std::vector{8000, 0, 7900}));
  EXPECT_EQ(json["measurements"].size(), 10U);
  EXPECT_EQ(json["measurements"][0]["readings"], (std::vector{28.0, 30.0}));
  EXPECT_EQ(json["measurements"][3]["note"], "wrong end");
  EXPECT_EQ(json["commit"], "0123456789ab");
}

TEST(ProbeReport, KnowsWhetherAKernelWasWrong) {
  ProbeReport report = example_report();
  EXPECT_TRUE(report.any_wrong());
  report.rows[3].is_wrong = false;
  EXPECT_FALSE(report.any_wrong());
}

}  // namespace
}  // namespace hopper_gemm
