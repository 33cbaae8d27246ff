#include "emulator/generic_uses.hpp"

#include <algorithm>

#include "emulator/machine.hpp"

namespace hopper_gemm::emulator {

void GenericUses::write(const GenericWrite& write) {
  forget_writes(write.words);
  writes_[write_count_++] = write;
}

// Looking for the thread's earlier reads each time would take long where hundreds of threads read the same words.
void GenericUses::read(const GenericRead& read) {
  if (!reads_.empty() && reads_.back().reader == read.reader && reads_.back().clock == read.clock) {
    reads_.back().words |= read.words;
    return;
  }
  if (reads_.size() >= reads_before_drop_) drop_old_reads();
  reads_.push_back(read);
}

void GenericUses::forget(std::uint32_t words) {
  forget_writes(words);
  if (words == kAllWords) {
    reads_.clear();
    reads_before_drop_ = kFewReads;
    return;
  }
  for (GenericRead& read : reads_) read.words &= ~words;
  std::erase_if(reads_, [](const GenericRead& read) { return read.words == 0; });
}

void GenericUses::forget_writes(std::uint32_t words) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < write_count_; ++i) {
    writes_[i].words &= ~words;
    if (writes_[i].words == 0) continue;
    writes_[kept++] = writes_[i];
  }
  write_count_ = kept;
}

// Keeps the last read of each word by each thread.
void GenericUses::drop_old_reads() {
  std::stable_sort(reads_.begin(), reads_.end(), [](const GenericRead& a, const GenericRead& b) {
    return a.reader->component < b.reader->component;
  });
  const Thread* reader = nullptr;
  std::uint32_t read_later = 0;
  std::for_each(reads_.rbegin(), reads_.rend(), [&](GenericRead& read) {
    if (read.reader != reader) read_later = 0;
    reader = read.reader;
    const std::uint32_t words = read.words;
    read.words &= ~read_later;
    read_later |= words;
  });
  std::erase_if(reads_, [](const GenericRead& read) { return read.words == 0; });
  reads_before_drop_ = std::max(kFewReads, 2 * reads_.size());
}

}  // namespace hopper_gemm::emulator
