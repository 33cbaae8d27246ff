#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/happens_before.hpp"

namespace hopper_gemm::emulator {

struct Cta;

/// What a component of a cluster's clocks did, and when.
struct Event {
  std::uint32_t cluster = 0;  ///< its number
  std::uint32_t component = 0;
  std::uint32_t clock = 0;
};

enum class GlobalUse : std::uint8_t { Load, Store, AtomicLoad, Atomic, TmaLoad, TmaStore, TmaReduction };

/// The order of accesses to global memory by different CTAs, and by launches that may overlap.
///
/// It keeps, for each 16 bytes of device memory, the last writers of each byte and who has read it since. A second access
/// that conflicts with one of these ends in a report unless its thread knows about the first: through barriers of its
/// cluster, through a flag in global memory, or because the launch of the first has ended. It keeps the last kMostReads
/// reads, so a schedule may miss that a write comes too early for one before these. It never reports what is in order.
///
/// Stores that nothing orders may write the same values to the same bytes, as tiles do that overlap.
///
/// Flags follow the memory model of PTX ("Memory Consistency Model", morally strong operations at the scope of the GPU):
/// a fence.acq_rel and a relaxed operation after it release what the thread knows, and a relaxed load and a fence.acq_rel
/// after it acquire that.
class GlobalOrder {
 public:
  /// What launches did until now is known to those that come, because they begin after its end.
  void begin_chain();
  /// The number of a new launch of the chain. Its threads do not know what the launch ahead did until they wait.
  std::uint32_t add_launch(unsigned ctas);
  /// Whether one of its threads has executed griddepcontrol.launch_dependents.
  bool lets_dependents_begin(std::uint32_t launch) const { return !record_of(launch).known_by_ctas.empty(); }
  /// All of its CTAs have ended. What is wrong with that, or "".
  const char* fault_at_end(std::uint32_t launch) const;

  /// A new cluster's number.
  std::uint32_t begin_cluster(std::uint32_t launch, unsigned first_cta, std::size_t threads_of_cta,
                              std::size_t ctas);
  /// What launches the clocks of this launch's threads know when they begin.
  std::uint32_t known_at_begin(std::uint32_t launch) const;

  /// Fails if the current thread's last ordinary store contests an earlier one and has written other values. Comes
  /// before all else that the thread does, because the emulator hears of a store before its values are there.
  void check_last_store() {
    if (!contested_stores_.empty()) compare_contested_stores();
  }

  // By the current thread:
  /// griddepcontrol.wait and griddepcontrol.launch_dependents.
  void wait_for_launches();
  void let_dependents_begin();

  /// Fails if an access that conflicts is not ordered before this one. Records it unless it is a TmaLoad, for which see
  /// record_tma_load(). store: the number of a TmaStore or TmaReduction, from new_store().
  void access(const void* address, std::size_t bytes, GlobalUse use, std::uint32_t store = 0);
  /// Records that `bytes` were read when `event` happened.
  void record_tma_load(const void* address, std::size_t bytes, const Event& event, const void* pc);

  /// A bulk store whose writes nobody knows about until settle().
  std::uint32_t new_store();
  /// The store's bytes are about to be written. Fails if another store, which nothing orders, has written other values.
  void land(std::uint32_t store, const unsigned char* destination, const unsigned char* source,
            std::size_t bytes);
  /// All of its bytes are written.
  void note_landed(std::uint32_t store) { stores_[store].has_landed = true; }
  /// The current thread has waited for its writes.
  void settle(std::uint32_t store);

  /// The current thread reads or adds to a flag, relaxed.
  void load_flag(const void* address);
  void add_to_flag(const void* address);
  /// The current thread executes fence.acq_rel at the scope of the GPU or the system.
  void fence();
  /// The current thread executes fence.proxy.async for global memory.
  void fence_proxy();

 private:
  static constexpr std::size_t kMostReads =
      64;  ///< that a granule remembers: operands have thousands of readers
  static constexpr std::size_t kMostWrites = 8;

  struct Access {
    Event event;
    std::uint16_t bytes = 0;  ///< a bit for each byte of the granule
    GlobalUse use = GlobalUse::Load;
    const void* pc = nullptr;
  };
  struct Write : Access {
    std::uint32_t store = 0;
    std::uint64_t step = 0;
  };
  struct Granule {
    std::uint32_t chain = 0;  ///< what it holds is of this chain of launches
    std::vector<Access> reads;
    std::vector<Write> writes;
    std::uint16_t contested = 0;  ///< a bit for each byte that several stores write, which nothing orders,
    std::uint16_t landed = 0;     ///< and for each such byte that one of them has written
  };
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::size_t kGranuleBytes = 16;
  struct Page {
    std::uint32_t written_in = 0;  ///< the last chain of launches in which a kernel wrote to it
    std::array<Granule, kPageBytes / kGranuleBytes> granules;
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct LaunchRecord {
    unsigned ctas;
    bool waits = false;  ///< one of its threads has executed griddepcontrol.wait
    /// For each CTA, the launches that a thread knew when it executed griddepcontrol.launch_dependents: the fewest of all
    /// its threads, or kNone. Empty if no thread has.
    std::vector<std::uint32_t> known_by_ctas;
  };
  struct ClusterRecord {
    std::uint32_t launch;
    unsigned first_cta;
    std::size_t threads_of_cta;
    std::vector<std::uint64_t> proxy_fences;  ///< the step of each thread's last one for global memory
  };
  struct StoreRecord {
    bool has_landed = false;
    bool is_settled = false;
    Event event;
  };

  template <typename Visit>
  void for_each_granule(const void* address, std::size_t bytes, Visit visit);
  struct ContestedStore {
    const unsigned char* granule;
    std::uint16_t bytes;
    std::array<unsigned char, kGranuleBytes> before;
    Write earlier;
    const void* pc;
  };
  void compare_contested_stores();
  Page& page_of(std::uintptr_t address);
  Granule& granule_of(std::uintptr_t address);
  bool is_written(std::uintptr_t address, std::size_t bytes);
  static void add_read(const Access& read, Granule* granule);
  bool is_known(const Event& event) const;
  bool is_known(const Write& write) const;
  bool is_fenced(const Write& store) const;
  /// Whether the two may be unordered if they write the same values.
  bool contests(const Write& earlier, GlobalUse use) const;
  [[noreturn]] void fail_without_order(const Access& earlier, std::uintptr_t address, GlobalUse use) const;
  void check(const Write& earlier, std::uintptr_t address, GlobalUse use) const;
  std::string describe(const Access& access) const;
  std::string other_values(GlobalUse use, const void* address, const Access& earlier) const;

  LaunchRecord& record_of(std::uint32_t launch) { return launches_[launch - first_launch_]; }
  const LaunchRecord& record_of(std::uint32_t launch) const { return launches_[launch - first_launch_]; }
  /// Whether the launch ahead is of the same chain, and lets dependents begin.
  bool overlaps_the_one_ahead(std::uint32_t launch) const {
    return launch > first_launch_ && lets_dependents_begin(launch - 1);
  }

  std::uint32_t chain_ = 0;
  std::uint32_t first_launch_ = 1;      ///< of the chain
  std::vector<LaunchRecord> launches_;  ///< of the chain
  std::vector<ClusterRecord> clusters_;
  std::vector<StoreRecord> stores_;
  std::unordered_map<std::uintptr_t, VectorClock> flags_;  ///< what those learn that acquire them
  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  std::vector<ContestedStore> contested_stores_;  ///< of the last ordinary store
  std::uintptr_t last_address_ = 0;               ///< of the page that was looked up last
  Page* last_page_ = nullptr;
};

extern GlobalOrder global_order;

}  // namespace hopper_gemm::emulator
