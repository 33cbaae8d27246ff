#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gemm/heuristics/loaded_files.hpp"
#include "gemm/problem.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// A kind of JSON file that matmul writes and the library reads.
struct JsonFormat {
  std::string_view kind;  ///< "the tuning file", in messages
  std::string_view name;  ///< the text of its field "format"
  int version;            ///< the one that the library reads
  /// What is wrong with an array: the rest of a sentence that begins with the file. Empty: no version was one.
  std::string_view fault_of_array;
};

/// "the tuning file 'tuned.json'".
std::string name_of_file(const JsonFormat& format, const std::string& path);

/// A value in a message: short, on one line, and UTF-8. "[...]" and "{...}" stand for what has several levels.
std::string text_of(const nlohmann::json& value);

/// Reads an object of this format and version, from a regular file of at most 4 MiB.
///
/// InvalidArgument: the file cannot be read, or has another format. Unsupported: it has another version of the format.
/// The message names the file and the fault. On failure `*json` has no meaning.
Status read_json_file(const JsonFormat& format, const std::string& path, nlohmann::json* json);

/// Unsupported: the file was measured on another GPU than `device`.
Status check_gpu(const JsonFormat& format, const MeasuredOnGpu& measured, const Device& device);

/// A text in a file, and what it stands for.
template <typename T>
struct Name {
  std::string_view text;
  T value;
};

/// The fields of an object of a file. It keeps the first fault. What is read after a fault has no meaning.
class JsonReader {
 public:
  /// where: which object of the file it is, " in configs[2]" for example. object: must live as long as this.
  JsonReader(const nlohmann::json& object, std::string where);

  /// What is wrong: the rest of a sentence that begins with the file. Empty if nothing is.
  const std::string& fault() const { return fault_; }

  bool has(const char* name) const { return find(name) != nullptr; }

  std::string text(const char* name);
  int positive(const char* name);
  double number(const char* name, double least, double most);
  /// Nothing if the field is null, which stands for what could not be measured.
  std::optional<double> number_or_null(const char* name, double least, double most);
  double not_negative(const char* name);
  bool boolean(const char* name);
  /// The value of a field that is an object; an empty object if there is none.
  const nlohmann::json& object(const char* name);

  /// The value that the text of a field stands for.
  template <typename T, std::size_t kCount>
  T one_of(const char* name, const std::array<Name<T>, kCount>& names) {
    const nlohmann::json* const value = find(name);
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
  const nlohmann::json* find(const char* name) const;
  void refuse(const char* name, const std::string& allowed);

  const nlohmann::json& object_;
  std::string where_;
  std::string fault_;
};

/// The file that an environment variable names. Thread-safe.
template <typename File>
class EnvironmentFile {
 public:
  using Read = Status(const std::string& path, std::shared_ptr<const File>* file);

  EnvironmentFile(const char* variable, const JsonFormat& format, Read* read, LoadedFiles<File>* files)
      : variable_(variable), format_(format), read_(read), files_(files) {}

  /// Reads the file if no earlier call has, so that plans use it. Without the variable, plans use no such file.
  ///
  /// Fails if this file cannot be used for `device`. It then fails in each call, because plans go on without the file and
  /// each of them says why.
  Status use(const Device& device) {
    const char* const value = std::getenv(variable_);
    const std::string_view path = value == nullptr ? "" : value;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (path != path_) {
      std::string new_path(path);
      std::shared_ptr<const File> file;
      Status status;
      if (!path.empty()) status = read_(new_path, &file);
      files_->set_environment(file);
      path_ = std::move(new_path);
      status_ = std::move(status);
      file_ = std::move(file);
    }
    if (!status_.ok() || file_ == nullptr) return status_;
    return check_gpu(format_, *file_, device);
  }

 private:
  const char* const variable_;
  const JsonFormat format_;
  Read* const read_;
  LoadedFiles<File>* const files_;
  std::mutex mutex_;  // guards the members below
  std::string path_;  // empty: there is none
  Status status_;
  std::shared_ptr<const File> file_;
};

}  // namespace hopper_gemm::library
