#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "tests/library_gemm.hpp"

namespace hopper_gemm {

/// Memory that host and GPU share, for one problem at a time. Between what it allocates it is NaN in every
/// type, and tells whether it still is.
class PoisonedMemory {
 public:
  explicit PoisonedMemory(std::size_t bytes) : bytes_(bytes) {
    void* memory = nullptr;
    if (cudaMallocManaged(&memory, bytes) != cudaSuccess) return;
    memory_ = static_cast<unsigned char*>(memory);
    std::memset(memory_, kPoisonByte, bytes);
  }
  ~PoisonedMemory() { cudaFree(memory_); }
  PoisonedMemory(const PoisonedMemory&) = delete;
  PoisonedMemory& operator=(const PoisonedMemory&) = delete;

  bool exists() const { return memory_ != nullptr; }

  /// For the next problem: frees what the one before had.
  Allocate allocate() {
    std::memset(memory_, kPoisonByte, used_);
    used_ = 0;
    blocks_.clear();
    return [this](std::size_t bytes) -> void* {
      const std::size_t first = (used_ + kGapBytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
      if (first + bytes + kGapBytes > bytes_) return nullptr;
      used_ = first + bytes + kGapBytes;
      blocks_.emplace_back(first, bytes);
      return memory_ + first;
    };
  }

  /// Whether nobody has written between the blocks.
  bool is_intact() const {
    std::size_t end = 0;
    for (const auto& [first, bytes] : blocks_) {
      if (!is_poison(end, first)) return false;
      end = first + bytes;
    }
    return is_poison(end, used_);
  }

 private:
  static constexpr int kPoisonByte = 0xFF;
  static constexpr std::size_t kAlignmentBytes = 256;
  static constexpr std::size_t kGapBytes = 1024;

  bool is_poison(std::size_t begin, std::size_t end) const {
    return std::all_of(memory_ + begin, memory_ + end,
                       [](unsigned char byte) { return byte == kPoisonByte; });
  }

  std::size_t bytes_;
  unsigned char* memory_ = nullptr;
  std::size_t used_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> blocks_;
};

}  // namespace hopper_gemm
