#include "benchmark/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "benchmark/shapes.hpp"

namespace hopper_gemm {
namespace {

using Json = nlohmann::ordered_json;

TunedConfig from_json(const Json& object) {
  TunedConfig tuned;
  tuned.version = object.at("version").get<std::string>();
  const std::string type = object.at("type").get<std::string>();
  constexpr std::array kTypes = {DataType::BFloat16, DataType::Float16, DataType::Float32};
  const auto* const found = std::find_if(kTypes.begin(), kTypes.end(),
                                         [&](DataType candidate) { return type == to_string(candidate); });
  if (found == kTypes.end()) throw std::invalid_argument(fmt::format("there is no type '{}'", type));
  tuned.type = *found;
  const std::string layout = object.at("b").get<std::string>();
  const std::optional<Layout> b_layout = layout_of_name(layout);
  if (!b_layout) throw std::invalid_argument(fmt::format("there is no layout '{}'", layout));
  tuned.b_layout = *b_layout;
  tuned.shape = {object.at("m").get<int>(), object.at("n").get<int>(), object.at("k").get<int>()};
  tuned.config = object.at("config").get<std::string>();
  tuned.tflops = object.at("tflops").get<double>();
  return tuned;
}

}  // namespace

std::string tuned_json(const RunInfo& run, std::span<const TunedConfig> configs) {
  Json array = Json::array();
  for (const TunedConfig& tuned : configs) {
    array.push_back({{"version", tuned.version},
                     {"type", to_string(tuned.type)},
                     {"b", to_string(tuned.b_layout)},
                     {"m", tuned.shape.m},
                     {"n", tuned.shape.n},
                     {"k", tuned.shape.k},
                     {"config", tuned.config},
                     {"tflops", tuned.tflops},
                     {"gpu", run.device.name},
                     {"sm_count", run.device.sm_count},
                     {"commit", run.commit},
                     {"date", run.date},
                     {"command", run.command}});
  }
  // The command may hold bytes that are no UTF-8.
  return array.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status parse_tuned_json(const std::string& path, std::string_view text, std::vector<TunedConfig>* configs) {
  try {
    configs->clear();
    for (const Json& object : Json::parse(text)) configs->push_back(from_json(object));
  } catch (const std::exception& error) {
    return invalid_argument(fmt::format(
        "--config cannot make out '{}' ({}); type the name of a file that `./matmul tune` wrote by --json",
        path, error.what()));
  }
  return {};
}

}  // namespace hopper_gemm
