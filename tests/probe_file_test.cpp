// Probe files: what the library reads, what it refuses and with which sentence, and what the cost model makes of them.

#include "gemm/heuristics/probe_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "emulator/emulator.hpp"
#include "fake_backends.hpp"
#include "gemm/host/backend.hpp"
#include "gemm/plan.hpp"
#include "gemm_c_interface.h"
#include "hopper_gemm/gemm.hpp"

namespace hopper_gemm::library {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The emulated GPU counts as such a one.
constexpr Device kProbedH200 = {.id = 0, .major = 9, .minor = 0, .sm_count = 132, .max_shared_bytes = 232448};

const std::string kRates =
    R"("memory_peak_bytes_per_us": 4813904, "l2_bytes_per_us": 11471959, "sm_flops_per_us": 7186667, )"
    R"("sm_clock_mhz": 1755)";

std::string probe_file_of(const std::string& rates = kRates, const std::string& sm_count = "132",
                          const std::string& version = "1") {
  return R"({"format": "hopper-gemm probe", "version": )" + version +
         R"(, "gpu": "NVIDIA H200", "sm_count": )" + sm_count + R"(, "rates": {)" + rates + "}}";
}

std::string without(const std::string& rate) {
  std::string rates = kRates;
  return rates.replace(rates.find(rate), rate.size(), "another");
}

std::string replaced(const std::string& rate, const std::string& value) {
  std::string rates = kRates;
  const std::size_t begin = rates.find(": ", rates.find(rate)) + 2;
  return rates.replace(begin, std::min(rates.find(", ", begin), rates.size()) - begin, value);
}

class ProbeFile : public testing::Test {
 protected:
  ProbeFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hopper_gemm_test_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    reset();
    emulator::configure({.sms = 132});
  }
  ~ProbeFile() override {
    std::filesystem::remove_all(folder_);
    reset();
    emulator::configure({});
  }

  static void reset() {
    reset_fake_backends();
    unsetenv("HGEMM_PROBE_FILE");
    // A plan notices that the variable is gone.
    static_cast<void>(use_environment_probe(kProbedH200));
    loaded_probes().clear();
  }

  std::string write(const std::string& text, const std::string& name = "probe.json") const {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    return path;
  }

  /// What the library says to a file with this text, after the file's name.
  std::string refusal_of(const std::string& text, StatusCode code = StatusCode::InvalidArgument) const {
    const std::string path = write(text);
    std::shared_ptr<const ProbedRates> rates;
    const Status status = read_probe_file(path, &rates);
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_EQ(rates, nullptr);
    const std::string start = "the probe file '" + path + "' ";
    EXPECT_THAT(status.message(), StartsWith(start));
    return status.message().substr(std::min(start.size(), status.message().size()));
  }

  /// The L2 rate that counts for the device; 0: no file does.
  static double l2_rate(const Device& device = kProbedH200) {
    const auto rates = probed_rates_of(device);
    return rates == nullptr ? 0 : rates->l2_bytes_per_us;
  }

  std::filesystem::path folder_;
};

TEST_F(ProbeFile, IsReadWithTheRatesThatTheModelUses) {
  const std::string path = write(probe_file_of());
  std::shared_ptr<const ProbedRates> rates;
  const Status status = read_probe_file(path, &rates);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(rates->path, path);
  EXPECT_EQ(rates->gpu, "NVIDIA H200");
  EXPECT_EQ(rates->sm_count, 132);
  EXPECT_EQ(rates->memory_bytes_per_us, 4813904);
  EXPECT_EQ(rates->l2_bytes_per_us, 11471959);
  EXPECT_EQ(rates->sm_flops_per_us, 7186667);
  EXPECT_EQ(rates->sm_clock_mhz, 1755);
}

// A probe writes null for what neither the driver nor a sensor says. The library then takes its own default.
TEST_F(ProbeFile, MayLackTheClockAndTheRateOfTheMemory) {
  std::shared_ptr<const ProbedRates> rates;
  ASSERT_TRUE(read_probe_file(write(probe_file_of(replaced("sm_clock_mhz", "null"))), &rates).ok());
  EXPECT_FALSE(rates->sm_clock_mhz.has_value());
  ASSERT_TRUE(
      read_probe_file(write(probe_file_of(replaced("memory_peak_bytes_per_us", "null"))), &rates).ok());
  EXPECT_EQ(rates->memory_bytes_per_us, Device{}.memory_bytes_per_us);
}

TEST_F(ProbeFile, IsRefusedWithASentence) {
  EXPECT_EQ(refusal_of("no JSON"), "is not JSON: byte 2 cannot be parsed");
  EXPECT_EQ(refusal_of("[1]"), "is [1], but it must be a JSON object");
  EXPECT_EQ(refusal_of(R"({"format": "hopper-gemm tuning", "version": 1})"),
            "has the format \"hopper-gemm tuning\", but it must be \"hopper-gemm probe\"");
  EXPECT_EQ(refusal_of(probe_file_of(kRates, "132", "2"), StatusCode::Unsupported),
            "has version 2 of the format, but this library reads version 1");
  EXPECT_EQ(refusal_of(probe_file_of(kRates, "0")),
            "has the sm_count 0, but it must be a whole number from 1 to 2147483647");
  EXPECT_EQ(refusal_of(R"({"format": "hopper-gemm probe", "version": 1, "gpu": "a", "sm_count": 1})"),
            "has no field rates");
  EXPECT_EQ(
      refusal_of(R"({"format": "hopper-gemm probe", "version": 1, "gpu": "a", "sm_count": 1, "rates": 7})"),
      "has the rates 7, but it must be an object");
  EXPECT_EQ(refusal_of(probe_file_of(without("l2_bytes_per_us"))), "has no field l2_bytes_per_us in rates");
  // A GPU without wgmma has no such rate.
  EXPECT_EQ(refusal_of(probe_file_of(replaced("sm_flops_per_us", "null"))),
            "has the sm_flops_per_us null in rates, but it must be a number from 70000.0 to 700000000.0");
  EXPECT_EQ(refusal_of(probe_file_of(replaced("l2_bytes_per_us", "0"))),
            "has the l2_bytes_per_us 0 in rates, but it must be a number from 100000.0 to 1000000000.0");
  EXPECT_EQ(refusal_of(probe_file_of(replaced("sm_clock_mhz", "\"fast\""))),
            "has the sm_clock_mhz \"fast\" in rates, but it must be a number from 20.0 to 20000.0");
  // A long value is cut between two characters.
  std::string accents;
  for (int i = 0; i < 50; ++i) accents += "\u00e9";
  EXPECT_THAT(refusal_of(probe_file_of(kRates, '"' + accents + '"')),
              StartsWith("has the sm_count \"" + accents.substr(0, 78) + "..., but it must be"));
  constexpr int kLevels = 1'000'000;
  EXPECT_EQ(refusal_of(std::string(kLevels, '[') + std::string(kLevels, ']')),
            "is [...], but it must be a JSON object");
}

TEST_F(ProbeFile, IsLoadedForTheGpuThatItNames) {
  ASSERT_TRUE(load_probe_file(write(probe_file_of())).ok());
  EXPECT_EQ(l2_rate(), 11471959);
  Device other = kProbedH200;
  other.sm_count = 131;
  EXPECT_EQ(l2_rate(other), 0);
  other = kProbedH200;
  other.memory_bytes_per_us = kH100MemoryBytesPerUs;
  EXPECT_EQ(l2_rate(other), 0);
}

TEST_F(ProbeFile, IsRefusedForAnotherGpu) {
  const std::string path = write(probe_file_of(kRates, "78"));
  const Status status = load_probe_file(path);
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_EQ(status.message(), "the probe file '" + path +
                                  "' was measured on another GPU (NVIDIA H200, 78 SMs, 4.81 TB/s) than this "
                                  "one (132 SMs, 4.92 TB/s)");
  EXPECT_EQ(l2_rate(), 0);
}

TEST_F(ProbeFile, CountsBeforeThoseThatWereLoadedEarlier) {
  ASSERT_TRUE(load_probe_file(write(probe_file_of(), "first.json")).ok());
  ASSERT_TRUE(load_probe_file(write(probe_file_of(replaced("l2_bytes_per_us", "2e7")), "second.json")).ok());
  EXPECT_EQ(l2_rate(), 2e7);
  EXPECT_EQ(load_probe_file(write("{}", "first.json")).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(l2_rate(), 2e7) << "what is refused changes nothing";
}

TEST_F(ProbeFile, IsLoadedFromC) {
  EXPECT_EQ(load_probe_file_from_c(write(probe_file_of()).c_str()), HGEMM_OK);
  EXPECT_EQ(l2_rate(), 11471959);
  EXPECT_EQ(load_probe_file_from_c(nullptr), HGEMM_INVALID_ARGUMENT);
}

TEST_F(ProbeFile, OfTheEnvironmentCountsLastAndStopsNoPlan) {
  GemmDescriptor gemm;
  gemm.m = gemm.n = gemm.k = 64;
  GemmPlan plan;
  setenv("HGEMM_PROBE_FILE", write(probe_file_of()).c_str(), 1);
  EXPECT_EQ(l2_rate(), 0) << "the first plan reads it";
  ASSERT_TRUE(plan.create(gemm).ok());
  EXPECT_EQ(l2_rate(), 11471959);
  EXPECT_THAT(plan.explain(), Not(HasSubstr("HGEMM_PROBE_FILE")));
  ASSERT_TRUE(load_probe_file(write(probe_file_of(replaced("l2_bytes_per_us", "2e7")), "loaded.json")).ok());
  EXPECT_EQ(l2_rate(), 2e7);
  setenv("HGEMM_PROBE_FILE", "missing.json", 1);
  // Estimates also choose among the kernels of a family that is asked for.
  GemmOptions family;
  family.config = "wgmma_fake";
  for (const GemmOptions& options : {GemmOptions(), family}) {
    ASSERT_TRUE(plan.create(gemm, options).ok());
    EXPECT_THAT(plan.explain(),
                HasSubstr("\nHGEMM_PROBE_FILE is not used: the probe file 'missing.json' does not exist\n"));
  }
}

TEST_F(ProbeFile, OfTheEnvironmentRanksWhatTuneMeasures) {
  setenv("HGEMM_PROBE_FILE", write(probe_file_of()).c_str(), 1);
  GemmDescriptor gemm;
  gemm.m = gemm.n = gemm.k = 64;
  std::vector<std::string> configs;
  ASSERT_TRUE(promising_configs(gemm, {}, kProbedH200, all_backends(), 1, &configs).ok());
  EXPECT_EQ(l2_rate(), 11471959);
}

}  // namespace
}  // namespace hopper_gemm::library
