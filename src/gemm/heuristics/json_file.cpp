#include "gemm/heuristics/json_file.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

#include "common/quoted_text.hpp"

namespace hopper_gemm::library {
namespace {

using Json = nlohmann::json;

// A configuration in a tuning file takes about 300 bytes.
constexpr std::uintmax_t kMostBytes = std::uintmax_t{4} << 20;

/// Sets `*text` to the contents of the file. Returns what is wrong with it: the rest of a sentence that begins with the
/// file. Empty if nothing is.
std::string read_text(const std::string& path, std::string* text) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return "does not exist";
  if (error) return "cannot be read: " + error.message();
  // Reading a pipe that nobody writes to would wait forever.
  if (!std::filesystem::is_regular_file(status)) return "is not a regular file";
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (!error && bytes > kMostBytes) {
    return "has " + std::to_string(bytes) + " bytes, but may have at most " + std::to_string(kMostBytes);
  }
  std::ifstream file(path, std::ios::binary);
  if (!error && file.is_open()) {
    text->resize(static_cast<std::size_t>(bytes));
    file.read(text->data(), static_cast<std::streamsize>(bytes));
    text->resize(static_cast<std::size_t>(file.gcount()));
  }
  return error || !file.is_open() || file.bad() ? "cannot be read" : "";
}

/// "132 SMs, 4.90 TB/s".
std::string text_of_gpu(int sm_count, double memory_bytes_per_us) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%d SMs, %.2f TB/s", sm_count, memory_bytes_per_us * 1e-6);
  return text.data();
}

}  // namespace

std::string name_of_file(const JsonFormat& format, const std::string& path) {
  return std::string(format.kind) + " '" + one_line(path) + "'";
}

std::string text_of(const Json& value) {
  // A dump takes a stack frame for each level of a value.
  const auto is_structured = [](const Json& part) { return part.is_structured(); };
  if (std::any_of(value.begin(), value.end(), is_structured)) return value.is_array() ? "[...]" : "{...}";
  // What a user typed may be no UTF-8.
  return one_line(excerpt(value.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

Status read_json_file(const JsonFormat& format, const std::string& path, Json* json) {
  const auto refuse = [&](const std::string& fault) {
    return invalid_argument(name_of_file(format, path) + " " + fault);
  };
  std::string text;
  if (const std::string fault = read_text(path, &text); !fault.empty()) return refuse(fault);
  try {
    *json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    return refuse("is not JSON: byte " + std::to_string(error.byte) + " cannot be parsed");
  } catch (const Json::out_of_range&) {
    return refuse("has a number that is too large");
  }
  if (json->is_array() && !format.fault_of_array.empty()) return refuse(std::string(format.fault_of_array));
  if (!json->is_object()) return refuse("is " + text_of(*json) + ", but it must be a JSON object");
  JsonReader fields(*json, "");
  const std::string name = fields.text("format");
  if (!fields.fault().empty()) return refuse(fields.fault());
  if (name != format.name) {
    return refuse("has the format \"" + one_line(excerpt(name)) + "\", but it must be \"" +
                  std::string(format.name) + "\"");
  }
  if (!fields.has("version")) return refuse("has no field version");
  if (const Json& version = (*json)["version"]; version != format.version) {
    return unsupported(name_of_file(format, path) + " has version " + text_of(version) +
                       " of the format, but this library reads version " + std::to_string(format.version));
  }
  return {};
}

Status check_gpu(const JsonFormat& format, const MeasuredOnGpu& measured, const Device& device) {
  if (is_alike(measured.sm_count, measured.memory_bytes_per_us, device)) return {};
  return unsupported(name_of_file(format, measured.path) + " was measured on another GPU (" +
                     one_line(excerpt(measured.gpu)) + ", " +
                     text_of_gpu(measured.sm_count, measured.memory_bytes_per_us) + ") than this one (" +
                     text_of_gpu(device.sm_count, device.memory_bytes_per_us) + ")");
}

JsonReader::JsonReader(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

std::string JsonReader::text(const char* name) {
  const Json* const value = find(name);
  if (value != nullptr && value->is_string()) return value->get<std::string>();
  refuse(name, "a string");
  return {};
}

int JsonReader::positive(const char* name) {
  constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
  const Json* const value = find(name);
  // The parser takes whole numbers without a sign for unsigned ones.
  if (value != nullptr && value->is_number_unsigned()) {
    const auto number = value->get<std::uint64_t>();
    if (number >= 1 && number <= kMost) return static_cast<int>(number);
  }
  refuse(name, "a whole number from 1 to " + std::to_string(kMost));
  return 1;
}

double JsonReader::number(const char* name, double least, double most) {
  const Json* const value = find(name);
  if (value != nullptr && value->is_number()) {
    const auto number = value->get<double>();
    if (number >= least && number <= most) return number;
  }
  refuse(name, "a number from " + Json(least).dump() + " to " + Json(most).dump());
  return least;
}

std::optional<double> JsonReader::number_or_null(const char* name, double least, double most) {
  const Json* const value = find(name);
  if (value != nullptr && value->is_null()) return {};
  return number(name, least, most);
}

double JsonReader::not_negative(const char* name) {
  const Json* const value = find(name);
  if (value != nullptr && value->is_number() && value->get<double>() >= 0) return value->get<double>();
  refuse(name, "a number that is not negative");
  return 0;
}

bool JsonReader::boolean(const char* name) {
  const Json* const value = find(name);
  if (value != nullptr && value->is_boolean()) return value->get<bool>();
  refuse(name, "true or false");
  return false;
}

const Json& JsonReader::object(const char* name) {
  static const Json none = Json::object();
  const Json* const value = find(name);
  if (value != nullptr && value->is_object()) return *value;
  refuse(name, "an object");
  return none;
}

const Json* JsonReader::find(const char* name) const {
  const auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

void JsonReader::refuse(const char* name, const std::string& allowed) {
  if (!fault_.empty()) return;
  const Json* const value = find(name);
  fault_ = value == nullptr ? std::string("has no field ") + name + where_
                            : std::string("has the ") + name + " " + text_of(*value) + where_ +
                                  ", but it must be " + allowed;
}

}  // namespace hopper_gemm::library
