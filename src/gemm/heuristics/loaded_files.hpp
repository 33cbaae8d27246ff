#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gemm/problem.hpp"

namespace hopper_gemm::library {

/// A file with measurements of a GPU, and which GPU that was.
struct MeasuredOnGpu {
  std::string path;
  std::string gpu;  ///< its name
  int sm_count;
  double memory_bytes_per_us;  ///< the peak of its data rate
};

/// Whether a GPU with so many SMs and so fast a memory counts as the plan's. Memories count as equally fast if their
/// rates differ by less than a tenth.
inline bool is_alike(int sm_count, double memory_bytes_per_us, const Device& device) {
  constexpr double kAlike = 0.1;
  return device.sm_count == sm_count &&
         std::abs(device.memory_bytes_per_us / memory_bytes_per_us - 1) < kAlike;
}

/// The files of one kind that a program has loaded, and the one that an environment variable names. File is derived from
/// MeasuredOnGpu. Thread-safe.
template <typename File>
class LoadedFiles {
 public:
  using Files = std::vector<std::shared_ptr<const File>>;

  /// From now on this file counts first. It replaces an earlier one of the same path.
  void add(const std::shared_ptr<const File>& file) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Files changed = {file};
    std::copy_if(loaded_.begin(), loaded_.end(), std::back_inserter(changed),
                 [&](const auto& other) { return other->path != file->path; });
    loaded_ = std::move(changed);
  }

  /// The file that counts last, in place of the one before; null for none.
  void set_environment(std::shared_ptr<const File> file) {
    const std::lock_guard<std::mutex> lock(mutex_);
    of_environment_ = std::move(file);
  }

  /// Forgets all files. For tests.
  void clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    loaded_.clear();
    of_environment_ = nullptr;
  }

  /// Those that were measured on such a GPU, in the order in which they count. They live as long as the caller has them.
  Files measured_on(const Device& device) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    Files files;
    const auto is_usable = [&](const auto& file) {
      return file != nullptr && is_alike(file->sm_count, file->memory_bytes_per_us, device);
    };
    std::copy_if(loaded_.begin(), loaded_.end(), std::back_inserter(files), is_usable);
    if (is_usable(of_environment_)) files.push_back(of_environment_);
    return files;
  }

 private:
  mutable std::mutex mutex_;  // guards the other members
  Files loaded_;              // the newest first
  std::shared_ptr<const File> of_environment_;
};

}  // namespace hopper_gemm::library
