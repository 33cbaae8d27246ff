#include "benchmark/other_library.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "common/matrix_lines.hpp"
#include "fake_library.h"
#include "test_support.hpp"

namespace hopper_gemm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

class OtherLibraryTest : public FolderTest {
 protected:
  static std::unique_ptr<OtherLibrary> loaded() {
    std::unique_ptr<OtherLibrary> library;
    const Status status = OtherLibrary::load("--against", path_beside_the_test("fake_library.so"), &library);
    EXPECT_TRUE(status.ok()) << status.message();
    return library;
  }

  static std::string refusal_of(const fs::path& path) {
    std::unique_ptr<OtherLibrary> library;
    const Status status = OtherLibrary::load("--against", path, &library);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_EQ(library, nullptr);
    EXPECT_THAT(status.message(), StartsWith("--against cannot race '" + path.string() + "': "));
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
    return status.message();
  }

  /// What the fake was asked for: it is loaded once, however often it is named.
  static const fake_calls_t& calls() {
    void* const handle = dlopen(path_beside_the_test("fake_library.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    auto* const function =
        reinterpret_cast<decltype(&fake_library_calls)>(dlsym(handle, "fake_library_calls"));
    return *function();
  }

  GemmArgs args_at(const GemmShape& shape) {
    GemmProblem problem;
    problem.shape = shape;
    GemmArgs args = args_of(problem, memory_, 72, memory_ + 256, 80, memory_ + 512, 88);
    args.workspace = memory_ + 768;
    args.workspace_bytes = 256;
    return args;
  }

  alignas(256) unsigned char memory_[1024] = {};
};

TEST_F(OtherLibraryTest, IsLoadedBesideThisOne) {
  const std::unique_ptr<OtherLibrary> library = loaded();
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(library->path(), path_beside_the_test("fake_library.so"));
  EXPECT_EQ(library->version(), HOPPER_GEMM_VERSION_STRING);
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "hgemm_plan_create"), nullptr) << "others would call it";
}

TEST_F(OtherLibraryTest, IsFoundFromTheCurrentFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(fs::path(path_beside_the_test("fake_library.so")).parent_path());
  std::unique_ptr<OtherLibrary> library;
  const Status status = OtherLibrary::load("--against", "fake_library.so", &library);
  fs::current_path(before);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(OtherLibraryTest, FilesThatAreNoLibraryAreRefused) {
  EXPECT_THAT(refusal_of(folder_ / "none.so"),
              AllOf(HasSubstr("No such file or directory; "),
                    HasSubstr("type the path of another build's libhopper_gemm.so, such as ")));
  EXPECT_THAT(refusal_of(folder_), HasSubstr("it is not a regular file"));
  const fs::path text = folder_ / "text.so";
  std::ofstream(text) << "this is no shared object, but longer than the header of one would have to be";
  EXPECT_THAT(refusal_of(text), HasSubstr("': invalid ELF header; type the path"));
}

TEST_F(OtherLibraryTest, LibraryWithoutAFunctionIsRefused) {
  EXPECT_THAT(
      refusal_of(path_beside_the_test("fake_library_without_run.so")),
      HasSubstr("it is not a build of this library, because it has no function hgemm_plan_run; type"));
}

TEST_F(OtherLibraryTest, OtherInterfacesAreRefused) {
  const std::string version = HOPPER_GEMM_VERSION_STRING;
  const std::string known = version.substr(0, version.rfind('.'));
  EXPECT_THAT(refusal_of(path_beside_the_test("fake_library_of_another_version.so")),
              AllOf(HasSubstr("it is version 99.1.0 of the library, but this program is version " + version +
                              " and can call only versions " + known + ".*; "),
                    HasSubstr("type the path of a build of such a version")));
  EXPECT_THAT(refusal_of(path_beside_the_test("fake_library_with_old_operands.so")),
              AllOf(HasSubstr("its gemm.h has other structs than this program's "),
                    HasSubstr("(operands->struct_bytes is wrong); type the path of a build")));
}

TEST_F(OtherLibraryTest, OneOfBeforeTheGateIsRacedWithoutIt) {
  std::unique_ptr<OtherLibrary> library;
  const Status status =
      OtherLibrary::load("--against", path_beside_the_test("fake_library_without_gate.so"), &library);
  ASSERT_TRUE(status.ok()) << status.message();
  GemmArgs args = args_at({48, 64, 64});
  EXPECT_TRUE(library->launch(args, nullptr).ok());
  args.gated = true;
  const Status refusal = library->launch(args, nullptr);
  EXPECT_EQ(refusal.code(), StatusCode::Unsupported);
  EXPECT_EQ(refusal.message(), "its version has no gated GEMM");
}

TEST_F(OtherLibraryTest, GetsTheDescriptorAndTheOperands) {
  const std::unique_ptr<OtherLibrary> library = loaded();
  GemmArgs args = args_at({48, 56, 64});
  args.b_layout = Layout::RowMajor;
  args.input_type = DataType::Float16;
  args.output_type = DataType::Float32;
  args.c = memory_ + 4;
  args.ldc = 96;
  args.alpha = 2;
  args.beta = -0.5F;
  args.bias = memory_ + 16;
  args.bias_kind = Bias::PerRow;
  args.activation = Activation::Silu;
  args.batch_count = 3;
  auto* const stream = reinterpret_cast<cudaStream_t>(memory_);
  const Status status = library->launch(args, stream);
  ASSERT_TRUE(status.ok()) << status.message();

  const hgemm_descriptor_t& gemm = calls().descriptor;
  EXPECT_EQ(gemm.m, 48);
  EXPECT_EQ(gemm.n, 56);
  EXPECT_EQ(gemm.k, 64);
  EXPECT_EQ(gemm.batch_count, 3);
  EXPECT_EQ(gemm.input_type, HGEMM_FP16);
  EXPECT_EQ(gemm.output_type, HGEMM_FP32);
  EXPECT_EQ(gemm.bias, HGEMM_BIAS_PER_ROW);
  EXPECT_EQ(gemm.bias_type, HGEMM_FP32);
  EXPECT_EQ(gemm.bias_batch_stride, 0);
  EXPECT_EQ(gemm.activation, HGEMM_ACTIVATION_SILU);
  const auto expect_layout = [](const hgemm_matrix_layout_t& layout, hgemm_layout_t order,
                                std::int64_t leading_dimension, std::int64_t batch_stride,
                                std::int64_t alignment_bytes) {
    EXPECT_EQ(layout.order, order);
    EXPECT_EQ(layout.transposed, 0);
    EXPECT_EQ(layout.leading_dimension, leading_dimension);
    EXPECT_EQ(layout.batch_stride, batch_stride);
    EXPECT_EQ(layout.alignment_bytes, alignment_bytes);
  };
  expect_layout(gemm.a, HGEMM_ROW_MAJOR, 72, 48 * 72, 16);
  expect_layout(gemm.b, HGEMM_ROW_MAJOR, 80, 64 * 80, 16);
  expect_layout(gemm.c, HGEMM_ROW_MAJOR, 96, 48 * 96, 4);
  expect_layout(gemm.d, HGEMM_ROW_MAJOR, 88, 48 * 88, 16);

  EXPECT_EQ(calls().options.config, nullptr);
  EXPECT_EQ(calls().options.programmatic_dependent_launch, 1);
  EXPECT_EQ(calls().options.workspace_limit_bytes, 256U);

  const hgemm_operands_t& operands = calls().operands;
  EXPECT_EQ(operands.a, args.a);
  EXPECT_EQ(operands.b, args.b);
  EXPECT_EQ(operands.c, args.c);
  EXPECT_EQ(operands.d, args.d);
  EXPECT_EQ(operands.bias, args.bias);
  EXPECT_EQ(operands.alpha, 2);
  EXPECT_EQ(operands.beta, -0.5F);
  EXPECT_EQ(operands.workspace, args.workspace);
  EXPECT_EQ(operands.workspace_bytes, 256U);
  EXPECT_EQ(calls().stream, stream);
}

TEST_F(OtherLibraryTest, ColumnMajorBIsSaidToBeThat) {
  EXPECT_TRUE(loaded()->launch(args_at({48, 56, 64}), nullptr).ok());
  EXPECT_EQ(calls().descriptor.b.order, HGEMM_COLUMN_MAJOR);
}

TEST_F(OtherLibraryTest, ColumnMajorAIsSaidToBeThat) {
  const std::unique_ptr<OtherLibrary> library = loaded();
  GemmArgs args = args_at({48, 56, 64});
  args.batch_count = 3;
  EXPECT_TRUE(library->launch(args, nullptr).ok());
  EXPECT_EQ(calls().descriptor.a.order, HGEMM_ROW_MAJOR);
  const int plans_made = calls().plans_made;
  args.a_layout = Layout::ColumnMajor;
  EXPECT_TRUE(library->launch(args, nullptr).ok());
  EXPECT_EQ(calls().plans_made, plans_made + 1) << "it is another problem";
  EXPECT_EQ(calls().descriptor.a.order, HGEMM_COLUMN_MAJOR);
  EXPECT_EQ(calls().descriptor.a.leading_dimension, 72);
  EXPECT_EQ(calls().descriptor.a.batch_stride, 64 * 72);
}

TEST_F(OtherLibraryTest, PlansAProblemThatComesAgainOnce) {
  std::unique_ptr<OtherLibrary> library = loaded();
  const fake_calls_t before = calls();
  GemmArgs args = args_at({48, 56, 64});
  std::string config;
  EXPECT_TRUE(library->choose(args, &config).ok());
  EXPECT_EQ(config, "other_k64");
  for (int run = 0; run < 3; ++run) EXPECT_TRUE(library->launch(args, nullptr).ok());
  EXPECT_EQ(calls().plans_made, before.plans_made + 1);
  EXPECT_EQ(calls().runs, before.runs + 3);
  args.a = memory_ + 2;  // less aligned
  EXPECT_TRUE(library->launch(args, nullptr).ok());
  args.workspace_bytes = 0;
  EXPECT_TRUE(library->launch(args, nullptr).ok());
  EXPECT_EQ(calls().plans_made, before.plans_made + 3);
  library.reset();
  EXPECT_EQ(calls().plans_destroyed, calls().plans_made);
}

TEST_F(OtherLibraryTest, SaysWhatItRefuses) {
  const std::unique_ptr<OtherLibrary> library = loaded();
  GemmArgs args = args_at({48, 56, FAKE_LIBRARY_MAX_K + 8});
  args.lda = args.ldb = args.shape.k;
  std::string config;
  EXPECT_EQ(library->choose(args, &config).code(), StatusCode::Unsupported);
  const Status refusal = library->launch(args, nullptr);
  EXPECT_EQ(refusal.code(), StatusCode::Unsupported);
  EXPECT_EQ(refusal.message(), "K is too long for the fake");
  // No plan is left that a later run might take for its own.
  EXPECT_TRUE(library->launch(args_at({48, 56, 64}), nullptr).ok());
  args = args_at({48, 56, 64});
  args.alpha = 0;
  const Status failure = library->launch(args, nullptr);
  EXPECT_EQ(failure.code(), StatusCode::CudaError);
  EXPECT_EQ(failure.message(), "the fake fails");
  args.d = nullptr;
  EXPECT_EQ(library->launch(args, nullptr).code(), StatusCode::InvalidArgument);
}

}  // namespace
}  // namespace hopper_gemm
