#include "registry/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/launch.hpp"

namespace hopper_gemm {
namespace {

GemmArgs args_of(GemmShape shape) {
  const auto pointer = [](std::uintptr_t address) { return std::bit_cast<__nv_bfloat16*>(address); };
  const auto pitch = [](std::int64_t row) { return row + 8 - row % 8; };
  return {shape,          pointer(0x1000), pitch(shape.k), pointer(0x2000),
          pitch(shape.k), pointer(0x3000), pitch(shape.n)};
}

/// The operation that the kernel's ladder has, its operands aligned.
GemmArgs own_args_of(const KernelInfo& kernel, GemmShape shape) {
  GemmArgs args = args_of(shape);
  args.input_type = args.output_type = kernel.target.input_type;
  args.b_layout = kernel.target.b_layout;
  if (args.b_layout == Layout::RowMajor) args.ldb = args.ldd;
  return args;
}

TEST(Registry, HoldsTheLaddersOneAfterTheOther) {
  std::vector<std::string> versions;
  for (const KernelInfo& kernel : all_kernels()) versions.emplace_back(kernel.version);
  std::vector<std::string> expected;
  for (int i = 1; i <= 18; ++i) expected.push_back(std::to_string(i));
  for (int i = 1; i <= 6; ++i) expected.push_back("ampere." + std::to_string(i));
  for (int i = 1; i <= 8; ++i) expected.push_back("simt." + std::to_string(i));
  expected.emplace_back("best");
  EXPECT_EQ(versions, expected);
}

TEST(Registry, LaddersArePartsOfTheWhole) {
  const auto expect_part = [](std::span<const KernelInfo> ladder, std::string_view first,
                              std::string_view last) {
    EXPECT_EQ(ladder.front().version, first);
    EXPECT_EQ(ladder.back().version, last);
    EXPECT_EQ(find_kernel(first), &ladder.front());
    EXPECT_EQ(find_kernel(last), &ladder.back());
  };
  expect_part(hopper_ladder(), "1", "18");
  expect_part(ampere_ladder(), "ampere.1", "ampere.6");
  expect_part(simt_ladder(), "simt.1", "simt.8");
  EXPECT_EQ(hopper_ladder().size() + ampere_ladder().size() + simt_ladder().size() + 1, all_kernels().size());
}

TEST(Registry, EveryVersionOfEveryLadderIsDescribed) {
  for (const std::span<const KernelInfo> ladder : {hopper_ladder(), ampere_ladder(), simt_ladder()}) {
    std::set<std::string_view> names;
    std::set<std::string_view> ideas;
    for (const KernelInfo& kernel : ladder) {
      SCOPED_TRACE(kernel.version);
      EXPECT_TRUE(names.insert(kernel.name).second);
      EXPECT_TRUE(ideas.insert(kernel.idea).second);
      EXPECT_FALSE(kernel.name.empty());
      EXPECT_FALSE(kernel.idea.empty());
      EXPECT_NE(kernel.can_implement, nullptr);
      EXPECT_NE(kernel.launch, nullptr);
      EXPECT_EQ(find_kernel(kernel.version), &kernel);
      EXPECT_EQ(kernel.target.compute_capability, ladder.front().target.compute_capability);
      EXPECT_EQ(kernel.target.input_type, ladder.front().target.input_type);
    }
  }
}

TEST(Registry, SaysWhichGpusRunAKernel) {
  const KernelTarget hopper = find_kernel("1")->target;
  const KernelTarget ampere = find_kernel("ampere.1")->target;
  const KernelTarget simt = find_kernel("simt.1")->target;
  EXPECT_EQ(target_text(hopper), "sm_90");
  EXPECT_EQ(target_text(ampere), "sm_80 or newer");
  EXPECT_EQ(target_text(simt), "sm_75 or newer");
  EXPECT_EQ(sm_text({12, 1}), "sm_121");
  // sm_90a code is for this one alone.
  for (const ComputeCapability other : {ComputeCapability{7, 5}, {8, 9}, {9, 1}, {10, 0}}) {
    EXPECT_FALSE(runs_on(hopper, other)) << sm_text(other);
  }
  EXPECT_TRUE(runs_on(hopper, {9, 0}));
  EXPECT_FALSE(runs_on(ampere, {7, 5}));
  for (const ComputeCapability gpu : {ComputeCapability{8, 0}, {8, 6}, {9, 0}, {12, 0}}) {
    EXPECT_TRUE(runs_on(ampere, gpu)) << sm_text(gpu);
  }
  EXPECT_FALSE(runs_on(simt, {7, 0}));
  EXPECT_FALSE(runs_on(simt, {6, 9}));
  EXPECT_TRUE(runs_on(simt, {7, 5}));
  EXPECT_TRUE(runs_on(simt, {8, 0}));
}

TEST(Registry, MeasuresAKernelAtItsOwnOperation) {
  const GemmShape shape = {3, 5, 7};
  const auto problem_of = [&](std::string_view version, std::optional<DataType> type) {
    return canonical_problem(*find_kernel(version), shape, type, std::nullopt, std::nullopt);
  };
  const GemmProblem simt = problem_of("simt.3", std::nullopt);
  EXPECT_EQ(simt.shape, shape);
  EXPECT_EQ(simt.input_type, DataType::Float32);
  EXPECT_EQ(simt.output_type, DataType::Float32);
  EXPECT_EQ(simt.a_layout, Layout::RowMajor);
  EXPECT_EQ(simt.b_layout, Layout::RowMajor);
  EXPECT_EQ(simt.alpha, 1);
  EXPECT_EQ(simt.beta, 0);
  const GemmProblem ampere = problem_of("ampere.6", std::nullopt);
  EXPECT_EQ(ampere.input_type, DataType::BFloat16);
  EXPECT_EQ(ampere.a_layout, Layout::RowMajor);
  EXPECT_EQ(ampere.b_layout, Layout::ColumnMajor);
  const GemmProblem typed = problem_of("ampere.6", DataType::Float16);
  EXPECT_EQ(typed.input_type, DataType::Float16);
  EXPECT_EQ(typed.output_type, DataType::Float16);
  const auto b_of_best = [&](std::optional<DataType> type, std::optional<Layout> layout) {
    return canonical_problem(*find_kernel("best"), shape, type, std::nullopt, layout).b_layout;
  };
  EXPECT_EQ(b_of_best(std::nullopt, std::nullopt), Layout::ColumnMajor);
  EXPECT_EQ(b_of_best(std::nullopt, Layout::RowMajor), Layout::RowMajor);
  EXPECT_EQ(b_of_best(DataType::Float32, std::nullopt), Layout::RowMajor);
  EXPECT_EQ(b_of_best(DataType::Float32, Layout::ColumnMajor), Layout::ColumnMajor);
  for (const Layout layout : {Layout::RowMajor, Layout::ColumnMajor}) {
    const GemmProblem problem =
        canonical_problem(*find_kernel("best"), shape, std::nullopt, layout, std::nullopt);
    EXPECT_EQ(problem.a_layout, layout);
    EXPECT_EQ(problem.b_layout, Layout::ColumnMajor);
  }
}

TEST(Registry, EveryVersionOfEveryLadderSaysWhatItCannotDo) {
  for (const KernelInfo& kernel : all_kernels()) {
    SCOPED_TRACE(kernel.version);
    const auto refusal = [&](const GemmArgs& args) { return kernel.can_implement(args); };
    const GemmArgs own = own_args_of(kernel, {129, 257, 264});
    EXPECT_TRUE(refusal(own).ok()) << refusal(own).message();

    GemmArgs args = own;
    args.b_layout = own.b_layout == Layout::RowMajor ? Layout::ColumnMajor : Layout::RowMajor;
    args.ldb = 512;
    if (kernel.version == "best") {
      EXPECT_TRUE(refusal(args).ok()) << refusal(args).message();
    } else {
      EXPECT_EQ(refusal(args).code(), StatusCode::Unsupported);
      EXPECT_THAT(refusal(args).message(), testing::HasSubstr("B is "));
    }

    args = own;
    args.a_layout = Layout::ColumnMajor;
    if (kernel.version == "best") {
      EXPECT_TRUE(refusal(args).ok()) << refusal(args).message();
    } else {
      EXPECT_EQ(refusal(args).code(), StatusCode::Unsupported);
      EXPECT_THAT(refusal(args).message(), testing::HasSubstr("A is column-major"));
    }

    args = own;
    args.input_type = own.input_type == DataType::Float32 ? DataType::BFloat16 : DataType::Float32;
    EXPECT_EQ(refusal(args).code(), StatusCode::Unsupported);
    // Of fp32 inputs best's kernel finds fault with the layout of B, or with outputs of bf16.
    if (kernel.version != "best") {
      EXPECT_THAT(refusal(args).message(), testing::HasSubstr(to_string(args.input_type)));
    }

    args = own;
    args.shape.m = -1;
    EXPECT_EQ(refusal(args).code(), StatusCode::InvalidArgument);
    args = own;
    args.d = nullptr;
    EXPECT_EQ(refusal(args).code(), StatusCode::InvalidArgument);
    EXPECT_THAT(refusal(args).message(), testing::HasSubstr("D is a null pointer"));
    args = own;
    args.lda = 263;
    EXPECT_EQ(refusal(args).code(), StatusCode::InvalidArgument);
    EXPECT_THAT(refusal(args).message(), testing::HasSubstr("lda = 263"));

    args = own_args_of(kernel, {2147483647, 2147483647, 8});
    EXPECT_EQ(refusal(args).code(), StatusCode::Unsupported);
  }
}

// The general ones take what the others refuse.
TEST(Registry, GeneralVersionsTakeAnyShapeScaleAndAlignment) {
  for (const KernelInfo& kernel : all_kernels()) {
    const bool is_general =
        kernel.version == "ampere.6" || kernel.version == "best" || kernel.version.starts_with("simt.");
    SCOPED_TRACE(kernel.version);
    GemmArgs odd = own_args_of(kernel, {17, 19, 23});
    odd.lda = 25;
    odd.ldb = 27;
    odd.ldd = 21;
    EXPECT_EQ(kernel.can_implement(odd).ok(), is_general);
    GemmArgs scaled = own_args_of(kernel, {64, 64, 64});
    scaled.alpha = 2;
    scaled.beta = -2;
    scaled.c = scaled.d;
    scaled.ldc = scaled.ldd;
    EXPECT_EQ(kernel.can_implement(scaled).ok(), is_general);
    EXPECT_EQ(kernel.can_implement(own_args_of(kernel, {64, 64, 0})).ok(), is_general);
    EXPECT_EQ(kernel.can_implement(own_args_of(kernel, {0, 64, 64})).ok(), is_general);
    EXPECT_EQ(kernel.can_implement(own_args_of(kernel, {64, 0, 64})).ok(), is_general);
  }
}

TEST(Best, TakesWhatTheLibraryTakesAndFp32) {
  const KernelInfo& best = *find_kernel("best");
  EXPECT_EQ(target_text(best.target), "sm_80 or newer");
  for (const DataType input : {DataType::BFloat16, DataType::Float16}) {
    for (const DataType output : {DataType::BFloat16, DataType::Float16, DataType::Float32}) {
      for (const Layout a_layout : {Layout::RowMajor, Layout::ColumnMajor}) {
        for (const Layout b_layout : {Layout::RowMajor, Layout::ColumnMajor}) {
          GemmArgs args = own_args_of(best, {17, 19, 23});
          args.input_type = input;
          args.output_type = output;
          args.a_layout = a_layout;
          args.lda = a_layout == Layout::RowMajor ? 25 : 17;
          args.b_layout = b_layout;
          args.ldb = 27;
          args.beta = 0.5F;
          args.c = args.a;
          args.ldc = 19;
          EXPECT_TRUE(best.can_implement(args).ok()) << best.can_implement(args).message();
        }
      }
    }
  }
  EXPECT_TRUE(best.can_implement(own_args_of(*find_kernel("simt.8"), {64, 64, 64})).ok());
}

TEST(Best, SaysWhyNoKernelTakesTheOperands) {
  const KernelInfo& best = *find_kernel("best");
  GemmArgs args = own_args_of(*find_kernel("simt.8"), {64, 64, 64});
  args.b_layout = Layout::ColumnMajor;
  EXPECT_EQ(best.can_implement(args).code(), StatusCode::Unsupported);
  EXPECT_THAT(best.can_implement(args).message(), testing::HasSubstr("B is column-major"));
  args = own_args_of(*find_kernel("simt.8"), {64, 64, 64});
  args.a_layout = Layout::ColumnMajor;
  EXPECT_EQ(best.can_implement(args).code(), StatusCode::Unsupported);
  EXPECT_THAT(best.can_implement(args).message(),
              testing::HasSubstr("A is column-major, but the simt ladder takes a row-major A"));
  args = own_args_of(best, {2147483647, 1, 8});
  EXPECT_EQ(best.can_implement(args).code(), StatusCode::Unsupported);
  EXPECT_THAT(best.can_implement(args).message(), testing::HasSubstr("m is 2147483647"));
}

TEST(Registry, KThatTheStagesOvertakeIsRefused) {
  for (const KernelInfo& kernel : simt_ladder()) {
    SCOPED_TRACE(kernel.version);
    GemmArgs args = own_args_of(kernel, {8, 8, 2147483647});
    args.lda = args.shape.k;
    // Versions without tiles along K have nothing to round up.
    const Status status = kernel.can_implement(args);
    if (status.ok()) continue;
    EXPECT_EQ(status.code(), StatusCode::Unsupported);
    EXPECT_THAT(status.message(), testing::HasSubstr("K, rounded up to a multiple of"));
    args.shape.k = 2147483647 - 64;
    EXPECT_TRUE(kernel.can_implement(args).ok());
  }
}

TEST(Registry, VersionsCountUpFromOneAndNamesAreUnique) {
  std::set<std::string_view> names;
  int expected = 1;
  for (const KernelInfo& kernel : hopper_ladder()) {
    EXPECT_EQ(kernel.version, std::to_string(expected++));
    EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
    EXPECT_FALSE(kernel.idea.empty());
    EXPECT_EQ(kernel.target.compute_capability, (ComputeCapability{9, 0}));
    EXPECT_FALSE(kernel.target.or_newer);
    EXPECT_EQ(find_kernel(kernel.version), &kernel);
  }
  EXPECT_GE(names.size(), 4U);
}

TEST(Registry, FindsNothingForUnknownVersions) {
  EXPECT_EQ(find_kernel("99"), nullptr);
  EXPECT_EQ(find_kernel(""), nullptr);
  EXPECT_EQ(find_kernel("01"), nullptr);
}

TEST(Registry, EveryVersionSaysWhatItCannotDo) {
  for (const KernelInfo& kernel : hopper_ladder()) {
    SCOPED_TRACE(kernel.name);
    EXPECT_TRUE(kernel.can_implement(args_of({129, 257, 264})).ok());
    EXPECT_EQ(kernel.can_implement(args_of({64, 64, 12})).code(), StatusCode::Unsupported);
    EXPECT_EQ(kernel.can_implement(args_of({0, 64, 64})).code(), StatusCode::InvalidArgument);
    EXPECT_EQ(kernel.can_implement(args_of({2147483647, 2147483647, 8})).code(), StatusCode::Unsupported);
  }
}

// The same refusals come from launch, before anything touches a GPU.
TEST(Registry, LaunchRefusesWhatCanImplementRefuses) {
  for (const KernelInfo& kernel : hopper_ladder()) {
    EXPECT_EQ(kernel.launch(args_of({64, 64, 12}), nullptr).code(), StatusCode::Unsupported);
  }
  for (const KernelInfo& kernel : all_kernels()) {
    SCOPED_TRACE(kernel.version);
    GemmArgs args = own_args_of(kernel, {64, 64, 64});
    args.a = nullptr;
    EXPECT_EQ(kernel.launch(args, nullptr).code(), StatusCode::InvalidArgument);
    args = own_args_of(kernel, {64, 64, 64});
    if (kernel.version == "best") continue;  // takes any layout
    args.b_layout = args.b_layout == Layout::RowMajor ? Layout::ColumnMajor : Layout::RowMajor;
    EXPECT_EQ(kernel.launch(args, nullptr).code(), StatusCode::Unsupported);
    args = own_args_of(kernel, {64, 64, 64});
    args.a_layout = Layout::ColumnMajor;
    EXPECT_EQ(kernel.launch(args, nullptr).code(), StatusCode::Unsupported);
  }
}

TEST(CeilDiv, RoundsUpAndDoesNotOverflow) {
  constexpr int kMax = std::numeric_limits<int>::max();
  EXPECT_EQ(ceil_div(0, 64), 0);
  EXPECT_EQ(ceil_div(1, 64), 1);
  EXPECT_EQ(ceil_div(64, 64), 1);
  EXPECT_EQ(ceil_div(65, 64), 2);
  EXPECT_EQ(ceil_div(kMax, 64), 33554432);
  EXPECT_EQ(ceil_div(kMax, 1), kMax);
}

TEST(TileGrid, CountsPartialTiles) {
  EXPECT_EQ(tile_grid({129, 257, 8}, 128, 256).x, 4U);
  EXPECT_EQ(tile_grid({1, 1, 8}, 128, 256).x, 1U);
  EXPECT_EQ(tile_grid({1, std::numeric_limits<int>::max(), 8}, 64, 64).x, 33554432U);
}

TEST(TileGrid, RefusesMoreTilesThanAGridHolds) {
  const Status status = check_tile_grid({2147483647, 2147483647, 8}, 64, 64);
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_THAT(status.message(), testing::HasSubstr("1125899906842624 tiles of 64x64"));
}

// Row and column numbers are 32-bit in the kernels, in the part of a tile that lies outside of D too.
TEST(TileGrid, RefusesTilesThatReachBeyondAnInt) {
  EXPECT_TRUE(check_tile_grid({2147483392, 8, 8}, 256, 256).ok());
  EXPECT_EQ(check_tile_grid({2147483393, 8, 8}, 256, 256).code(), StatusCode::Unsupported);
  EXPECT_TRUE(check_tile_grid({8, 2147483392, 8}, 256, 256).ok());
  EXPECT_EQ(check_tile_grid({8, 2147483393, 8}, 256, 256).code(), StatusCode::Unsupported);
}

}  // namespace
}  // namespace hopper_gemm
