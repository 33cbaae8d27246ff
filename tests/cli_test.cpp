#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "benchmark/operand_buffers.hpp"
#include "benchmark/operation.hpp"
#include "benchmark/shapes.hpp"
#include "benchmark/tuning.hpp"
#include "cli/app.hpp"
#include "cli/options.hpp"
#include "cli/refusal.hpp"
#include "common/tile_config_name.hpp"
#include "emulator/emulated_ladder.hpp"
#include "test_support.hpp"

namespace hopper_gemm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

Status takes_multiples_of_8(const GemmArgs& args) {
  if (args.shape.k % 8 == 0) return {};
  return unsupported("K must be a multiple of 8");
}

Status never_launched(const GemmArgs&, cudaStream_t) {
  return unsupported("the fake session launches nothing");
}

constexpr KernelTarget kHopper = {{9, 0}, false, DataType::BFloat16, Layout::ColumnMajor};

constexpr KernelTarget kAmpere = {{8, 0}, true, DataType::BFloat16, Layout::ColumnMajor};

constexpr std::array kLadder = {
    KernelInfo{"1", "first", "the first idea", kHopper, takes_multiples_of_8, never_launched},
    KernelInfo{"2", "second", "the second idea", kHopper, takes_multiples_of_8, never_launched},
    KernelInfo{"3", "third", "the third idea", kHopper, takes_multiples_of_8, never_launched},
    KernelInfo{"4", "fourth", "the fourth idea", kHopper, takes_multiples_of_8, never_launched},
};

constexpr std::array kMixed = {
    KernelInfo{"1", "first", "the first idea", kHopper, takes_multiples_of_8, never_launched},
    KernelInfo{"ampere.1", "second", "the second idea", kAmpere, takes_multiples_of_8, never_launched},
    KernelInfo{"simt.1",
               "third",
               "the third idea",
               {{7, 5}, true, DataType::Float32, Layout::RowMajor},
               takes_multiples_of_8,
               never_launched},
};

constexpr TileConfig small_tile(int stages) {
  return {.block_m = 64,
          .block_n = 64,
          .block_k = 32,
          .warp_m = 32,
          .warp_n = 32,
          .thread_m = 0,
          .thread_n = 0,
          .stages = stages,
          .band_m = 8};
}

constexpr std::array kConfigs = {small_tile(2), small_tile(3), small_tile(4)};

/// What the fake tunable version was launched with.
std::vector<std::string> launched_configs;

std::vector<std::string> config_names() {
  return {to_string(kConfigs[0]), to_string(kConfigs[1]), to_string(kConfigs[2])};
}

constexpr TuningSpace kTuning = {
    .configs = [](const GemmArgs&) { return config_names(); },
    .has_config =
        [](const std::string& config) {
          const std::vector<std::string> names = config_names();
          return std::find(names.begin(), names.end(), config) != names.end();
        },
    .launch = [](const std::string& config, const GemmArgs&, cudaStream_t) -> Status {
      launched_configs.push_back(config);
      return {};
    }};

constexpr std::array kTunable = {
    KernelInfo{"1", "first", "the first idea", kHopper, takes_multiples_of_8, never_launched},
    KernelInfo{"2", "second", "the second idea", kHopper, takes_multiples_of_8, never_launched, &kTuning},
    KernelInfo{"3", "third", "the third idea", kHopper, takes_multiples_of_8, never_launched, &kTuning},
};

/// What the fake GPU does wrong.
struct Faults {
  std::string wrong_version;    ///< verification finds this version wrong
  std::string wrong_variant;    ///< likewise a variant of the baseline, or a configuration
  std::string refused_variant;  ///< a configuration that does not run here
  std::string failing_version;  ///< sampling it fails with `failure`
  GemmShape failing_shape{};    ///< only at this shape; everywhere if that is empty
  StatusCode failure = StatusCode::Timeout;
  Status open_status;    ///< what open_session returns
  Status verify_status;  ///< what verify returns
};

/// Launches of version v take (10 - v) us; cublasGemmEx 8 us, cublasLt 7 us in burst and 9 us sustained; CUTLASS's
/// large tile 6 us, its small one 7 us; best 4 us, the other build of the library 5 us in burst and 3.2 us sustained.
/// The second configuration is the fastest in burst, by half a microsecond. The third one is the fastest sustained.
class FakeSession : public Session {
 public:
  /// `marked`: what profile() was called for is appended there.
  FakeSession(const SessionRequest& request, const Faults& faults, std::vector<std::string>* marked)
      : faults_(faults), shape_(request.problem.shape), marked_(marked) {
    const double flops = gemm_flops(request.problem.shape);
    if (request.baselines) {
      contestants_.push_back({.version = "0", .variant = "cublasGemmEx", .flops = flops});
      contestants_.push_back({.version = "0", .variant = "cublasLt #3", .flops = flops});
    }
    for (const SessionKernel& kernel : request.kernels) {
      contestants_.push_back({.version = kernel.version, .variant = kernel.variant, .flops = flops});
    }
    if (request.cutlass) {
      contestants_.push_back({.version = "cutlass", .variant = "small tile", .flops = flops});
      contestants_.push_back({.version = "cutlass", .variant = "large tile", .flops = flops});
    }
    if (request.baselines) {
      contestants_.push_back({.version = "ceiling", .variant = "", .flops = flops, .verifiable = false});
    }
  }

  std::span<const SessionContestant> contestants() const override { return contestants_; }

  Status verify(std::vector<ContestantVerdict>* verdicts) override {
    verdicts->clear();
    for (const SessionContestant& contestant : contestants_) {
      const bool wrong = contestant.version == faults_.wrong_version ||
                         (!contestant.variant.empty() && contestant.variant == faults_.wrong_variant);
      ContestantVerdict verdict{.verdict = contestant.verifiable ? Verdict::Verified : Verdict::NotChecked,
                                .detail = ""};
      if (wrong) verdict = {Verdict::Wrong, "3 elements are wrong"};
      if (!contestant.variant.empty() && contestant.variant == faults_.refused_variant)
        verdict = {Verdict::Refused, "integer data: too little shared memory"};
      verdicts->push_back(verdict);
    }
    return faults_.verify_status;
  }

  Status prepare(std::span<const std::size_t> contestants) override {
    prepared_.assign(contestants.begin(), contestants.end());
    return {};
  }

  Status sample(std::size_t contestant, Mode mode, Sample* sample) override {
    EXPECT_NE(std::find(prepared_.begin(), prepared_.end(), contestant), prepared_.end())
        << "sampled unprepared";
    const SessionContestant& now = contestants_[contestant];
    const bool fails_here = faults_.failing_shape == GemmShape{} || faults_.failing_shape == shape_;
    if (now.version == faults_.failing_version && fails_here)
      return {faults_.failure, "kernel " + now.version + " fails"};
    sample->seconds = microseconds(now, mode) * 1e-6;
    return {};
  }

  Status profile(std::size_t contestant, Mode mode) override {
    const SessionContestant& now = contestants_[contestant];
    if (now.version == faults_.failing_version) return {faults_.failure, "kernel " + now.version + " fails"};
    marked_->push_back(now.version + "|" + now.variant + "|" + std::string(to_string(mode)));
    return {};
  }

 private:
  static double microseconds(const SessionContestant& contestant, Mode mode) {
    if (contestant.version == "ceiling") return 5;
    if (contestant.version == "best") return 4;
    if (contestant.version == "against") return mode == Mode::Burst ? 5 : 3.2;
    if (contestant.version == "cutlass") return contestant.variant == "large tile" ? 6 : 7;
    if (contestant.variant == "cublasGemmEx") return 8;
    if (contestant.version == "0") return mode == Mode::Burst ? 7 : 9;
    const double version = std::stod(contestant.version.substr(contestant.version.rfind('.') + 1));
    const TileConfig& fastest = kConfigs[mode == Mode::Burst ? 1 : 2];
    return 10 - version - (contestant.variant == to_string(fastest) ? 0.5 : 0);
  }

  Faults faults_;
  GemmShape shape_;
  std::vector<std::string>* marked_;
  std::vector<SessionContestant> contestants_;
  std::vector<std::size_t> prepared_;
};

class FakePlatform : public Platform {
 public:
  std::span<const KernelInfo> kernels() override { return kernels_; }
  std::span<const KernelInfo> emulated_kernels() override { return emulated_kernels_; }
  bool has_cutlass() override { return has_cutlass_; }
  Status query_device(DeviceInfo* device) override {
    *device = device_;
    return query_status_;
  }
  Status check_tensor_map_support() override { return tensor_map_status_; }
  Status open_nvml(const DeviceInfo&, std::unique_ptr<Nvml>*) override {
    NvmlApi api;
    return load_nvml("libno-such-nvml.so.1", &api);
  }
  std::int64_t required_bytes(const GemmProblem& problem, std::int64_t l2_bytes, bool) override {
    return hopper_gemm::required_bytes(problem, l2_bytes);
  }
  Status probe(const ProbeRequest& request, ProbeReport* report) override {
    ++probes_;
    for (int i = 0; i < kNumProbeQuantities; ++i) {
      ProbeRow row{.quantity = static_cast<ProbeQuantity>(i), .readings = {}, .note = ""};
      for (int round = 0; round < request.rounds; ++round) {
        request.observer(round, names_of(row.quantity).title);
        row.readings.push_back({.value = 10.0 * i + round, .other_value = 2.0, .sm_clock_mhz = 1755});
      }
      report->rows.push_back(row);
      if (row.quantity == failing_quantity_ && !probe_status_.ok()) return probe_status_;
      if (row.quantity != failing_quantity_) continue;
      report->rows.back().readings.clear();
      report->rows.back().is_wrong = true;
      report->rows.back().note = "the walk ended elsewhere";
    }
    return {};
  }
  Status open_session(const SessionRequest& request, std::unique_ptr<Session>* session) override {
    ++sessions_;
    request_ = request;
    before_session_();
    if (!faults_.open_status.ok()) return faults_.open_status;
    *session = std::make_unique<FakeSession>(request, faults_, &marked_);
    return {};
  }

  std::span<const KernelInfo> kernels_ = kLadder;
  std::span<const KernelInfo> emulated_kernels_;
  bool has_cutlass_ = false;
  DeviceInfo device_ = h200();
  Status query_status_;
  Status tensor_map_status_;
  Faults faults_;
  std::function<void()> before_session_ = [] {};
  int sessions_ = 0;
  int probes_ = 0;
  std::optional<ProbeQuantity> failing_quantity_;  // it is wrong, or ends with probe_status_
  Status probe_status_;
  SessionRequest request_;           // of the latest session
  std::vector<std::string> marked_;  // for a profiler
};

class CliTest : public FolderTest {
 protected:
  int run(std::vector<const char*> arguments, bool terminal = false) {
    arguments.insert(arguments.begin(), "matmul");
    out_.str("");
    err_.str("");
    return run_matmul(static_cast<int>(arguments.size()), arguments.data(), platform_, out_, err_, terminal);
  }

  /// The command must be refused in one sentence that holds every one of `parts`, before anything was done.
  void expect_refused(const std::vector<const char*>& arguments, const std::vector<const char*>& parts) {
    EXPECT_EQ(run(arguments), kExitCannotRun);
    const std::string err = err_.str();
    EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
    EXPECT_THAT(err, ::testing::StartsWith("matmul: "));
    EXPECT_THAT(err, ::testing::EndsWith("\n"));
    for (const char* part : parts) EXPECT_THAT(err, HasSubstr(part));
    EXPECT_THAT(out_.str(), IsEmpty());
    EXPECT_EQ(platform_.sessions_, 0);
    EXPECT_EQ(platform_.probes_, 0);
    EXPECT_TRUE(fs::is_empty(folder_)) << "a file was left on disk";
  }

  std::string line_of(const std::string& start) const {
    std::istringstream lines(out_.str());
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(start)) return line;
    }
    return "";
  }

  static std::string read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  FakePlatform platform_;
  std::ostringstream out_;
  std::ostringstream err_;
};

// Bad input.

TEST_F(CliTest, UnknownVersionListsWhatThereIs) {
  expect_refused({"99"}, {"'99'", "0, 1-4, hopper, ceiling, cutlass and all", "`./matmul list`"});
  for (const char* version :
       {"best", "ampere.1", "simt.1", "-1", "01", "1,2", "4-9", "0-99", "x-3", "2-", "list2"}) {
    EXPECT_EQ(run({version}), kExitCannotRun) << version;
    EXPECT_THAT(out_.str(), IsEmpty()) << version;
  }
}

TEST_F(CliTest, UnknownVersionAmongKnownOnesRunsNothing) { expect_refused({"1", "99"}, {"'99'"}); }

TEST_F(CliTest, BackwardsRange) { expect_refused({"4-2"}, {"'4-2' runs backwards", "2-4"}); }

TEST_F(CliTest, WrongEnvironmentIsRefused) {
  platform_.kernels_ = all_kernels();
  for (const char* const value : {"cooperative_1x1", "best", "\033[31mred\n"}) {
    setenv("HGEMM_CONFIG", value, 1);
    expect_refused({"best", "--size", "1024"},
                   {"the environment variable HGEMM_CONFIG is '", "`./matmul tune best`", "unset it"});
    EXPECT_THAT(err_.str(), Not(HasSubstr("\033")));
  }
  EXPECT_EQ(run({"1", "--size", "1024"}), kExitOk) << "it is for best alone";
  for (const char* const value : {"", "wgmma", "pingpong", "mma_sync", "mma_sync_64x64x64_s4"}) {
    setenv("HGEMM_CONFIG", value, 1);
    const KernelInfo* const best = find_kernel("best");
    EXPECT_TRUE(check_environment({&best, 1}).ok()) << value;
  }
  unsetenv("HGEMM_CONFIG");
}

TEST_F(CliTest, NoExceptionLeaves) {
  platform_.before_session_ = [] { throw std::bad_alloc(); };
  EXPECT_EQ(run({"1"}), kExitCannotRun);
  EXPECT_THAT(err_.str(), HasSubstr("matmul: host memory ran out; end other programs"));
  platform_.before_session_ = [] { throw std::runtime_error("something else"); };
  EXPECT_EQ(run({"1"}), kExitCannotRun);
  EXPECT_THAT(err_.str(), HasSubstr("matmul: this cannot be done (something else)\n"));
}

TEST_F(CliTest, NoVersion) { expect_refused({}, {"no kernel version", "matmul list"}); }

TEST_F(CliTest, ListStandsAlone) {
  expect_refused({"1", "list"}, {"list was given together", "`./matmul list` alone"});
}

TEST_F(CliTest, BadShapes) {
  expect_refused({"1", "--shape", "0x1x1"}, {"--shape got '0' for M", "from 1 to 2147483647"});
  expect_refused({"1", "--shape", "-1x1x1"}, {"--shape got '-1' for M"});
  expect_refused({"1", "--shape", "axbxc"}, {"--shape got 'a' for M"});
  expect_refused({"1", "--shape", "8x8"}, {"--shape got '8x8'", "MxNxK"});
  expect_refused({"1", "--shape", "2147483648x1x1"}, {"--shape got '2147483648' for M", "2147483647"});
  expect_refused({"1", "--size", "99999999999999999999999"}, {"--size got '99999999999999999999999'"});
  expect_refused({"1", "--size=-5"}, {"--size got '-5'", "type for example --size 8192"});
  expect_refused({"1", "--size", "8192x8192"}, {"--size got '8192x8192'", "--shape"});
  expect_refused({"1", "--suite", "cubes"},
                 {"--suite got 'cubes'",
                  "squares, llm, ragged, library, long_k, ragged_k, epilogues, gated, batches and random"});
}

TEST_F(CliTest, BadOptionValues) {
  expect_refused({"1", "--mode", "slow"}, {"--mode got 'slow'", "burst, sustained and both"});
  expect_refused({"1", "--data", "zeros"}, {"--data got 'zeros'", "normal, uniform and integers"});
  expect_refused({"1", "--rounds", "0"},
                 {"--rounds got '0'", "from 1 to 1000", "type for example --rounds 7"});
  expect_refused({"1", "--rest", "1001"},
                 {"--rest got '1001'", "from 0 to 1000", "type for example --rest 50"});
  expect_refused({"1", "--seed", "abc"}, {"--seed got 'abc'", "type for example --seed 42"});
  expect_refused({"1", "--a", "tiled"}, {"--a got 'tiled'", "row and col"});
  expect_refused({"1", "--b", "tiled"}, {"--b got 'tiled'", "row and col"});
  expect_refused({"1", "--device", "tpu"}, {"--device got 'tpu'", "gpu and emulator"});
  for (const char* seeds : {"0", "1000001", "-1", "many"}) {
    expect_refused({"1", "--device", "emulator", "--seeds", seeds},
                   {"--seeds got '", seeds, "from 1 to 1000000", "type for example --seeds 10"});
  }
}

TEST_F(CliTest, OptionsOfTheEmulatorOnAGpu) {
  const std::string trace = folder_ / "trace.json";
  for (const std::vector<const char*>& device :
       {std::vector<const char*>{"1"}, std::vector<const char*>{"1", "--device", "gpu"}}) {
    std::vector<const char*> seeds = device;
    seeds.insert(seeds.end(), {"--seeds", "3"});
    expect_refused(seeds, {"--seeds was given", "on the GPU", "type --device emulator", "leave --seeds out"});
    std::vector<const char*> traced = device;
    traced.insert(traced.end(), {"--trace", trace.c_str()});
    expect_refused(traced, {"--trace was given", "type --device emulator"});
  }
}

TEST_F(CliTest, EmptyOptionValues) {
  for (const char* option :
       {"--csv", "--json", "--seed", "--size", "--shape", "--mode", "--device", "--seeds", "--trace"}) {
    expect_refused({"1", option, ""}, {option, "got ''", "type --"});
  }
}

TEST_F(CliTest, UnknownOptionListsWhatThereIs) {
  expect_refused({"1", "--sise", "8"},
                 {"no option '--sise'", "--size, --shape", "--csv, --json", "`./matmul --help`"});
  expect_refused({"1", "--sms", "4"}, {"no option '--sms'", "--device", "--seeds, --trace"});
}

TEST_F(CliTest, OptionsWithTooFewOrTooManyValues) {
  expect_refused({"1", "--csv"}, {"--csv got nothing", "type --csv FILE"});
  expect_refused({"1", "--csv", "--json", "x"}, {"--csv got '--json'", "type --csv FILE"});
  expect_refused({"1", "--csv", "x", "--csv", "y"}, {"--csv was given 2 times", "type it once"});
  expect_refused({"1", "--no-verify=3"}, {"--no-verify got a value", "type --no-verify alone"});
}

TEST_F(CliTest, ListTakesNoOptions) {
  expect_refused({"list", "--csv", "x"}, {"--csv was given together with list", "`./matmul list` alone"});
  expect_refused({"list", "--no-verify"}, {"--no-verify was given together with list"});
}

TEST_F(CliTest, ArgumentsWithLineBreaksStayOnOneLine) {
  expect_refused({"1\n2"}, {"'1 2'"});
  expect_refused({"1", "--mode", "a\r\nb\x1b[2J"}, {"'a  b [2J'"});
}

TEST_F(CliTest, UnwritableFiles) {
  const std::string missing = folder_ / "missing" / "results.csv";
  expect_refused({"1", "--csv", missing.c_str()}, {"--csv cannot write", "No such file or directory"});
  expect_refused({"1", "--csv", folder_.c_str()}, {"--csv cannot write", "neither a regular file nor"});
}

TEST_F(CliTest, PipesGetTheWholeReportOnce) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string text;
  std::thread reader([&] { text = read(pipe); });
  EXPECT_EQ(run({"1", "--size", "1024", "--size", "2048", "--json", pipe.c_str()}), kExitOk) << err_.str();
  reader.join();
  EXPECT_EQ(nlohmann::json::parse(text).back()["m"], 2048);
}

// What a run that is cut off leaves: a file for each shape that was finished.
TEST_F(CliTest, FilesHoldWhatIsFinished) {
  const std::string csv = folder_ / "results.csv";
  const std::string json = folder_ / "results.json";
  const std::string html = folder_ / "results.html";
  int sessions = 0;
  platform_.before_session_ = [&] {
    if (++sessions == 2) {
      for (const std::string& path : {csv, json, html}) EXPECT_THAT(read(path), HasSubstr("1024")) << path;
    }
  };
  EXPECT_EQ(run({"1", "--size", "1024", "--size", "2048", "--csv", csv.c_str(), "--json", json.c_str(),
                 "--html", html.c_str()}),
            kExitOk);
  EXPECT_EQ(sessions, 2);
}

TEST_F(CliTest, CsvAndJsonToOneFileUnderTwoSpellings) {
  const std::string plain = folder_ / "results";
  const std::string spelled = folder_.string() + "/./results";
  expect_refused({"1", "--csv", plain.c_str(), "--json", plain.c_str()},
                 {"--csv and --json both name", "two different files"});
  expect_refused({"1", "--csv", spelled.c_str(), "--json", plain.c_str()}, {"both name"});
  expect_refused({"1", "--csv", spelled.c_str(), "--html", plain.c_str()}, {"--csv and --html both name"});
  expect_refused({"1", "--json", spelled.c_str(), "--html", plain.c_str()}, {"--json and --html both name"});
}

// A machine that cannot run it.

TEST_F(CliTest, NoGpu) {
  platform_.query_status_ = unsupported("no NVIDIA GPU is visible to CUDA; type `./matmul list`");
  const std::string csv = folder_ / "results.csv";
  expect_refused({"1", "--csv", csv.c_str(), "--device", "gpu"}, {"no NVIDIA GPU is visible"});
}

TEST_F(CliTest, OtherGpu) {
  platform_.device_.name = "NVIDIA A100";
  for (const ComputeCapability other : {ComputeCapability{8, 0}, {7, 5}, {9, 1}, {10, 0}}) {
    platform_.device_.compute_capability = other;
    const std::string is_other = "NVIDIA A100 is " + sm_text(other);
    for (const char* version : {"2-3", "ceiling", "all"}) {
      expect_refused({version, "--device", "gpu"},
                     {"needs an sm_90 GPU (H100, H200, GH200)", is_other.c_str()});
    }
  }
  platform_.device_.compute_capability = {7, 0};
  expect_refused({"0", "--device", "gpu"}, {"needs an sm_75 or newer GPU", "NVIDIA A100 is sm_70"});
}

// What every GPU runs is measured there, and the others say in their rows what they need.
TEST_F(CliTest, OtherGpuRunsWhatItCan) {
  platform_.kernels_ = kMixed;
  platform_.device_.compute_capability = {8, 9};
  EXPECT_EQ(run({"all"}), kExitOk);
  EXPECT_EQ(platform_.sessions_, 2);
  EXPECT_THAT(line_of("1 first"), HasSubstr("needs an sm_90 GPU (H100, H200, GH200)"));
  EXPECT_THAT(line_of("ampere.1 second"),
              AllOf(HasSubstr("bf16"), HasSubstr("8192x8192x8192"), HasSubstr("yes")));
  EXPECT_THAT(line_of("simt.1 third"),
              AllOf(HasSubstr("fp32"), HasSubstr("4096x4096x4096"), HasSubstr("yes")));
  EXPECT_THAT(line_of("ceiling"), IsEmpty());
  EXPECT_EQ(platform_.request_.problem.input_type, DataType::Float32);
  EXPECT_EQ(platform_.request_.problem.b_layout, Layout::RowMajor);
  EXPECT_EQ(run({"0"}), kExitOk);
}

TEST_F(CliTest, TypeReachesTheSession) {
  EXPECT_EQ(run({"1", "--type", "fp16"}), kExitOk);
  EXPECT_EQ(platform_.request_.problem.input_type, DataType::Float16);
  EXPECT_EQ(platform_.request_.problem.output_type, DataType::Float16);
  EXPECT_THAT(line_of("1 first"), HasSubstr("fp16"));
  EXPECT_THAT(line_of("ceiling"), IsEmpty());
  EXPECT_EQ(run({"0", "--type", "fp32"}), kExitOk);
  EXPECT_EQ(platform_.request_.problem.b_layout, Layout::RowMajor);
}

TEST_F(CliTest, TypeThatNoVersionTakes) {
  platform_.kernels_ = hopper_ladder();
  expect_refused({"11", "--type", "fp16"},
                 {"the Hopper ladder multiplies bf16 to bf16, not fp16 to fp16", "--type"});
  expect_refused({"ceiling", "--type", "fp32", "--device", "gpu"},
                 {"the ceiling needs", "leave ceiling out"});
  expect_refused({"1", "--type", "fp8"}, {"--type got 'fp8'", "bf16, fp16 and fp32"});
}

TEST_F(CliTest, DriverWithoutTensorMaps) {
  platform_.tensor_map_status_ =
      unsupported("the driver lacks cuTensorMapEncodeTiled; install driver 525 or later");
  expect_refused({"1", "--device", "gpu"}, {"cuTensorMapEncodeTiled"});
  platform_.kernels_ = kMixed;
  EXPECT_EQ(run({"ampere.1", "simt.1", "--device", "gpu"}), kExitOk);
}

TEST_F(CliTest, TooLittleMemoryIsSaidBeforeAllocating) {
  expect_refused({"1", "--size", "1000000"},
                 {"1000000x1000000x1000000 needs 6000.1 GB", "--size 129024 or less"});
  expect_refused({"1", "--shape", "2147483647x2147483647x2147483640"}, {"GB of GPU memory"});
  platform_.device_.free_bytes = 1 << 20;
  expect_refused({"1"}, {"0.0 GB free", "end the programs"});
}

TEST_F(CliTest, ShapeThatEveryVersionAskedForRefuses) {
  expect_refused({"1-2", "--shape", "64x64x60"},
                 {"kernel 1 (first) cannot run 64x64x60", "multiple of 8", "type K = 56 or 64"});
  expect_refused({"1", "--shape", "64x64x3"}, {"type K = 8\n"});
  expect_refused({"1", "--shape", "8x8x2147483647"}, {"type K = 2147483640\n"});
}

TEST_F(CliTest, TheRealLadderRefusesKThatIsNoMultipleOf8) {
  platform_.kernels_ = hopper_ladder();
  expect_refused({"4", "--shape", "64x64x12"},
                 {"kernel 4 (two_consumers) cannot run 64x64x12: K = 12 is not a "
                  "multiple of 8",
                  "type K = 8 or 16"});
  expect_refused({"all", "--size", "12"}, {"kernel 1 (tma_wgmma) cannot run 12x12x12", "type K = 8 or 16"});
}

// What works without a GPU.

TEST_F(CliTest, ListNeedsNoGpu) {
  platform_.query_status_ = unsupported("no GPU");
  EXPECT_EQ(run({"list"}), kExitOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("0         cublas"), HasSubstr("4         fourth"),
                                HasSubstr("the third idea"), HasSubstr("ceiling   wgmma_ceiling")));
  const std::string out = out_.str();
  std::size_t needed = 0;
  for (std::size_t at = out.find("sm_90"); at != std::string::npos; at = out.find("sm_90", at + 1)) ++needed;
  EXPECT_EQ(needed, 5U);
  EXPECT_THAT(err_.str(), IsEmpty());
}

TEST_F(CliTest, HelpAndVersionNeedNoGpu) {
  platform_.query_status_ = unsupported("no GPU");
  EXPECT_EQ(run({"--help"}), kExitOk);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("--shape"), HasSubstr("--a NAME"), HasSubstr("--b NAME"),
                    HasSubstr("explain says what best"), HasSubstr("probe measures the GPU itself"),
                    HasSubstr("Method on a GPU:"), HasSubstr("Emulator:"), HasSubstr("Exit status")));
  std::istringstream lines(out_.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 79U) << line;
  EXPECT_EQ(run({"--version"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("hopper-gemm"));
  EXPECT_THAT(err_.str(), IsEmpty());
}

// The probe.

TEST_F(CliTest, ProbePrintsATableAndWritesFiles) {
  const std::string csv = folder_ / "probe.csv";
  const std::string json = folder_ / "probe.json";
  EXPECT_EQ(run({"probe", "--rounds", "3", "--seed", "5", "--csv", csv.c_str(), "--json", json.c_str()}),
            kExitOk)
      << err_.str();
  EXPECT_EQ(platform_.probes_, 1);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("GPU     NVIDIA H200, sm_90, 132 SMs"), HasSubstr("of 3 rounds, seed 5")));
  EXPECT_THAT(line_of("latency of L1"),
              AllOf(HasSubstr("11.0 (10.0-12.0)"), HasSubstr("cycles"), HasSubstr("1755")));
  EXPECT_EQ(nlohmann::json::parse(read(json))["format"], "hopper-gemm probe");
  EXPECT_THAT(read(csv),
              HasSubstr("\nl1_latency,latency of L1,11.0,10.0,12.0,cycles,2.0,ns,1755,,NVIDIA H200,132,"));
}

TEST_F(CliTest, ProbeStandsAlone) {
  expect_refused({"probe", "1"}, {"probe was given together with versions", "`./matmul probe`"});
  expect_refused({"1", "probe"}, {"probe was given together with versions"});
  expect_refused({"tune", "probe"}, {"probe was given together with versions"});
  for (const char* option : {"--mode", "--size", "--html", "--type", "--seeds"}) {
    expect_refused({"probe", option, "1"},
                   {option, "was given together with probe, which takes only --device, --rounds, --seed"});
  }
  expect_refused({"probe", "--rounds", "0"}, {"--rounds got '0'"});
  expect_refused({"probe", "--device", "emulator"}, {"the emulator has no speeds", "leave --device out"});
  const std::string path = folder_ / "file";
  expect_refused({"probe", "--csv", path.c_str(), "--json", path.c_str()}, {"--csv and --json both name"});
}

TEST_F(CliTest, ProbeSaysThatThereIsNoGpu) {
  platform_.query_status_ = unsupported("no NVIDIA GPU is visible to CUDA");
  expect_refused({"probe"}, {"no NVIDIA GPU is visible"});
  expect_refused({"probe", "--device", "gpu"}, {"no NVIDIA GPU is visible"});
}

TEST_F(CliTest, AWrongProbeIsAnError) {
  platform_.failing_quantity_ = ProbeQuantity::L1Latency;
  const std::string json = folder_ / "probe.json";
  EXPECT_EQ(run({"probe", "--json", json.c_str()}), kExitWrongKernel);
  EXPECT_THAT(line_of("latency of L1"),
              AllOf(HasSubstr("WRONG: the walk ended elsewhere"), Not(HasSubstr("1755"))));
  const auto parsed = nlohmann::json::parse(read(json));
  EXPECT_TRUE(parsed["latencies"]["l1"]["cycles"].is_null());
  EXPECT_FALSE(parsed["latencies"]["shared"]["cycles"].is_null());
}

TEST_F(CliTest, AProbeThatEndsEarlyKeepsItsReadings) {
  platform_.failing_quantity_ = ProbeQuantity::L1Latency;
  const std::string json = folder_ / "probe.json";
  for (const StatusCode code : {StatusCode::Timeout, StatusCode::Unsupported}) {
    platform_.probe_status_ = {code, "the kernel stops"};
    EXPECT_EQ(run({"probe", "--json", json.c_str()}),
              code == StatusCode::Timeout ? kExitWrongKernel : kExitCannotRun);
    EXPECT_THAT(err_.str(), HasSubstr("matmul: the kernel stops\n"));
    EXPECT_THAT(line_of("latency of shared memory"), HasSubstr("cycles"));
    EXPECT_THAT(line_of("rate of fp32"), IsEmpty());
    EXPECT_TRUE(nlohmann::json::parse(read(json))["rates"]["launch_us"].is_null());
  }
}

// Runs.

TEST_F(CliTest, TheGpuIsUsedWhereThereIsOne) {
  for (const std::vector<const char*>& arguments :
       {std::vector<const char*>{"1"}, std::vector<const char*>{"1", "--device", "gpu"}}) {
    EXPECT_EQ(run(arguments), kExitOk);
    EXPECT_EQ(platform_.request_.problem.shape, (GemmShape{8192, 8192, 8192}));
    EXPECT_THAT(out_.str(), HasSubstr("NVIDIA H200"));
  }
  EXPECT_EQ(platform_.sessions_, 2);
}

TEST_F(CliTest, MeasuresWhatWasAskedForBetweenBaselineAndCeiling) {
  EXPECT_EQ(run({"4", "2"}), kExitOk);
  EXPECT_THAT(line_of("0 cublas"),
              AllOf(HasSubstr("8192x8192x8192"), HasSubstr("burst"), HasSubstr("cublasLt #3")));
  EXPECT_THAT(line_of("4 fourth"),
              AllOf(HasSubstr("6.00 (6.00-6.00)"), HasSubstr("116.7"), HasSubstr("83.3"), HasSubstr("yes")));
  EXPECT_THAT(line_of("2 second"), HasSubstr("87.5"));
  EXPECT_THAT(line_of("ceiling"), HasSubstr("100.0"));
  EXPECT_THAT(line_of("1 first"), IsEmpty());
  EXPECT_LT(out_.str().find("2 second"), out_.str().find("4 fourth"));
}

TEST_F(CliTest, BaselineIsTheBetterOfTwoInEachMode) {
  EXPECT_EQ(run({"0", "--mode", "both"}), kExitOk);
  const std::string out = out_.str();
  EXPECT_THAT(out, HasSubstr("cublasLt #3"));
  EXPECT_THAT(out.substr(out.find("sustained")),
              AllOf(HasSubstr("cublasGemmEx"), Not(HasSubstr("cublasLt"))));
}

TEST_F(CliTest, WrongBaselineVariantIsNotTheBaseline) {
  platform_.faults_.wrong_variant = "cublasLt #3";
  EXPECT_EQ(run({"0"}), kExitOk);
  EXPECT_THAT(line_of("0 cublas"),
              AllOf(HasSubstr("8.00"), HasSubstr("yes"),
                    HasSubstr("cublasGemmEx; WRONG: cublasLt #3: 3 elements are wrong")));
}

// CUTLASS.

TEST_F(CliTest, CutlassThatIsNotBuiltInSaysHowToBuildIt) {
  for (const std::vector<const char*>& arguments :
       {std::vector<const char*>{"cutlass"}, {"1", "cutlass"}, {"cutlass", "--device", "emulator"}}) {
    expect_refused(arguments, {"built without it", "`./dev cutlass`", "-DHG_CUTLASS_ROOT="});
  }
  EXPECT_EQ(run({"list"}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("cutlass")));
  platform_.kernels_ = kMixed;
  EXPECT_EQ(run({"ampere"}), kExitOk);
  EXPECT_FALSE(platform_.request_.cutlass);
  EXPECT_THAT(line_of("cutlass"), IsEmpty());
}

TEST_F(CliTest, CutlassIsListedWhereItIsBuiltIn) {
  platform_.has_cutlass_ = true;
  platform_.query_status_ = unsupported("no GPU");
  EXPECT_EQ(run({"list"}), kExitOk);
  EXPECT_THAT(line_of("cutlass"), AllOf(HasSubstr("sm_80 or newer"), HasSubstr("CUTLASS 2.x")));
  expect_refused({"cutlass"}, {"version cutlass", "on a GPU only", "since no GPU"});
}

TEST_F(CliTest, CutlassIsMeasuredBesideTheAmpereLadder) {
  platform_.has_cutlass_ = true;
  platform_.kernels_ = kMixed;
  for (const char* version : {"ampere.1", "ampere", "cutlass"}) {
    EXPECT_EQ(run({version}), kExitOk) << version;
    EXPECT_TRUE(platform_.request_.cutlass) << version;
    EXPECT_THAT(line_of("cutlass"),
                AllOf(HasSubstr("6.00"), HasSubstr("116.7"), HasSubstr("yes"), HasSubstr("large tile")))
        << version;
    EXPECT_THAT(out_.str(), Not(HasSubstr("small tile"))) << version;
  }
  for (const char* version : {"0", "1", "simt.1"}) {
    EXPECT_EQ(run({version}), kExitOk) << version;
    EXPECT_FALSE(platform_.request_.cutlass) << version;
    EXPECT_THAT(line_of("cutlass"), IsEmpty()) << version;
  }
}

TEST_F(CliTest, CutlassIsMeasuredAtItsTypesAlone) {
  platform_.has_cutlass_ = true;
  platform_.kernels_ = kMixed;
  EXPECT_EQ(run({"ampere", "--type", "fp16"}), kExitOk);
  EXPECT_THAT(line_of("cutlass"), HasSubstr("fp16"));
  EXPECT_EQ(run({"all"}), kExitOk);
  EXPECT_THAT(line_of("cutlass"), HasSubstr("bf16"));
  EXPECT_EQ(platform_.request_.problem.input_type, DataType::Float32);
  EXPECT_FALSE(platform_.request_.cutlass);
  platform_.sessions_ = 0;
  expect_refused({"cutlass", "--type", "fp32", "--device", "gpu"},
                 {"cutlass needs an sm_80 or newer GPU, bf16 or fp16, A row-major and B column-major",
                  "the type fp32, A row and B row", "leave cutlass out"});
  expect_refused({"cutlass", "--a", "col", "--device", "gpu"}, {"the type bf16, A col and B col"});
  expect_refused({"cutlass", "simt.1", "--device", "gpu"}, {"cutlass needs", "leave cutlass out"});
  platform_.device_.compute_capability = {7, 5};
  expect_refused({"cutlass", "--device", "gpu"}, {"cutlass needs", "is sm_75"});
}

TEST_F(CliTest, ShapeThatCutlassRefusesSaysSoInItsRow) {
  platform_.has_cutlass_ = true;
  platform_.kernels_ = kMixed;
  EXPECT_EQ(run({"ampere.1", "--shape", "64x60x64"}), kExitOk);
  EXPECT_FALSE(platform_.request_.cutlass);
  EXPECT_THAT(line_of("cutlass"), HasSubstr("cutlass cannot run 64x60x64: N = 60 is not a multiple of 8"));
}

TEST_F(CliTest, WrongConfigurationOfCutlassIsNotItsBest) {
  platform_.has_cutlass_ = true;
  platform_.kernels_ = kMixed;
  platform_.faults_.wrong_variant = "large tile";
  EXPECT_EQ(run({"ampere.1"}), kExitOk);
  EXPECT_THAT(line_of("cutlass"), AllOf(HasSubstr("7.00"), HasSubstr("small tile; WRONG: large tile")));
}

// One launch for a profiler.

TEST_F(CliTest, ProfileMarksOneLaunch) {
  EXPECT_EQ(run({"3", "--profile", "--size", "1024", "--mode", "sustained"}), kExitOk) << err_.str();
  EXPECT_THAT(platform_.marked_, ElementsAre("3||sustained"));
  EXPECT_THAT(out_.str(),
              HasSubstr("marked one launch of version 3 at 1024x1024x1024, after the warm-up of a "
                        "sustained sample\n"));
  EXPECT_THAT(out_.str(), HasSubstr("commit  "));
}

TEST_F(CliTest, ProfileOfCublasMarksItsFastestCandidate) {
  EXPECT_EQ(run({"0", "--profile"}), kExitOk);
  EXPECT_EQ(run({"ceiling", "--profile"}), kExitOk);
  EXPECT_THAT(platform_.marked_, ElementsAre("0|cublasLt #3|burst", "ceiling||burst"));
}

TEST_F(CliTest, ProfileOfAWrongKernelMarksNothing) {
  platform_.faults_.wrong_version = "3";
  EXPECT_EQ(run({"3", "--profile"}), kExitWrongKernel);
  EXPECT_THAT(line_of("3 third"), AllOf(HasSubstr("WRONG"), HasSubstr("3 elements are wrong")));
  EXPECT_THAT(line_of("0 cublas"), IsEmpty());
  EXPECT_THAT(platform_.marked_, IsEmpty());
}

TEST_F(CliTest, ProfileOfAKernelThatHangsExitsWithOne) {
  platform_.faults_.failing_version = "3";
  EXPECT_EQ(run({"3", "--profile"}), kExitWrongKernel);
  EXPECT_THAT(err_.str(), HasSubstr("kernel 3 fails"));
}

TEST_F(CliTest, ProfileIsOfOneLaunchAndMeasuresNothing) {
  const char* example = "`./matmul 7 --profile --size 8192`";
  expect_refused({"2-3", "--profile"}, {"2 versions, 1 shapes and 1 modes", example});
  expect_refused({"3", "0", "--profile"}, {"2 versions", example});
  expect_refused({"3", "--profile", "--size", "64", "--size", "128"}, {"2 shapes", example});
  expect_refused({"3", "--profile", "--mode", "both"}, {"2 modes", example});
  expect_refused({"cutlass", "--profile"},
                 {"a launch of cutlass, because cutlass is several kernels", example});
  for (const char* option : {"--csv", "--json", "--html", "--rounds", "--rest"}) {
    expect_refused({"3", "--profile", option, "3"}, {option, "together with --profile", "leave --"});
  }
  expect_refused({"3", "--profile", "--device", "emulator"}, {"--profile"});
}

TEST_F(CliTest, WrongKernelPrintsNoSpeedAndExitsWithOne) {
  platform_.faults_.wrong_version = "3";
  EXPECT_EQ(run({"all"}), kExitWrongKernel);
  EXPECT_THAT(line_of("3 third"),
              AllOf(HasSubstr("WRONG"), HasSubstr("3 elements are wrong"), Not(HasSubstr("7.00"))));
  EXPECT_THAT(line_of("4 fourth"), HasSubstr("yes"));
}

TEST_F(CliTest, NoVerifyMeasuresUnchecked) {
  platform_.faults_.wrong_version = "3";
  EXPECT_EQ(run({"3", "--no-verify"}), kExitOk);
  EXPECT_THAT(line_of("3 third"), AllOf(HasSubstr("7.00"), Not(HasSubstr("yes"))));
}

TEST_F(CliTest, KernelThatHangsOrCrashesExitsWithOne) {
  platform_.faults_.failing_version = "2";
  for (const StatusCode failure : {StatusCode::Timeout, StatusCode::CudaError}) {
    platform_.faults_.failure = failure;
    const std::string csv = folder_ / "results.csv";
    EXPECT_EQ(run({"1-3", "--csv", csv.c_str()}), kExitWrongKernel);
    EXPECT_THAT(err_.str(), HasSubstr("matmul: kernel 2 fails"));
    EXPECT_TRUE(fs::is_empty(folder_)) << "there was nothing to write";
  }
  platform_.faults_ = {.wrong_version = "",
                       .wrong_variant = "",
                       .refused_variant = "",
                       .failing_version = "",
                       .open_status = {},
                       .verify_status = {StatusCode::CudaError, "kernel 2: illegal address"}};
  EXPECT_EQ(run({"1-3"}), kExitWrongKernel);
  EXPECT_THAT(err_.str(), HasSubstr("matmul: 8192x8192x8192: kernel 2: illegal address"));
}

TEST_F(CliTest, MachineThatFailsDuringTheRunExitsWithTwo) {
  platform_.faults_.open_status = {StatusCode::CudaError, "creating a stream: cudaErrorUnknown"};
  EXPECT_EQ(run({"1"}), kExitCannotRun);
  EXPECT_THAT(err_.str(), HasSubstr("matmul: 8192x8192x8192: creating a stream: cudaErrorUnknown\n"));
  platform_.faults_.open_status = out_of_memory("allocating 1 bytes");
  EXPECT_EQ(run({"1"}), kExitCannotRun);
  EXPECT_THAT(err_.str(),
              HasSubstr("8192x8192x8192: allocating 1 bytes; end other programs that hold GPU memory, "
                        "or type a smaller --shape\n"));
  platform_.faults_.open_status = {};
  platform_.faults_.verify_status = unsupported("cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED");
  EXPECT_EQ(run({"1"}), kExitCannotRun);
}

TEST_F(CliTest, CandidateThatHangsWhileASessionIsOpenedExitsWithOne) {
  platform_.faults_.open_status = {StatusCode::Timeout, "a kernel hangs"};
  EXPECT_EQ(run({"1"}), kExitWrongKernel);
}

TEST_F(CliTest, FinishedShapesAreWrittenWhenALaterOneFails) {
  platform_.faults_.failing_version = "2";
  platform_.faults_.failing_shape = {2048, 2048, 2048};
  const std::string csv = folder_ / "results.csv";
  const std::string json = folder_ / "results.json";
  for (const auto& [failure, exit_status] : {std::pair(StatusCode::Timeout, kExitWrongKernel),
                                             std::pair(StatusCode::OutOfMemory, kExitCannotRun)}) {
    platform_.faults_.failure = failure;
    EXPECT_EQ(run({"1-3", "--size", "1024", "--size", "2048", "--size", "4096", "--csv", csv.c_str(),
                   "--json", json.c_str()}),
              exit_status);
    const std::string rows = read(csv);
    EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 1 + 5);
    EXPECT_THAT(
        rows,
        HasSubstr(
            "\n3,third,the third idea,bf16,row,col,bf16,none,none,false,0.0,1,1024,1024,1024,burst,7.0"));
    EXPECT_EQ(nlohmann::json::parse(read(json)).size(), 5U);
    fs::remove(csv);
    fs::remove(json);
  }
}

TEST_F(CliTest, FinishedShapesAreWrittenBeforeTheNextOneBegins) {
  const std::string csv = folder_ / "results.csv";
  const std::string json = folder_ / "results.json";
  platform_.before_session_ = [&] {
    if (platform_.sessions_ == 1) return;
    EXPECT_THAT(
        read(csv),
        HasSubstr("\n1,first,the first idea,bf16,row,col,bf16,none,none,false,0.0,1,1024,1024,1024,burst"));
    EXPECT_EQ(nlohmann::json::parse(read(json)).size(), 3U);
  };
  EXPECT_EQ(run({"1", "--size", "1024", "--size", "2048", "--csv", csv.c_str(), "--json", json.c_str()}),
            kExitOk);
  EXPECT_EQ(platform_.sessions_, 2);
}

TEST_F(CliTest, OutputThatCannotBeWrittenIsAnError) {
  for (const char* version : {"list", "--help", "1"}) {
    const char* const arguments[] = {"matmul", version};
    std::ofstream full("/dev/full");
    err_.str("");
    EXPECT_EQ(run_matmul(2, arguments, platform_, full, err_), kExitCannotRun) << version;
    EXPECT_THAT(err_.str(), HasSubstr("matmul: the standard output is full or closed")) << version;
  }
}

TEST_F(CliTest, OutputThatCannotBeWrittenEndsARunWithoutFilesOnly) {
  const std::string csv = folder_ / "results.csv";
  const std::vector<const char*> arguments = {"matmul", "1",    "--size", "1024",
                                              "--size", "2048", "--csv",  csv.c_str()};
  std::ostringstream closed;
  closed.setstate(std::ios::badbit);
  EXPECT_EQ(run_matmul(6, arguments.data(), platform_, closed, err_), kExitCannotRun);
  EXPECT_EQ(platform_.sessions_, 0);
  EXPECT_EQ(run_matmul(8, arguments.data(), platform_, closed, err_), kExitCannotRun);
  EXPECT_EQ(platform_.sessions_, 2);
  const std::string rows = read(csv);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 1 + 2 * 3);
}

TEST_F(CliTest, DataAndSeedReachTheSession) {
  EXPECT_EQ(run({"1", "--data", "uniform", "--seed", "123"}), kExitOk);
  EXPECT_EQ(platform_.request_.data, DataKind::Uniform);
  EXPECT_EQ(platform_.request_.seed, 123U);
  EXPECT_EQ(run({"1", "--data", "integers"}), kExitOk);
  EXPECT_EQ(platform_.request_.data, DataKind::Integers);
  EXPECT_EQ(run({"1"}), kExitOk);
  EXPECT_EQ(platform_.request_.data, DataKind::Normal);
}

TEST_F(CliTest, ShapeThatAVersionRefusesSaysSoInItsRow) {
  EXPECT_EQ(run({"1", "--shape", "64x64x60", "--shape", "64x64x64"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("kernel 1 (first) cannot run 64x64x60: K must be a multiple of 8"));
  EXPECT_EQ(platform_.sessions_, 2);
}

TEST_F(CliTest, NoNvmlIsANoteAndEmptyColumns) {
  EXPECT_EQ(run({"1"}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("clocks and power are left out: libno-such-nvml.so.1 cannot be loaded"));
  EXPECT_THAT(line_of("1 first"), ::testing::ContainsRegex(" - +-  yes"));
}

TEST_F(CliTest, WritesCsvAndJson) {
  const std::string csv = folder_ / "results.csv";
  const std::string json = folder_ / "results.json";
  EXPECT_EQ(run({"1", "--size", "1024", "--mode", "both", "--rounds", "2", "--seed", "5", "--csv",
                 csv.c_str(), "--json", json.c_str()}),
            kExitOk);
  const std::string rows = read(csv);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 1 + 2 * 3);
  EXPECT_THAT(
      rows, HasSubstr("\n1,first,the first "
                      "idea,bf16,row,col,bf16,none,none,false,0.0,1,1024,1024,1024,sustained,9.0,9.0,9.0,"));
  EXPECT_THAT(rows, HasSubstr(",yes,cublasLt #3,cublasLt #3,"));
  const nlohmann::json parsed = nlohmann::json::parse(read(json));
  ASSERT_EQ(parsed.size(), 6U);
  EXPECT_EQ(parsed[1]["samples_us"].size(), 2U);
  EXPECT_EQ(parsed[1]["seed"], 5);
  EXPECT_THAT(parsed[1]["command"].get<std::string>(), HasSubstr("matmul 1 --size 1024"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(CliTest, ProgressRewritesOneLineOfATerminalOnly) {
  EXPECT_EQ(run({"1"}, true), kExitOk);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("\r\x1b[2K"), HasSubstr("round 7 of 7")));
  EXPECT_THAT(out_.str(), Not(HasSubstr("\x1b")));
  EXPECT_EQ(run({"1"}, false), kExitOk);
  EXPECT_THAT(err_.str(), AllOf(Not(HasSubstr("\x1b")), HasSubstr("8192x8192x8192: verifying\n")));
}

// Tuning.

class TuneTest : public CliTest {
 protected:
  TuneTest() { platform_.kernels_ = kTunable; }

  static std::string text_of(int config) { return to_string(kConfigs[static_cast<std::size_t>(config)]); }

  std::string write_file(const std::string& name, const std::string& text) const {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    return path;
  }

  static TunedConfig tuned_at_1024(const std::string& version, const std::string& config) {
    return {.version = version, .shape = {1024, 1024, 1024}, .config = config, .tflops = 1};
  }

  /// A file as tune writes it.
  std::string tuned_file(const std::vector<TunedConfig>& configs) const {
    RunInfo run;
    run.device = h200();
    return write_file("best.json", tuned_json(run, configs));
  }

  /// As expect_refused(), with a file there.
  void expect_config_refused(const std::vector<const char*>& arguments,
                             const std::vector<std::string>& parts) {
    EXPECT_EQ(run(arguments), kExitCannotRun);
    const std::string err = err_.str();
    EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
    for (const std::string& part : parts) EXPECT_THAT(err, HasSubstr(part));
    EXPECT_THAT(out_.str(), IsEmpty());
    EXPECT_EQ(platform_.sessions_, 0);
  }

  std::vector<std::string> variants_of_request() const {
    std::vector<std::string> variants;
    variants.reserve(platform_.request_.kernels.size());
    for (const SessionKernel& kernel : platform_.request_.kernels) {
      variants.push_back(kernel.version + " " + kernel.variant);
    }
    return variants;
  }
};

TEST_F(TuneTest, MeasuresTheConfigurationsAlone) {
  const std::string csv = folder_ / "results.csv";
  const std::string json = folder_ / "best.json";
  EXPECT_EQ(
      run({"tune", "2", "--size", "1024", "--no-baselines", "--csv", csv.c_str(), "--json", json.c_str()}),
      kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr(text_of(0)), Not(HasSubstr("cublasLt"))));
  EXPECT_THAT(read(csv), AllOf(HasSubstr(text_of(0)), Not(HasSubstr("\n0,")), Not(HasSubstr("\nceiling,"))));
  EXPECT_THAT(read(json), HasSubstr(text_of(1)));
}

TEST_F(TuneTest, RestsAsLongAsAskedFor) {
  constexpr const char* kInMethod = "ms of rest before a burst";
  EXPECT_EQ(run({"tune", "2", "--size", "1024"}), kExitOk) << err_.str();
  EXPECT_EQ(platform_.request_.rest_ms, 50);
  EXPECT_THAT(out_.str(), Not(HasSubstr(kInMethod)));
  EXPECT_EQ(run({"tune", "2", "--size", "1024", "--rest", "10"}), kExitOk) << err_.str();
  EXPECT_EQ(platform_.request_.rest_ms, 10);
  EXPECT_THAT(out_.str(), HasSubstr(std::string(", 10 ") + kInMethod));
}

TEST_F(TuneTest, BaselinesAreLeftOutByTuneAlone) {
  expect_refused({"2", "--no-baselines"}, {"--no-baselines was given without tune", "`./matmul tune best"});
  expect_refused({"tune", "2", "--no-baselines=1"}, {"--no-baselines got a value"});
}

TEST_F(TuneTest, IsNothingToProfile) {
  expect_refused({"tune", "2", "--profile"}, {"together with tune", "`./matmul 7 --profile --size 8192`"});
}

TEST_F(TuneTest, ConfigurationToProfileThatDoesNotRunHereIsAnError) {
  const TunedConfig tuned = tuned_at_1024("2", text_of(0));
  const std::string path = tuned_file({tuned});
  EXPECT_EQ(run({"2", "--profile", "--size", "1024", "--config", path.c_str()}), kExitOk) << err_.str();
  EXPECT_THAT(platform_.marked_, ElementsAre("2|" + text_of(0) + "|burst"));
  platform_.faults_.refused_variant = text_of(0);
  EXPECT_EQ(run({"2", "--profile", "--size", "1024", "--config", path.c_str()}), kExitCannotRun);
  EXPECT_THAT(err_.str(), HasSubstr("matmul could mark no launch of version 2 at 1024x1024x1024: "));
  EXPECT_THAT(err_.str(), HasSubstr("too little shared memory"));
}

TEST_F(TuneTest, TakesTunableVersionsOnly) {
  expect_refused({"tune", "1"},
                 {"tune was given version 1", "which it cannot tune", "has several configurations: 2, 3"});
  expect_refused({"tune", "1-3"}, {"tune was given version 1"});
  expect_refused({"tune", "0", "2"}, {"tune was given version 0"});
  expect_refused({"tune", "ceiling"}, {"tune was given version ceiling"});
  expect_refused({"tune"}, {"tune was given no version", "`./matmul tune 2`"});
  expect_refused({"2", "tune"}, {"'tune'"});
}

TEST_F(TuneTest, NeedsAGpu) {
  expect_refused({"tune", "2", "--device", "emulator"},
                 {"tune measures speed", "on the emulator", "leave tune out", "verifies 2"});
  platform_.query_status_ = unsupported("no NVIDIA GPU is visible to CUDA; type `./matmul list`");
  expect_refused({"tune", "2"}, {"tune measures speed", "since no NVIDIA GPU is visible to CUDA"});
}

TEST_F(TuneTest, MeasuresEveryConfigurationAndPutsTheFastestFirst) {
  EXPECT_EQ(run({"tune", "2", "--size", "1024"}), kExitOk);
  EXPECT_THAT(variants_of_request(), ElementsAre("2 " + text_of(0), "2 " + text_of(1), "2 " + text_of(2)));
  const std::string out = out_.str();
  const std::size_t best = out.find(text_of(1) + "; the best");
  ASSERT_NE(best, std::string::npos) << out;
  EXPECT_LT(best, out.find(text_of(0)));
  EXPECT_LT(out.find(text_of(0)), out.find(text_of(2)));
  EXPECT_EQ(out.find("the best", best + text_of(1).size() + 10), std::string::npos);
  EXPECT_LT(out.find("ceiling"), out.find("cublasLt #3"));
  EXPECT_THAT(line_of("2 second"), HasSubstr("7.50 (7.50-7.50)"));
}

TEST_F(TuneTest, LaunchesTheConfigurationOfEachContestant) {
  EXPECT_EQ(run({"tune", "3", "--size", "1024"}), kExitOk);
  launched_configs.clear();
  for (const SessionKernel& kernel : platform_.request_.kernels) {
    EXPECT_TRUE(kernel.launch({}, nullptr).ok());
  }
  EXPECT_THAT(launched_configs, ElementsAreArray(config_names()));
}

// The first mode that was asked for is the one that tuning is for.
TEST_F(TuneTest, TheFirstModeChooses) {
  const std::string json = folder_ / "best.json";
  EXPECT_EQ(run({"tune", "2", "--size", "1024", "--mode", "sustained", "--json", json.c_str()}), kExitOk);
  std::vector<TunedConfig> best;
  ASSERT_TRUE(parse_tuned_json(json, read(json), &best).ok());
  ASSERT_EQ(best.size(), 1U);
  EXPECT_EQ(best[0].config, text_of(2));
  EXPECT_EQ(run({"tune", "2", "--size", "1024", "--mode", "both", "--json", json.c_str()}), kExitOk);
  ASSERT_TRUE(parse_tuned_json(json, read(json), &best).ok());
  ASSERT_EQ(best.size(), 1U);
  EXPECT_EQ(best[0].config, text_of(1));
}

TEST_F(TuneTest, WritesWhatConfigReads) {
  const std::string json = folder_ / "best.json";
  EXPECT_EQ(run({"tune", "2", "3", "--size", "1024", "--size", "2048", "--json", json.c_str()}), kExitOk);
  std::vector<TunedConfig> best;
  ASSERT_TRUE(parse_tuned_json(json, read(json), &best).ok());
  ASSERT_EQ(best.size(), 4U);
  EXPECT_EQ(best[1].version, "3");
  EXPECT_EQ(best[2].shape, (GemmShape{2048, 2048, 2048}));
  EXPECT_NEAR(best[0].tflops, 2.0 * 1024 * 1024 * 1024 / 7.5e-6 * 1e-12, 1e-6);
  EXPECT_EQ(run({"all", "--size", "1024", "--config", json.c_str()}), kExitOk) << err_.str();
  EXPECT_THAT(variants_of_request(), ElementsAre("1 ", "2 " + text_of(1), "3 " + text_of(1)));
  EXPECT_EQ(best[0].a_layout, Layout::RowMajor);
  EXPECT_EQ(best[0].b_layout, Layout::ColumnMajor);
  EXPECT_THAT(line_of("2 second"), HasSubstr(text_of(1)));
  // There is none for this shape, where the kernels choose themselves.
  EXPECT_EQ(run({"2", "--size", "1024", "--size", "512", "--config", json.c_str()}), kExitOk) << err_.str();
  EXPECT_THAT(variants_of_request(), ElementsAre("2 "));
}

TEST_F(TuneTest, WritesTheLayoutsThatItMeasured) {
  const std::string json = folder_ / "best.json";
  EXPECT_EQ(run({"tune", "2", "--size", "1024", "--a", "col", "--b", "row", "--json", json.c_str()}),
            kExitOk);
  std::vector<TunedConfig> best;
  ASSERT_TRUE(parse_tuned_json(json, read(json), &best).ok());
  ASSERT_EQ(best.size(), 1U);
  EXPECT_EQ(best[0].a_layout, Layout::ColumnMajor);
  EXPECT_EQ(best[0].b_layout, Layout::RowMajor);
  EXPECT_EQ(run({"2", "--size", "1024", "--a", "col", "--b", "row", "--config", json.c_str()}), kExitOk);
  EXPECT_THAT(variants_of_request(), ElementsAre("2 " + text_of(1)));
}

// Neither can be the best.
TEST_F(TuneTest, WrongAndRefusedConfigurationsAreNotMeasured) {
  platform_.faults_.wrong_variant = text_of(1);
  platform_.faults_.refused_variant = text_of(0);
  const std::string json = folder_ / "best.json";
  EXPECT_EQ(run({"tune", "2", "--size", "1024", "--json", json.c_str()}), kExitWrongKernel);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr(text_of(2) + "; the best"), HasSubstr(text_of(1) + ": 3 elements are wrong"),
                    HasSubstr(text_of(0) + ": integer data: too little shared memory")));
  std::vector<TunedConfig> best;
  ASSERT_TRUE(parse_tuned_json(json, read(json), &best).ok());
  ASSERT_EQ(best.size(), 1U);
  EXPECT_EQ(best[0].config, text_of(2));
}

// Unlike one that is wrong, it is no failure.
TEST_F(TuneTest, ARefusedConfigurationIsNoFailure) {
  platform_.faults_.refused_variant = text_of(1);
  EXPECT_EQ(run({"tune", "2", "--size", "1024"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr(text_of(1) + ": integer data: too little shared memory"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("WRONG")));
  EXPECT_THAT(out_.str(), HasSubstr(text_of(0) + "; the best"));
}

TEST_F(TuneTest, ConfigThatIsNoFileOrNoneOfTunes) {
  const std::string missing = folder_ / "missing.json";
  expect_refused({"2", "--config", missing.c_str()},
                 {"--config cannot read '", "missing.json", "`./matmul tune`"});
  expect_refused({"2", "--config", folder_.c_str()}, {"--config cannot read '"});
  expect_refused({"2", "--config", ""}, {"--config", "got ''"});
  for (const char* text : {"", "version,name\n", "[{}]", "{\"m\": 3}"}) {
    const std::string path = write_file("wrong.json", text);
    expect_config_refused({"2", "--config", path.c_str()}, {"--config cannot parse '", "wrong.json"});
  }
}

TEST_F(TuneTest, ConfigWithExtentsThatAreNoneIsRefused) {
  for (const char* const extent : {"64.9", "4294967360", "-64", "0", "\"64\"", "1.5e+300", "null"}) {
    const std::string text = fmt::format(
        R"([{{"version": "2", "type": "bf16", "b": "col", "m": {}, "n": 64, "k": 64, "config": "x", "tflops": 1}}])",
        extent);
    const std::string path = write_file("wrong.json", text);
    expect_config_refused({"2", "--size", "64", "--config", path.c_str()},
                          {"m is ", extent, "but must be a whole number from 1 to 2147483647"});
  }
}

TEST_F(TuneTest, ConfigIsNotRepeatedAtLength) {
  const std::string long_text(10000, 'x');
  for (const std::string& text :
       {long_text, fmt::format(R"([{{"version": "2", "type": "{}"}}])", long_text),
        fmt::format(R"([{{"version": "2", "type": "bf16", "b": "{}"}}])", long_text)}) {
    const std::string path = write_file("wrong.json", text);
    EXPECT_EQ(run({"2", "--size", "64", "--config", path.c_str()}), kExitCannotRun);
    EXPECT_LT(err_.str().size(), 400U + path.size());
  }
}

// Nobody writes to it.
TEST_F(TuneTest, ConfigThatIsAPipeIsRefused) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(run({"2", "--config", pipe.c_str()}), kExitCannotRun);
  EXPECT_THAT(err_.str(), HasSubstr("it is not a regular file"));
}

TEST_F(TuneTest, ConfigThatIsNotCompiledIsRefused) {
  TunedConfig tuned = tuned_at_1024("2", to_string(small_tile(9)));
  std::string path = tuned_file({tuned});
  expect_config_refused({"2", "--size", "1024", "--config", path.c_str()},
                        {"asks for " + to_string(small_tile(9)) + " of kernel 2 (second)",
                         "is not compiled for it", "`./matmul tune 2`"});
  tuned.version = "1";
  tuned.config = text_of(0);
  path = tuned_file({tuned});
  expect_config_refused({"1", "--size", "1024", "--config", path.c_str()},
                        {"of kernel 1 (first)", "is not compiled for it"});
}

TEST_F(TuneTest, ConfigOfNoUseIsRefused) {
  const TunedConfig tuned = tuned_at_1024("2", text_of(0));
  const std::string path = tuned_file({tuned});
  for (const std::vector<const char*>& others : {std::vector<const char*>{"3", "--size", "1024"},
                                                 {"2", "--size", "2048"},
                                                 {"2", "--size", "1024", "--type", "fp16"},
                                                 {"2", "--size", "1024", "--a", "col"},
                                                 {"2", "--size", "1024", "--b", "row"}}) {
    std::vector<const char*> arguments = others;
    arguments.insert(arguments.end(), {"--config", path.c_str()});
    expect_config_refused(arguments,
                          {"holds no configuration for any version, type and shape", "leave --config out"});
  }
  const std::string empty = write_file("empty.json", "[]");
  expect_config_refused({"2", "--size", "1024", "--config", empty.c_str()}, {"holds no configuration"});
}

TEST_F(TuneTest, ConfigIsForTheGpu) {
  expect_refused({"2", "--device", "emulator", "--config", "best.json"}, {"--config was given", "emulator"});
}

// What best chooses.

Status takes_any(const GemmArgs&) { return {}; }

Status choose_by_k(const GemmArgs& args, KernelChoice* choice) {
  if (args.shape.k > 4096) return unsupported("K is too long for the fake");
  const auto name_of = [](Layout layout) { return layout == Layout::RowMajor ? "row" : "col"; };
  *choice = {"wgmma_k" + std::to_string(args.shape.k),
             fmt::format("because it is {}\nand A is {}, B {}\n", to_string(args.input_type),
                         name_of(args.a_layout), name_of(args.b_layout)),
             static_cast<double>(args.shape.k)};
  return {};
}

constexpr std::array kWithBest = {
    KernelInfo{"1", "first", "the first idea", kHopper, check_tma_gemm, never_launched},
    KernelInfo{"best", "library", "the best idea", kAmpere, takes_any, never_launched, nullptr, choose_by_k},
};

class BestTest : public CliTest {
 protected:
  BestTest() { platform_.kernels_ = kWithBest; }
};

TEST_F(BestTest, ExplainsEachShapeForTheGpuThatThereIs) {
  EXPECT_EQ(run({"explain", "--shape", "1x2x64", "--size", "1024", "--type", "fp16", "--b", "row"}), kExitOk)
      << err_.str();
  EXPECT_EQ(out_.str(),
            "device  NVIDIA H200, 132 SMs\n"
            "\n1024x1024x1024 fp16, A row, B row: wgmma_k1024\n"
            "    because it is fp16\n    and A is row, B row\n"
            "\n1x2x64 fp16, A row, B row: wgmma_k64\n"
            "    because it is fp16\n    and A is row, B row\n"
            "\nGemmPlan::create() took 544 us in the median of 2 plans, kernels loaded\n");
  EXPECT_EQ(run({"explain", "--size", "64", "--a", "col"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("\n64x64x64 bf16, A col, B col: wgmma_k64\n"
                                    "    because it is bf16\n    and A is col, B col\n"));
  EXPECT_THAT(err_.str(), IsEmpty());
  EXPECT_EQ(platform_.sessions_, 0);
}

TEST_F(BestTest, ExplainsForTheEmulatedGpuWhereThereIsNoOther) {
  platform_.emulated_kernels_ = kWithBest;
  platform_.query_status_ = unsupported("no NVIDIA GPU is visible to CUDA; type `./matmul list`");
  EXPECT_EQ(run({"explain", "--size", "64"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("device  an emulated sm_90 GPU with the 132 SMs of an H200"),
                                HasSubstr("since no NVIDIA GPU is visible to CUDA"), HasSubstr("wgmma_k64")));
  platform_.query_status_ = {};
  platform_.device_.compute_capability = {7, 5};
  EXPECT_EQ(run({"explain", "--size", "64"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("since kernel best (library) needs an sm_80 or newer GPU"));
  platform_.device_ = h200();
  EXPECT_EQ(run({"explain", "--size", "64", "--device", "emulator"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("an emulated sm_90 GPU"));
}

TEST_F(BestTest, ExplainTakesShapesTypesAndLayoutsAlone) {
  expect_refused({"explain", "1"}, {"explain was given together with versions", "`./matmul explain`"});
  expect_refused({"1", "explain"}, {"explain was given together with versions"});
  expect_refused({"tune", "explain"}, {"explain was given together with versions"});
  expect_refused({"explain", "--rounds", "3"},
                 {"--rounds was given together with explain", "--shape", "leave --rounds out"});
  expect_refused({"explain", "--shape", "8x8"}, {"--shape got '8x8'"});
}

TEST_F(BestTest, ExplainSaysWhyItCannot) {
  EXPECT_EQ(run({"explain", "--size", "8192"}), kExitCannotRun);
  EXPECT_THAT(err_.str(),
              HasSubstr("matmul: 8192x8192x8192: K is too long for the fake; type a smaller --shape\n"));
  platform_.query_status_ = unsupported("no NVIDIA GPU is visible to CUDA; type `./matmul list`");
  expect_refused({"explain", "--device", "gpu"}, {"no NVIDIA GPU is visible"});
  expect_refused({"explain"}, {"explain is about version best", "the emulator"});
  platform_.kernels_ = kLadder;
  expect_refused({"explain"}, {"explain is about version best", "the GPU"});
}

TEST_F(BestTest, ItsRowSaysWhatItChose) {
  const std::string csv = folder_ / "best.csv";
  EXPECT_EQ(run({"1", "--size", "1024", "--csv", csv.c_str()}), kExitOk);
  EXPECT_THAT(read(csv), HasSubstr("bf16,row,col,bf16,none,none,false,0.0,1,1024"));
  EXPECT_EQ(platform_.request_.kernels[0].variant, "");
  platform_.faults_.open_status = unsupported("no session");
  EXPECT_EQ(run({"best", "--size", "1024"}), kExitCannotRun);
  ASSERT_EQ(platform_.request_.kernels.size(), 1U);
  EXPECT_EQ(platform_.request_.kernels[0].variant, "wgmma_k1024");
}

TEST_F(BestTest, BIsAskedForInTheOtherLayout) {
  EXPECT_EQ(run({"0", "--size", "1024", "--b", "row"}), kExitOk);
  EXPECT_EQ(platform_.request_.problem.b_layout, Layout::RowMajor);
  platform_.faults_.open_status = unsupported("no session");
  EXPECT_EQ(run({"best", "--size", "1024", "--b", "row"}), kExitCannotRun);
  EXPECT_EQ(platform_.request_.problem.b_layout, Layout::RowMajor);
  platform_.sessions_ = 0;
  expect_refused(
      {"1", "--size", "1024", "--b", "row"},
      {"kernel 1 (first) cannot run 1024x1024x1024: B is row-major", "leave out --b", "col is its own"});
}

TEST_F(BestTest, AIsAskedForInTheOtherLayout) {
  const std::string csv = folder_ / "cublas.csv";
  EXPECT_EQ(run({"0", "--size", "1024", "--a", "col", "--csv", csv.c_str()}), kExitOk);
  EXPECT_EQ(platform_.request_.problem.a_layout, Layout::ColumnMajor);
  EXPECT_EQ(platform_.request_.problem.b_layout, Layout::ColumnMajor);
  EXPECT_THAT(read(csv), HasSubstr("bf16,col,col,bf16,none,none,false,0.0,1,1024"));
  fs::remove(csv);
  platform_.faults_.open_status = unsupported("no session");
  EXPECT_EQ(run({"best", "--size", "1024", "--a", "col"}), kExitCannotRun);
  EXPECT_EQ(platform_.request_.problem.a_layout, Layout::ColumnMajor);
  EXPECT_EQ(run({"best", "--size", "1024", "--a", "row"}), kExitCannotRun);
  EXPECT_EQ(platform_.request_.problem.a_layout, Layout::RowMajor);
  platform_.sessions_ = 0;
  expect_refused(
      {"1", "--size", "1024", "--a", "col"},
      {"kernel 1 (first) cannot run 1024x1024x1024: A is column-major, but the Hopper ladder takes a "
       "row-major A",
       "; leave out --a, or the version; row is its own layout\n"});
  expect_refused(
      {"1", "--size", "1024", "--a", "col", "--b", "row"},
      {"A is column-major", "; leave out --a and --b, or the version; its own layouts are row and col\n"});
  expect_refused({"1", "--size", "1024", "--a", "row", "--b", "row"},
                 {"B is row-major", "; leave out --b, or"});
}

// Every version of every ladder, and best where a ladder's version stands in for it.
TEST_F(BestTest, NoLadderTakesAColumnMajorA) {
  platform_.kernels_ = all_kernels();
  for (const KernelInfo& kernel : all_kernels()) {
    const std::string version(kernel.version);
    if (version == kLibraryVersion) continue;
    expect_refused({version.c_str(), "--size", "64", "--a", "col"},
                   {"cannot run 64x64x64: A is column-major", "leave out --a, or the version"});
  }
  expect_refused({"best", "--size", "64", "--type", "fp32", "--a", "col"},
                 {"cannot run 64x64x64: A is column-major", "leave out --a, or the version"});
}

TEST_F(BestTest, AnOperationReachesTheSession) {
  platform_.faults_.open_status = unsupported("no session");
  EXPECT_EQ(run({"best", "--size", "64", "--out", "fp32", "--bias", "column", "--activation", "gelu_tanh",
                 "--beta", "-0.5", "--batch", "6"}),
            kExitCannotRun);
  const GemmProblem& problem = platform_.request_.problem;
  EXPECT_EQ(problem.input_type, DataType::BFloat16);
  EXPECT_EQ(problem.output_type, DataType::Float32);
  EXPECT_EQ(problem.bias, Bias::PerColumn);
  EXPECT_EQ(problem.activation, Activation::GeluTanh);
  EXPECT_EQ(problem.beta, -0.5F);
  EXPECT_EQ(problem.batch_count, 6);
  EXPECT_THAT(
      out_.str(),
      HasSubstr("D = gelu_tanh(A·B + beta · C + bias of each column), beta -0.5, bf16 to fp32, 6 batches\n"));
}

TEST_F(BestTest, AGateReachesTheSession) {
  platform_.faults_.open_status = unsupported("no session");
  EXPECT_EQ(run({"best", "--size", "64", "--activation", "silu", "--gated"}), kExitCannotRun);
  EXPECT_TRUE(platform_.request_.problem.gated);
  EXPECT_THAT(out_.str(), HasSubstr("D = silu(A·B), gated, bf16 to bf16\n"));
}

TEST_F(BestTest, TheSuiteOfGatesHasAPlainProductBesideThem) {
  EXPECT_EQ(run({"0", "--suite", "gated"}), kExitOk) << err_.str();
  EXPECT_EQ(platform_.sessions_, 9);
  EXPECT_TRUE(platform_.request_.problem.gated) << "the last one";
}

TEST_F(BestTest, KernelsOfALadderComputeTheProductAlone) {
  expect_refused(
      {"1", "--size", "64", "--activation", "relu"},
      {"kernel 1 (first) cannot run 64x64x64: the kernels of the ladders add no bias",
       "leave out --out, --bias, --activation, --gated, --beta and --batch", "best computes them"});
  expect_refused({"1", "--size", "64", "--beta", "1"}, {"alpha = 1 and beta = 0", "leave out --out"});
  // Its row says so beside those of others.
  platform_.faults_.open_status = unsupported("no session");
  EXPECT_EQ(run({"1", "best", "--size", "64", "--bias", "row"}), kExitCannotRun);
  ASSERT_EQ(platform_.request_.kernels.size(), 1U);
  EXPECT_EQ(platform_.request_.kernels[0].version, "best");
}

TEST_F(BestTest, OperationsThatThereAreNotAreRefused) {
  expect_refused({"best", "--out", "int8"}, {"--out got 'int8'", "bf16, fp16 and fp32"});
  expect_refused({"best", "--bias", "diagonal"}, {"--bias got 'diagonal'", "none, row and column"});
  expect_refused({"best", "--activation", "tanh"}, {"--activation got 'tanh'", "gelu_tanh and silu"});
  for (const char* beta : {"one", "1e999", "nan", "1.5x"}) {
    expect_refused({"best", "--beta", beta}, {"--beta got '", beta, "type for example --beta 1"});
  }
  expect_refused({"best", "--batch", "0"},
                 {"--batch got '0'", "from 1 to 1048576", "type for example --batch 64"});
  expect_refused({"best", "--device", "emulator", "--beta", "1"}, {"--beta"});
}

TEST_F(BestTest, TheSuiteOfBatchesPairsShapesWithTheirNumbers) {
  EXPECT_EQ(run({"0", "--suite", "batches"}), kExitOk) << err_.str();
  EXPECT_EQ(platform_.sessions_, 6);
  EXPECT_EQ(platform_.request_.problem.batch_count, 16);
  EXPECT_EQ(platform_.request_.problem.shape, (GemmShape{4096, 512, 512}));
  EXPECT_THAT(out_.str(), HasSubstr("D = A·B, bf16 to bf16, 64 batches\n"));
  platform_.sessions_ = 0;
  expect_refused({"1", "--suite", "batches"},
                 {"the kernels of the ladders compute one product and no batches"});
}

TEST_F(BestTest, TheSuiteOfEpiloguesBringsShapesAndOperations) {
  EXPECT_EQ(run({"0", "--suite", "epilogues"}), kExitOk) << err_.str();
  EXPECT_EQ(platform_.sessions_, 8 * 6);
  EXPECT_EQ(platform_.request_.problem.output_type, DataType::Float32) << "the last one";
  for (const char* text : {"D = A·B + bias of each column, bf16 to bf16\n",
                           "D = relu(A·B + bias of each column)", "D = gelu_tanh(A·B + bias of each column)",
                           "D = A·B + beta · C, beta 1", "D = A·B, bf16 to fp32", "D = A·B, bf16 to bf16"}) {
    EXPECT_THAT(out_.str(), HasSubstr(text));
  }
  platform_.sessions_ = 0;
  for (const char* other : {"--size", "--beta", "--suite"}) {
    expect_refused(
        {"best", "--suite", "epilogues", other, other == std::string_view("--suite") ? "llm" : "8"},
        {"--suite epilogues was given together with ", "leave one of the two out"});
  }
}

TEST_F(BestTest, TheRandomSuiteDrawsShapesFromTheSeed) {
  EXPECT_EQ(run({"0", "--suite", "random", "--count", "7", "--seed", "5"}), kExitOk) << err_.str();
  EXPECT_EQ(platform_.sessions_, 7);
  EXPECT_THAT(out_.str(), HasSubstr("D = A·B, bf16 to bf16, B col\n"));
  EXPECT_THAT(out_.str(), HasSubstr("D = A·B, bf16 to bf16, B row\n"));
  platform_.sessions_ = 0;
  for (const char* other : {"--shape", "--b", "--bias"}) {
    expect_refused(
        {"best", "--suite", "random", other, other == std::string_view("--shape") ? "8x8x8" : "row"},
        {"--suite random was given together with ", "leave one of the two out"});
  }
  expect_refused({"best", "--count", "7"}, {"--count was given without --suite random"});
  expect_refused({"best", "--suite", "random", "--count", "0"},
                 {"--count got '0'", "from 1 to 1000", "type for example --count 100"});
}

TEST_F(BestTest, ExplainTakesAnOperation) {
  EXPECT_EQ(run({"explain", "--size", "64", "--bias", "column", "--activation", "relu"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("    D = relu(A·B + bias of each column), bf16 to bf16\n"));
}

// Two suites may share a shape, and the library refuses a file with two configurations for one problem.
TEST_F(TuneTest, WritesOneConfigurationForAProblem) {
  const std::string json = folder_ / "best.json";
  EXPECT_EQ(run({"tune", "2", "--size", "1024", "--shape", "1024x1024x1024", "--json", json.c_str()}),
            kExitOk);
  std::vector<TunedConfig> best;
  ASSERT_TRUE(parse_tuned_json(json, read(json), &best).ok());
  EXPECT_EQ(best.size(), 1U);
}

TEST_F(TuneTest, WritesTheOperationThatItMeasured) {
  const std::string json = folder_ / "best.json";
  EXPECT_EQ(run({"tune", "2", "--size", "1024", "--bias", "column", "--out", "fp32", "--json", json.c_str()}),
            kExitOk)
      << err_.str();
  std::vector<TunedConfig> best;
  ASSERT_TRUE(parse_tuned_json(json, read(json), &best).ok());
  ASSERT_EQ(best.size(), 1U);
  EXPECT_EQ(best[0].operation, (Operation{.output_type = DataType::Float32, .bias = Bias::PerColumn}));
  EXPECT_EQ(run({"2", "--size", "1024", "--bias", "column", "--out", "fp32", "--config", json.c_str()}),
            kExitOk);
  EXPECT_THAT(variants_of_request(), ElementsAre("2 " + text_of(1)));
  EXPECT_EQ(run({"2", "--size", "1024", "--config", json.c_str()}), kExitCannotRun)
      << "it is another operation";
  EXPECT_THAT(err_.str(), HasSubstr("holds no configuration"));
}

TEST_F(TuneTest, FilesOfConfigurationsHaveNoC) {
  const std::string json = folder_ / "tuned.json";
  expect_refused({"tune", "2", "--beta", "1", "--json", json.c_str()},
                 {"--json was given together with tune"});
  expect_refused({"2", "--beta", "1", "--config", json.c_str()},
                 {"--config was given together with an operation that adds C"});
}

Status is_usable() { return {}; }
Status does_not_exist() { return invalid_argument("the file does not exist"); }

template <auto kCheckTuning, auto kCheckProbe>
std::span<const MeasurementFile> files_of_a_test() {
  static constexpr std::array kFiles = {
      MeasurementFile{"HGEMM_TUNING_FILE", "tune best --json", false, kCheckTuning},
      MeasurementFile{"HGEMM_PROBE_FILE", "probe --json", true, kCheckProbe}};
  return kFiles;
}

TEST_F(BestTest, AFileThatCannotBeUsedIsAnError) {
  std::array kernels = kWithBest;
  platform_.kernels_ = kernels;
  kernels[1].tuning = &kTuning;
  kernels[1].files = files_of_a_test<does_not_exist, is_usable>;
  expect_refused({"best", "--size", "1024"},
                 {"the environment variable HGEMM_TUNING_FILE cannot be used: the file does not exist; unset "
                  "it, or let it name a file that `./matmul tune best --json` wrote here"});
  kernels[1].files = files_of_a_test<is_usable, does_not_exist>;
  for (const std::vector<const char*>& command :
       {std::vector{"best", "--size", "1024"}, std::vector{"tune", "best", "--size", "1024"}}) {
    expect_refused(
        command, {"the environment variable HGEMM_PROBE_FILE cannot be used: the file does not exist; unset "
                  "it, or let it name a file that `./matmul probe --json` wrote here"});
  }
  EXPECT_EQ(run({"1", "--size", "1024"}), kExitOk) << "they are for best alone";
}

// The emulated GPU has the SMs and the memory of an H200. explain asks the library itself.
class TuningFileOfMatmulTest : public BestTest {
 protected:
  TuningFileOfMatmulTest() { platform_.emulated_kernels_ = emulator::emulated_kernels(); }
  ~TuningFileOfMatmulTest() override { unsetenv("HGEMM_TUNING_FILE"); }

  /// Writes what tune writes on the GPU with this name and so many SMs, and gives it to the library.
  std::string use(const TunedConfig& tuned, int sm_count = 132) const {
    RunInfo run;
    run.device = h200();
    run.device.sm_count = sm_count;
    const std::string path = folder_ / fmt::format("tuned_{}.json", sm_count);
    std::ofstream(path) << tuned_json(run, std::span(&tuned, 1));
    setenv("HGEMM_TUNING_FILE", path.c_str(), 1);
    return path;
  }

  std::string explanation(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"explain", "--device", "emulator"});
    EXPECT_EQ(run(arguments), kExitOk) << err_.str();
    return out_.str();
  }
};

TEST_F(TuningFileOfMatmulTest, DecidesWhatTheLibraryRuns) {
  const TunedConfig tuned = {
      .version = "best", .shape = {384, 640, 1280}, .config = "cooperative_64x64_w1_s12", .tflops = 1};
  const std::string path = use(tuned);
  const std::string chosen = explanation({"--shape", "384x640x1280"});
  EXPECT_THAT(chosen, HasSubstr("B col: cooperative_64x64_w1_s12\n"));
  EXPECT_THAT(chosen, HasSubstr("chosen by the tuning file '" + path + "'; estimates:\n"));
  const std::string with_bias = explanation({"--shape", "384x640x1280", "--bias", "column"});
  EXPECT_THAT(with_bias, HasSubstr("chosen by the tuning file '" + path +
                                   "', which has this shape for the product alone; estimates:\n"));
  EXPECT_THAT(explanation({"--shape", "384x640x1288"}),
              HasSubstr("estimated to be the fastest; estimates:\n"));
}

TEST_F(TuningFileOfMatmulTest, OfAnotherGpuIsNotUsed) {
  const TunedConfig tuned = {
      .version = "best", .shape = {392, 640, 1280}, .config = "cooperative_64x64_w1_s12", .tflops = 1};
  const std::string path = use(tuned, 114);
  const std::string chosen = explanation({"--shape", "392x640x1280"});
  EXPECT_THAT(chosen,
              HasSubstr("HGEMM_TUNING_FILE is not used: the tuning file '" + path +
                        "' was measured on another GPU (NVIDIA H200, 114 SMs, 4.90 TB/s) than this one (132 "
                        "SMs, 4.92 TB/s)\n"));
  EXPECT_THAT(chosen, HasSubstr("estimated to be the fastest; estimates:\n"));
}

TEST_F(TuningFileOfMatmulTest, StandsBesideTheProbeFile) {
  setenv("HGEMM_PROBE_FILE", "missing.json", 1);
  EXPECT_THAT(explanation({"--shape", "384x640x1280"}),
              HasSubstr("HGEMM_PROBE_FILE is not used: the probe file 'missing.json' does not exist\n"));
  EXPECT_THAT(environment_of(emulator::emulated_kernels().back()),
              HasSubstr("HGEMM_PROBE_FILE=missing.json "));
  unsetenv("HGEMM_PROBE_FILE");
}

// Another build of the library.

class AgainstTest : public BestTest {
 protected:
  const std::string path_ = path_beside_the_test("fake_library.so");
};

TEST_F(AgainstTest, IsMeasuredBesideBest) {
  const std::string csv = folder_ / "against.csv";
  const std::string json = folder_ / "against.json";
  EXPECT_EQ(run({"1", "best", "--size", "1024", "--size", "2048", "--mode", "both", "--against",
                 path_.c_str(), "--csv", csv.c_str(), "--json", json.c_str()}),
            kExitOk)
      << err_.str();
  std::vector<std::string> contestants;
  contestants.reserve(platform_.request_.kernels.size());
  for (const SessionKernel& kernel : platform_.request_.kernels) {
    contestants.push_back(kernel.version + " " + kernel.variant);
  }
  EXPECT_THAT(contestants, ElementsAre("1 ", "best wgmma_k2048", "against other_k2048"));
  EXPECT_THAT(out_.str(), HasSubstr("\nagainst " + path_ + ", version "));
  EXPECT_THAT(out_.str(), HasSubstr("% against"));
  EXPECT_THAT(line_of("best library"), AllOf(HasSubstr(" 125.00 "), HasSubstr("yes      wgmma_k1024")));
  EXPECT_THAT(line_of("against library"), AllOf(HasSubstr(" 100.00 "), HasSubstr("yes      other_k1024")));
  EXPECT_THAT(out_.str(), ::testing::EndsWith(
                              "\nbest in % of against, burst: geometric mean 125.00 over 2 of 2 problems, "
                              "from 125.00 (1024x1024x1024) to 125.00 (1024x1024x1024)\n"
                              "best in % of against, sustained: geometric mean 80.00 over 2 of 2 problems, "
                              "from 80.00 (1024x1024x1024) to 80.00 (1024x1024x1024)\n"));
  EXPECT_THAT(read(csv), AllOf(HasSubstr("\nagainst,library,"), HasSubstr(",yes,other_k1024,")));
  const nlohmann::json rows = nlohmann::json::parse(read(json));
  const auto of_best = std::find_if(rows.begin(), rows.end(),
                                    [](const nlohmann::json& row) { return row["version"] == "best"; });
  ASSERT_NE(of_best, rows.end());
  EXPECT_EQ((*of_best)["percent_of_against"], 125);
}

TEST_F(AgainstTest, IsVerified) {
  platform_.faults_.wrong_version = "against";
  EXPECT_EQ(run({"best", "--size", "1024", "--against", path_.c_str()}), kExitWrongKernel);
  EXPECT_THAT(line_of("against library"), AllOf(HasSubstr("WRONG"), HasSubstr("3 elements are wrong")));
  EXPECT_THAT(out_.str(), HasSubstr("best in % of against, burst: no problem that both of them ran\n"));
}

TEST_F(AgainstTest, ComputesWhatBestDoes) {
  EXPECT_EQ(run({"best", "--size", "1024", "--bias", "row", "--batch", "3", "--against", path_.c_str()}),
            kExitOk)
      << err_.str();
  ASSERT_EQ(platform_.request_.kernels.size(), 2U);
  const SessionKernel& against = platform_.request_.kernels[1];
  EXPECT_EQ(against.variant, "other_k1024");
  EXPECT_EQ(platform_.request_.problem.batch_count, 3);
}

TEST_F(AgainstTest, ProblemThatItRefusesSaysSoInItsRow) {
  EXPECT_EQ(run({"best", "--size", "2048", "--size", "4096", "--against", path_.c_str()}), kExitOk)
      << err_.str();
  ASSERT_EQ(platform_.request_.kernels.size(), 1U);
  EXPECT_THAT(out_.str(), HasSubstr("K is too long for the fake\n"));
  EXPECT_THAT(out_.str(), HasSubstr("over 1 of 2 problems"));
}

TEST_F(AgainstTest, NeedsALibraryOfThisInterface) {
  expect_refused({"best", "--against", "no-such-file.so"},
                 {"--against cannot race 'no-such-file.so': No such file or directory", "type the path of"});
  expect_refused({"best", "--against", path_beside_the_test("fake_library_without_run.so").c_str()},
                 {"not a build of this library", "hgemm_plan_run", "type the path of"});
  expect_refused({"best", "--against", path_beside_the_test("fake_library_of_another_version.so").c_str()},
                 {"it is version 99.1.0 of the library", "type the path of"});
}

TEST_F(AgainstTest, NeedsARaceOfBest) {
  const char* const path = path_.c_str();
  expect_refused({"1", "--against", path},
                 {"--against races another build", "with version best, but you did not ask for that",
                  "`./matmul best --against FILE`"});
  expect_refused({"best", "--against", path, "--against", path},
                 {"--against was given 2 times, but it takes one value; type it once"});
  expect_refused({"best", "--against"}, {"--against got nothing, but it needs FILE"});
  expect_refused({"best", "--type", "fp32", "--against", path},
                 {"--against was given together with --type fp32", "bf16 and fp16"});
  expect_refused({"best", "--size", "64", "--profile", "--against", path},
                 {"--against was given together with --profile"});
  expect_refused({"best", "--device", "emulator", "--against", path},
                 {"--against was given, but this runs on the emulator", "leave --against out"});
  expect_refused({"explain", "--against", path}, {"--against was given together with explain"});
  platform_.query_status_ = unsupported("no NVIDIA GPU is visible to CUDA; type `./matmul list`");
  platform_.emulated_kernels_ = kWithBest;
  expect_refused({"best", "--against", path},
                 {"--against was given, but this runs on the emulator", "no NVIDIA GPU is visible"});
}

TEST_F(TuneTest, MeasuresThisBuildAlone) {
  expect_refused({"tune", "2", "--against", "before.so"}, {"--against was given together with tune"});
}

// The command line alone.

class OptionsTest : public ::testing::Test {
 protected:
  std::vector<std::string> versions(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "matmul");
    options_ = {};
    const Status parsed =
        parse_options(static_cast<int>(arguments.size()), arguments.data(), kernels_, &options_);
    EXPECT_TRUE(parsed.ok()) << parsed.message();
    std::vector<std::string> versions;
    versions.reserve(options_.kernels.size());
    for (const KernelInfo* kernel : options_.kernels) versions.emplace_back(kernel->version);
    return versions;
  }

  std::span<const KernelInfo> kernels_ = kLadder;
  Options options_;
};

TEST_F(OptionsTest, VersionsAndRanges) {
  EXPECT_THAT(versions({"all"}), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(versions({"3-4", "1", "3"}), ElementsAre("1", "3", "4"));
  EXPECT_THAT(versions({"0-2"}), ElementsAre("1", "2"));
  EXPECT_THAT(versions({"2-2", "ceiling"}), ElementsAre("2"));
  EXPECT_THAT(versions({"0", "ceiling"}), IsEmpty());
}

TEST_F(OptionsTest, LaddersAndTheirRanges) {
  static constexpr std::array kAll = {
      KernelInfo{"1", "a", "", kHopper, takes_multiples_of_8, never_launched},
      KernelInfo{"2", "b", "", kHopper, takes_multiples_of_8, never_launched},
      KernelInfo{"ampere.1", "c", "", kAmpere, takes_multiples_of_8, never_launched},
      KernelInfo{"ampere.2", "d", "", kAmpere, takes_multiples_of_8, never_launched},
      KernelInfo{"ampere.3", "e", "", kAmpere, takes_multiples_of_8, never_launched},
      KernelInfo{"best", "f", "", kAmpere, takes_multiples_of_8, never_launched},
  };
  kernels_ = kAll;
  EXPECT_THAT(versions({"ampere"}), ElementsAre("ampere.1", "ampere.2", "ampere.3"));
  EXPECT_THAT(versions({"hopper", "best"}), ElementsAre("1", "2", "best"));
  EXPECT_THAT(versions({"ampere.2-3", "1"}), ElementsAre("1", "ampere.2", "ampere.3"));
  EXPECT_THAT(versions({"ampere.1-ampere.2"}), ElementsAre("ampere.1", "ampere.2"));
  EXPECT_THAT(versions({"all"}), ElementsAre("1", "2", "ampere.1", "ampere.2", "ampere.3", "best"));
  for (const char* bad :
       {"1-ampere.2", "ampere.1-best", "1-best", "ampere.", "ampere.4", "ampere.2-", "simt"}) {
    const std::array arguments = {"matmul", bad};
    Options options;
    const Status parsed = parse_options(2, arguments.data(), kAll, &options);
    EXPECT_EQ(parsed.code(), StatusCode::InvalidArgument) << bad;
    EXPECT_THAT(parsed.message(),
                HasSubstr("0, 1-2, ampere.1-3, best, hopper, ampere, ceiling, cutlass and all"));
  }
}

TEST_F(OptionsTest, ShapesAreCollectedOnce) {
  versions({"--shape", "8x16x24", "1", "--size", "1024", "--shape", "8x16x24", "--suite", "squares"});
  ASSERT_EQ(options_.shapes.size(), 7U);
  EXPECT_EQ(options_.shapes[0], (GemmShape{1024, 1024, 1024}));
  EXPECT_EQ(options_.shapes[1], (GemmShape{8, 16, 24}));
}

TEST_F(OptionsTest, Defaults) {
  versions({"1"});
  EXPECT_EQ(options_.device, Options::Device::Any);
  EXPECT_THAT(options_.shapes, IsEmpty());
  EXPECT_THAT(options_.modes, ElementsAre(Mode::Burst));
  EXPECT_EQ(options_.data, DataKind::Normal);
  EXPECT_EQ(options_.rounds, 7);
  EXPECT_TRUE(options_.verify);
}

}  // namespace
}  // namespace hopper_gemm
