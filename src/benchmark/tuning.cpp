#include "benchmark/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace hopper_gemm {
namespace {

using Json = nlohmann::ordered_json;

struct Field {
  const char* name;
  int TileConfig::*member;
};

constexpr std::array kFields = {
    Field{"block_m", &TileConfig::block_m},   Field{"block_n", &TileConfig::block_n},
    Field{"block_k", &TileConfig::block_k},   Field{"warp_m", &TileConfig::warp_m},
    Field{"warp_n", &TileConfig::warp_n},     Field{"thread_m", &TileConfig::thread_m},
    Field{"thread_n", &TileConfig::thread_n}, Field{"stages", &TileConfig::stages},
    Field{"band_m", &TileConfig::band_m},
};

TunedConfig from_json(const Json& object) {
  TunedConfig tuned;
  tuned.version = object.at("version").get<std::string>();
  const std::string type = object.at("type").get<std::string>();
  constexpr std::array kTypes = {DataType::BFloat16, DataType::Float16, DataType::Float32};
  const auto* const found = std::find_if(kTypes.begin(), kTypes.end(),
                                         [&](DataType candidate) { return type == to_string(candidate); });
  if (found == kTypes.end()) throw std::invalid_argument(fmt::format("there is no type '{}'", type));
  tuned.type = *found;
  tuned.shape = {object.at("m").get<int>(), object.at("n").get<int>(), object.at("k").get<int>()};
  for (const Field& field : kFields)
    tuned.config.*field.member = object.at("config").at(field.name).get<int>();
  tuned.tflops = object.at("tflops").get<double>();
  return tuned;
}

}  // namespace

std::string to_string(const TileConfig& config) {
  const std::string threads =
      config.thread_m > 0 ? fmt::format(", threads {}x{}", config.thread_m, config.thread_n) : "";
  return fmt::format("{}x{}x{}, warps {}x{}{}, {} stages, bands of {}", config.block_m, config.block_n,
                     config.block_k, config.warp_m, config.warp_n, threads, config.stages, config.band_m);
}

std::string tuned_json(const RunInfo& run, std::span<const TunedConfig> configs) {
  Json array = Json::array();
  for (const TunedConfig& tuned : configs) {
    Json config;
    for (const Field& field : kFields) config[field.name] = tuned.config.*field.member;
    array.push_back({{"version", tuned.version},
                     {"type", to_string(tuned.type)},
                     {"m", tuned.shape.m},
                     {"n", tuned.shape.n},
                     {"k", tuned.shape.k},
                     {"config", config},
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
        "--config cannot make out '{}' ({}); type the name of a file that `matmul tune` wrote by --json",
        path, error.what()));
  }
  return {};
}

}  // namespace hopper_gemm
