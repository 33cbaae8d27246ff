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
#include <utility>

namespace hopper_gemm::emulator {

namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kLineBytes = 64;
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

std::string awaited_mbarrier(const Thread& thread) {
  return fmt::format(" of parity {}: {}", thread.awaited_parity,
                     describe_mbarrier(*thread.cta, static_cast<std::uint32_t>(thread.barrier_address)));
}

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
  current->cta->launch->body();
  machine.thread_exits();
}

void Machine::begin_chain() {
  random_ = Random(config_.seed);
  now_ = 0;
  copies_ = 0;
  failed_ = false;
  progress_ = 0;
  pollers_ = 0;
  chain_ended_ = false;
  global_order.begin_chain();
  if (config_.trace != nullptr) config_.trace->begin_chain();
}

bool Machine::run(std::unique_ptr<Launch> launch) {
  if (chain_ended_ || !launch->overlaps) begin_chain();
  last_call_at_ = now_;
  last_ordinal_ = launch->ordinal;
  launch->number = global_order.add_launch(launch->grid.x);
  launch->ahead = launches_.empty() ? nullptr : launches_.back().get();
  launch->holding_ctas = launch->grid.x;
  const auto size = static_cast<unsigned>(launch->cluster_size);
  launch->waiting_clusters.resize((launch->grid.x + size - 1) / size);
  for (unsigned i = 0; i < launch->waiting_clusters.size(); ++i) launch->waiting_clusters[i] = i * size;
  shuffle(&launch->waiting_clusters, &random_);
  launches_.push_back(std::move(launch));
  mood_.steps = 0;  // so that the launch may begin now
  return go_on(false);
}

bool Machine::finish() {
  chain_ended_ = true;
  return launches_.empty() || go_on(true);
}

bool Machine::go_on(bool to_the_end) {
  const FaultReports fault_reports;
  try {
    schedule(to_the_end);
  } catch (const WorkFailure&) {  // NOLINT(bugprone-empty-catch): fail() has written the report
  } catch (...) {                 // std::bad_alloc
    abandon_launches();
    throw;
  }
  current = nullptr;
  if (failed_) abandon_launches();
  return !failed_;
}

void Machine::abandon_launches() {
  for (const auto& cluster : clusters_) give_back_memory(cluster.get());
  clusters_.clear();
  launches_.clear();
  active_ = nullptr;
  running_ctas_ = 0;
  chain_ended_ = true;
}

unsigned char* Machine::take(std::vector<unsigned char*>* free_blocks, std::size_t bytes) {
  if (free_blocks->empty()) return map_guarded(bytes);
  unsigned char* const block = free_blocks->back();
  free_blocks->pop_back();
  return block;
}

GenericUses* Machine::take_uses() {
  if (free_uses_.empty()) return &uses_.emplace_back();
  GenericUses* const uses = free_uses_.back();
  free_uses_.pop_back();
  return uses;
}

std::unique_ptr<Cta> Machine::take_cta() {
  auto cta = std::make_unique<Cta>();
  if (free_ctas_.empty()) return cta;
  // The largest lists. The others are short.
  Cta& ended = *free_ctas_.back();
  cta->granules = std::move(ended.granules);
  cta->threads = std::move(ended.threads);
  free_ctas_.pop_back();
  return cta;
}

void Machine::give_back_memory(Cluster* cluster) {
  for (auto& cta : cluster->ctas) {
    for (const Granule& granule : cta->granules) {
      if (granule.generic == nullptr) continue;
      granule.generic->forget(kAllWords);
      free_uses_.push_back(granule.generic);
    }
    free_shared_blocks_.push_back(cta->shared);
    for (const Thread& thread : cta->threads) free_stacks_.push_back(thread.stack);
    free_ctas_.push_back(std::move(cta));
  }
}

void Machine::begin_cluster() {
  Launch* const launch = launches_.back().get();
  const auto threads = static_cast<std::size_t>(launch->block.x);
  const auto warps = (threads + kWarpSize - 1) / kWarpSize;
  const auto warpgroups = (threads + kWarpgroupSize - 1) / kWarpgroupSize;
  if (warpgroups > kMaxWarpgroups) throw std::bad_alloc();
  clusters_.push_back(std::make_unique<Cluster>());
  Cluster* const cluster = clusters_.back().get();
  const unsigned first_cta = launch->waiting_clusters.back();
  launch->waiting_clusters.pop_back();
  ++launch->running_clusters;
  running_ctas_ += launch->cluster_size;
  const auto size = static_cast<std::size_t>(launch->cluster_size);
  const std::size_t all_threads = threads * size;
  cluster->components = static_cast<std::uint32_t>(all_threads + warpgroups * size);
  cluster->number = global_order.begin_cluster(launch->number, first_cta, threads, size);
  const std::uint32_t known_launches = global_order.known_at_begin(launch->number);
  const int registers = std::min(255, kRegisterFile / static_cast<int>(threads) / 8 * 8);
  for (int rank = 0; rank < launch->cluster_size; ++rank) {
    cluster->ctas.push_back(take_cta());
    Cta* const cta = cluster->ctas.back().get();
    cta->launch = launch;
    cta->cluster = cluster;
    cta->rank = static_cast<std::uint32_t>(rank);
    cta->index = {first_cta + cta->rank, 0, 0};
    cta->shared = take(&free_shared_blocks_, kSharedBlockBytes);
    std::memset(cta->shared, kUndefinedByte, launch->shared_bytes);
    cta->granules.assign((launch->shared_bytes + kGranuleBytes - 1) / kGranuleBytes, {});
    cta->threads.resize(threads);
    cta->warps.resize(warps);
    cta->warpgroups.resize(warpgroups);
    cta->live = static_cast<int>(threads);
    for (std::size_t i = 0; i < warpgroups; ++i) {
      cta->warpgroups[i].cta = cta;
      cta->warpgroups[i].number = static_cast<int>(i);
      cta->warpgroups[i].registers = registers;
      cta->warpgroups[i].component = all_threads + static_cast<std::size_t>(rank) * warpgroups + i;
    }
    for (std::size_t i = 0; i < threads; ++i) {
      Thread& thread = cta->threads[i];
      thread = {};
      thread.cta = cta;
      thread.number = static_cast<int>(i);
      thread.index = {static_cast<unsigned>(i), 0, 0};
      thread.component = static_cast<std::size_t>(rank) * threads + i;
      thread.clock.tick(thread.component);
      thread.clock.know_launches(known_launches);
      thread.warp = &cta->warps[i / kWarpSize];
      thread.warpgroup = &cta->warpgroups[i / kWarpgroupSize];
      thread.stack = take(&free_stacks_, kStackBytes);
      // Stacks that all begin at the same place of a page would share a few sets of the host's first cache.
      const std::size_t unused = i % (kPageBytes / kLineBytes) * kLineBytes;
      thread.context =
          make_fcontext(thread.stack + kStackBytes - unused, kStackBytes - unused, run_thread_body);
      cluster->runnable.push_back(&thread);
    }
  }
  // It may outrun what is left of the launch ahead, which may be less than a turn.
  if (launch->ahead != nullptr) mood_.steps = 0;
  note_progress();
}

// Copies of a cluster may be under way after its threads have ended.
void Machine::end_if_over(Cluster* cluster) {
  if (!cluster->work.empty() || cluster->live_threads() > 0) return;
  Launch* const launch = cluster->ctas.front()->launch;
  give_back_memory(cluster);
  active_ = nullptr;
  running_ctas_ -= launch->cluster_size;
  --launch->running_clusters;
  std::erase_if(clusters_, [cluster](const auto& other) { return other.get() == cluster; });
  end_if_over(launch);
}

void Machine::end_if_over(Launch* launch) {
  if (!launch->has_ended()) return;
  if (const std::string wrong = global_order.fault_at_end(launch->number); !wrong.empty()) {
    report_ = fmt::format("{}\n  in launch {}\n  at step {} of seed {}", wrong, launch->ordinal, now_,
                          config_.seed);
    failed_ = true;
    return;
  }
  while (!launches_.empty() && launches_.front()->has_ended()) {
    launches_.pop_front();
    if (launches_.empty()) return;
    launches_.front()->ahead = nullptr;
    wake(&launches_.front()->waiting);
  }
}

// Asynchronous work hurries or lags, threads are often interrupted, or one thread, warp, warpgroup or CTA falls far
// behind. Each mood finds other faults.
void Machine::choose_mood() {
  constexpr std::uint32_t kWorkWeights[] = {0, 500, 8000, 40000, 65000};
  constexpr std::uint32_t kPreemptWeights[] = {0, 0, 300, 6000};
  mood_.work_weight = kWorkWeights[random_.below(5)];
  mood_.preempt_weight = kPreemptWeights[random_.below(4)];
  mood_.steps = 200 + random_.below(4000);
  mood_.laggard = nullptr;
  if (random_.chance(1U << 15)) return;
  const auto& ctas = active_->ctas;
  const Cta& cta = *ctas[random_.below(static_cast<std::uint32_t>(ctas.size()))];
  const Thread& thread = cta.threads[random_.below(static_cast<std::uint32_t>(cta.threads.size()))];
  const void* const scopes[] = {&thread, thread.warp, thread.warpgroup, thread.cta};
  mood_.laggard = scopes[random_.below(4)];
}

std::uint32_t Machine::pick_runnable(const Cluster& cluster) {
  constexpr int kTries = 8;
  std::uint32_t pick = 0;
  for (int i = 0; i < kTries; ++i) {
    pick = random_.below(static_cast<std::uint32_t>(cluster.runnable.size()));
    if (!mood_.delays(*cluster.runnable[pick])) break;
  }
  return pick;
}

bool Machine::choose_active_cluster() {
  const auto can_go_on = [](const auto& cluster) {
    return !cluster->runnable.empty() || !cluster->work.empty();
  };
  const auto able = static_cast<std::uint32_t>(std::count_if(clusters_.begin(), clusters_.end(), can_go_on));
  if (able == 0) return false;
  std::uint32_t skip = random_.below(able);
  for (const auto& cluster : clusters_) {
    if (!can_go_on(cluster) || skip-- > 0) continue;
    active_ = cluster.get();
    break;
  }
  choose_mood();
  return true;
}

void Machine::schedule(bool to_the_end) {
  std::string deadlock;
  forget_time_outs();
  const auto lets_the_next_begin = [](const Launch& last) {
    return last.holding_ctas == 0 && global_order.lets_dependents_begin(last.number);
  };
  while (!failed_ && !launches_.empty() && (to_the_end || !lets_the_next_begin(*launches_.back()))) {
    const bool is_turn_over =
        active_ == nullptr || mood_.steps == 0 || (active_->runnable.empty() && active_->work.empty());
    if (is_turn_over) {
      const bool goes_on = choose_active_cluster();
      if (can_begin_cluster() && (!goes_on || random_.chance(1U << 15))) {
        begin_cluster();
        continue;
      }
      if (!goes_on) {
        // The report describes the threads before the first time-out, because time-outs scatter them.
        if (time_outs_ == 0) deadlock = deadlock_report();
        if (let_waits_time_out()) continue;
        report_ = deadlock;
        failed_ = true;
        return;
      }
    }
    --mood_.steps;
    step(active_);
  }
}

void Machine::step(Cluster* cluster) {
  ++now_;
  auto& runnable = cluster->runnable;
  if (!cluster->work.empty() && (runnable.empty() || random_.chance(mood_.work_weight))) {
    step_work(cluster);
    return;
  }
  const std::uint32_t pick = pick_runnable(*cluster);
  Thread* const thread = runnable[pick];
  if (mood_.delays(*thread) && !cluster->work.empty()) {
    step_work(cluster);
    return;
  }
  runnable[pick] = runnable.back();
  runnable.pop_back();
  resume(thread);
}

// When nothing else can happen, mbarrier.try_wait reaches its time limit and returns. Threads may poll a few barriers
// and meet each other between. If no time-out lets anything happen, it is a deadlock.
bool Machine::let_waits_time_out() {
  constexpr int kMaxTimeOuts = 64;
  if (time_outs_++ == kMaxTimeOuts) return false;
  bool any = false;
  for (const auto& cluster : clusters_) {
    for (const auto& cta : cluster->ctas) {
      for (auto& [address, barrier] : cta->mbarriers) {
        any = any || !barrier.waiting.empty();
        for (Thread* const thread : barrier.waiting) thread->timed_out = true;
        wake(&barrier.waiting);
      }
    }
  }
  return any;
}

bool Machine::polls(const Thread& thread) const {
  // More often than a kernel polls that gives up after a while.
  constexpr std::uint32_t kManyPolls = 1000;
  return thread.polls_since == progress_ && thread.polls >= kManyPolls;
}

void Machine::note_poll(const std::uint32_t* address) {
  Thread& thread = *current;
  thread.polled = address;
  if (thread.polls_since != progress_) {
    thread.polls_since = progress_;
    thread.polls = 0;
  }
  if (pollers_since_ != progress_) {
    pollers_since_ = progress_;
    pollers_ = 0;
  }
  const bool polled_before = polls(thread);
  ++thread.polls;
  if (!polled_before && polls(thread)) ++pollers_;
  // The current thread is not in a list of those that can run.
  const auto are_only_pollers = [this] {
    std::size_t runnable = 0;
    for (const auto& cluster : clusters_) {
      if (!cluster->work.empty()) return false;
      runnable += cluster->runnable.size();
    }
    return pollers_ > runnable && !can_begin_cluster();
  };
  if (pollers_ > 0 && are_only_pollers()) {
    const std::string deadlock = deadlock_report();
    if (!let_waits_time_out()) {
      report_ = deadlock;
      failed_ = true;
      current->state = Thread::State::Blocked;
    }
    note_progress();
  }
  // What it polls for may come from another cluster.
  if (random_.chance(1U << 14)) mood_.steps = 0;
  give_way();
}

void Machine::resume(Thread* thread) {
  current = thread;
  turn_began_at_ = now_;
  const transfer_t back = jump_fcontext(thread->context, nullptr);
  current = nullptr;
  thread->context = back.fctx;
  if (thread->state == Thread::State::Runnable) thread->cta->cluster->runnable.push_back(thread);
  if (thread->state == Thread::State::Exited) end_if_over(thread->cta->cluster);
}

void Machine::add(std::unique_ptr<AsyncWork> work) {
  auto& others = work->issuer().cta->cluster->work;
  others.push_back(std::move(work));
}

void Machine::step_work(Cluster* cluster) {
  forget_time_outs();
  note_progress();
  auto& work = cluster->work;
  const std::uint32_t pick = random_.below(static_cast<std::uint32_t>(work.size()));
  stepping_ = work[pick].get();
  if (!work[pick]->step()) return;
  work[pick] = std::move(work.back());
  work.pop_back();
  end_if_over(cluster);
}

void Machine::block(WaitList* list, const char* waits_for) {
  Thread* const thread = current;
  thread->state = Thread::State::Blocked;
  thread->waits_for = waits_for;
  list->push_back(thread);
  give_way();
}

void Machine::wake(WaitList* list) {
  if (!list->empty()) note_progress();
  for (Thread* const thread : *list) {
    thread->state = Thread::State::Runnable;
    thread->barrier_address = -1;
    thread->cta->cluster->runnable.push_back(thread);
  }
  list->clear();
}

void Machine::enter(const void* pc) {
  global_order.check_last_store();
  // A thread that spins on shared memory would keep all others from running.
  constexpr std::uint64_t kLongestTurn = 20000;
  current->pc = pc;
  ++now_;
  if (now_ - last_call_at_ > config_.max_steps) {
    fail(fmt::format("the launch takes more than the {} steps that EmulationOptions::max_steps allows",
                     config_.max_steps));
  }
  if (random_.chance(mood_.preempt_weight) || now_ - turn_began_at_ > kLongestTurn) give_way();
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
  global_order.check_last_store();
  Thread* const thread = current;
  Cta* const cta = thread->cta;
  if (!thread->busy.empty() || !thread->busy_operands.empty()) {
    fail("the thread ends while wgmmas that it has not waited for use its registers");
  }
  check_copies_at_exit();
  thread->state = Thread::State::Exited;
  note_progress();
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
  if (cta->live == 0) {
    release_dependents(cta);
    check_exit(cta);
  }
  for (;;) give_way();
}

void Machine::release_dependents(Cta* cta) {
  if (!std::exchange(cta->lets_dependents_begin, true)) --cta->launch->holding_ctas;
}

void Machine::let_dependents_begin() {
  release_dependents(current->cta);
  note_progress();
  give_way();  // the launch behind may go on first
}

void Machine::check_exit(Cta* cta) {
  if (cta->copies_in_flight > 0) {
    fail(fmt::format("CTA {} ends while {} TMA copies or st.asyncs may still write into its shared memory",
                     cta->index.x, cta->copies_in_flight));
  }
  // If an arrival came, but nobody here waited for it, it comes too late in another schedule.
  const auto waited_for = [cta](const auto& arrival) {
    return std::any_of(cta->threads.begin(), cta->threads.end(),
                       [&](const Thread& own) { return knows_over(own, arrival.first, arrival.second); });
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
                      return knows_over(own, component, clock);
                    }))
      continue;
    fail(
        fmt::format("CTA {} ends, and no barrier orders that after the arrival of {} at one of its mbarriers",
                    cta->index.x, who(*arrival.thread)));
  }
}

std::string Machine::describe_waits(const Cta& cta) {
  std::string report;
  for (std::size_t i = 0; i < cta.threads.size();) {
    const Thread& thread = cta.threads[i];
    const auto same = [&](const Thread& other) {
      return other.state == thread.state && polls(other) == polls(thread) && other.polled == thread.polled &&
             other.pc == thread.pc && other.warpgroup == thread.warpgroup &&
             other.waits_for == thread.waits_for && other.barrier_address == thread.barrier_address;
    };
    std::size_t end = i;
    while (end < cta.threads.size() && same(cta.threads[end])) ++end;
    const std::string threads =
        who(thread) + (end - i > 1 ? fmt::format(" and the {} after it", end - i - 1) : "");
    if (thread.state == Thread::State::Blocked) {
      report += fmt::format("\n  {} waits for {}", threads, thread.waits_for);
      if (thread.barrier_address >= 0) report += awaited_mbarrier(thread);
      report += fmt::format("\n    at {}", where(thread.pc));
    } else if (thread.state == Thread::State::Runnable && polls(thread)) {
      report += fmt::format("\n  {} polls {}\n    at {}", threads,
                            thread.polled == nullptr
                                ? "an mbarrier's phase" + awaited_mbarrier(thread)
                                : fmt::format("global memory at {}, which holds {}",
                                              static_cast<const void*>(thread.polled), *thread.polled),
                            where(thread.pc));
    }
    i = end;
  }
  if (cta.live == 0) report += fmt::format("\n  CTA {}{} has ended", cta.index.x, of_launch(*cta.launch));
  return report;
}

std::string Machine::deadlock_report() {
  std::string report = fmt::format("deadlock: no thread can go on (step {} of seed {})", now_, config_.seed);
  std::map<std::pair<std::uint32_t, unsigned>, const Cluster*> ordered;
  for (const auto& cluster : clusters_) {
    const Cta& first = *cluster->ctas.front();
    ordered[{first.launch->number, first.index.x}] = cluster.get();
  }
  for (const auto& [position, cluster] : ordered) {
    for (const auto& cta : cluster->ctas) report += describe_waits(*cta);
  }
  const Launch& last = *launches_.back();
  if (!last.waiting_clusters.empty()) {
    report += fmt::format("\n  {} clusters{} have not begun, because the GPU has room for {} at a time",
                          last.waiting_clusters.size(), of_launch(last),
                          std::max(1, config_.sms / last.cluster_size));
    const int of_others = running_ctas_ - static_cast<int>(last.running_clusters) * last.cluster_size;
    if (of_others > 0) {
      report += fmt::format(", and {} CTAs of launches ahead have not ended", of_others);
    }
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
  if (offset < kSharedWindow || offset - kSharedWindow + bytes > cta->launch->shared_bytes) {
    machine.fail(fmt::format("{} at shared address {:#x}, outside of the {} bytes of dynamic shared memory",
                             what, offset, cta->launch->shared_bytes));
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

void publish(BarrierClock* clock, bool releases) {
  machine.note_progress();
  clock->arriving.join(releases ? current->clock : current->fenced);
  if (!releases) clock->arriving_over.join(current->clock);
  if (!current->over.empty()) clock->arriving_over.join(current->over);
  current->clock.tick(current->component);
}

void learn(const BarrierClock& clock, bool acquires) {
  if (acquires) {
    current->clock.learn(clock.completed);
  } else {
    current->over.learn(clock.completed);
    current->to_fence.learn(clock.completed);
  }
  if (!clock.completed_over.empty()) current->over.learn(clock.completed_over);
}

void fence_cluster() {
  current->clock.learn(current->to_fence);
  current->to_fence = {};
  current->fenced = current->clock;
  current->clock.tick(current->component);
}

namespace {

std::uint32_t address_of(std::uint32_t granule) { return kSharedWindow + granule * kGranuleBytes; }
/// The address of the first of these words.
std::uint32_t address_of(std::uint32_t granule, std::uint32_t words) {
  return address_of(granule) + static_cast<std::uint32_t>(std::countr_zero(words)) * kWordBytes;
}

bool is_told_by_mbarrier(WriteKind kind) {
  return kind == WriteKind::CpAsyncToBarrier || kind == WriteKind::StAsync;
}

const char* name_of_async(WriteKind kind) {
  return kind == WriteKind::StAsync ? "an st.async" : "a cp.async";
}

// The async proxy sees an ordinary store only after fence.proxy.async.
void check_proxy_fences(const Granule& granule, std::uint32_t index, const char* access) {
  if (granule.generic == nullptr) return;
  for (const GenericWrite& write : granule.generic->writes()) {
    // If an mbarrier tells that the copy is done, its issuer knows no more than others: a thread that waited must
    // fence.
    const Thread* const fences = is_told_by_mbarrier(write.kind) ? current : write.writer;
    if (write.step <= fences->proxy_fence_at) continue;
    machine.fail(fmt::format("{} shared memory at {:#x} that {} wrote without fence.proxy.async after it",
                             access, address_of(index), who(*write.writer)));
  }
}

void check_write_is_known(const GenericWrite& write, std::uint32_t address, const char* access,
                          NextAccess next) {
  if (current->clock.knows(write.component, write.clock)) return;
  if (next == NextAccess::AsyncWrite && write.step <= write.writer->proxy_fence_at &&
      knows_over(*current, write.component, write.clock)) {
    return;
  }
  switch (write.kind) {
    case WriteKind::Store:
      machine.fail(fmt::format("{} shared memory at {:#x} that {} has written, and no barrier orders the two",
                               access, address, who(*write.writer)));
    case WriteKind::CpAsync:
      machine.fail(
          fmt::format("{} shared memory at {:#x} that a cp.async of {} has filled, and no barrier after its "
                      "wait orders the two",
                      access, address, who(*write.writer)));
    case WriteKind::CpAsyncToBarrier:
    case WriteKind::StAsync:
      machine.fail(
          fmt::format("{} shared memory at {:#x} that {} of {} has filled, and the thread has not waited "
                      "for its mbarrier",
                      access, address, name_of_async(write.kind), who(*write.writer)));
  }
}

}  // namespace

void check_writes_are_known(Cta* cta, std::uint32_t index, std::uint32_t words, const char* access,
                            NextAccess next) {
  const Granule& granule = cta->granules[index];
  if (granule.generic != nullptr) {
    for (const GenericWrite& write : granule.generic->writes()) {
      const std::uint32_t both = write.words & words;
      if (both != 0) check_write_is_known(write, address_of(index, both), access, next);
    }
  }
  const bool knows_fill = next == NextAccess::Read ? current->clock.knows(granule.filler, granule.fill_clock)
                                                   : knows_over(*current, granule.filler, granule.fill_clock);
  if (granule.fill_clock > 0 && !knows_fill) {
    machine.fail(
        fmt::format("{} shared memory at {:#x} that a TMA copy has filled, and the thread has not waited for "
                    "its mbarrier",
                    access, address_of(index)));
  }
}

void check_all_is_known(Cta* cta, std::uint32_t index, std::uint32_t words, const char* access,
                        NextAccess next) {
  check_writes_are_known(cta, index, words, access, next);
  const Granule& granule = cta->granules[index];
  if (granule.generic != nullptr) {
    for (const GenericRead& read : granule.generic->reads()) {
      const std::uint32_t both = read.words & words;
      if (both == 0 || knows_over(*current, read.reader->component, read.clock)) continue;
      machine.fail(fmt::format("{} shared memory at {:#x} that {} has read, and no barrier orders the two",
                               access, address_of(index, both), who(*read.reader)));
    }
  }
  for (const Warpgroup& warpgroup : cta->warpgroups) {
    const std::uint32_t end = granule.wgmma_groups[static_cast<std::size_t>(warpgroup.number)];
    if (end == 0 || knows_over(*current, warpgroup.component, end)) continue;
    machine.fail(fmt::format(
        "{} shared memory at {:#x} that a wgmma of warpgroup {} of CTA {} has read, and no barrier "
        "after wgmma.wait_group orders the two",
        access, address_of(index), warpgroup.number, cta->index.x));
  }
  if (granule.store_waiter != nullptr &&
      !knows_over(*current, granule.store_waiter->component, granule.store_clock)) {
    machine.fail(fmt::format(
        "{} shared memory at {:#x} that a TMA store has read, and no barrier after the wait of {} "
        "for it orders the two",
        access, address_of(index), who(*granule.store_waiter)));
  }
}

void forget_uses(Cta* cta, std::uint32_t index, std::uint32_t words) {
  Granule& granule = cta->granules[index];
  if (granule.generic != nullptr) granule.generic->forget(words);
  if (words != kAllWords) return;
  granule.fill_clock = 0;
  granule.store_waiter = nullptr;
  granule.wgmma_groups.fill(0);
}

void check_not_filling(const Granule& granule, std::uint32_t index, std::uint32_t words, const char* does) {
  const std::uint32_t busy = words & granule.filling;
  if (busy == 0) return;
  const std::uint32_t word = busy & -busy;
  const auto writes = granule.generic->writes();
  const auto write = std::find_if(writes.begin(), writes.end(),
                                  [word](const GenericWrite& other) { return (other.words & word) != 0; });
  machine.fail(fmt::format("{} shared memory at {:#x} that {} of {} is still filling", does,
                           address_of(index, word), name_of_async(write->kind), who(*write->writer)));
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
  check_all_is_known(cta, index, words, does, NextAccess::GenericWrite);
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
  check_all_is_known(cta, index, kAllWords, kOverwrites, NextAccess::AsyncWrite);
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
