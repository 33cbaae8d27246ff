#include "benchmark/tuning.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "benchmark/shapes.hpp"
#include "common/quoted_text.hpp"

namespace hopper_gemm {
namespace {

using Json = nlohmann::ordered_json;

// A change of what a field means, or a new field that a reader must not ignore, makes a new version.
constexpr std::string_view kTuningFormat = "hopper-gemm tuning";
constexpr int kVersion = 1;

/// get<int>() would round 64.9, and keep only the last bits of 4294967360.
int extent_of(const Json& object, const char* name) {
  const Json& value = object.at(name);
  if (value.is_number_integer()) {
    const auto extent = value.get<std::int64_t>();
    if (extent >= 1 && extent <= std::numeric_limits<int>::max()) return static_cast<int>(extent);
  }
  throw std::invalid_argument(fmt::format("{} is {}, but must be a whole number from 1 to {}", name,
                                          excerpt(value.dump()), std::numeric_limits<int>::max()));
}

template <typename T>
T known(const char* what, const std::string& name, const std::optional<T>& value) {
  if (!value) throw std::invalid_argument(fmt::format("there is no {} '{}'", what, excerpt(name)));
  return *value;
}

Layout layout_of(const std::string& name) { return known("layout", name, layout_of_name(name)); }

DataType type_of(const std::string& name) {
  std::optional<DataType> type;
  for (const DataType candidate : {DataType::BFloat16, DataType::Float16, DataType::Float32}) {
    if (name == to_string(candidate)) type = candidate;
  }
  return known("type", name, type);
}

/// Fields that a file lacks are those of the product alone.
Operation operation_from_json(const Json& object, DataType input_type) {
  Operation operation;
  if (object.contains("out")) {
    const DataType output_type = type_of(object.at("out").get<std::string>());
    if (output_type != input_type) operation.output_type = output_type;
  }
  if (object.contains("bias")) {
    const auto name = object.at("bias").get<std::string>();
    operation.bias = known("bias", name, bias_of_name(name));
  }
  if (object.contains("activation")) {
    const auto name = object.at("activation").get<std::string>();
    operation.activation = known("activation", name, activation_of_name(name));
  }
  if (object.contains("gated")) operation.gated = object.at("gated").get<bool>();
  if (object.contains("batch")) operation.batch_count = extent_of(object, "batch");
  return operation;
}

TunedConfig from_json(const Json& object) {
  TunedConfig tuned;
  tuned.version = object.at("version").get<std::string>();
  tuned.type = type_of(object.at("type").get<std::string>());
  // Older files have no layout of A, which was always row-major.
  if (object.contains("a")) tuned.a_layout = layout_of(object.at("a").get<std::string>());
  tuned.b_layout = layout_of(object.at("b").get<std::string>());
  tuned.shape = {extent_of(object, "m"), extent_of(object, "n"), extent_of(object, "k")};
  tuned.config = object.at("config").get<std::string>();
  tuned.tflops = object.at("tflops").get<double>();
  tuned.operation = operation_from_json(object, tuned.type);
  return tuned;
}

/// The array of configurations in a file of the present format, or of the format of earlier versions.
Json configs_of(Json file) {
  if (!file.is_object()) return file;
  const std::string format = file.at("format").get<std::string>();
  if (format != kTuningFormat)
    throw std::invalid_argument(fmt::format("the format is '{}'", excerpt(format)));
  if (file.at("version") != kVersion) {
    throw std::invalid_argument(fmt::format("the version of the format is {}, but this matmul reads {}",
                                            excerpt(file.at("version").dump()), kVersion));
  }
  Json configs = std::move(file.at("configs"));
  if (!configs.is_array()) throw std::invalid_argument("configs is no array");
  return configs;
}

}  // namespace

std::string tuned_json(const RunInfo& run, std::span<const TunedConfig> configs) {
  Json array = Json::array();
  for (const TunedConfig& tuned : configs) {
    const Operation& operation = tuned.operation;
    array.push_back({{"version", tuned.version},
                     {"type", to_string(tuned.type)},
                     {"a", to_string(tuned.a_layout)},
                     {"b", to_string(tuned.b_layout)},
                     {"out", to_string(operation.output_type.value_or(tuned.type))},
                     {"bias", to_string(operation.bias)},
                     {"activation", to_string(operation.activation)},
                     {"gated", operation.gated},
                     {"batch", operation.batch_count},
                     {"m", tuned.shape.m},
                     {"n", tuned.shape.n},
                     {"k", tuned.shape.k},
                     {"config", tuned.config},
                     {"tflops", tuned.tflops}});
  }
  const Json file = {{"format", kTuningFormat},
                     {"version", kVersion},
                     {"gpu", run.device.name},
                     {"sm_count", run.device.sm_count},
                     {"memory_bytes_per_us", run.device.memory_bytes_per_us},
                     {"commit", run.commit},
                     {"date", run.date},
                     {"command", run.command},
                     {"configs", std::move(array)}};
  // The command may hold bytes that are not UTF-8.
  return file.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status parse_tuned_json(const std::string& path, std::string_view text, std::vector<TunedConfig>* configs) {
  try {
    configs->clear();
    for (const Json& object : configs_of(Json::parse(text))) configs->push_back(from_json(object));
  } catch (const std::exception& error) {
    return invalid_argument(fmt::format(
        "--config cannot parse '{}' ({}); type the name of a file that `./matmul tune` wrote by --json", path,
        excerpt(error.what())));
  }
  return {};
}

Operation operation_of(const GemmProblem& problem) {
  Operation operation;
  if (problem.output_type != problem.input_type) operation.output_type = problem.output_type;
  operation.bias = problem.bias;
  operation.activation = problem.activation;
  operation.gated = problem.gated;
  operation.beta = problem.beta;
  operation.batch_count = problem.batch_count;
  return operation;
}

}  // namespace hopper_gemm
