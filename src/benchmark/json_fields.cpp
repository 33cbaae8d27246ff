#include "benchmark/json_fields.hpp"

#include <cmath>

namespace hopper_gemm {
namespace {

std::string csv_cell(const JsonFields& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  std::string text = value.get<std::string>();
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace

JsonFields rounded(std::optional<double> value, int decimals) {
  if (!value) return nullptr;
  if (decimals == 0) return std::llround(*value);
  const double scale = std::pow(10, decimals);
  return std::round(*value * scale) / scale;
}

std::string csv_text(const JsonFields& titles, std::span<const JsonFields> objects) {
  std::string text;
  const auto append_line = [&text](const JsonFields& object, const auto& cell_of) {
    std::string separator;
    for (const auto& item : object.items()) {
      text += separator + cell_of(item);
      separator = ",";
    }
    text += '\n';
  };
  append_line(titles, [](const auto& item) { return item.key(); });
  for (const JsonFields& object : objects) {
    append_line(object, [](const auto& item) { return csv_cell(item.value()); });
  }
  return text;
}

std::string json_text(const JsonFields& value) {
  return value.dump(2, ' ', false, JsonFields::error_handler_t::replace) + "\n";
}

}  // namespace hopper_gemm
