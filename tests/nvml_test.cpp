#include "benchmark/nvml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_support.hpp"

namespace hopper_gemm {
namespace {

using ::testing::HasSubstr;

constexpr NvmlApi::Return kNotSupported = 3;

int shutdowns = 0;

NvmlApi working_api() {
  shutdowns = 0;
  NvmlApi api = fake_nvml();
  api.nvmlShutdown = [] {
    ++shutdowns;
    return NvmlApi::Return{0};
  };
  return api;
}

TEST(Nvml, MissingLibraryIsAStatusThatNamesIt) {
  NvmlApi api;
  const Status status = load_nvml("libno-such-nvml.so.1", &api);
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_THAT(status.message(), HasSubstr("libno-such-nvml.so.1 cannot be loaded"));
}

TEST(Nvml, LibraryWithoutTheSymbolsIsAStatusThatNamesTheFirst) {
  NvmlApi api;
  const Status status = load_nvml("libm.so.6", &api);
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_THAT(status.message(), HasSubstr("nvmlErrorString"));
}

TEST(Nvml, ReadsInTheUnitsOfItsNames) {
  std::unique_ptr<Nvml> nvml;
  ASSERT_TRUE(Nvml::open(working_api(), "0000:1B:00.0", &nvml).ok());
  EXPECT_EQ(nvml->driver_version(), "580.95.05");
  EXPECT_EQ(nvml->sm_clock_mhz(), 1605);
  EXPECT_EQ(nvml->temperature_celsius(), 51);
  EXPECT_EQ(nvml->total_energy_joules(), 9000.5);
  nvml.reset();
  EXPECT_EQ(shutdowns, 1);
}

TEST(Nvml, ReadingThatIsNotSupportedIsEmpty) {
  NvmlApi api = working_api();
  api.nvmlDeviceGetTotalEnergyConsumption = [](NvmlApi::Device, unsigned long long*) {
    return kNotSupported;
  };
  std::unique_ptr<Nvml> nvml;
  ASSERT_TRUE(Nvml::open(api, "0000:1B:00.0", &nvml).ok());
  EXPECT_FALSE(nvml->total_energy_joules().has_value());
  EXPECT_TRUE(nvml->sm_clock_mhz().has_value());
}

TEST(Nvml, UnknownGpuShutsNvmlDownAgain) {
  std::unique_ptr<Nvml> nvml;
  const Status status = Nvml::open(working_api(), "0000:FF:00.0", &nvml);
  EXPECT_THAT(status.message(), HasSubstr("no GPU at 0000:FF:00.0: some NVML error"));
  EXPECT_EQ(nvml, nullptr);
  EXPECT_EQ(shutdowns, 1);
}

TEST(Nvml, FailedInitialisationIsAStatus) {
  NvmlApi api = working_api();
  api.nvmlInit_v2 = [] { return kNotSupported; };
  std::unique_ptr<Nvml> nvml;
  EXPECT_EQ(Nvml::open(api, "0000:1B:00.0", &nvml).code(), StatusCode::CudaError);
  EXPECT_EQ(shutdowns, 0);
}

}  // namespace
}  // namespace hopper_gemm
