#include "emulator/happens_before.hpp"

#include <array>

#include "emulator/widest_vectors.hpp"

namespace hopper_gemm::emulator {
namespace {

struct Comparison {
  bool first_is_further = false;  ///< in any component
  bool second_is_further = false;
};

HG_WIDEST_VECTORS
void raise_to(std::uint32_t* times, const std::uint32_t* other, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) times[i] = std::max(times[i], other[i]);
}

HG_WIDEST_VECTORS
Comparison compare(const std::uint32_t* first, const std::uint32_t* second, std::size_t count) {
  std::uint32_t first_is_further = 0;
  std::uint32_t second_is_further = 0;
  for (std::size_t i = 0; i < count; ++i) {
    first_is_further |= first[i] > second[i] ? 1U : 0U;
    second_is_further |= second[i] > first[i] ? 1U : 0U;
  }
  return {first_is_further != 0, second_is_further != 0};
}

bool any_beyond(const std::vector<std::uint32_t>& times, std::size_t begin) {
  return std::any_of(times.begin() + static_cast<std::ptrdiff_t>(std::min(begin, times.size())), times.end(),
                     [](std::uint32_t time) { return time != 0; });
}

void join_times(std::vector<std::uint32_t>* times, const std::vector<std::uint32_t>& other) {
  if (times->size() < other.size()) times->resize(other.size());
  raise_to(times->data(), other.data(), other.size());
}

// Lives as long as the program, because clocks in global variables end after all others.
std::vector<SharedTimes*>& free_times() {
  static auto* const free = new std::vector<SharedTimes*>;
  return *free;
}

std::uint64_t next_id() {
  static std::uint64_t last = 0;
  return ++last;
}

TimesPointer copy_of(const std::vector<std::uint32_t>& times) {
  auto& free = free_times();
  if (free.empty()) free.push_back(new SharedTimes);
  SharedTimes* const copy = free.back();
  free.pop_back();
  copy->times = times;
  copy->id = next_id();
  return TimesPointer(copy);
}

// For the only user of these times, who changes them.
void raise_component(SharedTimes* shared, std::size_t component, std::uint32_t time) {
  if (shared->times.size() <= component) shared->times.resize(component + 1);
  shared->times[component] = std::max(shared->times[component], time);
  shared->id = next_id();
}

TimesPointer joined(const TimesPointer& first, const TimesPointer& second) {
  const auto& a = first->times;
  const auto& b = second->times;
  const std::size_t common = std::min(a.size(), b.size());
  const Comparison comparison = compare(a.data(), b.data(), common);
  if (!comparison.second_is_further && !any_beyond(b, common)) return first;
  if (!comparison.first_is_further && !any_beyond(a, common)) return second;
  TimesPointer result = copy_of(a);
  join_times(&result->times, b);
  return result;
}

// The last results of learn(), by what was known and what was learnt. Threads of a warp or of a warpgroup come one behind
// the other with the same question.
struct Learnt {
  std::uint64_t known = 0;
  std::uint64_t other = 0;  ///< id of the times, or a component
  std::uint64_t time = 0;   ///< of the component
  TimesPointer result;
};

Learnt& last_learnt(std::uint64_t known, std::uint64_t other, std::uint64_t time) {
  static auto* const table = new std::array<Learnt, 256>;
  const std::uint64_t hash =
      (known * 0x9e3779b97f4a7c15U) ^ (other * 0xc2b2ae3d27d4eb4fU) ^ (time * 0x165667b19e3779f9U);
  return (*table)[hash >> 56];
}

template <typename Compute>
TimesPointer learn_once(std::uint64_t known, std::uint64_t other, std::uint64_t time, Compute compute) {
  Learnt& last = last_learnt(known, other, time);
  if (last.known != known || last.other != other || last.time != time || !last.result) {
    last = {known, other, time, compute()};
  }
  return last.result;
}

}  // namespace

void TimesPointer::give_back(SharedTimes* times) { free_times().push_back(times); }

void VectorClock::raise_shared(std::size_t component, std::uint32_t time) {
  if (!shared_ || shared_->users > 1) shared_ = copy_of(shared_ ? shared_->times : Times{});
  raise_component(shared_.get(), component, time);
}

void VectorClock::raise(std::size_t component, std::uint32_t time) {
  if (knows(component, time)) return;
  if (own_time_ == 0 || own_ == component) {
    own_ = component;
    own_time_ = time;
    return;
  }
  raise_shared(component, time);
}

void VectorClock::learn(std::size_t component, std::uint32_t time) {
  if (knows(component, time)) return;
  if (own_ == component) {
    own_time_ = time;
    return;
  }
  const auto compute = [&] {
    TimesPointer result = copy_of(shared_ ? shared_->times : Times{});
    raise_component(result.get(), component, time);
    return result;
  };
  shared_ = learn_once(shared_ ? shared_->id : 0, component, time, compute);
}

void VectorClock::join(const VectorClock& other) {
  if (other.shared_ && other.shared_->id != joined_) {
    if (!shared_) {
      shared_ = other.shared_;
    } else if (shared_->users == 1) {
      join_times(&shared_->times, other.shared_->times);
      shared_->id = next_id();
    } else {
      shared_ = joined(shared_, other.shared_);
    }
    joined_ = other.shared_->id;
  }
  if (other.own_time_ != 0) raise(other.own_, other.own_time_);
  join_others(other);
}

void VectorClock::learn(const VectorClock& other) {
  if (!shared_) {
    shared_ = other.shared_;
  } else if (other.shared_ && shared_->id != other.shared_->id) {
    shared_ = learn_once(shared_->id, other.shared_->id, 0, [&] { return joined(shared_, other.shared_); });
  }
  if (other.own_time_ != 0) learn(other.own_, other.own_time_);
  join_others(other);
}

void VectorClock::share_own() {
  if (own_time_ == 0) return;
  raise_shared(own_, own_time_);
  own_time_ = 0;
}

VectorClock VectorClock::seen_from_outside(std::uint32_t cluster) const {
  VectorClock known = *this;
  known.share_own();
  VectorClock outside;
  outside.others_ = others_;
  outside.others_[cluster] = known.shared_ ? known.shared_->times : Times{};
  outside.launches_ = launches_;
  return outside;
}

void VectorClock::learn_outside(const VectorClock& outside, std::uint32_t cluster) {
  join_others(outside);
  const auto own = others_.find(cluster);
  if (own == others_.end()) return;
  VectorClock inside;
  inside.shared_ = copy_of(own->second);
  learn(inside);
  others_.erase(own);
}

void VectorClock::join_others(const VectorClock& other) {
  launches_ = std::max(launches_, other.launches_);
  for (const auto& [cluster, times] : other.others_) join_times(&others_[cluster], times);
}

}  // namespace hopper_gemm::emulator
