#include "gemm/tuning_file.hpp"

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "common/quoted_text.hpp"
#include "gemm/heuristics/json_file.hpp"
#include "gemm/host/backend.hpp"

namespace hopper_gemm::library {
namespace {

using Json = nlohmann::json;

constexpr JsonFormat kTuningFormat = {
    .kind = "the tuning file",
    .name = "hopper-gemm tuning",
    .version = 1,
    .fault_of_array =
        "has no format and no version, because an older matmul wrote it; measure again with `matmul "
        "tune best --json`"};
constexpr std::string_view kLibraryVersion = "best";  // what matmul calls the library

constexpr std::array kTypes = {Name<DataType>{to_string(DataType::BFloat16), DataType::BFloat16},
                               Name<DataType>{to_string(DataType::Float16), DataType::Float16},
                               Name<DataType>{to_string(DataType::Float32), DataType::Float32}};
// The dimension along which each layout is contiguous.
constexpr std::array kMajorsOfA = {Name<OperandMajor>{"row", OperandMajor::K},
                                   Name<OperandMajor>{"col", OperandMajor::MN}};
constexpr std::array kMajorsOfB = {Name<OperandMajor>{"row", OperandMajor::MN},
                                   Name<OperandMajor>{"col", OperandMajor::K}};
constexpr std::array kBiases = {Name<Bias>{"none", Bias::None}, Name<Bias>{"row", Bias::PerRow},
                                Name<Bias>{"column", Bias::PerColumn}};
constexpr std::array kActivations = {
    Name<Activation>{"none", Activation::None}, Name<Activation>{"relu", Activation::Relu},
    Name<Activation>{"gelu", Activation::Gelu}, Name<Activation>{"gelu_tanh", Activation::GeluTanh},
    Name<Activation>{"silu", Activation::Silu}};

std::string to_text(const TuningKey& key) {
  const GemmShape& shape = key.shape;
  return std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k) + " in " +
         to_string(key.input_type);
}

/// The names of the configurations that the library can run for some problem.
std::unordered_set<std::string> known_configs() {
  std::unordered_set<std::string> names;
  for (const Backend* backend : all_backends()) {
    for (std::string& name : backend->configs()) names.insert(std::move(name));
  }
  return names;
}

TuningKey read_key(JsonReader& fields) {
  TuningKey key;
  key.input_type = fields.one_of("type", kTypes);
  key.a_major = fields.one_of("a", kMajorsOfA);
  key.b_major = fields.one_of("b", kMajorsOfB);
  key.shape = {fields.positive("m"), fields.positive("n"), fields.positive("k")};
  // Without these fields, the entry is for the product alone.
  key.output_type = fields.has("out") ? fields.one_of("out", kTypes) : key.input_type;
  if (fields.has("bias")) key.bias = fields.one_of("bias", kBiases);
  if (fields.has("activation")) key.activation = fields.one_of("activation", kActivations);
  if (fields.has("gated")) key.is_gated = fields.boolean("gated");
  if (fields.has("batch")) key.batch_count = fields.positive("batch");
  return key;
}

/// Reads the entries. Returns what is wrong with them: the rest of a sentence that begins with the file. Empty if
/// nothing is.
std::string read_configs(const Json& entries, std::map<TuningKey, std::string>* configs) {
  const std::unordered_set<std::string> known = known_configs();
  std::map<TuningKey, std::size_t> places;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string place = "configs[" + std::to_string(i) + "]";
    if (!entries[i].is_object())
      return "has " + text_of(entries[i]) + " as " + place + ", but it must be an object";
    JsonReader fields(entries[i], " in " + place);
    if (fields.text("version") != kLibraryVersion && fields.fault().empty()) continue;
    const TuningKey key = read_key(fields);
    const std::string config = fields.text("config");
    if (!fields.fault().empty()) return fields.fault();
    if (key.input_type == DataType::Float32) continue;
    if (known.count(config) == 0) {
      return "names " + one_line(excerpt(config)) + " in " + place +
             ", which is no configuration of this library";
    }
    if (const auto [first, is_new] = places.emplace(key, i); !is_new) {
      return "has two configurations for one problem, " + to_text(key) + ", in configs[" +
             std::to_string(first->second) + "] and " + place;
    }
    configs->emplace(key, config);
  }
  return configs->empty() ? "has no configuration of version best, which is the library" : "";
}

}  // namespace

Status read_tuning_file(const std::string& path, std::shared_ptr<const TuningTable>* table) {
  Json json;
  HG_RETURN_IF_ERROR(read_json_file(kTuningFormat, path, &json));
  const auto refuse = [&path](const std::string& fault) {
    return invalid_argument(name_of_file(kTuningFormat, path) + " " + fault);
  };
  JsonReader fields(json, "");
  const auto made = std::make_shared<TuningTable>();
  made->path = path;
  made->gpu = fields.text("gpu");
  made->sm_count = fields.positive("sm_count");
  const double rate = fields.not_negative("memory_bytes_per_us");
  // Some drivers do not know the rate. The library then takes its default for the GPU and for the file.
  made->memory_bytes_per_us = rate > 0 ? rate : Device{}.memory_bytes_per_us;
  if (!fields.fault().empty()) return refuse(fields.fault());
  if (!fields.has("configs")) return refuse("has no field configs");
  if (!json["configs"].is_array()) {
    return refuse("has the configs " + text_of(json["configs"]) + ", but it must be an array");
  }
  if (const std::string fault = read_configs(json["configs"], &made->configs); !fault.empty()) {
    return refuse(fault);
  }
  *table = made;
  return {};
}

Status check_tuning_device(const TuningTable& table, const Device& device) {
  return check_gpu(kTuningFormat, table, device);
}

Status use_environment_tuning(const Device& device) {
  static auto* const file = new EnvironmentFile<TuningTable>("HGEMM_TUNING_FILE", kTuningFormat,
                                                             read_tuning_file, &loaded_tuning());
  return file->use(device);
}

}  // namespace hopper_gemm::library
