// Tuning files: what the library reads, what it refuses and with which sentence, and when their entries count.

#include "gemm/tuning_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "emulator/emulator.hpp"
#include "fake_backends.hpp"
#include "gemm_c_interface.h"
#include "hopper_gemm/gemm.hpp"

namespace hopper_gemm::library {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr Device kTunedH200 = {.id = 0, .major = 9, .minor = 0, .sm_count = 132, .max_shared_bytes = 232448};

/// An entry that begins so, with the fields that every entry has.
std::string entry(const std::string& config, const std::string& extents, const std::string& more = "") {
  return R"({"version": "best", "type": "bf16", "a": "row", "b": "col", )" + extents + more +
         R"(, "config": ")" + config + "\"}";
}

const std::string kShape = R"("m": 16, "n": 24, "k": 8)";
const std::string kGpu = R"("gpu": "NVIDIA H200", "sm_count": 132, "memory_bytes_per_us": 4.9e6)";

std::string tuning_file_of(const std::string& entries, const std::string& gpu = kGpu,
                           const std::string& version = "1") {
  return R"({"format": "hopper-gemm tuning", "version": )" + version + ", " + gpu + R"(, "configs": [)" +
         entries + "]}";
}

/// The problem of an entry with kShape.
KernelArgs args_of_entry() {
  KernelArgs args{};
  args.shape = {16, 24, 8};
  args.batch_count = 1;
  return args;
}

class TuningFile : public testing::Test {
 protected:
  TuningFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hopper_gemm_test_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    reset();
    emulator::configure({.sms = 132});
  }
  ~TuningFile() override {
    std::filesystem::remove_all(folder_);
    reset();
    emulator::configure({});
  }

  static void reset() {
    reset_fake_backends();
    unsetenv("HGEMM_CONFIG");
    unsetenv("HGEMM_TUNING_FILE");
    // A plan notices that the variable is gone.
    static_cast<void>(use_environment_tuning(kTunedH200));
    loaded_tuning().clear();
  }

  std::string write(const std::string& text, const std::string& name = "tuned.json") const {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    return path;
  }

  /// What the library says to a file with this text, after the file's name.
  std::string refusal_of(const std::string& text, StatusCode code = StatusCode::InvalidArgument) const {
    const std::string path = write(text);
    std::shared_ptr<const TuningTable> table;
    const Status status = read_tuning_file(path, &table);
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_EQ(table, nullptr);
    const std::string start = "the tuning file '" + path + "' ";
    EXPECT_THAT(status.message(), StartsWith(start));
    return status.message().substr(std::min(start.size(), status.message().size()));
  }

  std::filesystem::path folder_;
};

// --- What a file holds -----------------------------------------------------------------------------------------------

TEST_F(TuningFile, IsReadWithEveryFieldOfAnEntry) {
  const std::string plain = entry("wgmma_fake", kShape);
  const std::string other =
      R"({"version": "best", "type": "fp16", "a": "col", "b": "row", "out": "fp32", "bias": "row", )"
      R"("activation": "gelu_tanh", "gated": true, "batch": 3, "m": 1, "n": 2, "k": 3, "config": "mma_sync_fake", )"
      R"("tflops": 12.5, "a field of a later version": null})";
  std::shared_ptr<const TuningTable> table;
  const std::string path = write(tuning_file_of(plain + ", " + other));
  const Status status = read_tuning_file(path, &table);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(table->path, path);
  EXPECT_EQ(table->gpu, "NVIDIA H200");
  EXPECT_EQ(table->sm_count, 132);
  EXPECT_EQ(table->memory_bytes_per_us, 4.9e6);
  const TuningKey key_of_plain = {.shape = {16, 24, 8}};
  const TuningKey key_of_other = {.shape = {1, 2, 3},
                                  .a_major = OperandMajor::MN,
                                  .b_major = OperandMajor::MN,
                                  .input_type = DataType::Float16,
                                  .output_type = DataType::Float32,
                                  .bias = Bias::PerRow,
                                  .activation = Activation::GeluTanh,
                                  .is_gated = true,
                                  .batch_count = 3};
  EXPECT_THAT(table->configs, ElementsAre(std::pair(key_of_other, std::string("mma_sync_fake")),
                                          std::pair(key_of_plain, std::string("wgmma_fake"))));
}

TEST_F(TuningFile, MayHoldWhatIsNotTheLibrarys) {
  const std::string of_ampere = R"({"version": "ampere.6", "config": "128x256x32"})";
  const std::string of_fp32 =
      R"({"version": "best", "type": "fp32", "a": "row", "b": "row", "m": 1, "n": 2, "k": 3, "config": "64x64"})";
  std::shared_ptr<const TuningTable> table;
  ASSERT_TRUE(
      read_tuning_file(write(tuning_file_of(of_ampere + ", " + of_fp32 + ", " + entry("wgmma_fake", kShape))),
                       &table)
          .ok());
  EXPECT_THAT(table->configs, SizeIs(1));
  EXPECT_EQ(refusal_of(tuning_file_of(of_ampere)),
            "has no configuration of version best, which is the library");
  EXPECT_EQ(refusal_of(tuning_file_of("")), "has no configuration of version best, which is the library");
}

// --- What is refused -------------------------------------------------------------------------------------------------

TEST_F(TuningFile, IsRefusedIfItCannotBeRead) {
  std::shared_ptr<const TuningTable> table;
  const auto message = [&](const std::string& path) {
    const Status status = read_tuning_file(path, &table);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    return status.message();
  };
  const std::string missing = folder_ / "mis\nsing.json";
  EXPECT_EQ(message(missing),
            "the tuning file '" + (folder_ / "mis sing.json").string() + "' does not exist");
  EXPECT_EQ(message(""), "the tuning file '' does not exist");
  EXPECT_EQ(message(folder_), "the tuning file '" + folder_.string() + "' is not a regular file");
  EXPECT_THAT(message(write("{}") + "/tuned.json"), HasSubstr("/tuned.json/tuned.json' "));
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(message(pipe), "the tuning file '" + pipe + "' is not a regular file");
  EXPECT_EQ(refusal_of(std::string((4 << 20) + 1, ' ')), "has 4194305 bytes, but may have at most 4194304");
}

TEST_F(TuningFile, IsRefusedIfItIsNoJson) {
  EXPECT_EQ(refusal_of(""), "is not JSON: byte 1 cannot be parsed");
  EXPECT_EQ(refusal_of("version,name\n1,first\n"), "is not JSON: byte 1 cannot be parsed");
  EXPECT_EQ(refusal_of("{\"format\": }"), "is not JSON: byte 12 cannot be parsed");
  EXPECT_EQ(refusal_of("{\"format\": \"\xff\"}"), "is not JSON: byte 13 cannot be parsed");
  EXPECT_EQ(refusal_of("{} {}"), "is not JSON: byte 4 cannot be parsed");
  EXPECT_EQ(refusal_of("{\"version\": 1e999}"), "has a number that is too large");
  EXPECT_EQ(refusal_of("3"), "is 3, but it must be a JSON object");
  EXPECT_THAT(refusal_of(std::string(100000, '[')), StartsWith("is not JSON: "));
}

TEST_F(TuningFile, IsRefusedIfItHasAnotherFormat) {
  EXPECT_EQ(
      refusal_of("[" + entry("wgmma_fake", kShape) + "]"),
      "has no format and no version, because an older matmul wrote it; measure again with `matmul tune best "
      "--json`");
  EXPECT_EQ(refusal_of("{}"), "has no field format");
  EXPECT_EQ(refusal_of(R"({"format": 1})"), "has the format 1, but it must be a string");
  EXPECT_EQ(refusal_of(R"({"format": "another"})"),
            "has the format \"another\", but it must be \"hopper-gemm tuning\"");
  EXPECT_EQ(refusal_of(R"({"format": "hopper-gemm tuning"})"), "has no field version");
  for (const std::string version : {"2", "0", "\"1\"", "1.5", "18446744073709551617"}) {
    EXPECT_THAT(
        refusal_of(tuning_file_of(entry("wgmma_fake", kShape), kGpu, version), StatusCode::Unsupported),
        AllOf(StartsWith("has version "), HasSubstr(" of the format, but this library reads version 1")));
  }
  EXPECT_EQ(refusal_of(tuning_file_of("", kGpu, "2"), StatusCode::Unsupported),
            "has version 2 of the format, but this library reads version 1");
}

TEST_F(TuningFile, IsRefusedIfItDoesNotSayTheGpu) {
  const std::string one = entry("wgmma_fake", kShape);
  EXPECT_EQ(refusal_of(tuning_file_of(one, R"("sm_count": 132, "memory_bytes_per_us": 1)")),
            "has no field gpu");
  EXPECT_EQ(refusal_of(tuning_file_of(one, R"("gpu": "a", "memory_bytes_per_us": 1)")),
            "has no field sm_count");
  EXPECT_EQ(refusal_of(tuning_file_of(one, R"("gpu": "a", "sm_count": 132)")),
            "has no field memory_bytes_per_us");
  EXPECT_EQ(refusal_of(tuning_file_of(one, R"("gpu": null, "sm_count": 1, "memory_bytes_per_us": 1)")),
            "has the gpu null, but it must be a string");
  EXPECT_EQ(refusal_of(tuning_file_of(one, R"("gpu": "a", "sm_count": 0, "memory_bytes_per_us": 1)")),
            "has the sm_count 0, but it must be a whole number from 1 to 2147483647");
  EXPECT_EQ(refusal_of(tuning_file_of(one, R"("gpu": "a", "sm_count": 1, "memory_bytes_per_us": -1)")),
            "has the memory_bytes_per_us -1, but it must be a number that is not negative");
}

TEST_F(TuningFile, IsRefusedForAFaultOfAnyEntry) {
  const std::string one = entry("wgmma_fake", kShape);
  const std::string head = R"({"format": "hopper-gemm tuning", "version": 1, )" + kGpu;
  EXPECT_EQ(refusal_of(head + "}"), "has no field configs");
  EXPECT_EQ(refusal_of(head + R"(, "configs": {"a": 1}})"),
            "has the configs {\"a\":1}, but it must be an array");
  EXPECT_EQ(refusal_of(tuning_file_of(one + ", 5")), "has 5 as configs[1], but it must be an object");
  EXPECT_EQ(refusal_of(tuning_file_of(one + ", {}")), "has no field version in configs[1]");
  EXPECT_EQ(refusal_of(tuning_file_of(one + ", " + one)),
            "has two configurations for one problem, 16x24x8 in bf16, in configs[0] and configs[1]");
  EXPECT_EQ(
      refusal_of(tuning_file_of(one + ", " + entry("wgmma_fake", R"("m": 17, "n": 24, "k": 8, "batch": 0)"))),
      "has the batch 0 in configs[1], but it must be a whole number from 1 to 2147483647");
  EXPECT_EQ(refusal_of(tuning_file_of(entry("wgmma_other", kShape))),
            "names wgmma_other in configs[0], which is no configuration of this library");
  EXPECT_EQ(refusal_of(tuning_file_of(entry("wgmma", kShape))),
            "names wgmma in configs[0], which is no configuration of this library");
  EXPECT_EQ(refusal_of(tuning_file_of(entry("wgmma\\u001b[31m", kShape))),
            "names wgmma [31m in configs[0], which is no configuration of this library");
}

TEST_F(TuningFile, NamesTheFieldOfAnEntryThatIsMissingOrWrong) {
  const std::vector<std::pair<std::string, std::string>> fields = {
      {"type", "bf16"},        {"a", "row"}, {"b", "col"}, {"m", "16"}, {"n", "24"}, {"k", "8"},
      {"config", "wgmma_fake"}};
  const auto text_with = [&](const std::string& changed, const std::string& value) {
    std::string text = R"({"version": "best")";
    for (const auto& [name, right] : fields) {
      const bool is_number = name.size() == 1 && std::string("mnk").find(name) != std::string::npos;
      if (name != changed) {
        text.append(", \"").append(name).append(is_number ? "\": " : "\": \"").append(right);
        text += is_number ? "" : "\"";
      } else if (!value.empty()) {
        text.append(", \"").append(name).append("\": ").append(value);
      }
    }
    return tuning_file_of(text + "}");
  };
  for (const auto& [name, right] : fields) {
    EXPECT_EQ(refusal_of(text_with(name, "")), "has no field " + name + " in configs[0]");
    EXPECT_THAT(refusal_of(text_with(name, "[]")),
                StartsWith("has the " + name + " [] in configs[0], but it must be "));
  }
  for (const std::string value : {"-1", "0", "2.5", "\"16\"", "2147483648", "18446744073709551615", "1e3"}) {
    EXPECT_THAT(refusal_of(text_with("m", value)),
                HasSubstr("in configs[0], but it must be a whole number from 1 to 2147483647"));
  }
  EXPECT_EQ(refusal_of(text_with("type", "\"fp8\"")),
            "has the type \"fp8\" in configs[0], but it must be bf16, fp16 or fp32");
  EXPECT_EQ(refusal_of(text_with("a", "\"tiled\"")),
            "has the a \"tiled\" in configs[0], but it must be row or col");
  const auto with = [&](const std::string& more) {
    return tuning_file_of(entry("wgmma_fake", kShape, more));
  };
  EXPECT_EQ(refusal_of(with(R"(, "out": "int8")")),
            "has the out \"int8\" in configs[0], but it must be bf16, fp16 or fp32");
  EXPECT_EQ(refusal_of(with(R"(, "bias": "col")")),
            "has the bias \"col\" in configs[0], but it must be none, row or column");
  EXPECT_EQ(refusal_of(with(R"(, "activation": "tanh")")),
            "has the activation \"tanh\" in configs[0], but it must be none, relu, gelu, gelu_tanh or silu");
  EXPECT_EQ(refusal_of(with(R"(, "gated": 1)")),
            "has the gated 1 in configs[0], but it must be true or false");
}

// --- Loading ---------------------------------------------------------------------------------------------------------

std::vector<std::string> configs_for(const KernelArgs& args, const Device& device = kTunedH200) {
  std::vector<std::string> names;
  for (const LoadedChoice& choice : loaded_choices(args, device)) names.push_back(choice.config);
  return names;
}

TEST_F(TuningFile, IsLoadedForTheGpuThatItNames) {
  const std::string path = write(tuning_file_of(entry("wgmma_fake", kShape)));
  ASSERT_TRUE(load_tuning_file(path).ok());
  EXPECT_THAT(configs_for(args_of_entry()), ElementsAre("wgmma_fake"));
  Device other = kTunedH200;
  other.sm_count = 131;
  EXPECT_THAT(configs_for(args_of_entry(), other), IsEmpty());
  other = kTunedH200;
  other.memory_bytes_per_us = kH100MemoryBytesPerUs;
  EXPECT_THAT(configs_for(args_of_entry(), other), IsEmpty());
  other.memory_bytes_per_us = 4.9e6 * 1.05;
  EXPECT_THAT(configs_for(args_of_entry(), other), ElementsAre("wgmma_fake"));
}

// A driver that does not say how fast the memory is says so to matmul, too.
TEST_F(TuningFile, MayLackTheRateOfTheMemory) {
  ASSERT_TRUE(
      load_tuning_file(write(tuning_file_of(entry("wgmma_fake", kShape),
                                            R"("gpu": "a", "sm_count": 132, "memory_bytes_per_us": 0)")))
          .ok());
  EXPECT_THAT(configs_for(args_of_entry()), ElementsAre("wgmma_fake"));
}

TEST_F(TuningFile, IsRefusedForAnotherGpu) {
  const std::string path =
      write(tuning_file_of(entry("wgmma_fake", kShape),
                           R"("gpu": "NVIDIA H100 PCIe", "sm_count": 114, "memory_bytes_per_us": 2.04e6)"));
  const Status status = load_tuning_file(path);
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_EQ(status.message(),
            "the tuning file '" + path +
                "' was measured on another GPU (NVIDIA H100 PCIe, 114 SMs, 2.04 TB/s) than this "
                "one (132 SMs, 4.92 TB/s)");
  EXPECT_THAT(configs_for(args_of_entry()), IsEmpty());
}

TEST_F(TuningFile, ThatIsRefusedLeavesWhatWasLoaded) {
  const std::string path = write(tuning_file_of(entry("wgmma_fake", kShape)));
  ASSERT_TRUE(load_tuning_file(path).ok());
  write(tuning_file_of(entry("mma_sync_fake", kShape) + ", {}"));
  EXPECT_EQ(load_tuning_file(path).code(), StatusCode::InvalidArgument);
  EXPECT_THAT(configs_for(args_of_entry()), ElementsAre("wgmma_fake"));
}

TEST_F(TuningFile, CountsBeforeThoseThatWereLoadedEarlier) {
  const std::string first = write(tuning_file_of(entry("wgmma_fake", kShape)), "first.json");
  const std::string second = write(tuning_file_of(entry("mma_sync_fake", kShape)), "second.json");
  ASSERT_TRUE(load_tuning_file(first).ok());
  ASSERT_TRUE(load_tuning_file(second).ok());
  EXPECT_THAT(configs_for(args_of_entry()), ElementsAre("mma_sync_fake", "wgmma_fake"));
  write(tuning_file_of(entry("wgmma_fake", R"("m": 1, "n": 1, "k": 1)")), "second.json");
  ASSERT_TRUE(load_tuning_file(second).ok());
  EXPECT_THAT(configs_for(args_of_entry()), ElementsAre("wgmma_fake")) << "it replaces what it held before";
}

TEST_F(TuningFile, DecidesByEverythingInTheProblem) {
  ASSERT_TRUE(load_tuning_file(write(tuning_file_of(entry("wgmma_fake", kShape)))).ok());
  KernelArgs args = args_of_entry();
  args.shape.n = 25;
  EXPECT_THAT(configs_for(args), IsEmpty());
  args = args_of_entry();
  args.a.major = OperandMajor::MN;
  EXPECT_THAT(configs_for(args), IsEmpty());
  args = args_of_entry();
  args.b.major = OperandMajor::MN;
  EXPECT_THAT(configs_for(args), IsEmpty());
  args = args_of_entry();
  args.input_type = args.epilogue.output_type = DataType::Float16;
  EXPECT_THAT(configs_for(args), IsEmpty());
  args = args_of_entry();
  args.batch_count = 2;
  EXPECT_THAT(configs_for(args), IsEmpty());
}

TEST_F(TuningFile, HoldsForAnEpilogueUnlessThereIsAnEntryForIt) {
  const std::string product = entry("wgmma_fake", kShape);
  ASSERT_TRUE(load_tuning_file(write(tuning_file_of(
                                   product + ", " +
                                   entry("mma_sync_fake", kShape, R"(, "bias": "column", "out": "fp32")"))))
                  .ok());
  KernelArgs args = args_of_entry();
  args.epilogue.bias_kind = Bias::PerColumn;
  std::vector<LoadedChoice> choices = loaded_choices(args, kTunedH200);
  ASSERT_THAT(choices, SizeIs(1));
  EXPECT_EQ(choices[0].config, "wgmma_fake");
  EXPECT_FALSE(choices[0].is_for_operation);
  EXPECT_EQ(origin_of(choices[0]), "the tuning file '" + (folder_ / "tuned.json").string() +
                                       "', which has this shape for the product alone");
  args.epilogue.output_type = DataType::Float32;
  choices = loaded_choices(args, kTunedH200);
  ASSERT_THAT(choices, SizeIs(2));
  EXPECT_EQ(choices[0].config, "mma_sync_fake");
  EXPECT_TRUE(choices[0].is_for_operation);
  EXPECT_EQ(choices[1].config, "wgmma_fake");
  args.epilogue.has_aux = true;
  choices = loaded_choices(args, kTunedH200);
  ASSERT_THAT(choices, SizeIs(1));
  EXPECT_FALSE(choices[0].is_for_operation);
}

TEST_F(TuningFile, IsLoadedFromC) {
  EXPECT_EQ(load_tuning_file_from_c(nullptr), HGEMM_INVALID_ARGUMENT);
  EXPECT_STREQ(hgemm_last_error_message(), "path is null");
  const std::string path = write(tuning_file_of(entry("wgmma_fake", kShape)));
  EXPECT_EQ(load_tuning_file_from_c(path.c_str()), HGEMM_OK) << hgemm_last_error_message();
  EXPECT_STREQ(hgemm_last_error_message(), "");
  EXPECT_THAT(configs_for(args_of_entry()), ElementsAre("wgmma_fake"));
  write(tuning_file_of("", kGpu, "7"));
  EXPECT_EQ(load_tuning_file_from_c(path.c_str()), HGEMM_UNSUPPORTED);
  EXPECT_THAT(hgemm_last_error_message(), HasSubstr("has version 7 of the format"));
}

TEST_F(TuningFile, IsLoadedWhileOthersLookThingsUp) {
  const std::string first = write(tuning_file_of(entry("wgmma_fake", kShape)), "first.json");
  const std::string second = write(tuning_file_of(entry("mma_sync_fake", kShape)), "second.json");
  ASSERT_TRUE(load_tuning_file(first).ok());
  std::atomic<bool> stop = false;
  std::atomic<int> faults = 0;
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const std::vector<std::string> names = configs_for(args_of_entry());
        if (names.empty() || names.back().empty()) ++faults;
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    if (!load_tuning_file(second).ok() || !load_tuning_file(first).ok()) ++faults;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, 0);
}

// --- The environment variable ----------------------------------------------------------------------------------------

GemmDescriptor problem_of_entry() {
  GemmDescriptor gemm;
  gemm.m = 16;
  gemm.n = 24;
  gemm.k = 8;
  gemm.b.order = Layout::ColumnMajor;
  return gemm;
}

TEST_F(TuningFile, OfTheEnvironmentIsReadByTheFirstPlan) {
  const std::string path = write(tuning_file_of(entry("mma_sync_fake", kShape)));
  setenv("HGEMM_TUNING_FILE", path.c_str(), 1);
  EXPECT_THAT(configs_for(args_of_entry()), IsEmpty());
  GemmPlan plan;
  ASSERT_TRUE(plan.create(problem_of_entry()).ok());
  EXPECT_THAT(configs_for(args_of_entry()), ElementsAre("mma_sync_fake"));
  EXPECT_THAT(plan.explain(), Not(HasSubstr("HGEMM_TUNING_FILE")));
  write("no JSON any more");
  ASSERT_TRUE(plan.create(problem_of_entry()).ok());
  EXPECT_THAT(plan.explain(), Not(HasSubstr("HGEMM_TUNING_FILE"))) << "it is read once";
  const std::string loaded = write(tuning_file_of(entry("wgmma_fake", kShape)), "loaded.json");
  ASSERT_TRUE(load_tuning_file(loaded).ok());
  EXPECT_THAT(configs_for(args_of_entry()), ElementsAre("wgmma_fake", "mma_sync_fake"));
  setenv("HGEMM_TUNING_FILE", "", 1);
  ASSERT_TRUE(plan.create(problem_of_entry()).ok());
  EXPECT_THAT(configs_for(args_of_entry()), ElementsAre("wgmma_fake"));
}

TEST_F(TuningFile, OfTheEnvironmentStopsNoPlan) {
  GemmPlan plan;
  const std::string missing = folder_ / "missing.json";
  setenv("HGEMM_TUNING_FILE", missing.c_str(), 1);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(plan.create(problem_of_entry()).ok());
    EXPECT_EQ(plan.config(), "wgmma_fake");
    EXPECT_THAT(plan.explain(), HasSubstr("\nHGEMM_TUNING_FILE is not used: the tuning file '" + missing +
                                          "' does not exist\nwgmma_fake\n"));
  }
  const std::string path = write(tuning_file_of(entry("mma_sync_fake", kShape)));
  setenv("HGEMM_TUNING_FILE", path.c_str(), 1);
  emulator::configure({.sms = 100});
  ASSERT_TRUE(plan.create(problem_of_entry()).ok());
  EXPECT_THAT(plan.explain(),
              HasSubstr("was measured on another GPU (NVIDIA H200, 132 SMs, 4.90 TB/s) than this one "
                        "(100 SMs, 4.92 TB/s)\n"));
  emulator::configure({.sms = 132});
  ASSERT_TRUE(plan.create(problem_of_entry()).ok());
  EXPECT_THAT(plan.explain(), Not(HasSubstr("HGEMM_TUNING_FILE")));
}

TEST_F(TuningFile, OfTheEnvironmentDoesNotMatterToAPlanThatIsTold) {
  setenv("HGEMM_TUNING_FILE", "missing.json", 1);
  GemmPlan plan;
  GemmOptions options;
  options.config = "mma_sync_fake";
  ASSERT_TRUE(plan.create(problem_of_entry(), options).ok());
  EXPECT_THAT(plan.explain(), Not(HasSubstr("HGEMM_TUNING_FILE")));
  setenv("HGEMM_CONFIG", "wgmma_fake", 1);
  ASSERT_TRUE(plan.create(problem_of_entry()).ok());
  EXPECT_THAT(plan.explain(), Not(HasSubstr("HGEMM_TUNING_FILE")));
  setenv("HGEMM_CONFIG", "wgmma_nothing", 1);
  ASSERT_TRUE(plan.create(problem_of_entry()).ok());
  EXPECT_THAT(plan.explain(), HasSubstr("HGEMM_TUNING_FILE is not used: "));
}

}  // namespace
}  // namespace hopper_gemm::library
