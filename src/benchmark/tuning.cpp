#include "benchmark/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "benchmark/shapes.hpp"
#include "common/quoted_text.hpp"

namespace hopper_gemm {
namespace {

using Json = nlohmann::ordered_json;

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

Layout layout_of(const std::string& name) {
  const std::optional<Layout> layout = layout_of_name(name);
  if (!layout) throw std::invalid_argument(fmt::format("there is no layout '{}'", excerpt(name)));
  return *layout;
}

TunedConfig from_json(const Json& object) {
  TunedConfig tuned;
  tuned.version = object.at("version").get<std::string>();
  const std::string type = object.at("type").get<std::string>();
  constexpr std::array kTypes = {DataType::BFloat16, DataType::Float16, DataType::Float32};
  const auto* const found = std::find_if(kTypes.begin(), kTypes.end(),
                                         [&](DataType candidate) { return type == to_string(candidate); });
  if (found == kTypes.end()) throw std::invalid_argument(fmt::format("there is no type '{}'", excerpt(type)));
  tuned.type = *found;
  // Older files have no layout of A, which was always row-major.
  if (object.contains("a")) tuned.a_layout = layout_of(object.at("a").get<std::string>());
  tuned.b_layout = layout_of(object.at("b").get<std::string>());
  tuned.shape = {extent_of(object, "m"), extent_of(object, "n"), extent_of(object, "k")};
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
                     {"a", to_string(tuned.a_layout)},
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
  // The command may hold bytes that are not UTF-8.
  return array.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status parse_tuned_json(const std::string& path, std::string_view text, std::vector<TunedConfig>* configs) {
  try {
    configs->clear();
    for (const Json& object : Json::parse(text)) configs->push_back(from_json(object));
  } catch (const std::exception& error) {
    return invalid_argument(fmt::format(
        "--config cannot parse '{}' ({}); type the name of a file that `./matmul tune` wrote by --json", path,
        excerpt(error.what())));
  }
  return {};
}

}  // namespace hopper_gemm
