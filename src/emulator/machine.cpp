#include "emulator/machine.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

namespace hopper_gemm::emulator {

namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kStackBytes = 128 * 1024;
constexpr std::size_t kSharedBlockBytes = 256 * 1024;
constexpr int kRegisterFile = 64 * 1024;
constexpr unsigned char kUndefinedByte = 0xFF;  // a float or a bf16 of such bytes is NaN

// A failure that was found in asynchronous work, while no thread ran.
struct WorkFailure : std::exception {};

// `bytes` of memory between two pages that fault.
unsigned char* map_guarded(std::size_t bytes) {
  void* const region = mmap(nullptr, bytes + 2 * kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (region == MAP_FAILED) throw std::bad_alloc();
  unsigned char* const begin = static_cast<unsigned char*>(region) + kPageBytes;
  if (mprotect(begin, bytes, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  return begin;
}

// While it lives, a kernel's access to an address without memory becomes a report.
class FaultReports {
 public:
  FaultReports() {
    stack_t stack{};
    stack.ss_sp = stack_.data();
    stack.ss_size = stack_.size();
    sigaltstack(&stack, &old_stack_);
    struct sigaction action {};
    action.sa_sigaction = report;
    // The handler ends by a jump, never by a return. It has a stack of its own, because the thread's may have
    // overflowed.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &old_action_);
  }
  ~FaultReports() {
    sigaction(SIGSEGV, &old_action_, nullptr);
    sigaltstack(&old_stack_, nullptr);
  }
  FaultReports(const FaultReports&) = delete;
  FaultReports& operator=(const FaultReports&) = delete;

 private:
  static void report(int, siginfo_t* info, void*) {
    if (current == nullptr) {  // the emulator's own fault
      signal(SIGSEGV, SIG_DFL);
      return;
    }
    const auto* const address = static_cast<const unsigned char*>(info->si_addr);
    if (address < current->stack && address + kPageBytes >= current->stack) {
      machine.fail(fmt::format("the thread's stack of {} bytes overflows", kStackBytes));
    }
    machine.fail(fmt::format("the kernel accesses address {}, where there is no memory", info->si_addr));
  }

  std::vector<unsigned char> stack_ = std::vector<unsigned char>(64 * 1024);
  stack_t old_stack_{};
  struct sigaction old_action_ {};
};

/// The shuffle of Fisher and Yates. std::shuffle() would give another order with each standard library.
void shuffle(std::vector<unsigned>* values, Random* random) {
  for (std::size_t i = values->size(); i > 1; --i) {
    std::swap((*values)[i - 1], (*values)[random->below(static_cast<std::uint32_t>(i))]);
  }
}

}  // namespace

Machine machine;
Thread* current = nullptr;

AsyncWork::AsyncWork() : issuer_(current), pc_(current->pc) {}

void run_thread_body(transfer_t from) {
  machine.scheduler_ = from.fctx;
  (*machine.body_)();
  machine.thread_exits();
}

bool Machine::run(const Index3& grid, const Index3& block, int cluster_size, std::size_t shared_bytes,
                  const std::function<void()>& body) {
  random_ = Random(config_.seed);
  now_ = 0;
  copies_ = 0;
  grid_ = grid;
  block_ = block;
  shared_bytes_ = static_cast<std::uint32_t>(shared_bytes);
  body_ = &body;
  failed_ = false;
  report_.clear();
  const FaultReports fault_reports;
  // Clusters do not wait for each other, so it is enough to run one at a time. On a GPU any of them may end last and
  // overwrite what others stored, so their order is random.
  const auto size = static_cast<unsigned>(cluster_size);
  std::vector<unsigned> first_ctas((grid.x + size - 1) / size);
  for (unsigned i = 0; i < first_ctas.size(); ++i) first_ctas[i] = i * size;
  shuffle(&first_ctas, &random_);
  return std::all_of(first_ctas.begin(), first_ctas.end(),
                     [&](unsigned first) { return run_cluster(first, cluster_size); });
}

bool Machine::run_cluster(unsigned first_cta, int cluster_size) {
  Cluster cluster;
  start(&cluster, first_cta, cluster_size);
  try {
    schedule(&cluster);
  } catch (const WorkFailure&) {  // NOLINT(bugprone-empty-catch): fail() has written the report
  }
  runnable_.clear();
  work_.clear();
  current = nullptr;
  return !failed_;
}

void Machine::start(Cluster* cluster, unsigned first_cta, int cluster_size) {
  const auto threads = static_cast<std::size_t>(block_.x);
  const auto warps = (threads + kWarpSize - 1) / kWarpSize;
  const auto warpgroups = (threads + kWarpgroupSize - 1) / kWarpgroupSize;
  while (stacks_.size() < threads * static_cast<std::size_t>(cluster_size)) {
    stacks_.push_back(map_guarded(kStackBytes));
  }
  while (shared_blocks_.size() < static_cast<std::size_t>(cluster_size)) {
    shared_blocks_.push_back(map_guarded(kSharedBlockBytes));
  }
  if (warpgroups > kMaxWarpgroups) throw std::bad_alloc();
  const std::size_t all_threads = threads * static_cast<std::size_t>(cluster_size);
  const std::size_t all_warpgroups = warpgroups * static_cast<std::size_t>(cluster_size);
  cluster->components = static_cast<std::uint32_t>(all_threads + all_warpgroups);
  const int registers = std::min(255, kRegisterFile / static_cast<int>(threads) / 8 * 8);
  for (int rank = 0; rank < cluster_size; ++rank) {
    auto cta = std::make_unique<Cta>();
    cta->cluster = cluster;
    cta->rank = static_cast<std::uint32_t>(rank);
    cta->index = {first_cta + cta->rank, 0, 0};
    cta->shared = shared_blocks_[static_cast<std::size_t>(rank)];
    std::memset(cta->shared, kUndefinedByte, shared_bytes_);
    cta->granules.resize((shared_bytes_ + kGranuleBytes - 1) / kGranuleBytes);
    cta->threads.resize(threads);
    cta->warps.resize(warps);
    cta->warpgroups.resize(warpgroups);
    cta->live = static_cast<int>(threads);
    for (std::size_t i = 0; i < warpgroups; ++i) {
      cta->warpgroups[i].cta = cta.get();
      cta->warpgroups[i].number = static_cast<int>(i);
      cta->warpgroups[i].registers = registers;
      cta->warpgroups[i].component = all_threads + static_cast<std::size_t>(rank) * warpgroups + i;
    }
    for (std::size_t i = 0; i < threads; ++i) {
      Thread& thread = cta->threads[i];
      thread.cta = cta.get();
      thread.number = static_cast<int>(i);
      thread.index = {static_cast<unsigned>(i), 0, 0};
      thread.component = static_cast<std::size_t>(rank) * threads + i;
      thread.clock = VectorClock(cluster->components);
      thread.clock[thread.component] = 1;
      thread.warp = &cta->warps[i / kWarpSize];
      thread.warpgroup = &cta->warpgroups[i / kWarpgroupSize];
      thread.stack = stacks_[static_cast<std::size_t>(rank) * threads + i];
      thread.context = make_fcontext(thread.stack + kStackBytes, kStackBytes, run_thread_body);
      runnable_.push_back(&thread);
    }
    cluster->ctas.push_back(std::move(cta));
  }
}

// Asynchronous work hurries or lags, threads are often interrupted, or one thread, warp, warpgroup or CTA falls far
// behind. Each mood finds other faults.
void Machine::choose_mood(const Cluster& cluster) {
  constexpr std::uint32_t kWorkWeights[] = {0, 500, 8000, 40000, 65000};
  constexpr std::uint32_t kPreemptWeights[] = {0, 0, 300, 6000};
  mood_.work_weight = kWorkWeights[random_.below(5)];
  mood_.preempt_weight = kPreemptWeights[random_.below(4)];
  mood_.steps = 200 + random_.below(4000);
  mood_.laggard = nullptr;
  if (random_.chance(1U << 15)) return;
  const Cta& cta = *cluster.ctas[random_.below(static_cast<std::uint32_t>(cluster.ctas.size()))];
  const Thread& thread = cta.threads[random_.below(static_cast<std::uint32_t>(cta.threads.size()))];
  const void* const scopes[] = {&thread, thread.warp, thread.warpgroup, thread.cta};
  mood_.laggard = scopes[random_.below(4)];
}

std::uint32_t Machine::pick_runnable() {
  constexpr int kTries = 8;
  std::uint32_t pick = 0;
  for (int i = 0; i < kTries; ++i) {
    pick = random_.below(static_cast<std::uint32_t>(runnable_.size()));
    if (!mood_.delays(*runnable_[pick])) break;
  }
  return pick;
}

void Machine::schedule(Cluster* cluster) {
  std::string deadlock;
  forget_time_outs();
  choose_mood(*cluster);
  while (!failed_) {
    if (mood_.steps-- == 0) choose_mood(*cluster);
    if (runnable_.empty() && work_.empty()) {
      if (cluster->live_threads() == 0) return;
      // The report describes the threads before the first time-out, because time-outs scatter them.
      if (time_outs_ == 0) deadlock = deadlock_report(*cluster);
      if (let_waits_time_out(cluster)) continue;
      report_ = deadlock;
      failed_ = true;
      return;
    }
    ++now_;
    if (!work_.empty() && (runnable_.empty() || random_.chance(mood_.work_weight))) {
      step_work();
      continue;
    }
    const std::uint32_t pick = pick_runnable();
    Thread* const thread = runnable_[pick];
    if (mood_.delays(*thread) && !work_.empty()) {
      step_work();
      continue;
    }
    runnable_[pick] = runnable_.back();
    runnable_.pop_back();
    resume(thread);
  }
}

// When nothing else can happen, mbarrier.try_wait reaches its time limit and returns. Threads may poll a few barriers
// and meet each other between. If no time-out lets anything happen, it is a deadlock.
bool Machine::let_waits_time_out(Cluster* cluster) {
  constexpr int kMaxTimeOuts = 64;
  if (time_outs_++ == kMaxTimeOuts) return false;
  for (const auto& cta : cluster->ctas) {
    for (auto& [address, barrier] : cta->mbarriers) {
      for (Thread* const thread : barrier.waiting) thread->timed_out = true;
      wake(&barrier.waiting);
    }
  }
  return !runnable_.empty();
}

void Machine::resume(Thread* thread) {
  current = thread;
  const transfer_t back = jump_fcontext(thread->context, nullptr);
  current = nullptr;
  thread->context = back.fctx;
  if (thread->state == Thread::State::Runnable) runnable_.push_back(thread);
}

void Machine::step_work() {
  forget_time_outs();
  const std::uint32_t pick = random_.below(static_cast<std::uint32_t>(work_.size()));
  AsyncWork* const work = work_[pick].get();
  stepping_ = work;
  if (!work->step()) return;
  work_[pick] = std::move(work_.back());
  work_.pop_back();
}

void Machine::block(WaitList* list, const char* waits_for) {
  Thread* const thread = current;
  thread->state = Thread::State::Blocked;
  thread->waits_for = waits_for;
  list->push_back(thread);
  give_way();
}

void Machine::wake(WaitList* list) {
  for (Thread* const thread : *list) {
    thread->state = Thread::State::Runnable;
    thread->barrier_address = -1;
    runnable_.push_back(thread);
  }
  list->clear();
}

void Machine::enter(const void* pc) {
  current->pc = pc;
  ++now_;
  if (random_.chance(mood_.preempt_weight)) give_way();
}

void Machine::give_way() { scheduler_ = jump_fcontext(scheduler_, nullptr).fctx; }

void Machine::fail(const std::string& what) {
  report_ = what;
  failed_ = true;
  if (current == nullptr) {
    report_ += fmt::format("\n  in asynchronous work of {}\n  issued at {}\n  at step {} of seed {}",
                           who(stepping_->issuer()), where(stepping_->pc()), now_, config_.seed);
    throw WorkFailure();
  }
  report_ += fmt::format("\n  by {}\n  at {}\n  at step {} of seed {}", who(*current), where(current->pc),
                         now_, config_.seed);
  current->state = Thread::State::Blocked;
  for (;;) give_way();
}

void Machine::thread_exits() {
  Thread* const thread = current;
  Cta* const cta = thread->cta;
  if (!thread->busy.empty())
    fail("the thread ends while wgmmas that it has not waited for use its registers");
  check_copies_at_exit();
  thread->state = Thread::State::Exited;
  --cta->live;
  // Barriers do not wait for threads that have ended.
  NamedBarrier& whole = cta->named[0];
  if (whole.arrived > 0 && whole.arrived >= static_cast<std::uint32_t>(cta->live)) {
    complete(&whole);
  }
  Cluster* const cluster = cta->cluster;
  if (!thread->cluster_arrived && cluster->cluster_arrived > 0 &&
      cluster->cluster_arrived >= cluster->live_threads()) {
    complete_cluster_barrier(cluster);
  }
  if (cta->live == 0) check_exit(cta);
  for (;;) give_way();
}

void Machine::check_exit(Cta* cta) {
  if (cta->copies_in_flight > 0) {
    fail(fmt::format("CTA {} ends while {} TMA copies or st.asyncs may still write into its shared memory",
                     cta->index.x, cta->copies_in_flight));
  }
  // If an arrival came, but nobody here waited for it, it comes too late in another schedule.
  const auto waited_for = [cta](const auto& arrival) {
    return std::any_of(cta->threads.begin(), cta->threads.end(),
                       [&](const Thread& own) { return own.clock.knows(arrival.first, arrival.second); });
  };
  const auto& arrivals = cta->async_arrival_clocks;
  if (cta->async_arrivals > 0 || !std::all_of(arrivals.begin(), arrivals.end(), waited_for)) {
    fail(fmt::format(
        "CTA {} ends, and nobody in it has waited for an arrival by cp.async.mbarrier.arrive or an st.async",
        cta->index.x));
  }
  for (const auto& [address, barrier] : cta->mbarriers) {
    if (barrier.bytes == 0) continue;
    fail(fmt::format("CTA {} ends, and not as many bytes have come as were announced: {}", cta->index.x,
                     describe_mbarrier(*cta, address)));
  }
  if (!cta->unread_stores.empty()) {
    fail(fmt::format(
        "CTA {} ends while {} TMA stores may still read its shared memory: nobody waited for them",
        cta->index.x, cta->unread_stores.size()));
  }
  // If an arrival came, but nobody here waited for it, it comes too late in another schedule.
  for (const auto& [component, arrival] : cta->last_arrivals) {
    if (std::any_of(cta->threads.begin(), cta->threads.end(),
                    [&, component = component, clock = arrival.clock](const Thread& own) {
                      return own.clock.knows(component, clock);
                    }))
      continue;
    fail(
        fmt::format("CTA {} ends, and no barrier orders that after the arrival of {} at one of its mbarriers",
                    cta->index.x, who(*arrival.thread)));
  }
}

std::string Machine::deadlock_report(const Cluster& cluster) {
  std::string report = fmt::format("deadlock: no thread can go on (step {} of seed {})", now_, config_.seed);
  for (const auto& cta : cluster.ctas) {
    for (std::size_t i = 0; i < cta->threads.size();) {
      const Thread& thread = cta->threads[i];
      const auto same = [&](const Thread& other) {
        return other.state == thread.state && other.pc == thread.pc && other.warpgroup == thread.warpgroup &&
               other.waits_for == thread.waits_for && other.barrier_address == thread.barrier_address;
      };
      std::size_t end = i;
      while (end < cta->threads.size() && same(cta->threads[end])) ++end;
      if (thread.state == Thread::State::Blocked) {
        report += fmt::format("\n  {}{} waits for {}", who(thread),
                              end - i > 1 ? fmt::format(" and the {} after it", end - i - 1) : "",
                              thread.waits_for);
        if (thread.barrier_address >= 0) {
          report += fmt::format(" of parity {}: {}", thread.awaited_parity,
                                describe_mbarrier(*cta, static_cast<std::uint32_t>(thread.barrier_address)));
        }
        report += fmt::format("\n    at {}", where(thread.pc));
      }
      i = end;
    }
    if (cta->live == 0) report += fmt::format("\n  CTA {} has ended", cta->index.x);
  }
  return report;
}

SharedPlace place_of(std::uint32_t address, std::uint32_t bytes, const char* what) {
  Cluster& cluster = *current->cta->cluster;
  Cta* cta = current->cta;
  const std::uint32_t rank_plus_one = address >> kRankShift;
  if (rank_plus_one > cluster.ctas.size()) {
    machine.fail(
        fmt::format("{} in CTA {} of a cluster of {}", what, rank_plus_one - 1, cluster.ctas.size()));
  }
  if (rank_plus_one > 0) cta = cluster.ctas[rank_plus_one - 1].get();
  const std::uint32_t offset = address & ((1U << kRankShift) - 1);
  if (offset < kSharedWindow || offset - kSharedWindow + bytes > machine.shared_bytes()) {
    machine.fail(fmt::format("{} at shared address {:#x}, outside of the {} bytes of dynamic shared memory",
                             what, offset, machine.shared_bytes()));
  }
  return {cta, offset};
}

void complete(NamedBarrier* barrier) {
  barrier->clock.complete();
  barrier->arrived = 0;
  ++barrier->generation;
  machine.wake(&barrier->waiting);
}

void complete_cluster_barrier(Cluster* cluster) {
  cluster->clock.complete();
  cluster->cluster_arrived = 0;
  ++cluster->cluster_generation;
  machine.wake(&cluster->waiting);
}

void publish(BarrierClock* clock) {
  clock->arriving.join(current->clock);
  ++current->clock[current->component];
}

void learn(const BarrierClock& clock) { current->clock.join(clock.completed); }

namespace {

template <typename Visit>
void for_each_word(std::uint32_t words, Visit visit) {
  for (std::uint32_t word = 0; word < kWordsPerGranule; ++word) {
    if ((words >> word & 1) != 0) visit(word);
  }
}

std::uint32_t address_of(std::uint32_t granule) { return kSharedWindow + granule * kGranuleBytes; }

bool is_told_by_mbarrier(WriteKind kind) {
  return kind == WriteKind::CpAsyncToBarrier || kind == WriteKind::StAsync;
}

const char* name_of_async(WriteKind kind) {
  return kind == WriteKind::StAsync ? "an st.async" : "a cp.async";
}

// The async proxy sees an ordinary store only after fence.proxy.async.
void check_proxy_fences(const Granule& granule, std::uint32_t index, const char* access) {
  if (granule.generic == nullptr) return;
  for (const WordWrite& word : granule.generic->writes) {
    // If an mbarrier tells that the copy is done, its issuer knows no more than others: a thread that waited must
    // fence.
    const Thread* const fences = is_told_by_mbarrier(word.kind) ? current : word.writer;
    if (word.writer == nullptr || word.step <= fences->proxy_fence_at) continue;
    machine.fail(fmt::format("{} shared memory at {:#x} that {} wrote without fence.proxy.async after it",
                             access, address_of(index), who(*word.writer)));
  }
}

}  // namespace

void check_writes_are_known(Cta* cta, std::uint32_t index, std::uint32_t words, const char* access) {
  const Granule& granule = cta->granules[index];
  for_each_word(granule.generic != nullptr ? words : 0, [&](std::uint32_t i) {
    const WordWrite& word = granule.generic->writes[i];
    if (word.writer == nullptr || current->clock.knows(word.component, word.clock)) return;
    const std::uint32_t address = address_of(index) + i * kWordBytes;
    switch (word.kind) {
      case WriteKind::Store:
        machine.fail(
            fmt::format("{} shared memory at {:#x} that {} has written, and no barrier orders the two",
                        access, address, who(*word.writer)));
      case WriteKind::CpAsync:
        machine.fail(fmt::format(
            "{} shared memory at {:#x} that a cp.async of {} has filled, and no barrier after its "
            "wait orders the two",
            access, address, who(*word.writer)));
      case WriteKind::CpAsyncToBarrier:
      case WriteKind::StAsync:
        machine.fail(
            fmt::format("{} shared memory at {:#x} that {} of {} has filled, and the thread has not waited "
                        "for its mbarrier",
                        access, address, name_of_async(word.kind), who(*word.writer)));
    }
  });
  if (granule.fill_clock > 0 && !current->clock.knows(granule.filler, granule.fill_clock)) {
    machine.fail(
        fmt::format("{} shared memory at {:#x} that a TMA copy has filled, and the thread has not waited for "
                    "its mbarrier",
                    access, address_of(index)));
  }
}

void check_all_is_known(Cta* cta, std::uint32_t index, std::uint32_t words, const char* access) {
  check_writes_are_known(cta, index, words, access);
  const Granule& granule = cta->granules[index];
  for_each_word(granule.generic != nullptr ? words : 0, [&](std::uint32_t i) {
    for (const WordRead& read : granule.generic->reads[i]) {
      if (current->clock.knows(read.reader->component, read.clock)) continue;
      machine.fail(fmt::format("{} shared memory at {:#x} that {} has read, and no barrier orders the two",
                               access, address_of(index) + i * kWordBytes, who(*read.reader)));
    }
  });
  for (const Warpgroup& warpgroup : cta->warpgroups) {
    const std::uint32_t end = granule.wgmma_groups[static_cast<std::size_t>(warpgroup.number)];
    if (end == 0 || current->clock.knows(warpgroup.component, end)) continue;
    machine.fail(fmt::format(
        "{} shared memory at {:#x} that a wgmma of warpgroup {} of CTA {} has read, and no barrier "
        "after wgmma.wait_group orders the two",
        access, address_of(index), warpgroup.number, cta->index.x));
  }
  if (granule.store_waiter != nullptr &&
      !current->clock.knows(granule.store_waiter->component, granule.store_clock)) {
    machine.fail(fmt::format(
        "{} shared memory at {:#x} that a TMA store has read, and no barrier after the wait of {} "
        "for it orders the two",
        access, address_of(index), who(*granule.store_waiter)));
  }
}

void forget_uses(Cta* cta, std::uint32_t index, std::uint32_t words) {
  Granule& granule = cta->granules[index];
  for_each_word(granule.generic != nullptr ? words : 0, [&](std::uint32_t i) {
    granule.generic->writes[i] = {};
    granule.generic->reads[i].clear();
  });
  if (words != kAllWords) return;
  granule.fill_clock = 0;
  granule.store_waiter = nullptr;
  granule.wgmma_groups.fill(0);
}

void check_not_filling(const Granule& granule, std::uint32_t index, std::uint32_t words, const char* does) {
  const std::uint32_t busy = words & granule.filling;
  if (busy == 0) return;
  const auto word = static_cast<std::uint32_t>(std::countr_zero(busy));
  machine.fail(fmt::format(
      "{} shared memory at {:#x} that {} of {} is still filling", does, address_of(index) + word * kWordBytes,
      name_of_async(granule.generic->writes[word].kind), who(*granule.generic->writes[word].writer)));
}

void check_generic_write(Cta* cta, std::uint32_t index, std::uint32_t words, const char* does) {
  const Granule& granule = cta->granules[index];
  const std::uint32_t address = address_of(index);
  if (granule.copies > 0) {
    machine.fail(fmt::format("{} shared memory at {:#x} that a TMA copy is still filling", does, address));
  }
  check_not_filling(granule, index, words, does);
  if (granule.wgmmas > 0) {
    machine.fail(
        fmt::format("{} shared memory at {:#x} that an unfinished wgmma may still read", does, address));
  }
  if (granule.stores > 0) {
    machine.fail(fmt::format(
        "{} shared memory at {:#x} that a TMA store may still read: nobody waited for its bulk group", does,
        address));
  }
  check_all_is_known(cta, index, words, does);
}

void check_async_read(Cta* cta, std::uint32_t index, const char* reads) {
  const Granule& granule = cta->granules[index];
  if (granule.copies > 0) {
    machine.fail(
        fmt::format("{} shared memory at {:#x} that a TMA copy is still filling", reads, address_of(index)));
  }
  check_not_filling(granule, index, kAllWords, reads);
  if (!granule.defined) {
    machine.fail(fmt::format("{} shared memory at {:#x} that nobody has written", reads, address_of(index)));
  }
  check_proxy_fences(granule, index, reads);
  check_writes_are_known(cta, index, kAllWords, reads);
}

void check_async_write(Cta* cta, std::uint32_t index) {
  const Granule& granule = cta->granules[index];
  const std::uint32_t address = address_of(index);
  if (granule.copies > 0) {
    machine.fail(fmt::format("two TMA copies write to shared memory at {:#x} at once", address));
  }
  if (granule.wgmmas > 0) {
    machine.fail(
        fmt::format("TMA overwrites shared memory at {:#x} of CTA {} that an unfinished wgmma may still read",
                    address, cta->index.x));
  }
  if (granule.stores > 0) {
    machine.fail(
        fmt::format("TMA overwrites shared memory at {:#x} that a TMA store may still read", address));
  }
  constexpr const char* kOverwrites = "TMA overwrites";
  check_not_filling(granule, index, kAllWords, kOverwrites);
  check_proxy_fences(granule, index, kOverwrites);
  check_all_is_known(cta, index, kAllWords, kOverwrites);
}

DeviceHeap device_heap;

void* DeviceHeap::allocate(std::size_t bytes) {
  if (region_ == nullptr) {
    void* const region =
        mmap(nullptr, kRegionBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) throw std::bad_alloc();
    region_ = static_cast<unsigned char*>(region);
  }
  const std::size_t pages = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  if (used_ + pages + kPageBytes > kRegionBytes) throw std::bad_alloc();
  unsigned char* const begin = region_ + used_;
  if (mprotect(begin, pages, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  blocks_.emplace_back(used_, used_ + bytes);
  used_ += pages + kPageBytes;
  return begin;
}

bool DeviceHeap::free(const void* address) {
  if (!contains(address)) return false;
  const auto offset = static_cast<std::size_t>(static_cast<const unsigned char*>(address) - region_);
  const auto block =
      std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& other) { return other.first == offset; });
  if (block == blocks_.end()) return false;
  // Gives the memory back but keeps the addresses, so that accesses through old pointers fault.
  if (mmap(region_ + offset, block->second - offset, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
    std::abort();
  }
  blocks_.erase(block);
  return true;
}

void DeviceHeap::free_all() {
  if (region_ == nullptr || used_ == 0) return;
  // Gives the memory back, and lets accesses through old pointers fault.
  if (mmap(region_, used_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
      MAP_FAILED) {
    std::abort();
  }
  used_ = 0;
  blocks_.clear();
}

bool DeviceHeap::allocated(const void* address, std::size_t bytes) const {
  const auto offset = static_cast<std::size_t>(static_cast<const unsigned char*>(address) - region_);
  const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), std::pair(offset, SIZE_MAX));
  return after != blocks_.begin() && offset + bytes <= std::prev(after)->second;
}

void check_global(const void* address, std::size_t bytes, const char* what) {
  if (device_heap.contains(address) && !device_heap.allocated(address, bytes)) {
    machine.fail(
        fmt::format("{} {} bytes of global memory at {}, outside of every allocation", what, bytes, address));
  }
}

}  // namespace hopper_gemm::emulator
