// What the back ends make of tuning files: when an entry decides, and what the library does if its configuration cannot
// run. Plans are created on the emulated GPU, and none of them runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "emulator/emulator.hpp"
#include "gemm/heuristics/loaded_tuning.hpp"
#include "gemm/heuristics/probed_rates.hpp"
#include "gemm/host/backend.hpp"
#include "gemm/host/device.hpp"
#include "gemm/plan.hpp"
#include "hopper_gemm/gemm.hpp"

namespace hopper_gemm::library {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class EmulatedLibraryTuning : public testing::Test {
 protected:
  EmulatedLibraryTuning() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hopper_gemm_test_XXXXXX").string();
    path_ = std::filesystem::path(mkdtemp(pattern.data())) / "tuned.json";
    emulator::configure({.sms = 132});
    loaded_tuning().clear();
    loaded_probes().clear();
    unsetenv("HGEMM_CONFIG");
  }
  ~EmulatedLibraryTuning() override {
    std::filesystem::remove_all(path_.parent_path());
    loaded_tuning().clear();
    loaded_probes().clear();
    unsetenv("HGEMM_CONFIG");
    emulator::configure({});
  }

  /// Loads a file with one configuration. fields: of its entry.
  void load(const std::string& config, const std::string& fields) {
    std::ofstream(path_)
        << R"({"format": "hopper-gemm tuning", "version": 1, "gpu": "NVIDIA H200", "sm_count": 132, )"
        << R"("memory_bytes_per_us": 4.9e6, "configs": [{"version": "best", "type": "bf16", )" << fields
        << R"(, "config": ")" << config << "\"}]}";
    const Status status = load_tuning_file(path_);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  std::string name_of_file() const { return "the tuning file '" + path_.string() + "'"; }

  GemmPlan plan_of(const GemmDescriptor& gemm, const GemmOptions& options = {}) {
    GemmPlan plan;
    const Status status = plan.create(gemm, options);
    EXPECT_TRUE(status.ok()) << status.message();
    return plan;
  }

  std::filesystem::path path_;
};

GemmDescriptor product(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmDescriptor gemm;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.b.order = Layout::ColumnMajor;
  return gemm;
}

constexpr const char* kLarge = R"("a": "row", "b": "col", "m": 4096, "n": 2048, "k": 4096)";

TEST_F(EmulatedLibraryTuning, DecidesBeforeTheTablesAndAfterWhatIsAskedFor) {
  const GemmDescriptor gemm = product(4096, 4096, 4096);
  EXPECT_THAT(plan_of(gemm).explain(),
              HasSubstr("measured to be fast for this shape on an H200; estimates:"));
  load("cooperative_128x256_s4", R"("a": "row", "b": "col", "m": 4096, "n": 4096, "k": 4096)");
  const GemmPlan plan = plan_of(gemm);
  EXPECT_EQ(plan.config(), "cooperative_128x256_s4");
  EXPECT_THAT(plan.explain(),
              HasSubstr("\ncooperative_128x256_s4\nchosen by " + name_of_file() + "; estimates:\n"));
  GemmOptions options;
  options.config = "pingpong";
  EXPECT_THAT(plan_of(gemm, options).config(), StartsWith("pingpong_"));
  setenv("HGEMM_CONFIG", "cooperative_64x64_w1_s12", 1);
  EXPECT_THAT(plan_of(gemm).explain(), Not(HasSubstr("tuning file")));
  unsetenv("HGEMM_CONFIG");
  load("cooperative_64x64_w1_s12", R"("a": "row", "b": "col", "m": 4096, "n": 4096, "k": 4096)");
  EXPECT_EQ(plan.config(), "cooperative_128x256_s4") << "a plan keeps its configuration";
  EXPECT_EQ(plan_of(gemm).config(), "cooperative_64x64_w1_s12");
}

TEST_F(EmulatedLibraryTuning, HoldsForAProblemWhoseDIsColumnMajor) {
  load("cooperative_64x64_w1_s12", R"("a": "row", "b": "row", "m": 512, "n": 768, "k": 1024)");
  GemmDescriptor gemm;  // of the transpose
  gemm.m = 768;
  gemm.n = 512;
  gemm.k = 1024;
  gemm.a.order = Layout::ColumnMajor;
  gemm.a.transposed = false;
  gemm.b.order = Layout::ColumnMajor;
  gemm.c.order = gemm.d.order = Layout::ColumnMajor;
  EXPECT_EQ(plan_of(gemm).config(), "cooperative_64x64_w1_s12");
  gemm.d.order = gemm.c.order = Layout::RowMajor;
  EXPECT_THAT(plan_of(gemm).explain(), Not(HasSubstr("tuning file")));
}

// How fast a mixed tile N is depends on the epilogue.
TEST_F(EmulatedLibraryTuning, WithAMixedTileNHoldsOnlyForItsOwnEpilogue) {
  const std::string mixed = "cooperative_256x192+128_s4_c1x2";
  GemmDescriptor gemm = product(4096, 2048, 4096);
  gemm.bias = Bias::PerColumn;
  load(mixed, kLarge);
  EXPECT_EQ(plan_of(product(4096, 2048, 4096)).config(), mixed);
  EXPECT_THAT(plan_of(gemm).explain(), Not(HasSubstr("tuning file")));
  load(mixed, std::string(kLarge) + R"(, "bias": "column")");
  EXPECT_EQ(plan_of(gemm).config(), mixed);
  EXPECT_THAT(plan_of(gemm).explain(), HasSubstr("chosen by " + name_of_file() + "; estimates:"));
  load("cooperative_128x256_s4", kLarge);
  EXPECT_EQ(plan_of(gemm).config(), "cooperative_128x256_s4");
  EXPECT_THAT(plan_of(gemm).explain(), HasSubstr("chosen by " + name_of_file() +
                                                 ", which has this shape for the product alone; estimates:"));
}

TEST_F(EmulatedLibraryTuning, IsNotUsedIfItsConfigurationNeedsAWorkspaceThatThereIsNot) {
  const GemmDescriptor gemm = product(64, 64, 65536);
  GemmOptions without_workspace;
  without_workspace.workspace_limit_bytes = 0;
  const std::string own_choice = plan_of(gemm, without_workspace).config();
  std::vector<std::string> configs;
  Device device{};
  ASSERT_TRUE(query_current_device(&device).ok());
  ASSERT_TRUE(promising_configs(gemm, {}, device, all_backends(), 24, &configs).ok());
  const auto found = std::find_if(configs.begin(), configs.end(), [](const std::string& config) {
    return config.find('x', config.rfind('_')) != std::string::npos;
  });
  ASSERT_NE(found, configs.end());
  load(*found, R"("a": "row", "b": "col", "m": 64, "n": 64, "k": 65536)");
  EXPECT_EQ(plan_of(gemm).config(), *found);
  const GemmPlan plan = plan_of(gemm, without_workspace);
  EXPECT_EQ(plan.config(), own_choice);
  EXPECT_THAT(plan.explain(),
              AllOf(HasSubstr(name_of_file() + " asks for " + *found + ": "), HasSubstr("workspace"),
                    HasSubstr("\nestimated to be the fastest; estimates:")));
}

// A GPU with a seventh of the tensor cores' rate, as one for inference has.
TEST_F(EmulatedLibraryTuning, RatesOfAProbeDecideTheEstimatesAlone) {
  const std::array shapes = {product(512, 1152, 1024), product(512, 1152, 4096), product(512, 2304, 1024),
                             product(512, 2304, 4096), product(512, 3072, 4096), product(512, 4352, 4096)};
  std::vector<std::string> own_choices;
  own_choices.reserve(shapes.size());
  for (const GemmDescriptor& shape : shapes) own_choices.push_back(plan_of(shape).config());
  std::ofstream(path_)
      << R"({"format": "hopper-gemm probe", "version": 1, "gpu": "NVIDIA H20", "sm_count": 132, "rates": )"
      << R"({"memory_peak_bytes_per_us": 4.9e6, "l2_bytes_per_us": 1.1e7, "sm_flops_per_us": 1e6, )"
      << R"("sm_clock_mhz": 1980}})";
  ASSERT_TRUE(load_probe_file(path_).ok());
  std::vector<std::string> choices;
  choices.reserve(shapes.size());
  for (const GemmDescriptor& shape : shapes) {
    const GemmPlan plan = plan_of(shape);
    choices.push_back(plan.config());
    EXPECT_THAT(plan.explain(),
                AllOf(HasSubstr("\nestimated to be the fastest, by the rates of the probe file '" +
                                path_.string() + "'; estimates:\n"),
                      HasSubstr("limited by the tensor cores")));
  }
  EXPECT_NE(choices, own_choices);
  // A table has this shape, but not the kernel for launches with C.
  EXPECT_THAT(
      plan_of(product(4096, 4096, 4096)).explain(),
      AllOf(HasSubstr("\nmeasured to be fast for this shape on an H200; estimates:\n"),
            HasSubstr("\nwhere beta is not 0, by the rates of the probe file '" + path_.string() + "':\n")));
}

TEST_F(EmulatedLibraryTuning, DecidesAmongConfigurationsOfMmaSync) {
  GemmDescriptor gemm = product(512, 512, 512);
  gemm.a.alignment_bytes = 4;  // TMA cannot load it
  const std::string own_choice = plan_of(gemm).config();
  EXPECT_THAT(own_choice, StartsWith("mma_sync_"));
  const std::string fields = R"("a": "row", "b": "col", "m": 512, "n": 512, "k": 512)";
  std::string other;
  std::string of_16_bytes;
  for (const std::string& config : mma_sync_backend().configs()) {
    if (config.find("_copy") == std::string::npos) of_16_bytes = config;
    if (config.find("_copy") != std::string::npos && config != own_choice) other = config;
  }
  load(other, fields);
  EXPECT_EQ(plan_of(gemm).config(), other);
  EXPECT_THAT(plan_of(gemm).explain(),
              HasSubstr("\n" + other + "\nchosen by " + name_of_file() + "\n" + other + ": "));
  load(of_16_bytes, fields);
  EXPECT_EQ(plan_of(gemm).config(), own_choice);
  EXPECT_THAT(plan_of(gemm).explain(), HasSubstr(name_of_file() + " asks for " + of_16_bytes + ": " +
                                                 of_16_bytes + " copies 16 bytes"));
  load("cooperative_64x64_w1_s12", fields);
  EXPECT_EQ(plan_of(gemm).config(), own_choice);
  EXPECT_THAT(plan_of(gemm).explain(),
              HasSubstr("asks for cooperative_64x64_w1_s12: it is not of mma_sync\n"));
  load(own_choice, fields);
  EXPECT_THAT(plan_of(product(512, 512, 512)).explain(),
              HasSubstr("asks for " + own_choice + ": it is not of wgmma\n"));
}

}  // namespace
}  // namespace hopper_gemm::library
