#pragma once

#include <string>
#include <string_view>

#include "hopper_gemm/status.hpp"

namespace hopper_gemm {

/// Where an argument such as --csv wants results.
///
/// A regular file is written as a whole or not at all: under another name in the same folder, then renamed. It keeps its
/// permissions, and neither a full disk nor SIGINT, SIGTERM or SIGHUP leaves the other name behind. Pipes and devices,
/// /dev/stdout among them, are written through.
class OutputFile {
 public:
  /// None: write() does nothing.
  OutputFile() = default;

  /// Finds what `path` means, behind symbolic links too. InvalidArgument: write() could not succeed there; the message names
  /// `argument`. Leaves nothing behind.
  static Status find(std::string_view argument, const std::string& path, OutputFile* file);

  bool is_none() const { return path_.empty(); }
  /// Whether what is written cannot be replaced: a pipe, a device, or the standard output.
  bool is_stream() const { return is_stream_; }
  const std::string& path() const { return path_; }

  /// InvalidArgument: not everything could be written.
  Status write(std::string_view content) const;

  /// Whether both mean one regular file.
  friend bool is_same_file(const OutputFile& x, const OutputFile& y);

 private:
  std::string argument_;
  std::string path_;
  bool is_stream_ = false;
};

}  // namespace hopper_gemm
