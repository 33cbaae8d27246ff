// cp.async and st.async: copies to shared memory that go on without their thread, through the generic proxy.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "emulator/machine.hpp"

namespace hopper_gemm::emulator {
namespace {

// Calls visit(granule, words) for each granule that a copy writes; words has a bit for each word.
template <typename Visit>
void for_each_granule(const AsyncCopy& copy, Visit visit) {
  // A copy is aligned to its size, which is at most a granule's.
  const std::uint32_t first = (copy.address - kSharedWindow) % kGranuleBytes / kWordBytes;
  const std::uint32_t words = ((1U << copy.bytes / kWordBytes) - 1) << first;
  visit(granule_of(copy.address), words);
}

/// From now on the copy is a write. Threads that know `component` at `clock` may rely on it.
void settle(AsyncCopy* copy, WriteKind kind, std::size_t component, std::uint32_t clock) {
  copy->settled = true;
  copy->component = static_cast<std::uint32_t>(component);
  copy->clock = clock;
  const std::uint64_t step = machine.tick();
  for_each_granule(*copy, [&](std::uint32_t index, std::uint32_t words) {
    Granule& granule = copy->cta->granules[index];
    granule.filling = static_cast<std::uint8_t>(granule.filling & ~words);
    granule.copy = 0;
    granule.defined = true;
    granule.generic_uses().write({copy->issuer, step, copy->component, clock, kind, words});
  });
}

/// The bytes of a copy on their way.
class Landing : public AsyncWork {
 public:
  Landing(std::shared_ptr<AsyncCopy> copy, const void* source, std::uint32_t source_bytes)
      : copy_(std::move(copy)), source_(source), source_bytes_(source_bytes) {}

  bool step() override {
    unsigned char* const destination = copy_->cta->shared + (copy_->address - kSharedWindow);
    if (source_bytes_ > 0) std::memcpy(destination, source_, source_bytes_);
    std::memset(destination + source_bytes_, 0, copy_->bytes - source_bytes_);
    copy_->landed = true;
    machine.wake(&copy_->issuer->copy_waiters);
    return true;
  }

 private:
  std::shared_ptr<AsyncCopy> copy_;
  const void* source_;
  std::uint32_t source_bytes_;
};

/// An arrival that waits for copies.
class Arrival : public AsyncWork {
 public:
  Arrival(const SharedPlace& barrier, AsyncCopies copies) : barrier_(barrier), copies_(std::move(copies)) {}

  bool step() override {
    if (!std::all_of(copies_.begin(), copies_.end(), [](const auto& copy) { return copy->landed; }))
      return false;
    const auto [component, clock] = next_fill(barrier_.cta, barrier_.address);
    for (const auto& copy : copies_) {
      if (clock == 0) break;  // no mbarrier is there, which the arrival will report
      if (!copy->settled) {
        settle(copy.get(), WriteKind::CpAsyncToBarrier, component, clock);
      } else {
        mbarrier_clock(barrier_.cta, barrier_.address).arriving.raise(copy->component, copy->clock);
      }
    }
    --barrier_.cta->async_arrivals;
    barrier_.cta->async_arrival_clocks[component] = clock;
    mbarrier_async_arrival(barrier_.cta, barrier_.address);
    return true;
  }

 private:
  SharedPlace barrier_;
  AsyncCopies copies_;
};

/// The bytes of an st.async on their way.
class RemoteStore : public AsyncWork {
 public:
  RemoteStore(std::shared_ptr<AsyncCopy> copy, const void* values, const SharedPlace& barrier)
      : copy_(std::move(copy)), barrier_(barrier) {
    std::memcpy(values_.data(), values, copy_->bytes);
  }

  bool step() override {
    std::memcpy(copy_->cta->shared + (copy_->address - kSharedWindow), values_.data(), copy_->bytes);
    const auto [component, clock] = next_fill(barrier_.cta, barrier_.address);
    settle(copy_.get(), WriteKind::StAsync, component, clock);
    copy_->cta->async_arrival_clocks[component] = clock;
    --copy_->cta->copies_in_flight;
    mbarrier_complete(barrier_.cta, barrier_.address, copy_->bytes);
    return true;
  }

 private:
  std::shared_ptr<AsyncCopy> copy_;
  SharedPlace barrier_;
  std::array<unsigned char, kGranuleBytes> values_{};
};

void check_aligned(const char* what, std::uint32_t bytes, std::uintptr_t address, const char* where) {
  if (address % bytes == 0) return;
  machine.fail(fmt::format("{} of {} bytes {} at {:#x}, which is not {}-byte aligned", what, bytes, where,
                           address, bytes));
}

/// Begins a copy of the current thread, and marks the words that it will write until it has written them.
std::shared_ptr<AsyncCopy> begin(const SharedPlace& place, std::uint32_t bytes, WriteKind kind,
                                 const char* overwrites) {
  auto copy = std::make_shared<AsyncCopy>();
  copy->issuer = current;
  copy->cta = place.cta;
  copy->address = place.address;
  copy->bytes = bytes;
  for_each_granule(*copy, [&](std::uint32_t index, std::uint32_t words) {
    check_generic_write(copy->cta, index, words, overwrites);
    forget_uses(copy->cta, index, words);
    Granule& granule = copy->cta->granules[index];
    granule.filling = static_cast<std::uint8_t>(granule.filling | words);
    granule.generic_uses().write({.writer = current, .kind = kind, .words = words});
  });
  return copy;
}

void check_source(const void* source, std::uint32_t bytes) {
  const auto* const byte = static_cast<const unsigned char*>(source);
  for (const auto& cta : current->cta->cluster->ctas) {
    if (byte >= cta->shared && byte < cta->shared + cta->launch->shared_bytes) {
      machine.fail("a cp.async from shared memory: it copies from global memory");
    }
  }
  if (bytes == 0) return;
  check_global(source, bytes, "a cp.async reads");
  // If the host has no memory there either, report it now as this thread's fault, and not when the bytes land.
  const volatile unsigned char* const probe = byte;
  static_cast<void>(probe[0]);
  static_cast<void>(probe[bytes - 1]);
}

// The current thread has waited for a copy.
void release(AsyncCopy* copy) {
  while (!copy->landed) machine.block(&current->copy_waiters, "its cp.asyncs");
  if (!copy->settled) {
    settle(copy, WriteKind::CpAsync, current->component, current->clock[current->component]);
    return;
  }
  current->clock.learn(copy->component, copy->clock);
}

void release_groups(std::size_t pending_groups) {
  auto& groups = current->copy_groups;
  const std::size_t waited_for = groups.size() - std::min(groups.size(), pending_groups);
  for (std::size_t i = 0; i < waited_for; ++i) {
    for (const auto& copy : groups[i]) release(copy.get());
  }
  groups.erase(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(waited_for));
}

template <typename Visit>
void for_each_copy(const Thread& thread, Visit visit) {
  for (const AsyncCopies& group : thread.copy_groups) std::for_each(group.begin(), group.end(), visit);
  std::for_each(thread.open_copies.begin(), thread.open_copies.end(), visit);
}

}  // namespace

void cp_async(std::uint32_t destination, const void* source, std::uint32_t bytes,
              std::uint32_t source_bytes) {
  HG_ENTER();
  constexpr const char* kCpAsync = "a cp.async";
  const SharedPlace place = place_of(destination, bytes, kCpAsync);
  check_aligned(kCpAsync, bytes, place.address, "to shared memory");
  check_aligned(kCpAsync, bytes, reinterpret_cast<std::uintptr_t>(source), "from global memory");
  if (source_bytes > bytes) {
    machine.fail(fmt::format("a cp.async of {} bytes with a source size of {}", bytes, source_bytes));
  }
  check_source(source, source_bytes);
  global_order.access(source, source_bytes, GlobalUse::Load);
  auto copy = begin(place, bytes, WriteKind::CpAsync, "a cp.async overwrites");
  current->open_copies.push_back(copy);
  machine.add(std::make_unique<Landing>(std::move(copy), source, source_bytes));
}

void cp_async_commit_group() {
  HG_ENTER();
  current->copy_groups.push_back(std::exchange(current->open_copies, {}));
}

void cp_async_wait_group(int pending_groups) {
  HG_ENTER();
  release_groups(static_cast<std::size_t>(pending_groups));
}

void cp_async_wait_all() {
  HG_ENTER();
  current->copy_groups.push_back(std::exchange(current->open_copies, {}));
  release_groups(0);
}

void cp_async_mbarrier_arrive(std::uint32_t barrier, bool increments) {
  HG_ENTER();
  const SharedPlace place = mbarrier_expects_arrival(barrier, increments);
  AsyncCopies copies;
  for_each_copy(*current, [&copies](const std::shared_ptr<AsyncCopy>& copy) {
    copy->tracked = true;
    copies.push_back(copy);
  });
  // The mbarrier does not wait for copies that the thread has waited for before. It does wait for copies of which
  // another mbarrier tells.
  ++place.cta->async_arrivals;
  machine.add(std::make_unique<Arrival>(place, std::move(copies)));
}

void store_async(std::uint32_t destination, const void* values, std::uint32_t bytes, std::uint32_t barrier) {
  HG_ENTER();
  constexpr const char* kStAsync = "an st.async";
  const SharedPlace place = place_of(destination, bytes, kStAsync);
  const SharedPlace barrier_place = place_of(barrier, 8, "the mbarrier of an st.async");
  check_aligned(kStAsync, bytes, place.address, "to shared memory");
  if (place.cta != barrier_place.cta) {
    machine.fail(fmt::format("an st.async to CTA {} with an mbarrier of CTA {}", place.cta->index.x,
                             barrier_place.cta->index.x));
  }
  if (place.cta->live == 0) {
    machine.fail(fmt::format("an st.async to CTA {}, which has ended", place.cta->index.x));
  }
  check_mbarrier_for_async(barrier_place.cta, barrier_place.address, "an st.async completes");
  auto copy = begin(place, bytes, WriteKind::StAsync, "an st.async overwrites");
  ++place.cta->copies_in_flight;
  machine.add(std::make_unique<RemoteStore>(std::move(copy), values, barrier_place));
}

void check_copies_at_exit() {
  int copies = 0;
  for_each_copy(*current, [&copies](const std::shared_ptr<AsyncCopy>& copy) {
    if (!copy->settled && !copy->tracked) ++copies;
  });
  if (copies == 0) return;
  machine.fail(fmt::format(
      "the thread ends while {} cp.asyncs that it has not waited for may still write shared memory", copies));
}

}  // namespace hopper_gemm::emulator
