#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hopper_gemm::emulator {

struct Thread;

inline constexpr std::uint32_t kGranuleBytes = 16;
inline constexpr std::uint32_t kWordBytes = 2;  ///< the unit of ordinary accesses: a bf16
inline constexpr std::uint32_t kWordsPerGranule = kGranuleBytes / kWordBytes;
inline constexpr std::uint32_t kAllWords = (1U << kWordsPerGranule) - 1;

/// How a write through the generic proxy was made. It decides what orders other accesses after it.
enum class WriteKind : std::uint8_t {
  Store,
  CpAsync,           ///< the issuer waited for it: it counts as an ordinary store at that moment
  CpAsyncToBarrier,  ///< an mbarrier told that it was done, through cp.async.mbarrier.arrive
  StAsync            ///< its mbarrier told that it was done
};

/// A write through the generic proxy that was the last one to some words of a granule.
struct GenericWrite {
  Thread* writer = nullptr;
  std::uint64_t step = 0;
  std::uint32_t component = 0;  ///< the writer's or the mbarrier's,
  std::uint32_t clock = 0;      ///< and its clock then
  WriteKind kind = WriteKind::Store;
  std::uint32_t words = 0;  ///< a bit for each
};

/// A thread that has read some words of a granule since they were last written, and its clock then.
struct GenericRead {
  Thread* reader = nullptr;
  std::uint32_t clock = 0;
  std::uint32_t words = 0;  ///< a bit for each
};

/// The accesses through the generic proxy to a granule, which is 16 bytes of shared memory.
class GenericUses {
 public:
  std::span<const GenericWrite> writes() const { return {writes_.data(), write_count_}; }
  /// A word and a thread may occur more than once. The highest clock is what counts.
  std::span<const GenericRead> reads() const { return reads_; }

  /// The write takes the place of earlier ones to the same words.
  void write(const GenericWrite& write);
  void read(const GenericRead& read);
  void forget(std::uint32_t words);

 private:
  void forget_writes(std::uint32_t words);
  void drop_old_reads();

  static constexpr std::size_t kFewReads = 32;

  std::array<GenericWrite, kWordsPerGranule> writes_{};  ///< no two have a word in common
  std::size_t write_count_ = 0;
  std::vector<GenericRead> reads_;
  std::size_t reads_before_drop_ = kFewReads;
};

}  // namespace hopper_gemm::emulator
