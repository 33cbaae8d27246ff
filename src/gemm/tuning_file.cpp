#include "gemm/tuning_file.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "common/quoted_text.hpp"
#include "gemm/host/backend.hpp"

namespace hopper_gemm::library {
namespace {

using Json = nlohmann::json;

constexpr const char* kFileVariable = "HGEMM_TUNING_FILE";
constexpr std::string_view kFormat = "hopper-gemm tuning";
constexpr int kVersion = 1;
// A configuration takes about 300 bytes.
constexpr std::uintmax_t kMostBytes = std::uintmax_t{4} << 20;
constexpr std::string_view kLibraryVersion = "best";  // what matmul calls the library

template <typename T>
struct Name {
  std::string_view text;
  T value;
};
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

std::string text_of(const Json& value) {
  // What a user typed may be no UTF-8.
  return one_line(excerpt(value.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

/// The fields of an object of the file. It keeps the first fault. What is read after a fault has no meaning.
class Fields {
 public:
  /// where: which object of the file it is, " in configs[2]" for example.
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  /// What is wrong: the rest of a sentence that begins with the file. Empty if nothing is.
  const std::string& fault() const { return fault_; }

  bool has(const char* name) const { return find(name) != nullptr; }

  std::string text(const char* name) {
    const Json* const value = find(name);
    if (value != nullptr && value->is_string()) return value->get<std::string>();
    refuse(name, "a string");
    return {};
  }

  int positive(const char* name) {
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

  double not_negative(const char* name) {
    const Json* const value = find(name);
    if (value != nullptr && value->is_number() && value->get<double>() >= 0) return value->get<double>();
    refuse(name, "a number that is not negative");
    return 0;
  }

  bool boolean(const char* name) {
    const Json* const value = find(name);
    if (value != nullptr && value->is_boolean()) return value->get<bool>();
    refuse(name, "true or false");
    return false;
  }

  /// The value that the text of a field stands for.
  template <typename T, std::size_t kCount>
  T one_of(const char* name, const std::array<Name<T>, kCount>& names) {
    const Json* const value = find(name);
    std::string allowed;
    for (std::size_t i = 0; i < kCount; ++i) {
      if (value != nullptr && value->is_string() && value->get_ref<const std::string&>() == names[i].text) {
        return names[i].value;
      }
      allowed.append(i == 0 ? "" : i + 1 == kCount ? " or " : ", ").append(names[i].text);
    }
    refuse(name, allowed);
    return names.front().value;
  }

 private:
  const Json* find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  void refuse(const char* name, const std::string& allowed) {
    if (!fault_.empty()) return;
    const Json* const value = find(name);
    fault_ = value == nullptr ? std::string("has no field ") + name + where_
                              : std::string("has the ") + name + " " + text_of(*value) + where_ +
                                    ", but it must be " + allowed;
  }

  const Json& object_;
  std::string where_;
  std::string fault_;
};

std::string name_of_file(const std::string& path) { return "the tuning file '" + one_line(path) + "'"; }

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

TuningKey read_key(Fields& fields) {
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
    Fields fields(entries[i], " in " + place);
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

/// Sets `*text` to the contents of the file. Returns what is wrong with it, as read_configs() does.
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

/// What was read of the file that the environment variable names.
struct EnvironmentFile {
  std::mutex mutex;  // guards the other members
  std::string path;  // empty: there is none
  Status status;
  std::shared_ptr<const TuningTable> table;
};

}  // namespace

Status read_tuning_file(const std::string& path, std::shared_ptr<const TuningTable>* table) {
  const auto refuse = [&path](const std::string& fault) {
    return invalid_argument(name_of_file(path) + " " + fault);
  };
  std::string text;
  if (const std::string fault = read_text(path, &text); !fault.empty()) return refuse(fault);
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    return refuse("is not JSON: byte " + std::to_string(error.byte) + " cannot be parsed");
  } catch (const Json::out_of_range&) {
    return refuse("has a number that is too large");
  }
  if (json.is_array()) {
    return refuse(
        "has no format and no version, because an older matmul wrote it; measure again with `matmul "
        "tune best --json`");
  }
  if (!json.is_object()) return refuse("is " + text_of(json) + ", but it must be a JSON object");
  Fields fields(json, "");
  const std::string format = fields.text("format");
  if (!fields.fault().empty()) return refuse(fields.fault());
  if (format != kFormat) {
    return refuse("has the format \"" + one_line(excerpt(format)) + "\", but it must be \"" +
                  std::string(kFormat) + "\"");
  }
  if (!fields.has("version")) return refuse("has no field version");
  if (json["version"] != kVersion) {
    return unsupported(name_of_file(path) + " has version " + text_of(json["version"]) +
                       " of the format, but this library reads version " + std::to_string(kVersion));
  }
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
  if (is_alike(table.sm_count, table.memory_bytes_per_us, device)) return {};
  return unsupported(name_of_file(table.path) + " was measured on another GPU (" +
                     one_line(excerpt(table.gpu)) + ", " +
                     text_of_gpu(table.sm_count, table.memory_bytes_per_us) + ") than this one (" +
                     text_of_gpu(device.sm_count, device.memory_bytes_per_us) + ")");
}

Status use_environment_tuning(const Device& device) {
  static auto* const file = new EnvironmentFile;
  const char* const value = std::getenv(kFileVariable);
  const std::string_view path = value == nullptr ? "" : value;
  const std::lock_guard<std::mutex> lock(file->mutex);
  if (path != file->path) {
    std::string new_path(path);
    std::shared_ptr<const TuningTable> table;
    Status status;
    if (!path.empty()) status = read_tuning_file(new_path, &table);
    set_environment_tuning(table);
    file->path = std::move(new_path);
    file->status = std::move(status);
    file->table = std::move(table);
  }
  if (!file->status.ok() || file->table == nullptr) return file->status;
  return check_tuning_device(*file->table, device);
}

}  // namespace hopper_gemm::library
