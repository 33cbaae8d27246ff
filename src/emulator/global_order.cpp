#include "emulator/global_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "emulator/machine.hpp"

namespace hopper_gemm::emulator {
namespace {

bool is_write(GlobalUse use) {
  return use != GlobalUse::Load && use != GlobalUse::AtomicLoad && use != GlobalUse::TmaLoad;
}

bool is_relaxed(GlobalUse use) { return use == GlobalUse::Atomic || use == GlobalUse::AtomicLoad; }

bool is_of_async_proxy(GlobalUse use) {
  return use == GlobalUse::TmaLoad || use == GlobalUse::TmaStore || use == GlobalUse::TmaReduction;
}

/// Whether the two need no order.
bool commute(GlobalUse a, GlobalUse b) {
  if (!is_write(a) && !is_write(b)) return true;
  return (is_relaxed(a) && is_relaxed(b)) || (a == GlobalUse::TmaReduction && b == GlobalUse::TmaReduction);
}

std::uint32_t launch_of(const Thread& thread) { return thread.cta->launch->number; }

/// Which launch the first number is, as one says in the second: "" for the same.
std::string relation(std::uint32_t launch, std::uint32_t other) {
  if (launch + 1 == other) return " of the launch before";
  if (launch < other) return fmt::format(" {} launches ago", other - launch);
  if (launch == other + 1) return " of the launch behind";
  return launch == other ? "" : fmt::format(" {} launches behind", launch - other);
}

/// Erases the accesses of which later ones have taken all bytes.
template <typename Access>
void drop_empty(std::vector<Access>* accesses) {
  std::erase_if(*accesses, [](const Access& access) { return access.bytes == 0; });
}

const char* name_of(GlobalUse use) {
  switch (use) {
    case GlobalUse::Load: return "a thread reads";
    case GlobalUse::Store: return "a thread writes";
    case GlobalUse::AtomicLoad: return "a relaxed load reads";
    case GlobalUse::Atomic: return "a relaxed operation changes";
    case GlobalUse::TmaLoad: return "a TMA load reads";
    case GlobalUse::TmaStore: return "a TMA store writes";
    case GlobalUse::TmaReduction: return "a TMA reduction changes";
  }
  return "";
}

}  // namespace

GlobalOrder global_order;

// Everything is known from here on, so nothing of it needs to be kept.
void GlobalOrder::begin_chain() {
  contested_stores_.clear();  // a report may have stopped the last launch ahead of the comparison
  ++chain_;
  first_launch_ += static_cast<std::uint32_t>(launches_.size());
  launches_.clear();
  clusters_.clear();
  stores_.assign(1, {});
  flags_.clear();
}

std::uint32_t GlobalOrder::add_launch(unsigned ctas) {
  launches_.push_back({.ctas = ctas, .waits = false, .known_by_ctas = {}});
  return first_launch_ + static_cast<std::uint32_t>(launches_.size()) - 1;
}

// PTX ISA "griddepcontrol": if the launch ahead lets dependents begin, they must wait for it. A launch behind that waits
// for this one only would take both for complete.
const char* GlobalOrder::fault_at_end(std::uint32_t launch) const {
  if (!overlaps_the_one_ahead(launch) || record_of(launch).waits) return "";
  return "no thread of the launch executes griddepcontrol.wait, though the launch ahead let it begin early";
}

std::uint32_t GlobalOrder::begin_cluster(std::uint32_t launch, unsigned first_cta, std::size_t threads_of_cta,
                                         std::size_t ctas) {
  clusters_.push_back({launch, first_cta, threads_of_cta, std::vector<std::uint64_t>(threads_of_cta * ctas)});
  return static_cast<std::uint32_t>(clusters_.size() - 1);
}

// A launch begins when every CTA of the launch ahead has let it or has ended, so it knows what each of them knew then.
std::uint32_t GlobalOrder::known_at_begin(std::uint32_t launch) const {
  if (!overlaps_the_one_ahead(launch)) return launch - 1;
  std::uint32_t most = 0;
  for (const std::uint32_t known : record_of(launch - 1).known_by_ctas) {
    if (known != kNone) most = std::max(most, known);
  }
  return most;
}

void GlobalOrder::wait_for_launches() {
  const std::uint32_t launch = launch_of(*current);
  record_of(launch).waits = true;
  current->clock.know_launches(launch - 1);
}

// A CTA speaks by its first thread to come here, which may be any of those that come.
void GlobalOrder::let_dependents_begin() {
  LaunchRecord& record = record_of(launch_of(*current));
  record.known_by_ctas.resize(record.ctas, kNone);
  std::uint32_t& known = record.known_by_ctas[current->cta->index.x];
  known = std::min(known, current->clock.launches());
}

GlobalOrder::Page& GlobalOrder::page_of(std::uintptr_t address) {
  const std::uintptr_t number = address / kPageBytes;
  if (last_page_ == nullptr || last_address_ != number) {
    std::unique_ptr<Page>& page = pages_[number];
    if (page == nullptr) page = std::make_unique<Page>();
    last_address_ = number;
    last_page_ = page.get();
  }
  return *last_page_;
}

// Forgets what is of an earlier chain. The memory for accesses stays.
GlobalOrder::Granule& GlobalOrder::granule_of(std::uintptr_t address) {
  Granule& granule = page_of(address).granules[address % kPageBytes / kGranuleBytes];
  if (granule.chain != chain_) {
    granule.chain = chain_;
    granule.reads.clear();
    granule.writes.clear();
    granule.contested = 0;
    granule.landed = 0;
  }
  return granule;
}

bool GlobalOrder::is_written(std::uintptr_t address, std::size_t bytes) {
  for (std::uintptr_t page = address / kPageBytes; page <= (address + bytes - 1) / kPageBytes; ++page) {
    if (page_of(page * kPageBytes).written_in == chain_) return true;
  }
  return false;
}

bool GlobalOrder::is_known(const Event& event) const {
  if (clusters_[event.cluster].launch <= current->clock.launches()) return true;
  return event.cluster == current->cta->cluster->number
             ? current->clock.knows(event.component, event.clock)
             : current->clock.knows_of(event.cluster, event.component, event.clock);
}

bool GlobalOrder::is_known(const Write& write) const {
  if (write.store == 0 || clusters_[write.event.cluster].launch <= current->clock.launches()) {
    return is_known(write.event);
  }
  const StoreRecord& store = stores_[write.store];
  return store.is_settled && is_known(store.event);
}

// The async proxy sees an ordinary store only after fence.proxy.async, by the thread that stored or by the one that
// uses TMA. The end of a launch orders the proxies, too.
bool GlobalOrder::is_fenced(const Write& store) const {
  const ClusterRecord& cluster = clusters_[store.event.cluster];
  if (cluster.launch <= current->clock.launches()) return true;
  const ClusterRecord& own = clusters_[current->cta->cluster->number];
  return cluster.proxy_fences[store.event.component] >= store.step ||
         own.proxy_fences[current->component] >= store.step;
}

std::string GlobalOrder::describe(const Access& access) const {
  const ClusterRecord& cluster = clusters_[access.event.cluster];
  const std::size_t component = access.event.component;
  std::string by = "a copy";
  if (component < cluster.proxy_fences.size()) {
    by = fmt::format("thread {} of CTA {}", component % cluster.threads_of_cta,
                     cluster.first_cta + component / cluster.threads_of_cta);
  }
  by += relation(cluster.launch, launch_of(machine.actor()));
  return fmt::format("{}\n  by {}\n  at {}", name_of(access.use), by, where(access.pc));
}

bool GlobalOrder::contests(const Write& earlier, GlobalUse use) const {
  const auto is_store = [](GlobalUse other) {
    return other == GlobalUse::Store || other == GlobalUse::TmaStore;
  };
  return is_store(earlier.use) && is_store(use) && !is_known(earlier);
}

void GlobalOrder::compare_contested_stores() {
  const std::vector<ContestedStore> stores = std::exchange(contested_stores_, {});
  for (const ContestedStore& store : stores) {
    for (unsigned byte = 0; byte < kGranuleBytes; ++byte) {
      if ((store.bytes >> byte & 1) == 0 || store.granule[byte] == store.before[byte]) continue;
      current->pc = store.pc;
      machine.fail(other_values(GlobalUse::Store, store.granule + byte, store.earlier));
    }
  }
}

std::string GlobalOrder::other_values(GlobalUse use, const void* address, const Access& earlier) const {
  return fmt::format(
      "{} other values to global memory at {}, and nothing orders that after an earlier access: {}",
      name_of(use), address, describe(earlier));
}

void GlobalOrder::fail_without_order(const Access& earlier, std::uintptr_t address, GlobalUse use) const {
  machine.fail(fmt::format("{} global memory at {:#x}, and nothing orders that after an earlier access: {}",
                           name_of(use), address, describe(earlier)));
}

void GlobalOrder::check(const Write& earlier, std::uintptr_t address, GlobalUse use) const {
  if (!is_known(earlier)) fail_without_order(earlier, address, use);
  if (earlier.use == GlobalUse::Store && is_of_async_proxy(use) && !is_fenced(earlier)) {
    machine.fail(fmt::format(
        "{} global memory at {:#x} without fence.proxy.async for global memory after an ordinary store: {}",
        name_of(use), address, describe(earlier)));
  }
}

template <typename Visit>
void GlobalOrder::for_each_granule(const void* address, std::size_t bytes, Visit visit) {
  auto next = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t end = next + bytes;
  while (next < end) {
    const std::uintptr_t granule_end = std::min(end, (next / kGranuleBytes + 1) * kGranuleBytes);
    const auto first = static_cast<unsigned>(next % kGranuleBytes);
    const auto count = static_cast<unsigned>(granule_end - next);
    const auto mask = static_cast<std::uint16_t>(((1U << count) - 1) << first);
    visit(&granule_of(next), mask, next);
    next = granule_end;
  }
}

// A component's later read takes the place of its earlier ones: who knows of it knows of these.
void GlobalOrder::add_read(const Access& read, Granule* granule) {
  std::vector<Access>& reads = granule->reads;
  bool is_there = false;
  bool leaves_empty = false;
  for (Access& earlier : reads) {
    const bool is_of_the_component = earlier.event.component == read.event.component &&
                                     earlier.event.cluster == read.event.cluster && earlier.use == read.use;
    if (!is_of_the_component) continue;
    if (earlier.event.clock == read.event.clock && earlier.pc == read.pc) {
      earlier.bytes = static_cast<std::uint16_t>(earlier.bytes | read.bytes);
      is_there = true;
    } else {
      earlier.bytes = static_cast<std::uint16_t>(earlier.bytes & ~read.bytes);
      leaves_empty = leaves_empty || earlier.bytes == 0;
    }
  }
  if (leaves_empty) drop_empty(&reads);
  if (is_there) return;
  if (reads.size() == kMostReads) reads.erase(reads.begin());
  reads.push_back(read);
}

void GlobalOrder::access(const void* address, std::size_t bytes, GlobalUse use, std::uint32_t store) {
  if (!device_heap.contains(address)) return;
  // Most loads of TMA read operands, which no kernel writes.
  if (use == GlobalUse::TmaLoad && !is_written(reinterpret_cast<std::uintptr_t>(address), bytes)) return;
  const auto component = static_cast<std::uint32_t>(current->component);
  Write access{{{current->cta->cluster->number, component, current->clock[component]}, 0, use, current->pc},
               store,
               machine.now()};
  for_each_granule(address, bytes, [&](Granule* granule, std::uint16_t mask, std::uintptr_t at) {
    access.bytes = mask;
    std::uint16_t contested = 0;
    std::uint16_t landed = 0;
    for (const Write& earlier : granule->writes) {
      if ((earlier.bytes & mask) == 0 || commute(earlier.use, use)) continue;
      if (!contests(earlier, use)) {
        check(earlier, at, use);
        continue;
      }
      const auto both = static_cast<std::uint16_t>(earlier.bytes & mask);
      contested = static_cast<std::uint16_t>(contested | both);
      if (earlier.use == GlobalUse::TmaStore && !stores_[earlier.store].has_landed) continue;
      landed = static_cast<std::uint16_t>(landed | both);
      if (use != GlobalUse::Store) continue;
      const auto* const first = static_cast<const unsigned char*>(address);
      const auto begin = static_cast<std::ptrdiff_t>(at / kGranuleBytes * kGranuleBytes -
                                                     reinterpret_cast<std::uintptr_t>(address));
      ContestedStore contest{first + begin, both, {}, earlier, current->pc};
      std::copy_n(contest.granule, kGranuleBytes, contest.before.begin());
      contested_stores_.push_back(contest);
    }
    if (!is_write(use)) {
      if (use != GlobalUse::TmaLoad) add_read(access, granule);
      return;
    }
    for (Access& earlier : granule->reads) {
      if ((earlier.bytes & mask) == 0 || commute(earlier.use, use)) continue;
      if (!is_known(earlier.event)) fail_without_order(earlier, at, use);
      earlier.bytes = static_cast<std::uint16_t>(earlier.bytes & ~mask);
    }
    drop_empty(&granule->reads);
    // All writes that need no order stay, because what comes behind must know of each.
    for (Write& earlier : granule->writes) {
      const bool is_again = earlier.use == use && earlier.store == store &&
                            earlier.event.cluster == access.event.cluster &&
                            earlier.event.component == component;
      if (is_again || (!commute(earlier.use, use) && !contests(earlier, use))) {
        earlier.bytes = static_cast<std::uint16_t>(earlier.bytes & ~mask);
      }
    }
    granule->contested = static_cast<std::uint16_t>((granule->contested & ~mask) | contested);
    if (use == GlobalUse::Store) landed = contested;
    granule->landed = static_cast<std::uint16_t>((granule->landed & granule->contested) | landed);
    drop_empty(&granule->writes);
    if (granule->writes.size() == kMostWrites) granule->writes.erase(granule->writes.begin());
    granule->writes.push_back(access);
    page_of(at).written_in = chain_;
  });
}

void GlobalOrder::record_tma_load(const void* address, std::size_t bytes, const Event& event,
                                  const void* pc) {
  if (!device_heap.contains(address)) return;
  for_each_granule(address, bytes, [&](Granule* granule, std::uint16_t mask, std::uintptr_t) {
    add_read({event, mask, GlobalUse::TmaLoad, pc}, granule);
  });
}

void GlobalOrder::land(std::uint32_t store, const unsigned char* destination, const unsigned char* source,
                       std::size_t bytes) {
  if (!device_heap.contains(destination)) return;
  for_each_granule(destination, bytes, [&](Granule* granule, std::uint16_t mask, std::uintptr_t at) {
    const unsigned contested = granule->contested & mask;
    if (contested == 0) return;
    for (unsigned byte = 0; byte < kGranuleBytes; ++byte) {
      const std::size_t offset =
          at - reinterpret_cast<std::uintptr_t>(destination) + byte - at % kGranuleBytes;
      if (((contested & granule->landed) >> byte & 1) == 0 || destination[offset] == source[offset]) continue;
      const auto other = std::find_if(
          granule->writes.begin(), granule->writes.end(),
          [&](const Write& write) { return write.store != store && (write.bytes >> byte & 1) != 0; });
      if (other == granule->writes.end()) continue;
      machine.fail(other_values(GlobalUse::TmaStore, destination + offset, *other));
    }
    granule->landed = static_cast<std::uint16_t>(granule->landed | contested);
  });
}

std::uint32_t GlobalOrder::new_store() {
  stores_.emplace_back();
  return static_cast<std::uint32_t>(stores_.size() - 1);
}

void GlobalOrder::settle(std::uint32_t store) {
  const auto component = static_cast<std::uint32_t>(current->component);
  stores_[store] = {true, true, {current->cta->cluster->number, component, current->clock[component]}};
}

void GlobalOrder::load_flag(const void* address) {
  const auto flag = flags_.find(reinterpret_cast<std::uintptr_t>(address));
  if (flag != flags_.end()) current->acquirable.join(flag->second);
}

void GlobalOrder::add_to_flag(const void* address) {
  if (!current->has_fenced) return;
  flags_[reinterpret_cast<std::uintptr_t>(address)].join(current->released);
}

void GlobalOrder::fence() {
  const std::uint32_t cluster = current->cta->cluster->number;
  current->clock.learn_outside(current->acquirable, cluster);
  current->acquirable = {};
  current->released = current->clock.seen_from_outside(cluster);
  current->has_fenced = true;
  current->clock.tick(current->component);
}

void GlobalOrder::fence_proxy() {
  clusters_[current->cta->cluster->number].proxy_fences[current->component] = machine.now();
}

}  // namespace hopper_gemm::emulator
