// Verification must fail for every way of being wrong that it claims to see, on the GPU as on the host.

#include <cuda_bf16.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "common/device_buffer.hpp"
#include "registry/registry.hpp"
#include "require_hopper.hpp"
#include "verify/check.hpp"
#include "verify/fill.hpp"
#include "verify/reference.hpp"
#include "verify/verify.hpp"

namespace hopper_gemm {
namespace {

constexpr GemmShape kShape = {96, 96, 136};  // square, so that a transposed output has the right shape

using Launch = std::function<Status(const GemmArgs&, cudaStream_t)>;

Status launch_correct(const GemmArgs& args, cudaStream_t stream) {
  return find_kernel("1")->launch(args, stream);
}

// The correct kernel, then one element of D overwritten.
Launch with_element(int row, int col, float value) {
  return [=](const GemmArgs& args, cudaStream_t stream) -> Status {
    HG_RETURN_IF_ERROR(launch_correct(args, stream));
    const __nv_bfloat16 element = __float2bfloat16(value);
    HG_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(args.d_as<__nv_bfloat16>() + row * args.ldd + col, &element,
                                            sizeof(element), cudaMemcpyHostToDevice, stream));
    return {};
  };
}

VerifyReport verify(const Launch& launch) {
  const std::vector<VerifyTarget> targets = {{"target", launch}};
  std::vector<VerifyReport> reports;
  const Status status = verify_targets({kShape}, targets, {.seed = 7, .timeout_seconds = 20}, &reports);
  EXPECT_TRUE(status.ok()) << status.message();
  return reports.at(0);
}

void expect_caught(const Launch& launch, const std::string& detail) {
  const VerifyReport report = verify(launch);
  EXPECT_FALSE(report.verified);
  EXPECT_NE(report.detail.find(detail), std::string::npos) << report.detail;
}

TEST(Verify, PassesACorrectKernel) {
  HG_SKIP_WITHOUT_HOPPER();
  const VerifyReport report = verify(launch_correct);
  EXPECT_TRUE(report.verified) << report.detail;
}

TEST(Verify, CatchesANan) {
  HG_SKIP_WITHOUT_HOPPER();
  expect_caught(with_element(95, 95, std::numeric_limits<float>::quiet_NaN()),
                "1 of 9216 elements are wrong (1 NaN)");
}

TEST(Verify, CatchesOneWrongElement) {
  HG_SKIP_WITHOUT_HOPPER();
  expect_caught(with_element(3, 40, 300), "the first, D[3, 40], is 300");
}

TEST(Verify, CatchesATransposedOutput) {
  HG_SKIP_WITHOUT_HOPPER();
  expect_caught(
      [](GemmArgs args, cudaStream_t stream) {
        std::swap(args.a, args.b);  // B·A^T is D^T
        std::swap(args.lda, args.ldb);
        return launch_correct(args, stream);
      },
      "elements are wrong (0 NaN)");
}

TEST(Verify, CatchesAnOutputThatIsNotWritten) {
  HG_SKIP_WITHOUT_HOPPER();
  expect_caught([](const GemmArgs&, cudaStream_t) { return Status(); },
                "9216 of 9216 elements are wrong (9216 NaN)");
}

TEST(Verify, CatchesAWriteBehindTheRow) {
  HG_SKIP_WITHOUT_HOPPER();
  expect_caught(with_element(5, kShape.n, 0), "1 elements outside D were overwritten");
}

TEST(Verify, CatchesAWriteBeforeTheMatrix) {
  HG_SKIP_WITHOUT_HOPPER();
  expect_caught(with_element(0, -1, 0), "1 elements outside D were overwritten");
}

TEST(Verify, CatchesAWriteBehindTheMatrix) {
  HG_SKIP_WITHOUT_HOPPER();
  expect_caught(with_element(kShape.m, 0, 0), "1 elements outside D were overwritten");
  // A tile of 256 rows that starts at D's last one.
  expect_caught(with_element(kShape.m + 254, kShape.n - 1, 0), "1 elements outside D were overwritten");
}

TEST(Verify, CatchesSwappedLeadingDimensions) {
  HG_SKIP_WITHOUT_HOPPER();
  expect_caught(
      [](GemmArgs args, cudaStream_t stream) {
        std::swap(args.lda, args.ldb);
        return launch_correct(args, stream);
      },
      "elements are wrong");
}

// Right on integers; on normal data one element is off by two units of bf16's last place.
TEST(Verify, CatchesAnElementThatIsOnlyInaccurate) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr int kRunsOnIntegers = 2;
  int runs = 0;
  const Launch inaccurate = [&runs](const GemmArgs& args, cudaStream_t stream) -> Status {
    HG_RETURN_IF_ERROR(launch_correct(args, stream));
    if (++runs <= kRunsOnIntegers) return {};
    __nv_bfloat16 element;
    HG_RETURN_IF_CUDA_ERROR(
        cudaMemcpy(&element, args.d_as<__nv_bfloat16>() + 7, sizeof(element), cudaMemcpyDeviceToHost));
    element = __float2bfloat16(__bfloat162float(element) * (1 + 0x1p-6F));
    HG_RETURN_IF_CUDA_ERROR(
        cudaMemcpy(args.d_as<__nv_bfloat16>() + 7, &element, sizeof(element), cudaMemcpyHostToDevice));
    return {};
  };
  expect_caught(inaccurate, "normal data: 1 of 9216 elements are wrong (0 NaN); the first, D[0, 7]");
}

TEST(Verify, CatchesRunsThatDiffer) {
  HG_SKIP_WITHOUT_HOPPER();
  int runs = 0;
  expect_caught(
      [&runs](const GemmArgs& args, cudaStream_t stream) {
        ++runs;
        return runs % 2 == 1 ? launch_correct(args, stream) : with_element(0, 0, 77)(args, stream);
      },
      "two runs on the same operands differ in 1 units of 16 bits");
}

TEST(Verify, ReportsALaunchThatFails) {
  HG_SKIP_WITHOUT_HOPPER();
  expect_caught([](const GemmArgs&, cudaStream_t) { return unsupported("not today"); }, "not today");
}

TEST(Reference, DeviceMatchesHost) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr GemmShape kOdd = {70, 129, 45};
  constexpr std::int64_t kPitch = 73;  // room for a line in either layout
  constexpr int kMostLines = std::max(kOdd.m, kOdd.k);
  DeviceBuffer<__nv_bfloat16> a;
  DeviceBuffer<__nv_bfloat16> b;
  DeviceBuffer<double> ref;
  ASSERT_TRUE(a.allocate(kMostLines * kPitch).ok());
  ASSERT_TRUE(b.allocate(kOdd.n * kPitch).ok());
  ASSERT_TRUE(ref.allocate(kOdd.m * kOdd.n).ok());
  ASSERT_TRUE(fill_matrix(a.data(), DataType::BFloat16, kMostLines, kMostLines, kPitch, DataKind::Integers,
                          integer_density(kOdd.k), 1, nullptr)
                  .ok());
  ASSERT_TRUE(fill_matrix(b.data(), DataType::BFloat16, kOdd.n, kOdd.k, kPitch, DataKind::Integers,
                          integer_density(kOdd.k), 2, nullptr)
                  .ok());
  std::vector<__nv_bfloat16> host_a(static_cast<std::size_t>(a.size()));
  std::vector<__nv_bfloat16> host_b(static_cast<std::size_t>(b.size()));
  std::vector<double> device_ref(static_cast<std::size_t>(ref.size()));
  std::vector<double> host_ref(device_ref.size());
  ASSERT_EQ(cudaMemcpy(host_a.data(), a.data(), a.size_bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(host_b.data(), b.data(), b.size_bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
  for (const Layout a_layout : {Layout::RowMajor, Layout::ColumnMajor}) {
    GemmArgs args = {kOdd, a.data(), kPitch, b.data(), kPitch, nullptr, 0};
    args.a_layout = a_layout;
    ASSERT_TRUE(reference_gemm_device(args, ref.data(), nullptr).ok());
    ASSERT_EQ(cudaMemcpy(device_ref.data(), ref.data(), ref.size_bytes(), cudaMemcpyDeviceToHost),
              cudaSuccess);
    args.a = host_a.data();
    args.b = host_b.data();
    reference_gemm_host(args, host_ref.data());
    EXPECT_EQ(device_ref, host_ref);
  }
}

// More elements than the grid has threads, so that a thread sees others after the NaN.
TEST(MaxAbsError, KeepsANan) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr std::int64_t kSize = 1 << 20;
  DeviceBuffer<float> values;
  DeviceBuffer<double> ref;
  ASSERT_TRUE(values.allocate(kSize).ok());
  ASSERT_TRUE(ref.allocate(kSize).ok());
  ASSERT_EQ(cudaMemset(values.data(), 0, values.size_bytes()), cudaSuccess);
  ASSERT_EQ(cudaMemset(ref.data(), 0, ref.size_bytes()), cudaSuccess);
  double error = -1;
  ASSERT_TRUE(max_abs_error(values.data(), ref.data(), kSize, nullptr, &error).ok());
  EXPECT_EQ(error, 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ASSERT_EQ(cudaMemcpy(values.data(), &nan, sizeof(nan), cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_TRUE(max_abs_error(values.data(), ref.data(), kSize, nullptr, &error).ok());
  EXPECT_EQ(error, std::numeric_limits<double>::infinity());
}

TEST(Fill, IntegersAreSparseSignsAndPaddingIsNan) {
  HG_SKIP_WITHOUT_HOPPER();
  constexpr std::int64_t kRows = 64;
  constexpr std::int64_t kCols = 4096;
  constexpr std::int64_t kPitch = 4104;
  DeviceBuffer<__nv_bfloat16> data;
  ASSERT_TRUE(data.allocate(kRows * kPitch).ok());
  ASSERT_TRUE(fill_matrix(data.data(), DataType::BFloat16, kRows, kCols, kPitch, DataKind::Integers,
                          integer_density(kCols), 3, nullptr)
                  .ok());
  std::vector<__nv_bfloat16> host(static_cast<std::size_t>(data.size()));
  ASSERT_EQ(cudaMemcpy(host.data(), data.data(), data.size_bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
  double nonzero = 0;
  double sum = 0;
  for (std::int64_t i = 0; i < data.size(); ++i) {
    const float value = __bfloat162float(host[static_cast<std::size_t>(i)]);
    if (i % kPitch >= kCols) {
      ASSERT_TRUE(std::isnan(value)) << i;
      continue;
    }
    ASSERT_TRUE(value == 0 || value == 1 || value == -1) << value;
    nonzero += value != 0 ? 1 : 0;
    sum += static_cast<double>(value);
  }
  EXPECT_NEAR(nonzero / (kRows * kCols), integer_density(kCols), 0.01);
  EXPECT_NEAR(sum / (kRows * kCols), 0, 0.01);
}

}  // namespace
}  // namespace hopper_gemm
