#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

namespace hopper_gemm {

/// The fields of CSV and JSON files, in the order of the columns.
using JsonFields = nlohmann::ordered_json;

/// The value with so many decimals, or null.
JsonFields rounded(std::optional<double> value, int decimals);

/// Comma-separated values: the names of the fields of `titles`, then one line for each object. Null gives an empty cell.
std::string csv_text(const JsonFields& titles, std::span<const JsonFields> objects);

/// The JSON file. Bytes that are not UTF-8, which a command may hold, are replaced.
std::string json_text(const JsonFields& value);

}  // namespace hopper_gemm
