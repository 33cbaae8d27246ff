#include "cli/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

namespace hopper_gemm {
namespace {

namespace fs = std::filesystem;

constexpr std::array kEndingSignals = {SIGHUP, SIGINT, SIGTERM};
constexpr mode_t kPermissionBits = 07777;
constexpr mode_t kAccessBits = 0777;

Status not_writable(std::string_view argument, const std::string& path, std::string_view reason) {
  return invalid_argument(
      fmt::format("{} cannot write '{}': {}; type the name of a file in a folder that you may write to",
                  argument, path, reason));
}

// A signal handler may not use a std::string.
char pending_path[PATH_MAX];

void remove_pending(int signal_number) {
  unlink(pending_path);
  std::signal(signal_number, SIG_DFL);
  raise(signal_number);
}

/// A file of another name in the folder of `path`. Unless it was renamed, the end of the scope or of the process
/// removes it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path)
      : path_(fs::path(path).parent_path() / fmt::format(".matmul-{}.tmp", getpid())) {
    if (path_.size() >= sizeof(pending_path)) {
      errno = ENAMETOOLONG;
      return;
    }
    std::memcpy(pending_path, path_.c_str(), path_.size() + 1);
    for (std::size_t i = 0; i < kEndingSignals.size(); ++i) {
      // A shell that starts this program in the background may have told it to ignore these signals.
      previous_[i] = std::signal(kEndingSignals[i], remove_pending);
      if (previous_[i] == SIG_IGN) std::signal(kEndingSignals[i], SIG_IGN);
    }
    unlink(path_.c_str());  // a file that a dead process left
    file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  }
  ~TemporaryFile() {
    if (file_ >= 0) close(file_);
    if (pending_path[0] == '\0') return;
    const int error = errno;
    unlink(path_.c_str());
    for (std::size_t i = 0; i < kEndingSignals.size(); ++i) std::signal(kEndingSignals[i], previous_[i]);
    pending_path[0] = '\0';
    errno = error;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// -1, with errno set, if the file could not be created.
  int file() const { return file_; }

  /// false with errno set.
  bool rename_to(const std::string& path) {
    const int file = file_;
    file_ = -1;
    return close(file) == 0 && rename(path_.c_str(), path.c_str()) == 0;
  }

 private:
  std::string path_;
  int file_ = -1;
  std::array<void (*)(int), kEndingSignals.size()> previous_{};
};

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Copies them from the file that will be replaced, if there is one, as far as this user may.
void copy_owner_and_permissions(const std::string& path, int file) {
  struct stat existing {};
  if (stat(path.c_str(), &existing) != 0) return;
  const bool same_owner = fchown(file, existing.st_uid, existing.st_gid) == 0;
  fchmod(file, existing.st_mode & (same_owner ? kPermissionBits : kAccessBits));
}

bool is_standard_output(const std::string& path) {
  struct stat named {};
  struct stat standard {};
  return stat(path.c_str(), &named) == 0 && fstat(STDOUT_FILENO, &standard) == 0 &&
         named.st_dev == standard.st_dev && named.st_ino == standard.st_ino;
}

bool write_stream(const std::string& path, std::string_view content) {
  if (is_standard_output(path)) {
    // The same open file, because a new one would overwrite what was written so far.
    std::cout.flush();
    return write_all(STDOUT_FILENO, content);
  }
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return false;
  const bool written = write_all(file, content);
  return close(file) == 0 && written;
}

}  // namespace

Status OutputFile::find(std::string_view argument, const std::string& path, OutputFile* file) {
  OutputFile found;
  found.argument_ = argument;
  std::error_code error;
  // This comes before the links are resolved, because the file behind /dev/stdout may have no path.
  const fs::file_status existing = fs::status(path, error);
  if (fs::is_fifo(existing) || fs::is_character_file(existing) || is_standard_output(path)) {
    if (access(path.c_str(), W_OK) != 0) return not_writable(argument, path, std::strerror(errno));
    found.path_ = path;
    found.is_stream_ = true;
    *file = std::move(found);
    return {};
  }
  if (fs::exists(existing) && !fs::is_regular_file(existing)) {
    return not_writable(argument, path, "it exists and is neither a regular file nor a pipe or terminal");
  }
  const fs::path absolute = fs::absolute(path, error);
  if (!error) found.path_ = fs::weakly_canonical(absolute, error).string();
  if (error) return not_writable(argument, path, error.message());
  if (fs::is_symlink(found.path_, error))
    return not_writable(argument, path, "it is a link to a file that does not exist");
  if (fs::exists(existing) && access(found.path_.c_str(), W_OK) != 0) {
    return not_writable(argument, path, std::strerror(errno));
  }
  const TemporaryFile temporary(found.path_);
  if (temporary.file() < 0) return not_writable(argument, path, std::strerror(errno));
  *file = std::move(found);
  return {};
}

Status OutputFile::write(std::string_view content) const {
  if (is_none()) return {};
  if (is_stream_) {
    return write_stream(path_, content) ? Status() : not_writable(argument_, path_, std::strerror(errno));
  }
  TemporaryFile temporary(path_);
  if (temporary.file() < 0) return not_writable(argument_, path_, std::strerror(errno));
  copy_owner_and_permissions(path_, temporary.file());
  if (write_all(temporary.file(), content) && temporary.rename_to(path_)) return {};
  return not_writable(argument_, path_, std::strerror(errno));
}

bool is_same_file(const OutputFile& x, const OutputFile& y) {
  if (x.is_none() || y.is_none() || x.is_stream_ || y.is_stream_) return false;
  std::error_code neither_exists;
  return x.path_ == y.path_ || fs::equivalent(x.path_, y.path_, neither_exists);
}

Status find_output_file(std::string_view argument, const std::string& path, OutputFile* file) {
  return path.empty() ? Status() : OutputFile::find(argument, path, file);
}

Status check_different_files(std::string_view argument, const OutputFile& file,
                             std::string_view other_argument, const OutputFile& other_file) {
  if (!is_same_file(file, other_file)) return {};
  return invalid_argument(fmt::format("{} and {} both name '{}'; type the names of two different files",
                                      argument, other_argument, file.path()));
}

}  // namespace hopper_gemm
