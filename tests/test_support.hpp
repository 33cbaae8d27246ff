#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>

#include "benchmark/device_info.hpp"
#include "benchmark/nvml.hpp"

namespace hopper_gemm {

/// A file that the build put into the folder of the test program.
inline std::string path_beside_the_test(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

/// A test with an empty folder of its own.
class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "hopper_gemm_test_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = std::filesystem::canonical(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::size_t files_in_folder() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }

  std::filesystem::path folder_;
};

inline DeviceInfo h200() {
  return {.name = "NVIDIA H200",
          .compute_capability = {9, 0},
          .sm_count = 132,
          .l2_bytes = 60 << 20,
          .total_bytes = std::int64_t{141} * 1000 * 1000 * 1000,
          .free_bytes = std::int64_t{100} * 1000 * 1000 * 1000,
          .driver_version = 13000,
          .runtime_version = 13000,
          .cublas = "13.1.0",
          .pci_bus_id = "0000:1B:00.0",
          .memory_bytes_per_us = 4.9e6};
}

/// NVML with one GPU, at h200()'s place: 1605 MHz, 9000.5 J, 51 degrees.
inline NvmlApi fake_nvml() {
  constexpr NvmlApi::Return kSuccess = 0;
  constexpr NvmlApi::Return kNotFound = 6;
  NvmlApi api;
  api.nvmlErrorString = [](NvmlApi::Return) { return "some NVML error"; };
  api.nvmlInit_v2 = [] { return kSuccess; };
  api.nvmlShutdown = [] { return kSuccess; };
  api.nvmlSystemGetDriverVersion = [](char* version, unsigned int length) {
    std::strncpy(version, "580.95.05", length);
    return kSuccess;
  };
  api.nvmlDeviceGetHandleByPciBusId_v2 = [](const char* bus_id, NvmlApi::Device*) {
    return std::strcmp(bus_id, "0000:1B:00.0") == 0 ? kSuccess : kNotFound;
  };
  api.nvmlDeviceGetClockInfo = [](NvmlApi::Device, int type, unsigned int* clock) {
    *clock = type == 1 ? 1605 : 0;
    return kSuccess;
  };
  api.nvmlDeviceGetTotalEnergyConsumption = [](NvmlApi::Device, unsigned long long* millijoules) {
    *millijoules = 9000500;
    return kSuccess;
  };
  api.nvmlDeviceGetTemperature = [](NvmlApi::Device, int sensor, unsigned int* celsius) {
    *celsius = sensor == 0 ? 51 : 0;
    return kSuccess;
  };
  return api;
}

}  // namespace hopper_gemm
