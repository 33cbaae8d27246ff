// matmul on the emulator, on a machine without a GPU: with kernels that fail in one way each, and a real one.

#include "cli/emulated_run.hpp"

#include <cuda_bf16.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "benchmark/shapes.hpp"
#include "cli/app.hpp"
#include "common/gemm_args.hpp"
#include "emulator/emulated_ladder.hpp"
#include "test_support.hpp"
#include "verify/check.hpp"
#include "verify/element.cuh"
#include "verify/reference.hpp"

namespace hopper_gemm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

/// What a fake kernel was launched with.
struct Launch {
  GemmShape shape;
  bool integers;
  std::vector<float> a;  // of its first row
};
std::vector<Launch> launches;
/// Called by the fake version 2 after it has computed the right result.
std::function<Status(const GemmArgs&)> fault;

Status compute(const GemmArgs& args) {
  const auto [m, n, k] = args.shape;
  Launch launch{args.shape, true, {}};
  for (int i = 0; i < k; ++i) {
    launch.a.push_back(static_cast<float>(load_element(args.a, args.input_type, i)));
    launch.integers = launch.integers && launch.a.back() == std::round(launch.a.back());
  }
  launches.push_back(launch);
  std::vector<double> ref(static_cast<std::size_t>(m) * static_cast<std::size_t>(n));
  reference_gemm_host(args, ref.data());
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t col = 0; col < n; ++col) {
      args.d_as<__nv_bfloat16>()[row * args.ldd + col] =
          __double2bfloat16(ref[static_cast<std::size_t>(row * n + col)]);
    }
  }
  return {};
}

Status launch_right(const GemmArgs& args, cudaStream_t) { return compute(args); }
Status launch_faulty(const GemmArgs& args, cudaStream_t) {
  HG_RETURN_IF_ERROR(compute(args));
  return fault ? fault(args) : Status();
}

constexpr KernelTarget kHopperTarget = {{9, 0}, false, DataType::BFloat16, Layout::ColumnMajor};

constexpr std::array kFakes = {
    KernelInfo{"1", "right", "", kHopperTarget, check_tma_gemm, launch_right},
    KernelInfo{"2", "faulty", "", kHopperTarget, check_tma_gemm, launch_faulty},
    KernelInfo{"3", "right_too", "", kHopperTarget, check_tma_gemm, launch_right},
};

class NoGpuPlatform : public Platform {
 public:
  std::span<const KernelInfo> kernels() override { return ladder_; }
  std::span<const KernelInfo> emulated_kernels() override { return ladder_; }
  Status query_device(DeviceInfo* device) override {
    *device = h200();
    return query_status_;
  }
  Status check_tensor_map_support() override { return tensor_map_status_; }
  Status open_nvml(const DeviceInfo&, std::unique_ptr<Nvml>*) override { return unsupported("no NVML"); }
  std::int64_t required_bytes(const GemmProblem&, std::int64_t, bool) override { return 0; }
  Status probe(const ProbeRequest&, ProbeReport*) override {
    ADD_FAILURE() << "a probe of the GPU";
    return unsupported("no GPU");
  }
  Status open_session(const SessionRequest&, std::unique_ptr<Session>*) override {
    ADD_FAILURE() << "a session on the GPU";
    return unsupported("no GPU");
  }

  std::span<const KernelInfo> ladder_ = kFakes;
  Status query_status_ = unsupported("no NVIDIA GPU is visible to CUDA; type `./matmul list`");
  Status tensor_map_status_;
};

class EmulatedRunTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    launches.clear();
    fault = nullptr;
  }

  int run(std::vector<const char*> arguments, bool terminal = false) {
    arguments.insert(arguments.begin(), "matmul");
    launches.clear();
    out_.str("");
    err_.str("");
    return run_matmul(static_cast<int>(arguments.size()), arguments.data(), platform_, out_, err_, terminal);
  }

  void expect_refused(const std::vector<const char*>& arguments, const std::vector<std::string>& parts) {
    EXPECT_EQ(run(arguments), kExitCannotRun);
    const std::string err = err_.str();
    EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
    EXPECT_THAT(err, StartsWith("matmul: "));
    for (const std::string& part : parts) EXPECT_THAT(err, HasSubstr(part));
    EXPECT_THAT(out_.str(), IsEmpty());
    EXPECT_THAT(launches, IsEmpty());
    EXPECT_EQ(files_in_folder(), 0U);
  }

  std::string line_of(const std::string& start) const {
    std::istringstream lines(out_.str());
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(start)) return line;
    }
    return "";
  }

  static std::vector<GemmShape> shapes_launched() {
    std::vector<GemmShape> shapes;
    shapes.reserve(launches.size());
    for (const Launch& launch : launches) shapes.push_back(launch.shape);
    return shapes;
  }

  NoGpuPlatform platform_;
  std::ostringstream out_;
  std::ostringstream err_;
};

// Which device.

TEST_F(EmulatedRunTest, WithoutAGpuItRunsOnTheEmulatorAndSaysWhy) {
  EXPECT_EQ(run({"all", "--shape", "8x8x8", "--seeds", "1"}), kExitOk);
  EXPECT_THAT(err_.str(),
              StartsWith("matmul: no NVIDIA GPU is visible to CUDA, so the same kernels run on the "
                         "emulator, which verifies them and gives no speeds\n"));
  EXPECT_EQ(launches.size(), 3U);
  EXPECT_THAT(out_.str(), HasSubstr("an emulated sm_90 GPU"));
}

TEST_F(EmulatedRunTest, AGpuThatCannotRunTheKernelsIsNone) {
  platform_.query_status_ = {};
  platform_.tensor_map_status_ = unsupported("the driver lacks cuTensorMapEncodeTiled; install driver 525");
  EXPECT_EQ(run({"1", "--shape", "8x8x8", "--seeds", "1"}), kExitOk);
  EXPECT_THAT(err_.str(), StartsWith("matmul: the driver lacks cuTensorMapEncodeTiled, so"));
}

TEST_F(EmulatedRunTest, AskedForItNeedsNoReason) {
  platform_.query_status_ = {};  // there is a GPU
  EXPECT_EQ(run({"1", "--device", "emulator", "--shape", "8x8x8", "--seeds", "1"}), kExitOk);
  EXPECT_THAT(err_.str(), Not(HasSubstr("matmul:")));
  EXPECT_EQ(launches.size(), 1U);
}

TEST_F(EmulatedRunTest, AskedForAGpuItRefuses) {
  expect_refused({"1", "--device", "gpu"}, {"no NVIDIA GPU is visible to CUDA; type `./matmul list`"});
}

// Refusals.

TEST_F(EmulatedRunTest, WhatMeasuresIsRefused) {
  const std::string file = folder_ / "results";
  const std::vector<std::vector<const char*>> options = {{"--mode", "both"},      {"--rounds", "3"},
                                                         {"--rest", "10"},        {"--no-verify"},
                                                         {"--csv", file.c_str()}, {"--json", file.c_str()}};
  for (const std::vector<const char*>& option : options) {
    std::vector<const char*> arguments = {"1"};
    arguments.insert(arguments.end(), option.begin(), option.end());
    const std::string name = option.front();
    expect_refused(arguments, {name + " was given", "since no NVIDIA GPU is visible to CUDA",
                               "gives no speeds", "leave " + name + " out"});
    arguments.insert(arguments.end(), {"--device", "emulator"});
    expect_refused(arguments,
                   {name + " was given", "runs on the emulator, which always verifies", "--device gpu"});
    EXPECT_THAT(err_.str(), Not(HasSubstr("since")));
  }
}

TEST_F(EmulatedRunTest, VersionsThatAreNoKernels) {
  for (const char* version : {"0", "ceiling", "0-0"}) {
    expect_refused({version, "--device", "emulator"},
                   {std::string("version ") + version, "on a GPU only", "all"});
    expect_refused({version, "1"}, {"since no NVIDIA GPU"});
  }
  EXPECT_EQ(run({"0-1", "--shape", "8x8x8", "--seeds", "1"}), kExitOk);
  EXPECT_EQ(launches.size(), 1U);
}

TEST_F(EmulatedRunTest, ShapesThatTakeTooLong) {
  expect_refused({"1", "--size", "2048"},
                 {"too long for 2048x2048x2048", "8.6e+09", "2.1e+09", "--size 1280"});
  for (const char* shape :
       {"2147483647x1x8", "1x2147483647x8", "1x1x2147483640", "2147483647x2147483647x2147483640"}) {
    expect_refused({"1", "--shape", shape}, {std::string("too long for ") + shape});
  }
  expect_refused({"1", "--suite", "squares"}, {"too long for 2048x2048x2048"});
  static constexpr std::array kFp32 = {KernelInfo{"simt.1",
                                                  "single",
                                                  "",
                                                  {{7, 5}, true, DataType::Float32, Layout::RowMajor},
                                                  [](const GemmArgs& args) { return check_gemm(args); },
                                                  launch_right}};
  platform_.ladder_ = kFp32;
  expect_refused({"simt.1", "--size", "512"}, {"too long for 512x512x512 in fp32", "--size 256"});
}

TEST_F(EmulatedRunTest, ShapesThatEveryVersionRefuses) {
  expect_refused({"1-2", "--shape", "8x8x12"}, {"kernel 1 (right) cannot run 8x8x12", "type K = 8 or 16"});
}

TEST_F(EmulatedRunTest, TraceIsOfOneLaunch) {
  const std::string file = folder_ / "trace.json";
  const char* trace = file.c_str();
  expect_refused({"1", "--trace", trace},
                 {"one version at one shape", "1 versions at 0 shapes", "--shape 256x256x256"});
  expect_refused({"1-2", "--shape", "8x8x8", "--trace", trace},
                 {"2 versions at 1 shapes", "./matmul 1 --device"});
  expect_refused({"1", "--shape", "8x8x8", "--size", "8", "--size", "16", "--trace", trace}, {"at 2 shapes"});
  expect_refused({"1", "--shape", "8x8x8", "--seeds", "2", "--trace", trace},
                 {"--seeds asks for 2", "type --seeds 1"});
  const std::string missing = folder_ / "missing" / "trace.json";
  expect_refused({"1", "--shape", "8x8x8", "--trace", missing.c_str()}, {"--trace cannot write"});
}

TEST_F(EmulatedRunTest, VersionThatTheEmulatorLacks) {
  class Shorter : public NoGpuPlatform {
    std::span<const KernelInfo> emulated_kernels() override { return ladder_.first(2); }
  } platform;
  const char* const arguments[] = {"matmul", "3"};
  EXPECT_EQ(run_matmul(2, arguments, platform, out_, err_), kExitCannotRun);
  EXPECT_THAT(err_.str(), HasSubstr("version 3 is not compiled for the emulator"));
}

// Runs.

TEST_F(EmulatedRunTest, DefaultsAreSmallShapesAndTenSeeds) {
  EXPECT_EQ(run({"1", "--seed", "100"}), kExitOk);
  ASSERT_EQ(launches.size(), 40U);
  EXPECT_EQ(launches[0].shape, (GemmShape{256, 256, 256}));
  EXPECT_EQ(launches[39].shape, (GemmShape{520, 776, 328}));
  EXPECT_THAT(out_.str(), HasSubstr("integers and normal in turn, 10 seeds from 100\n"));
  EXPECT_THAT(line_of("1 right                129x257x136"), AllOf(HasSubstr("     10  verified")));
  for (std::size_t i = 0; i < launches.size(); ++i) EXPECT_EQ(launches[i].integers, i % 2 == 0) << i;
}

TEST_F(EmulatedRunTest, EveryVersionGetsTheDataOfItsSeed) {
  EXPECT_EQ(run({"1", "3", "--shape", "16x8x24", "--seed", "7", "--seeds", "3"}), kExitOk);
  ASSERT_EQ(launches.size(), 6U);
  const std::vector<Launch> all = launches;
  EXPECT_EQ(all[0].a, all[3].a);
  EXPECT_EQ(all[2].a, all[5].a);
  EXPECT_NE(all[0].a, all[2].a);
  EXPECT_EQ(run({"3", "--shape", "16x8x24", "--seed", "9", "--seeds", "1"}), kExitOk);
  EXPECT_EQ(launches[0].a, all[5].a);
}

TEST_F(EmulatedRunTest, SeedsStayAmongThoseThatCanBeTyped) {
  EXPECT_EQ(run({"1", "--shape", "8x8x8", "--seed", "0", "--seeds", "1"}), kExitOk);
  const std::vector<float> first = launches[0].a;
  EXPECT_EQ(run({"1", "--shape", "8x8x8", "--seed", "4294967295", "--seeds", "2"}), kExitOk);
  EXPECT_EQ(launches[1].a, first);
}

TEST_F(EmulatedRunTest, DataCanBeChosen) {
  for (const auto& [name, integers] :
       {std::pair("integers", true), std::pair("normal", false), std::pair("uniform", false)}) {
    EXPECT_EQ(run({"1", "--size", "64", "--seeds", "4", "--data", name}), kExitOk);
    for (const Launch& launch : launches) EXPECT_EQ(launch.integers, integers) << name;
    EXPECT_THAT(out_.str(), HasSubstr(fmt::format("inputs  {}, 4 seeds", name)));
  }
}

TEST_F(EmulatedRunTest, ShapeThatAVersionRefusesSaysSoInItsRow) {
  EXPECT_EQ(run({"1", "--shape", "8x8x12", "--shape", "8x8x16", "--seeds", "1"}), kExitOk);
  EXPECT_THAT(line_of("1 right                8x8x12"), HasSubstr("kernel 1 (right) cannot run 8x8x12: K"));
  EXPECT_THAT(shapes_launched(), ElementsAre(GemmShape{8, 8, 16}));
}

TEST_F(EmulatedRunTest, AWrongElementFailsAndSaysHowToSeeItAgain) {
  fault = [](const GemmArgs& args) -> Status {
    if (launches.size() == 3) args.d_as<__nv_bfloat16>()[2 * args.ldd + 1] = __float2bfloat16(1000.0F);
    return {};
  };
  EXPECT_EQ(run({"2", "3", "--shape", "129x257x136", "--shape", "8x8x8", "--seed", "122"}), kExitWrongKernel);
  EXPECT_THAT(line_of("2 faulty               129x257x136"), HasSubstr("      3  WRONG"));
  EXPECT_THAT(
      out_.str(),
      AllOf(
          HasSubstr("\n    1 of 33153 elements are wrong (0 NaN); the first, D[2, 1], is 1000 and"),
          HasSubstr("(seed 124, integer data)\n"),
          HasSubstr("\n    again: ./matmul 2 --device emulator --shape 129x257x136 --seeds 1 --seed 124\n")));
  EXPECT_THAT(line_of("2 faulty               8x8x8"), HasSubstr("     10  verified"));
  EXPECT_THAT(line_of("3 right_too            129x257x136"), HasSubstr("     10  verified"));
  EXPECT_EQ(launches.size(), 33U);
}

TEST_F(EmulatedRunTest, SmallErrorsAreFoundOnEitherKindOfData) {
  // Five roundings to bf16, or less than one in a sum of integers.
  for (const char* data : {"integers", "normal"}) {
    fault = [](const GemmArgs& args) -> Status {
      __nv_bfloat16& element = args.d_as<__nv_bfloat16>()[5 * args.ldd + 3];
      const float value = __bfloat162float(element);
      element = __float2bfloat16(value * 1.02F + std::copysign(0.05F, value));
      return {};
    };
    EXPECT_EQ(run({"2", "--size", "64", "--seeds", "1", "--data", data}), kExitWrongKernel);
    EXPECT_THAT(out_.str(), AllOf(HasSubstr("D[5, 3]"), HasSubstr(fmt::format(" --data {}\n", data))));
  }
}

TEST_F(EmulatedRunTest, AnElementThatNobodyWroteFails) {
  fault = [](const GemmArgs& args) -> Status {
    args.d_as<__nv_bfloat16>()[args.ldd * 7 + 7] = std::bit_cast<__nv_bfloat16>(kPoison);
    return {};
  };
  EXPECT_EQ(run({"2", "--size", "8", "--seeds", "1"}), kExitWrongKernel);
  EXPECT_THAT(out_.str(), HasSubstr("1 of 64 elements are wrong (1 NaN)"));
}

TEST_F(EmulatedRunTest, WritingOutsideOfDFails) {
  fault = [](const GemmArgs& args) -> Status {
    args.d_as<__nv_bfloat16>()[3 * args.ldd + args.shape.n] = __float2bfloat16(0.0F);
    return {};
  };
  EXPECT_EQ(run({"2", "--shape", "8x12x8", "--seeds", "1"}), kExitWrongKernel);
  EXPECT_THAT(out_.str(),
              HasSubstr("1 elements outside of D were overwritten, the first in the padding of row 3, "
                        "in column 12"));
  fault = [](const GemmArgs& args) -> Status {
    args.d_as<__nv_bfloat16>()[-200] = args.d_as<__nv_bfloat16>()[-199] = __float2bfloat16(0.0F);
    return {};
  };
  EXPECT_EQ(run({"2", "--shape", "8x12x8", "--seeds", "1"}), kExitWrongKernel);
  EXPECT_THAT(out_.str(),
              HasSubstr("2 elements outside of D were overwritten, the first 200 elements in front"));
}

TEST_F(EmulatedRunTest, OperandsArePaddedWithNaN) {
  fault = [](const GemmArgs& args) -> Status {
    EXPECT_EQ(args.lda, 24 + 8);
    EXPECT_GT(args.ldb, 24);
    EXPECT_GT(args.ldd, 12);
    EXPECT_TRUE(std::isnan(load_element(args.a, args.input_type, args.lda - 1)));
    EXPECT_TRUE(std::isnan(load_element(args.a, args.input_type, 24)));
    EXPECT_TRUE(std::isnan(load_element(args.b, args.input_type, args.ldb + 24)));
    return {};
  };
  EXPECT_EQ(run({"2", "--shape", "8x12x24", "--seeds", "2"}), kExitOk);
}

TEST_F(EmulatedRunTest, OperandsLieAsAskedFor) {
  static constexpr std::array kAnyLayout = {KernelInfo{"2", "any_layout", "", kHopperTarget,
                                                       [](const GemmArgs& args) { return check_gemm(args); },
                                                       launch_faulty}};
  platform_.ladder_ = kAnyLayout;
  fault = [](const GemmArgs& args) -> Status {
    EXPECT_EQ(args.a_layout, Layout::ColumnMajor);
    EXPECT_EQ(args.b_layout, Layout::RowMajor);
    EXPECT_EQ(args.lda, 8 + 8);
    EXPECT_GT(args.ldb, 16);
    for (const std::int64_t k : {0, 22}) {
      EXPECT_FALSE(std::isnan(load_element(args.a, args.input_type, k * args.lda + 7)));
      EXPECT_TRUE(std::isnan(load_element(args.a, args.input_type, k * args.lda + 8)));
      EXPECT_TRUE(std::isnan(load_element(args.b, args.input_type, k * args.ldb + 12)));
    }
    EXPECT_FALSE(std::isnan(load_element(args.a, args.input_type, 23 * args.lda + 7)));
    return {};
  };
  EXPECT_EQ(run({"2", "--shape", "8x12x24", "--seeds", "2", "--a", "col", "--b", "row"}), kExitOk);
  EXPECT_EQ(launches.size(), 2U);
}

TEST_F(EmulatedRunTest, LaddersTakeARowMajorAAlone) {
  expect_refused({"1", "--size", "8", "--a", "col"},
                 {"kernel 1 (right) cannot run 8x8x8: A is column-major", "leave out --a"});
}

TEST_F(EmulatedRunTest, AFailedLaunchPrintsItsReport) {
  fault = [](const GemmArgs&) -> Status {
    return {StatusCode::CudaError, "deadlock: no thread can go on\n  thread 0 of CTA 1 waits"};
  };
  EXPECT_EQ(run({"1-3", "--size", "8", "--seeds", "5", "--seed", "40"}), kExitWrongKernel);
  EXPECT_THAT(line_of("2 faulty"), HasSubstr("      1  FAILED"));
  EXPECT_THAT(out_.str(),
              HasSubstr("\n    deadlock: no thread can go on\n      thread 0 of CTA 1 waits\n"
                        "    again: ./matmul 2 --device emulator --shape 8x8x8 --seeds 1 --seed 40\n"));
  EXPECT_EQ(launches.size(), 11U);
  EXPECT_EQ(
      run({"2", "--size", "8", "--seeds", "1", "--seed", "4", "--type", "bf16", "--a", "row", "--b", "col"}),
      kExitWrongKernel);
  EXPECT_THAT(out_.str(), HasSubstr("--shape 8x8x8 --seeds 1 --seed 4 --type bf16 --a row --b col\n"));
}

TEST_F(EmulatedRunTest, ProgressRewritesOneLineOfATerminalOnly) {
  EXPECT_EQ(run({"1", "--size", "8", "--seeds", "2", "--seed", "5", "--device", "emulator"}, true), kExitOk);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("\r\x1b[2K"), HasSubstr("1 8x8x8: seed 6 (2 of 2)")));
  EXPECT_THAT(out_.str(), Not(HasSubstr("\x1b")));
  EXPECT_EQ(run({"1", "--size", "8", "--seeds", "2", "--device", "emulator"}, false), kExitOk);
  EXPECT_EQ(err_.str(), "1 8x8x8: verifying with 2 seeds\n");
}

TEST_F(EmulatedRunTest, OutputThatCannotBeWrittenEndsTheRun) {
  std::ostringstream closed;
  closed.setstate(std::ios::badbit);
  const char* const arguments[] = {"matmul", "1"};
  EXPECT_EQ(run_matmul(2, arguments, platform_, closed, err_), kExitCannotRun);
  EXPECT_THAT(launches, IsEmpty());
}

// The real ladder.

class RealLadderTest : public EmulatedRunTest {
 protected:
  RealLadderTest() { platform_.ladder_ = emulator::emulated_kernels(); }
};

TEST_F(RealLadderTest, TheFirstAndTheLastVersionAreRight) {
  const std::string last(platform_.ladder_.back().version);
  EXPECT_EQ(run({"1", last.c_str(), "--size", "64", "--seeds", "4", "--seed", "1"}), kExitOk) << out_.str();
  EXPECT_THAT(line_of("1 tma_wgmma"), HasSubstr("      4  verified"));
  EXPECT_THAT(line_of(last), HasSubstr("      4  verified"));
}

TEST_F(RealLadderTest, TheSameSeedIsTheSameRun) {
  // All but the seconds, which come last.
  const auto result = [this](const char* seed) {
    EXPECT_EQ(run({"1", "--size", "64", "--seeds", "1", "--seed", seed}), kExitOk);
    const std::string line = line_of("1 tma_wgmma");
    return line.substr(0, line.find_last_of(' '));
  };
  const std::string first = result("17");
  EXPECT_EQ(result("17"), first);
  EXPECT_NE(result("18"), first);
}

TEST_F(RealLadderTest, TraceIsATimeline) {
  const std::string file = folder_ / "trace.json";
  EXPECT_EQ(run({"1", "--size", "64", "--trace", file.c_str()}), kExitOk) << err_.str();
  std::ifstream stream(file);
  const nlohmann::json trace = nlohmann::json::parse(stream);
  EXPECT_GT(trace.at("traceEvents").size(), 5U);
  EXPECT_THAT(out_.str(), HasSubstr("1 seed: "));
}

TEST_F(RealLadderTest, AWriteBehindDIsReportedByTheEmulator) {
  // The last row of D has no padding: a kernel that writes 16 bytes too far leaves the allocation there.
  static KernelInfo widened;
  widened = platform_.ladder_.front();
  widened.launch = [](const GemmArgs& args, cudaStream_t stream) {
    GemmArgs wrong = args;
    wrong.d = args.d_as<__nv_bfloat16>() + kTmaAlignmentElems;
    return emulator::emulated_kernels().front().launch(wrong, stream);
  };
  platform_.ladder_ = {&widened, 1};
  EXPECT_EQ(run({"1", "--size", "64", "--seeds", "1", "--seed", "3"}), kExitWrongKernel);
  EXPECT_THAT(line_of("1 tma_wgmma"), HasSubstr("FAILED"));
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("outside of every allocation"), HasSubstr("v01_tma_wgmma.cu:")));
  EXPECT_THAT(out_.str(), Not(HasSubstr("cudaLaunchKernelEx")));
  EXPECT_THAT(out_.str(),
              EndsWith("again: ./matmul 1 --device emulator --shape 64x64x64 --seeds 1 --seed 3\n"));
}

}  // namespace
}  // namespace hopper_gemm
