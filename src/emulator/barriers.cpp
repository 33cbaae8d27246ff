// Two kinds of functions of device_api.hpp: some say where a thread is, and the others let threads of several warps
// wait for each other.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "emulator/machine.hpp"

namespace hopper_gemm::emulator {
namespace {

constexpr std::int64_t kMaxBytes = (1 << 20) - 1;  // a phase can wait for so many (PTX ISA "mbarrier")
constexpr int kCountBits = 20;
constexpr std::uint32_t kMaxCount = (1U << kCountBits) - 1;
constexpr std::uint32_t kMbarrierBytes = 8;

SharedPlace mbarrier_place(std::uint32_t address, const char* what) {
  const SharedPlace place = place_of(address, kMbarrierBytes, what);
  if (place.address % kMbarrierBytes != 0) {
    machine.fail(fmt::format("{} at {:#x}, which is not 8-byte aligned", what, place.address));
  }
  return place;
}

Mbarrier& live_mbarrier(const SharedPlace& place, const char* what) {
  const auto found = place.cta->mbarriers.find(place.address);
  if (found == place.cta->mbarriers.end()) {
    machine.fail(fmt::format("{} at {:#x} of CTA {}, where no mbarrier was initialised", what, place.address,
                             place.cta->index.x));
  }
  const Mbarrier& barrier = found->second;
  // fence.mbarrier_init releases initialisations to a relaxed arrival.
  const bool is_fenced = barrier.initialized_at <= barrier.initializer->init_fence_at;
  if (!current->clock.knows(barrier.initializer->component, barrier.init_clock) &&
      !(is_fenced && knows_over(*current, barrier.initializer->component, barrier.init_clock))) {
    machine.fail(fmt::format(
        "{} at {:#x} of CTA {}: an mbarrier that {} has initialised, and no barrier orders the two", what,
        place.address, place.cta->index.x, who(*barrier.initializer)));
  }
  return found->second;
}

void complete_if_done(Cta* cta, std::uint32_t address, Mbarrier* barrier) {
  if (barrier->pending > 0 || barrier->bytes != 0) return;
  machine.forget_time_outs();
  ++barrier->phase;
  barrier->pending = barrier->count;
  barrier->clock.complete();
  if (Trace* const trace = machine.trace()) {
    trace->add({machine.now(), machine.now(), cta->launch->ordinal, cta->index.x, "mbarriers",
                fmt::format("phase {} ends at {:#x}", barrier->phase - 1, address), ""});
  }
  machine.wake(&barrier->waiting);
}

void check_bytes(const Cta& cta, std::uint32_t address, const Mbarrier& barrier) {
  if (barrier.bytes > kMaxBytes || barrier.bytes < -kMaxBytes) {
    machine.fail(fmt::format("the transaction count of an mbarrier leaves its range: {}",
                             describe_mbarrier(cta, address)));
  }
}

bool wait(std::uint32_t address, FirstWait kind, std::uint64_t parity, bool acquires,
          const std::function<bool(const Mbarrier&)>& done) {
  const SharedPlace place = mbarrier_place(address, "a wait for an mbarrier");
  Mbarrier& barrier = live_mbarrier(place, "a wait for an mbarrier");
  if (barrier.initializer != current && barrier.initializer->cta != current->cta) {
    machine.fail("a wait for another CTA's mbarrier: threads wait in their own shared memory only");
  }
  if (done(barrier)) {
    learn(barrier.clock, acquires);
    return true;
  }
  // Even the wait that suspends may return before the phase is over.
  constexpr std::uint32_t kEarlyReturn = 8000;
  if (kind == FirstWait::Tests) {
    current->barrier_address = place.address;
    current->awaited_parity = parity;
    machine.note_poll(nullptr);
    current->barrier_address = -1;
    return false;
  }
  if (machine.random().chance(kEarlyReturn)) {
    machine.enter(current->pc);
    return false;
  }
  current->barrier_address = place.address;
  current->awaited_parity = parity;
  const std::uint64_t begin = machine.now();
  while (!done(barrier)) {
    machine.block(&barrier.waiting, "an mbarrier's phase");
    if (std::exchange(current->timed_out, false)) return false;
  }
  learn(barrier.clock, acquires);
  if (Trace* const trace = machine.trace(); trace != nullptr && current->number % kWarpgroupSize == 0) {
    trace->add({begin, machine.now(), current->cta->launch->ordinal, current->cta->index.x,
                fmt::format("warpgroup {}", current->warpgroup->number),
                current->role == nullptr
                    ? fmt::format("waits for mbarrier {:#x}", place.address)
                    : fmt::format("{} waits for stage {}", current->role, current->stage),
                describe_mbarrier(*current->cta, place.address)});
  }
  return true;
}

void arrive_at(NamedBarrier* barrier, std::uint32_t id, std::uint32_t threads) {
  if (barrier->arrived == 0) {
    barrier->expected = threads;
  } else if (barrier->expected != threads) {
    machine.fail(fmt::format("barrier {} is used for {} threads here, and for {} by those that came first",
                             id, threads, barrier->expected));
  }
  publish(&barrier->clock);
  if (++barrier->arrived >= barrier->expected) complete(barrier);
}

void wait_for_cta() {
  NamedBarrier& barrier = current->cta->named[0];
  const std::uint64_t generation = barrier.generation;
  arrive_at(&barrier, 0, static_cast<std::uint32_t>(current->cta->live));
  while (barrier.generation == generation) machine.block(&barrier.waiting, "__syncthreads()");
  learn(barrier.clock);
}

NamedBarrier* named_barrier(std::uint32_t id, std::uint32_t threads) {
  if (id >= current->cta->named.size())
    machine.fail(fmt::format("barrier {} does not exist: there are 16", id));
  if (threads == 0 || threads % kWarpSize != 0) {
    machine.fail(fmt::format("a barrier for {} threads, which are not whole warps", threads));
  }
  return &current->cta->named[id];
}

}  // namespace

const Index3& thread_index() { return current->index; }
const Index3& block_index() { return current->cta->index; }
const Index3& block_extent() { return current->cta->launch->block; }
const Index3& grid_extent() { return current->cta->launch->grid; }
std::uint32_t cluster_rank() { return current->cta->rank; }
std::uint32_t cluster_size() { return static_cast<std::uint32_t>(current->cta->cluster->ctas.size()); }
std::uint32_t sm_count() { return static_cast<std::uint32_t>(machine.sms()); }

std::uint64_t elapsed_steps() {
  HG_ENTER();
  machine.give_way();
  return machine.now();
}

void give_way() {
  HG_ENTER();
  machine.give_way();
}

std::uint32_t atomic_load(const std::uint32_t* address) {
  HG_ENTER();
  check_global(address, sizeof(*address), "the kernel reads");
  machine.note_poll(address);
  global_order.access(address, sizeof(*address), GlobalUse::AtomicLoad);
  global_order.load_flag(address);
  return *address;
}

void atomic_add(std::uint32_t* address, std::uint32_t value) {
  HG_ENTER();
  check_global(address, sizeof(*address), "the kernel writes");
  machine.note_progress();
  global_order.access(address, sizeof(*address), GlobalUse::Atomic);
  global_order.add_to_flag(address);
  *address += value;
}

void trap(const char* what) {
  HG_ENTER();
  machine.fail(what);
}

unsigned char* dynamic_shared_memory() { return current->cta->shared; }
std::uint32_t dynamic_shared_memory_size() { return current->cta->launch->shared_bytes; }

void leave_undefined(std::uint32_t address, std::uint32_t bytes) {
  HG_ENTER();
  const SharedPlace place = place_of(address, bytes, "leave_undefined()");
  if (place.address % kGranuleBytes != 0 || bytes % kGranuleBytes != 0) {
    machine.fail("leave_undefined() takes whole chunks of 16 bytes");
  }
  for (std::uint32_t i = granule_of(place.address); i < granule_of(place.address + bytes); ++i) {
    place.cta->granules[i].defined = true;
  }
}

std::uint32_t shared_address(const void* pointer) {
  const auto offset = static_cast<const unsigned char*>(pointer) - current->cta->shared;
  if (offset < 0 || offset > static_cast<std::ptrdiff_t>(current->cta->launch->shared_bytes)) {
    HG_ENTER();
    machine.fail("the shared address of a pointer that does not point into the CTA's dynamic shared memory");
  }
  return kSharedWindow + static_cast<std::uint32_t>(offset);
}

std::uint32_t map_to_rank(std::uint32_t address, std::uint32_t rank) {
  if (rank >= cluster_size()) {
    HG_ENTER();
    machine.fail(fmt::format("mapa to CTA {} in a cluster of {}", rank, cluster_size()));
  }
  return address | (rank + 1) << kRankShift;
}

void* map_pointer_to_rank(void* pointer, std::uint32_t rank) {
  const SharedPlace place = place_of(map_to_rank(shared_address(pointer), rank), 0, "a pointer");
  return place.cta->shared + (place.address - kSharedWindow);
}

std::uint32_t rank_of(std::uint32_t cluster_address) {
  const std::uint32_t rank_plus_one = cluster_address >> kRankShift;
  return rank_plus_one == 0 ? cluster_rank() : rank_plus_one - 1;
}

void sync_cta() {
  HG_ENTER();
  wait_for_cta();
}

bool sync_cta_and(bool predicate) {
  HG_ENTER();
  const std::uint64_t generation = current->cta->named[0].generation;
  // The slot is used again by the barrier after the next, which begins only after all threads have read it.
  std::uint64_t& refused = current->cta->refused[generation % 2];
  if (!predicate) refused = generation + 1;
  wait_for_cta();
  return refused != generation + 1;
}

void named_barrier_sync(std::uint32_t id, std::uint32_t threads) {
  HG_ENTER();
  NamedBarrier* const barrier = named_barrier(id, threads);
  const std::uint64_t generation = barrier->generation;
  arrive_at(barrier, id, threads);
  while (barrier->generation == generation) machine.block(&barrier->waiting, "a named barrier");
  learn(barrier->clock);
}

void named_barrier_arrive(std::uint32_t id, std::uint32_t threads) {
  HG_ENTER();
  arrive_at(named_barrier(id, threads), id, threads);
}

void cluster_barrier_arrive(bool releases) {
  HG_ENTER();
  if (current->cluster_arrived)
    machine.fail("barrier.cluster.arrive twice without a barrier.cluster.wait between");
  Cluster& cluster = *current->cta->cluster;
  current->cluster_arrived = true;
  current->cluster_generation = cluster.cluster_generation;
  publish(&cluster.clock, releases);
  if (++cluster.cluster_arrived >= cluster.live_threads()) complete_cluster_barrier(&cluster);
}

void cluster_barrier_wait() {
  HG_ENTER();
  if (!current->cluster_arrived)
    machine.fail("barrier.cluster.wait without a barrier.cluster.arrive before it");
  Cluster& cluster = *current->cta->cluster;
  while (cluster.cluster_generation == current->cluster_generation) {
    machine.block(&cluster.waiting, "the cluster barrier");
  }
  current->cluster_arrived = false;
  learn(cluster.clock);
}

void mbarrier_init(std::uint32_t address, std::uint32_t count) {
  HG_ENTER();
  const SharedPlace place = mbarrier_place(address, "mbarrier.init");
  if (count == 0 || count > kMaxCount) machine.fail(fmt::format("mbarrier.init with a count of {}", count));
  const auto [slot, is_new] = place.cta->mbarriers.try_emplace(place.address);
  if (!is_new) machine.fail("mbarrier.init of a live mbarrier: mbarrier.inval it first");
  Mbarrier& barrier = slot->second;
  barrier.count = count;
  barrier.pending = count;
  barrier.initializer = current;
  barrier.initialized_at = machine.tick();
  barrier.init_clock = current->clock[current->component];
  barrier.component = current->cta->cluster->components++;
}

void mbarrier_inval(std::uint32_t address) {
  HG_ENTER();
  const SharedPlace place = mbarrier_place(address, "mbarrier.inval");
  if (!live_mbarrier(place, "mbarrier.inval").waiting.empty()) {
    machine.fail("mbarrier.inval of a barrier that threads wait for");
  }
  place.cta->mbarriers.erase(place.address);
}

std::uint64_t mbarrier_arrive(std::uint32_t address, std::uint32_t count, std::uint32_t expected_bytes,
                              bool releases) {
  HG_ENTER();
  const SharedPlace place = mbarrier_place(address, "an arrival");
  if (place.cta->live == 0) {
    machine.fail(fmt::format("an arrival at an mbarrier of CTA {}, which has ended", place.cta->index.x));
  }
  Mbarrier& barrier = live_mbarrier(place, "an arrival");
  if (place.cta != current->cta && barrier.initialized_at > barrier.initializer->init_fence_at) {
    machine.fail(
        fmt::format("an arrival from another CTA at an mbarrier ({}) that was initialised without "
                    "fence.mbarrier_init after it",
                    describe_mbarrier(*place.cta, place.address)));
  }
  place.cta->last_arrivals[current->component] = {current, current->clock[current->component]};
  const std::uint64_t state = barrier.phase << kCountBits | static_cast<std::uint64_t>(barrier.pending);
  publish(&barrier.clock, releases);
  barrier.bytes += expected_bytes;
  check_bytes(*place.cta, place.address, barrier);
  barrier.pending -= count;
  if (barrier.pending < 0) {
    machine.fail(fmt::format("more arrivals in a phase than the mbarrier counts: {}",
                             describe_mbarrier(*place.cta, place.address)));
  }
  complete_if_done(place.cta, place.address, &barrier);
  return state;
}

void mbarrier_expect(std::uint32_t address, std::uint32_t bytes) {
  HG_ENTER();
  const SharedPlace place = mbarrier_place(address, "mbarrier.expect_tx");
  Mbarrier& barrier = live_mbarrier(place, "mbarrier.expect_tx");
  barrier.bytes += bytes;
  check_bytes(*place.cta, place.address, barrier);
}

bool mbarrier_wait_parity(std::uint32_t address, std::uint32_t parity, FirstWait kind, bool acquires) {
  HG_ENTER();
  return wait(address, kind, parity, acquires,
              [parity](const Mbarrier& barrier) { return barrier.phase % 2 != parity; });
}

bool mbarrier_wait_phase(std::uint32_t address, std::uint64_t state, FirstWait kind) {
  HG_ENTER();
  const std::uint64_t phase = state >> kCountBits;
  return wait(address, kind, phase % 2, true,
              [phase](const Mbarrier& barrier) { return barrier.phase > phase; });
}

std::uint32_t mbarrier_pending(std::uint64_t state) { return static_cast<std::uint32_t>(state) & kMaxCount; }

Fill next_fill(Cta* cta, std::uint32_t address) {
  const auto found = cta->mbarriers.find(address);
  if (found == cta->mbarriers.end()) return {0, 0};  // mbarrier_complete() will say so
  Mbarrier& barrier = found->second;
  barrier.clock.arriving.raise(barrier.component, ++barrier.pieces);
  return {barrier.component, barrier.pieces};
}

void mbarrier_complete(Cta* cta, std::uint32_t address, std::int64_t bytes) {
  const auto found = cta->mbarriers.find(address);
  if (found == cta->mbarriers.end()) {
    machine.fail(fmt::format("bytes came for an mbarrier at {:#x} of CTA {}, where there is none", address,
                             cta->index.x));
  }
  Mbarrier& barrier = found->second;
  barrier.bytes -= bytes;
  check_bytes(*cta, address, barrier);
  complete_if_done(cta, address, &barrier);
}

SharedPlace mbarrier_expects_arrival(std::uint32_t address, bool increments) {
  const SharedPlace place = mbarrier_place(address, "cp.async.mbarrier.arrive");
  Mbarrier& barrier = live_mbarrier(place, "cp.async.mbarrier.arrive");
  if (increments && ++barrier.pending > kMaxCount) {
    machine.fail(fmt::format("cp.async.mbarrier.arrive increments the pending count out of its range: {}",
                             describe_mbarrier(*place.cta, place.address)));
  }
  return place;
}

void mbarrier_async_arrival(Cta* cta, std::uint32_t address) {
  const auto found = cta->mbarriers.find(address);
  if (found == cta->mbarriers.end()) {
    machine.fail(fmt::format(
        "a cp.async.mbarrier.arrive comes for an mbarrier at {:#x} of CTA {}, where there is none", address,
        cta->index.x));
  }
  Mbarrier& barrier = found->second;
  if (--barrier.pending < 0) {
    machine.fail(fmt::format("more arrivals in a phase than the mbarrier counts: {}",
                             describe_mbarrier(*cta, address)));
  }
  complete_if_done(cta, address, &barrier);
}

BarrierClock& mbarrier_clock(Cta* cta, std::uint32_t address) { return cta->mbarriers.at(address).clock; }

void check_mbarrier_for_async(Cta* cta, std::uint32_t address, const char* completes) {
  const Mbarrier& barrier = live_mbarrier({cta, address}, completes);
  if (barrier.initialized_at > barrier.initializer->init_fence_at) {
    machine.fail(
        fmt::format("{} on an mbarrier ({}) that was initialised without fence.mbarrier_init after it",
                    completes, describe_mbarrier(*cta, address)));
  }
}

std::string describe_mbarrier(const Cta& cta, std::uint32_t address) {
  const auto found = cta.mbarriers.find(address);
  if (found == cta.mbarriers.end()) return fmt::format("no mbarrier at {:#x}", address);
  const Mbarrier& barrier = found->second;
  // Neighbouring mbarriers with the same count are taken for one ring. The position in it is then the stage.
  const auto alike = [&](std::uint32_t other) {
    const auto neighbour = cta.mbarriers.find(other);
    return neighbour != cta.mbarriers.end() && neighbour->second.count == barrier.count;
  };
  std::uint32_t first = address;
  while (alike(first - kMbarrierBytes)) first -= kMbarrierBytes;
  std::uint32_t last = address;
  while (alike(last + kMbarrierBytes)) last += kMbarrierBytes;
  return fmt::format(
      "mbarrier {:#x} of CTA {}, number {} of {} side by side, in phase {} (parity {}), {} of {} "
      "arrivals and {} bytes pending",
      address, cta.index.x, (address - first) / kMbarrierBytes, (last - first) / kMbarrierBytes + 1,
      barrier.phase, barrier.phase % 2, barrier.pending, barrier.count, barrier.bytes);
}

void fence_proxy_async(bool shared, bool global) {
  HG_ENTER();
  const std::uint64_t step = machine.tick();
  if (shared) current->proxy_fence_at = step;
  if (global) global_order.fence_proxy();
}

void fence_acq_rel(bool gpu) {
  HG_ENTER();
  fence_cluster();
  if (gpu) global_order.fence();
}

void wait_for_launches() {
  HG_ENTER();
  Launch& launch = *current->cta->launch;
  while (launch.ahead != nullptr) machine.block(&launch.waiting, "the end of the launch ahead");
  global_order.wait_for_launches();
}

void let_dependents_begin() {
  HG_ENTER();
  global_order.let_dependents_begin();
  machine.let_dependents_begin();
}

void fence_mbarrier_init() {
  HG_ENTER();
  current->init_fence_at = machine.tick();
}

void describe_wait(const char* role, int stage, std::uint32_t) {
  current->role = role;
  current->stage = stage;
}

}  // namespace hopper_gemm::emulator
