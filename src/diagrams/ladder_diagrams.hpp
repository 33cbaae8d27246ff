#pragma once

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace hopper_gemm::diagrams {

using Json = nlohmann::ordered_json;

/// What the diagrams of the SIMT ladder show, each under the picture's name.
Json simt_diagrams();

/// The same of the Ampere ladder.
Json ampere_diagrams();

/// The same of the Hopper ladder.
Json hopper_diagrams();

/// A row and a column.
using Place = std::pair<int, int>;

inline Json json_of(const std::vector<Place>& places) {
  Json json = Json::array();
  for (const auto& [row, column] : places) json.push_back({row, column});
  return json;
}

/// The first steps of a ring of stages: (the K block that is multiplied, the one that is copied).
template <typename Function>
Json stages_of(const char* title, int stages, const Function& copied_with) {
  constexpr int kSteps = 5;
  Json steps = Json::array();
  for (int k_block = 0; k_block < kSteps; ++k_block) steps.push_back({k_block, copied_with(k_block)});
  return {{"title", title}, {"stages", stages}, {"steps", steps}};
}

}  // namespace hopper_gemm::diagrams
