#include <gtest/gtest.h>

#include <cstddef>

#include "benchmark/device_info.hpp"
#include "benchmark/gpu_probe.hpp"
#include "require_gpu.hpp"

namespace hopper_gemm {
namespace {

/// The kernels of the probe run wherever the ampere ladder does.
struct ProbeKernels {
  KernelTarget target = {{8, 0}, true, DataType::BFloat16, Layout::ColumnMajor};
};

// Other processes may use the GPU at the same time, so that the figures are not looked at.
TEST(Probe, EveryKernelComputesWhatItShould) {
  HG_SKIP_UNLESS_IT_RUNS(ProbeKernels{});
  DeviceInfo device;
  const Status found = query_cuda_device(&device);
  ASSERT_TRUE(found.ok()) << found.message();
  ProbeReport report;
  const Status status = probe_gpu({.device = device, .rounds = 2, .seed = 1, .observer = {}}, &report);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(report.rows.size(), static_cast<std::size_t>(kNumProbeQuantities));
  for (const ProbeRow& row : report.rows) {
    SCOPED_TRACE(names_of(row.quantity).name);
    EXPECT_FALSE(row.is_wrong) << row.note;
    EXPECT_EQ(row.readings.size(), row.note.empty() ? 2U : 0U) << row.note;
    for (const ProbeReading& reading : row.readings) EXPECT_GT(reading.value, 0);
  }
}

}  // namespace
}  // namespace hopper_gemm
