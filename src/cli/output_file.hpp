#pragma once

#include <string>
#include <string_view>

#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// The file that an argument such as --csv names.
///
/// A regular file is written as a whole or not at all: write() writes another file in the same folder and renames it.
/// The file keeps its permissions. Neither a full disk nor SIGINT, SIGTERM or SIGHUP leaves the other file behind.
/// Pipes and devices, such as /dev/stdout, are written directly.
class OutputFile {
 public:
  /// None: write() does nothing.
  OutputFile() = default;

  /// Finds the file that `path` names, also through symbolic links. Leaves no file behind. InvalidArgument: write()
  /// could not succeed there; the message names `argument`.
  static Status find(std::string_view argument, const std::string& path, OutputFile* file);

  bool is_none() const { return path_.empty(); }
  /// Whether this is a pipe, a device or the standard output, where nothing written can be replaced.
  bool is_stream() const { return is_stream_; }
  const std::string& path() const { return path_; }

  /// InvalidArgument: write() could not write everything.
  Status write(std::string_view content) const;

  /// Whether both are the same regular file.
  friend bool is_same_file(const OutputFile& x, const OutputFile& y);

 private:
  std::string argument_;
  std::string path_;
  bool is_stream_ = false;
};

/// As OutputFile::find(). An empty path leaves *file none.
Status find_output_file(std::string_view argument, const std::string& path, OutputFile* file);

/// Ok unless both arguments name the same regular file.
Status check_different_files(std::string_view argument, const OutputFile& file,
                             std::string_view other_argument, const OutputFile& other_file);

}  // namespace hopper_gemm
