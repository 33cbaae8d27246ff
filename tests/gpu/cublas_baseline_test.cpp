#include "benchmark/cublas_baseline.hpp"

#include <cuda_bf16.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "benchmark/gpu_sampler.hpp"
#include "benchmark/shapes.hpp"
#include "common/device_buffer.hpp"
#include "common/watchdog.hpp"
#include "require_hopper.hpp"
#include "verify/cublas_gemm.hpp"
#include "verify/reference.hpp"

namespace hopper_gemm {
namespace {

constexpr double kCublasTimeoutSeconds = 60;
constexpr float kUntouched = -12345;

struct Case {
  GemmShape shape;
  int extra_pitch;  // elements behind each row, beyond the shortest pitch
  Layout a_layout = Layout::RowMajor;
};

std::ostream& operator<<(std::ostream& stream, const Case& test) {
  return stream << to_string(test.shape) << " pitch+" << test.extra_pitch << " A "
                << to_string(test.a_layout);
}

/// A GEMM of small integers that depend on their position, whose products are exact in fp32: any transposed
/// or shifted operand shows. The padding is NaN.
class CublasBaseline : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    HG_SKIP_WITHOUT_HOPPER();
    const GemmShape shape = GetParam().shape;
    const Layout a_layout = GetParam().a_layout;
    ld_ = make_leading_dimensions({.shape = shape, .a_layout = a_layout});
    ld_.a += GetParam().extra_pitch;
    ld_.b += GetParam().extra_pitch;
    ld_.d += GetParam().extra_pitch;
    host_a_ = a_layout == Layout::RowMajor ? make_operand(shape.m, shape.k, ld_.a, 7)
                                           : make_operand(shape.k, shape.m, ld_.a, 7);
    host_b_ = make_operand(shape.n, shape.k, ld_.b, 5);
    reference_.resize(elems(shape.m, shape.n));
    reference_gemm_host({.shape = shape,
                         .a = host_a_.data(),
                         .lda = ld_.a,
                         .b = host_b_.data(),
                         .ldb = ld_.b,
                         .d = nullptr,
                         .ldd = ld_.d,
                         .a_layout = a_layout},
                        reference_.data());
    upload(host_a_, &a_);
    upload(host_b_, &b_);
    upload(std::vector<__nv_bfloat16>(elems(shape.m, ld_.d), __float2bfloat16(kUntouched)), &d_);
    args_ = {.shape = shape,
             .a = a_.data(),
             .lda = ld_.a,
             .b = b_.data(),
             .ldb = ld_.b,
             .d = d_.data(),
             .ldd = ld_.d,
             .a_layout = a_layout};
  }

  static std::size_t elems(std::int64_t rows, std::int64_t cols) {
    return static_cast<std::size_t>(rows * cols);
  }

  static std::vector<__nv_bfloat16> make_operand(int rows, int cols, std::int64_t ld, int modulus) {
    std::vector<__nv_bfloat16> operand(elems(rows, ld), __float2bfloat16(NAN));
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t col = 0; col < cols; ++col) {
        const std::int64_t half = modulus / 2;
        const auto value = static_cast<float>((row * 3 + col * 2 + row * col) % modulus - half);
        operand[static_cast<std::size_t>(row * ld + col)] = __float2bfloat16(value);
      }
    }
    return operand;
  }

  template <typename T>
  static void upload(const std::vector<T>& host, DeviceBuffer<T>* device) {
    ASSERT_TRUE(device->allocate(static_cast<std::int64_t>(host.size())).ok());
    ASSERT_EQ(cudaMemcpy(device->data(), host.data(), device->size_bytes(), cudaMemcpyHostToDevice),
              cudaSuccess);
  }

  template <typename T>
  static std::vector<T> download(const DeviceBuffer<T>& device) {
    std::vector<T> host(static_cast<std::size_t>(device.size()));
    EXPECT_EQ(cudaMemcpy(host.data(), device.data(), device.size_bytes(), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return host;
  }

  /// Every element of D is `expected` of the reference, and the padding behind its rows is untouched.
  template <typename T, typename Expected>
  void expect_product(const std::vector<T>& d, const Expected& expected) {
    const GemmShape shape = GetParam().shape;
    for (std::int64_t row = 0; row < shape.m; ++row) {
      for (std::int64_t col = 0; col < ld_.d; ++col) {
        const auto value = static_cast<float>(d[static_cast<std::size_t>(row * ld_.d + col)]);
        const float wanted = col < shape.n
                                 ? expected(reference_[static_cast<std::size_t>(row * shape.n + col)])
                                 : static_cast<float>(T(kUntouched));
        ASSERT_EQ(value, wanted) << "D[" << row << ", " << col << "]";
      }
    }
  }

  void expect_bf16_product() {
    expect_product(download(d_), [](double exact) {
      return static_cast<float>(__float2bfloat16(static_cast<float>(exact)));
    });
  }

  LeadingDimensions ld_{};
  std::vector<__nv_bfloat16> host_a_;
  std::vector<__nv_bfloat16> host_b_;
  std::vector<double> reference_;
  DeviceBuffer<__nv_bfloat16> a_;
  DeviceBuffer<__nv_bfloat16> b_;
  DeviceBuffer<__nv_bfloat16> d_;
  GemmArgs args_{};
};

TEST_P(CublasBaseline, GemmExIsExact) {
  std::unique_ptr<Cublas> cublas;
  ASSERT_TRUE(Cublas::create(&cublas).ok());
  const Status launched = cublas->gemm(args_, nullptr);
  ASSERT_TRUE(launched.ok()) << launched.message();
  ASSERT_TRUE(wait_with_watchdog(nullptr, kCublasTimeoutSeconds).ok());
  expect_bf16_product();
}

TEST_P(CublasBaseline, Fp32OutputIsExact) {
  DeviceBuffer<float> d;
  upload(std::vector<float>(static_cast<std::size_t>(d_.size()), kUntouched), &d);
  const Status computed = cublas_gemm_fp32(args_, d.data(), ld_.d, kCublasTimeoutSeconds, nullptr);
  ASSERT_TRUE(computed.ok()) << computed.message();
  expect_product(download(d), [](double exact) { return static_cast<float>(exact); });
}

TEST_P(CublasBaseline, EveryLtCandidateIsExact) {
  std::unique_ptr<CublasLtCandidates> candidates;
  const Status found = CublasLtCandidates::find(args_, &candidates);
  ASSERT_TRUE(found.ok()) << found.message();
  EXPECT_GE(candidates->count(), 1U);
  for (std::size_t i = 0; i < candidates->count(); ++i) {
    SCOPED_TRACE("candidate " + std::to_string(i));
    upload(std::vector<__nv_bfloat16>(static_cast<std::size_t>(d_.size()), __float2bfloat16(kUntouched)),
           &d_);
    args_.d = d_.data();
    const Status launched = candidates->launch(i, args_, nullptr);
    if (launched.code() == StatusCode::Unsupported) continue;
    ASSERT_TRUE(launched.ok()) << launched.message();
    ASSERT_TRUE(wait_with_watchdog(nullptr, kCublasTimeoutSeconds).ok());
    expect_bf16_product();
  }
}

TEST_P(CublasBaseline, FastestCandidateIsFoundInsideGraphs) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  std::unique_ptr<CublasLtCandidates> candidates;
  ASSERT_TRUE(CublasLtCandidates::find(args_, &candidates).ok());
  std::optional<std::size_t> fastest;
  std::vector<std::size_t> all(candidates->count());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto launch = [&](std::size_t index, const GemmArgs& args, cudaStream_t on) {
    return candidates->launch(index, args, on);
  };
  const Status found = find_fastest_candidate(launch, all, {&args_, 1}, 1, stream, &fastest);
  EXPECT_TRUE(found.ok()) << found.message();
  ASSERT_TRUE(fastest.has_value());
  EXPECT_LT(*fastest, candidates->count());
  expect_bf16_product();
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

// The known fault: the end of K is left out. And one that is not there at all.
TEST_P(CublasBaseline, CandidatesThatLeaveOutPartOfKAreFound) {
  std::unique_ptr<Cublas> cublas;
  ASSERT_TRUE(Cublas::create(&cublas).ok());
  const auto launch = [&](std::size_t index, const GemmArgs& args, cudaStream_t stream) -> Status {
    if (index == 2) return unsupported("no such pitches");
    GemmArgs shortened = args;
    if (index == 1) shortened.shape.k /= 2;
    return cublas->gemm(shortened, stream);
  };
  CandidateVerdicts verdicts;
  const GemmProblem problem = {.shape = GetParam().shape, .a_layout = GetParam().a_layout};
  const Status checked = check_candidates(problem, 4, launch, 1, kCublasTimeoutSeconds, &verdicts);
  ASSERT_TRUE(checked.ok()) << checked.message();
  EXPECT_EQ(verdicts.sound, (std::vector<std::size_t>{0, 2, 3}));
  EXPECT_EQ(verdicts.wrong, std::vector<std::size_t>{1});
  EXPECT_NE(verdicts.first_fault.find("integer data: "), std::string::npos) << verdicts.first_fault;
}

TEST_P(CublasBaseline, GemmExCanBeCapturedAndSampled) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  std::unique_ptr<Cublas> cublas;
  ASSERT_TRUE(Cublas::create(&cublas).ok());
  {
    GpuSampler sampler({args_}, stream, nullptr);
    const Status added =
        sampler.add([&](const GemmArgs& args, cudaStream_t on) { return cublas->gemm(args, on); });
    ASSERT_TRUE(added.ok()) << added.message();
    Sample sample;
    const Status sampled = sampler.sample(0, Mode::Burst, &sample);
    ASSERT_TRUE(sampled.ok()) << sampled.message();
    EXPECT_GT(sample.seconds, 1e-7);
    EXPECT_LT(sample.seconds, 1e-2);
  }
  expect_bf16_product();
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

INSTANTIATE_TEST_SUITE_P(Shapes, CublasBaseline,
                         ::testing::Values(Case{{1, 8, 8}, 0}, Case{{129, 257, 264}, 0},
                                           Case{{129, 257, 264}, 8}, Case{{64, 512, 128}, 0},
                                           Case{{512, 64, 1024}, 16},
                                           Case{{129, 257, 264}, 8, Layout::ColumnMajor}));

}  // namespace
}  // namespace hopper_gemm
