// Fused operations as `matmul` verifies and measures them: those of the library, and those of cublasLt that they are
// held against.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "benchmark/cublas_baseline.hpp"
#include "benchmark/elementwise_epilogue.hpp"
#include "benchmark/operand_buffers.hpp"
#include "benchmark/operation.hpp"
#include "benchmark/other_library.hpp"
#include "registry/registry.hpp"
#include "require_hopper.hpp"
#include "tests/test_support.hpp"
#include "verify/cublas_gemm.hpp"
#include "verify/verify.hpp"

namespace hopper_gemm {
namespace {

constexpr VerifyOptions kOptions = {.seed = 20261125, .timeout_seconds = 20, .padded = false};

std::vector<GemmProblem> problems() {
  std::vector<GemmProblem> problems;
  for (const Bias bias : {Bias::None, Bias::PerRow, Bias::PerColumn}) {
    for (const Activation activation :
         {Activation::None, Activation::Relu, Activation::Gelu, Activation::GeluTanh, Activation::Silu}) {
      for (const float beta : {0.0F, -2.0F}) {
        for (const DataType type : {DataType::BFloat16, DataType::Float32}) {
          for (const int batch_count : {1, 3}) {
            problems.push_back({.shape = {264, 392, 520},
                                .output_type = type,
                                .beta = beta,
                                .bias = bias,
                                .activation = activation,
                                .batch_count = batch_count});
          }
        }
      }
    }
  }
  for (const Bias bias : {Bias::None, Bias::PerColumn}) {
    for (const Activation activation : {Activation::None, Activation::GeluTanh, Activation::Silu}) {
      for (const DataType type : {DataType::BFloat16, DataType::Float32}) {
        problems.push_back({.shape = {264, 400, 520},
                            .output_type = type,
                            .bias = bias,
                            .activation = activation,
                            .gated = true,
                            .batch_count = 1 + static_cast<int>(bias)});
      }
    }
  }
  return problems;
}

VerifyReport verify(const GemmProblem& problem, const std::string& name,
                    std::function<Status(const GemmArgs&, cudaStream_t)> launch, bool rounds_before = false) {
  std::vector<VerifyReport> reports;
  const std::vector<VerifyTarget> targets = {{name, std::move(launch), rounds_before}};
  const Status status = verify_targets(problem, targets, kOptions, &reports);
  EXPECT_TRUE(status.ok()) << status.message();
  return reports.at(0);
}

TEST(Operations, OfTheLibraryAreVerified) {
  HG_SKIP_WITHOUT_HOPPER();
  for (const GemmProblem& problem : problems()) {
    SCOPED_TRACE(operation_text(problem));
    const VerifyReport report = verify(problem, "best", find_kernel("best")->launch);
    EXPECT_TRUE(report.verified) << report.detail;
  }
}

TEST(Operations, OfALibraryThatIsLoadedAreVerified) {
  HG_SKIP_WITHOUT_HOPPER();
  std::unique_ptr<OtherLibrary> library;
  const Status loaded =
      OtherLibrary::load("--against", path_beside_the_test("../libhopper_gemm.so"), &library);
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  for (const GemmProblem& problem : problems()) {
    SCOPED_TRACE(operation_text(problem));
    const VerifyReport report = verify(problem, "against", [&](const GemmArgs& args, cudaStream_t stream) {
      return library->launch(args, stream);
    });
    EXPECT_TRUE(report.verified) << report.detail;
  }
}

TEST(Operations, ThatAreLeftOutAreFound) {
  HG_SKIP_WITHOUT_HOPPER();
  const auto launch_with = [](void (*change)(GemmArgs&)) {
    return [change](GemmArgs args, cudaStream_t stream) {
      change(args);
      return find_kernel("best")->launch(args, stream);
    };
  };
  for (const GemmProblem& problem : problems()) {
    SCOPED_TRACE(operation_text(problem));
    if (problem.bias != Bias::None) {
      EXPECT_FALSE(verify(problem, "no bias", launch_with([](GemmArgs& args) {
                            args.bias_kind = Bias::None;
                            args.bias = nullptr;
                          }))
                       .verified);
    }
    if (problem.activation != Activation::None) {
      EXPECT_FALSE(verify(problem, "no activation",
                          launch_with([](GemmArgs& args) { args.activation = Activation::None; }))
                       .verified);
    }
    if (problem.batch_count > 1) {
      EXPECT_FALSE(
          verify(problem, "the first batch alone", launch_with([](GemmArgs& args) { args.batch_count = 1; }))
              .verified);
    }
    if (problem.beta != 0) {
      EXPECT_FALSE(verify(problem, "no C", launch_with([](GemmArgs& args) { args.beta = 0; })).verified);
    }
  }
}

TEST(Operations, OfCublasAreVerifiedInBatches) {
  HG_SKIP_WITHOUT_HOPPER();
  std::unique_ptr<Cublas> cublas;
  ASSERT_TRUE(Cublas::create(&cublas).ok());
  for (const DataType type : {DataType::BFloat16, DataType::Float16, DataType::Float32}) {
    for (const Layout a_layout : {Layout::RowMajor, Layout::ColumnMajor}) {
      for (const Layout b_layout : {Layout::RowMajor, Layout::ColumnMajor}) {
        const GemmProblem problem = {.shape = {264, 392, 520},
                                     .input_type = type,
                                     .output_type = type,
                                     .a_layout = a_layout,
                                     .b_layout = b_layout,
                                     .batch_count = 3};
        SCOPED_TRACE(operation_text(problem));
        const VerifyReport report = verify(problem, "cuBLAS", [&](const GemmArgs& args, cudaStream_t stream) {
          return cublas->gemm(args, stream);
        });
        EXPECT_TRUE(report.verified) << report.detail;
      }
    }
  }
}

TEST(Operations, OfCublasLtAreVerified) {
  HG_SKIP_WITHOUT_HOPPER();
  int without_candidates = 0;
  for (const GemmProblem& problem : problems()) {
    SCOPED_TRACE(operation_text(problem));
    OperandBuffers buffers;
    ASSERT_TRUE(OperandBuffers::allocate(problem, 0, DataKind::Normal, 1, nullptr, &buffers).ok());
    const bool is_fused = is_fused_by_cublas(problem);
    ElementwiseEpilogue elementwise;
    ASSERT_TRUE(elementwise.allocate(problem).ok());
    const auto product_of = [&](const GemmArgs& args) {
      return is_fused ? args : elementwise.product_of(args);
    };
    std::unique_ptr<CublasLtCandidates> candidates;
    const Status found = CublasLtCandidates::find(product_of(buffers.sets().front()), &candidates);
    ASSERT_TRUE(found.ok()) << found.message();
    if (candidates->count() == 0) ++without_candidates;
    // Whose product it is makes no difference to the elementwise kernel.
    const std::size_t count = is_fused ? candidates->count() : std::min<std::size_t>(candidates->count(), 1);
    for (std::size_t i = 0; i < count; ++i) {
      const auto launch = [&, i](const GemmArgs& args, cudaStream_t stream) -> Status {
        HG_RETURN_IF_ERROR(candidates->launch(i, product_of(args), stream));
        return is_fused ? Status() : elementwise.launch(args, stream);
      };
      const VerifyReport report = verify(problem, "cublasLt", launch, !is_fused);
      EXPECT_TRUE(report.verified) << "candidate " << i << ": " << report.detail;
    }
  }
  EXPECT_LT(without_candidates, static_cast<int>(problems().size()));
}

}  // namespace
}  // namespace hopper_gemm
