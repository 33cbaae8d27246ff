#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/device_api.hpp"
#include "emulator/generic_uses.hpp"
#include "emulator/global_order.hpp"
#include "emulator/happens_before.hpp"
#include "emulator/random.hpp"
#include "emulator/trace.hpp"

// The state of the emulated GPU, on which the functions of device_api.hpp work.
namespace hopper_gemm::emulator {

struct Cluster;
struct Cta;
struct Launch;
struct Thread;
struct Warpgroup;

inline constexpr int kWarpSize = 32;
inline constexpr int kWarpgroupSize = 128;
inline constexpr std::size_t kStackBytes = 128 * 1024;  ///< of a thread
inline constexpr std::uint32_t kSharedWindow = 1024;    ///< first address; the driver has what lies below
inline constexpr std::uint32_t kRankShift = 24;         ///< shared::cluster addresses have rank + 1 above
inline constexpr int kMaxWarpgroups = 8;

/// Threads that wait for the same thing.
using WaitList = std::vector<Thread*>;

/// What the emulator knows about 16 bytes of shared memory.
struct Granule {
  /// Null until the first one. Most granules hold operands: TMA writes them, wgmma reads them, and no thread does.
  GenericUses* generic = nullptr;
  std::uint32_t copy = 0;          ///< the TMA copy that wrote it last, 0 for none
  std::int32_t row = 0;            ///< where that copy found it in its tensor: row,
  std::int32_t chunk = 0;          ///< and 16 bytes from the start of the row
  std::uint16_t copies = 0;        ///< TMA copies that may still write it
  std::uint8_t filling = 0;        ///< a bit for each word that a cp.async or an st.async may still write
  std::uint16_t wgmmas = 0;        ///< wgmmas that may still read it
  std::uint16_t stores = 0;        ///< TMA stores that may still read it
  bool defined = false;            ///< anything was ever written
  std::uint32_t filler = 0;        ///< the component of the mbarrier that the last copy completed on,
  std::uint32_t fill_clock = 0;    ///< and its clock then
  Thread* store_waiter = nullptr;  ///< who waited for the last TMA store that read it, and its clock then
  std::uint32_t store_clock = 0;
  std::array<std::uint32_t, kMaxWarpgroups>
      wgmma_groups{};  ///< for each warpgroup, the end of its groups that read it

  GenericUses& generic_uses();
};

struct Mbarrier {
  std::uint32_t count = 0;
  std::int64_t pending = 0;  ///< arrivals
  std::int64_t bytes = 0;    ///< announced and not yet come; negative if they come before the announcement
  std::uint64_t phase = 0;
  Thread* initializer = nullptr;
  std::uint64_t initialized_at = 0;
  std::uint32_t init_clock = 0;
  std::uint32_t component = 0;
  std::uint32_t pieces = 0;  ///< how many pieces of TMA copies have come
  BarrierClock clock;
  WaitList waiting;
};

struct NamedBarrier {
  std::uint32_t expected = 0;
  std::uint32_t arrived = 0;
  std::uint64_t generation = 0;
  BarrierClock clock;
  WaitList waiting;
};

/// Lanes of a warp on their way to one instruction.
struct Meeting {
  const char* what;
  std::uint32_t mask;
  std::uint32_t arrived;
  const void* pc;  ///< where the first lane to arrive is
};

/// What a lane gives to an mma, and gets from it.
struct WarpOperands {
  std::array<float, 4> accum{};
  std::array<std::uint32_t, 4> a{};
  std::array<std::uint32_t, 2> b{};
};

/// Where the lanes of a warp meet.
struct Warp {
  std::vector<Meeting> meetings;  ///< one for each group of lanes that go different ways
  std::uint32_t met = 0;          ///< lanes that have not yet noticed that their meeting is over
  std::array<std::uint32_t, kWarpSize> values{};
  std::array<int, kWarpSize> sources{};
  std::array<std::uint32_t, kWarpSize> results{};  ///< for each lane, which alone reads its own
  std::array<std::array<std::uint32_t, 4>, kWarpSize> registers{};
  std::array<std::array<std::uint16_t, 8>, kWarpSize>
      rows{};  ///< rows of ldmatrix, by the lane that gave the address
  std::array<WarpOperands, kWarpSize> operands{};
  VectorClock joined;  ///< what the lanes knew that met last, all together
  WaitList waiting;
};

/// A TMA store or bulk store on its way out.
struct BulkStore {
  Cta* cta = nullptr;
  bool read = false;         ///< its source may be overwritten, once somebody waited for that
  bool written = false;      ///< its destination holds it
  std::uint32_t number = 0;  ///< by which GlobalOrder knows it
  std::vector<std::uint32_t> granules;
};

struct BulkGroup {
  std::vector<std::shared_ptr<BulkStore>> stores;
  bool released = false;  ///< the thread has waited for its reads
};

/// A cp.async or an st.async on its way.
struct AsyncCopy {
  Thread* issuer = nullptr;
  Cta* cta = nullptr;
  std::uint32_t address = 0;
  std::uint32_t bytes = 0;
  bool landed = false;          ///< its bytes are there, but nobody may rely on that
  bool tracked = false;         ///< an mbarrier will tell when it is done
  bool settled = false;         ///< somebody waited for it, or its mbarrier told that it is done;
  std::uint32_t component = 0;  ///< a thread that knows this component
  std::uint32_t clock = 0;      ///< at this clock may then use the bytes
};
using AsyncCopies = std::vector<std::shared_ptr<AsyncCopy>>;

/// The accumulator registers of a warpgroup while wgmmas work on them.
struct Accumulation {
  int n = 0;
  std::vector<float> values;  // [64, n]
};

/// Registers of a thread that belong to wgmmas for which it has not waited.
struct BusyRegisters {
  float* registers;
  std::size_t bytes;
  std::shared_ptr<Accumulation> accumulation;
  std::uint64_t last_group;
};

/// Whether the two ranges of bytes have one in common.
inline bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto* const first = static_cast<const unsigned char*>(a);
  const auto* const second = static_cast<const unsigned char*>(b);
  return first + a_bytes > second && first < second + b_bytes;
}

inline constexpr std::size_t kFragmentBytes = 4 * sizeof(std::uint32_t);  ///< of A, in a thread's registers

/// Registers with a fragment of A that wgmmas for which the thread has not waited may still read.
struct BusyOperand {
  const std::uint32_t* registers;
  std::uint64_t last_group;
};

struct Thread {
  Cta* cta = nullptr;
  Warpgroup* warpgroup = nullptr;
  Warp* warp = nullptr;
  int number = 0;  ///< within the CTA
  std::size_t component = 0;
  VectorClock clock;
  VectorClock over;      ///< what it knows to be over through relaxed operations, beside what its clock knows
  VectorClock fenced;    ///< its clock at its last fence.acq_rel: what its relaxed arrivals release
  VectorClock to_fence;  ///< what it acquires at its next fence.acq_rel, because its waits were relaxed
  Index3 index{};
  boost::context::detail::fcontext_t context = nullptr;
  unsigned char* stack = nullptr;
  enum class State { Runnable, Blocked, Exited } state = State::Runnable;
  const void* pc = nullptr;  ///< where it called the emulator last

  // While the thread is blocked: what it waits for, in words, and the mbarrier if it is one.
  const char* waits_for = "";
  std::int64_t barrier_address = -1;
  std::uint64_t awaited_parity = 0;
  bool timed_out = false;

  // From describe_wait().
  const char* role = nullptr;
  int stage = -1;

  VectorClock acquirable;   ///< what it learns from flags that it has read when it executes fence.acq_rel
  VectorClock released;     ///< what its relaxed operations release since the last fence.acq_rel
  bool has_fenced = false;  ///< with fence.acq_rel

  std::uint64_t proxy_fence_at = 0;
  std::uint64_t init_fence_at = 0;
  bool cluster_arrived = false;
  std::uint64_t cluster_generation = 0;

  std::vector<std::shared_ptr<BulkStore>> open_stores;  ///< not yet in a group
  std::vector<BulkGroup> groups;
  WaitList store_waiters;  ///< this thread itself, or nobody

  AsyncCopies open_copies;  ///< cp.asyncs not yet in a group
  std::vector<AsyncCopies> copy_groups;
  WaitList copy_waiters;  ///< this thread itself, or nobody

  std::uint64_t next_operation = 0;  ///< in its warpgroup's log
  std::uint64_t commits = 0;
  bool wgmma_fenced = false;
  std::vector<BusyRegisters> busy;

  std::vector<BusyOperand> busy_operands;

  std::uint64_t polls_since = 0;          ///< the machine's progress when it began to count
  std::uint32_t polls = 0;                ///< since then
  const std::uint32_t* polled = nullptr;  ///< in global memory; null: the mbarrier at barrier_address

  bool loaded = false;      ///< it has issued a TMA load
  bool multiplied = false;  ///< it has issued a wgmma
};

/// A wgmma of a warpgroup.
struct Wgmma {
  WgmmaShape shape{};
  std::uint64_t desc_a = 0;
  std::uint64_t desc_b = 0;
  bool accumulate = false;
  bool a_in_registers = false;
  std::vector<std::array<std::uint32_t, 4>> a;  ///< of each thread
  std::shared_ptr<Accumulation> accumulation;
  std::uint64_t group = 0;
  std::vector<std::uint32_t> granules;  ///< that it reads
  bool done = false;
  const void* pc = nullptr;
};

/// One instruction that all threads of a warpgroup execute together.
struct WarpgroupOperation {
  enum class Kind { Fence, Mma, Commit, Wait, SetMaxRegisters } kind;
  std::shared_ptr<Wgmma> wgmma;  // Mma
  int argument = 0;              // of Wait and SetMaxRegisters
  bool increase = false;
  int arrived = 0;
  int first_thread = 0;
  const void* pc = nullptr;
};

struct Warpgroup {
  Cta* cta = nullptr;
  int number = 0;
  std::size_t component = 0;
  std::deque<WarpgroupOperation> log;
  std::uint64_t log_base = 0;                 ///< number of the first operation that is still in the log
  std::deque<std::shared_ptr<Wgmma>> issued;  ///< to be carried out in this order
  std::deque<std::shared_ptr<Wgmma>> unretired;
  bool engine_active = false;
  int registers = 0;
  WaitList waiting;
};

struct Cta {
  Launch* launch = nullptr;
  Cluster* cluster = nullptr;
  std::uint32_t rank = 0;
  Index3 index{};
  unsigned char* shared = nullptr;  ///< kSharedWindow is its first address
  std::vector<Granule> granules;
  std::unordered_map<std::uint32_t, Mbarrier> mbarriers;  ///< by address
  std::array<NamedBarrier, 16> named{};
  /// The number + 1 of the last even and of the last odd __syncthreads_and() to which a thread came with false.
  std::array<std::uint64_t, 2> refused{};
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<Warpgroup> warpgroups;
  int live = 0;
  /// A thread has executed griddepcontrol.launch_dependents, or all have ended.
  bool lets_dependents_begin = false;
  int free_registers = 0;
  int copies_in_flight = 0;  ///< copies of TMA and st.async into its shared memory
  int async_arrivals = 0;    ///< arrivals of cp.async.mbarrier.arrive that are still to come at its mbarriers
  std::map<std::uint32_t, std::uint32_t>
      async_arrival_clocks;  ///< of the last such arrival or st.async, by the mbarrier's component
  std::vector<std::shared_ptr<BulkStore>> unread_stores;
  WaitList waiting_for_registers;
  struct Arrival {
    const Thread* thread;
    std::uint32_t clock;
  };
  std::map<std::size_t, Arrival> last_arrivals;  ///< the last one of each thread, by its component
};

class AsyncWork;

extern Thread* current;  ///< null while the host or the scheduler runs

struct Cluster {
  std::uint32_t number = 0;  ///< by which GlobalOrder knows it
  std::vector<std::unique_ptr<Cta>> ctas;
  std::vector<Thread*> runnable;
  std::vector<std::unique_ptr<AsyncWork>> work;  ///< of its threads
  int cluster_arrived = 0;
  std::uint64_t cluster_generation = 0;
  BarrierClock clock;
  std::uint32_t components = 0;  ///< of its clocks; each mbarrier that is initialised adds one
  WaitList waiting;

  int live_threads() const {
    int live = 0;
    for (const auto& cta : ctas) live += cta->live;
    return live;
  }
};

/// Work that goes on without a thread. The current thread begins it.
class AsyncWork {
 public:
  AsyncWork();
  virtual ~AsyncWork() = default;
  /// Does a part of the work. True if it is over.
  virtual bool step() = 0;

  const Thread& issuer() const { return *issuer_; }
  const void* pc() const { return pc_; }

 private:
  const Thread* issuer_;
  const void* pc_;
};

/// A launch, from the host's call until it is complete: its CTAs and the launches ahead of it have ended.
struct Launch {
  // The host's call says these.
  unsigned ordinal = 1;  ///< from 1, since configure(): its name in reports and on the timeline
  Index3 grid{};
  Index3 block{};
  int cluster_size = 1;
  std::uint32_t shared_bytes = 0;  ///< dynamic shared memory of a CTA
  bool overlaps = false;           ///< it may begin before the launch ahead has ended
  std::function<void()> body;      ///< each thread calls it

  std::uint32_t number = 0;                ///< by which GlobalOrder knows it
  Launch* ahead = nullptr;                 ///< null when the launch ahead is complete
  std::vector<unsigned> waiting_clusters;  ///< first CTAs of those that have not begun; the last is next
  std::size_t running_clusters = 0;
  unsigned holding_ctas = 0;  ///< that have neither executed griddepcontrol.launch_dependents nor ended
  WaitList waiting;           ///< its threads that execute griddepcontrol.wait

  bool has_ended() const { return waiting_clusters.empty() && running_clusters == 0; }
};

/// The emulated GPU. Its launches are those of one stream. A launch that is called with programmatic stream
/// serialization runs beside the launch ahead, from when each CTA of that one has let it begin or has ended.
class Machine {
 public:
  struct Config {
    std::uint64_t seed = 0;
    int sms = 4;
    std::uint64_t max_steps = 0;
    Trace* trace = nullptr;
  };

  void configure(const Config& config) { config_ = config; }
  int sms() const { return config_.sms; }

  /// Runs the launch, and what is left of those ahead of it, until it is complete or lets the next launch begin. A
  /// launch that may not overlap must be called after finish(). If false, report() says why, and no launch is left.
  bool run(std::unique_ptr<Launch> launch);
  /// Runs all launches to their ends. The next launch does not overlap them, because the host has waited. If false,
  /// report() says why, and no launch is left.
  bool finish();
  const std::string& report() const { return report_; }
  /// Steps since the last launch was called.
  std::uint64_t steps_of_last_launch() const { return now_ - last_call_at_; }
  /// Whether the host has called more than one launch since configure(), so that reports say which one they mean.
  bool has_several_launches() const { return last_ordinal_ > 1; }

  // For the functions of device_api.hpp.
  void block(WaitList* list, const char* waits_for);
  void wake(WaitList* list);
  /// Notes where the current thread is, and now and then lets another one run.
  void enter(const void* pc);
  void give_way();
  /// Something has happened, so what threads wait for may still come.
  void forget_time_outs() { time_outs_ = 0; }
  /// A thread or asynchronous work has changed something that other threads can see.
  void note_progress() { ++progress_; }
  /// The current thread has read a value that other CTAs write, or has tested an mbarrier if `address` is null. Lets
  /// other threads run. Fails if all threads only poll or wait, so that nothing will change.
  void note_poll(const std::uint32_t* address);
  [[noreturn]] void fail(const std::string& what);
  void add(std::unique_ptr<AsyncWork> work);
  Random& random() { return random_; }
  std::uint64_t now() const { return now_; }
  std::uint64_t tick() { return ++now_; }
  std::uint32_t next_copy() { return ++copies_; }
  Trace* trace() const { return config_.trace; }
  /// The thread that does what is done now, or that has issued the asynchronous work that goes on.
  const Thread& actor() const { return current != nullptr ? *current : stepping_->issuer(); }
  /// The current thread executes griddepcontrol.launch_dependents.
  void let_dependents_begin();
  void thread_exits();
  /// A record without accesses.
  GenericUses* take_uses();

 private:
  struct Mood {
    std::uint32_t work_weight;
    std::uint32_t preempt_weight;
    std::uint32_t steps;
    /// A thread, warp, warpgroup or CTA that goes on only if nothing else of its cluster can; or null.
    const void* laggard;

    bool delays(const Thread& thread) const {
      return laggard != nullptr && (laggard == &thread || laggard == thread.warp ||
                                    laggard == thread.warpgroup || laggard == thread.cta);
    }
  };

  /// No launch runs, and the next one does not overlap those before.
  void begin_chain();
  /// Schedules until the last launch lets the next begin, or to the end of all launches.
  bool go_on(bool to_the_end);
  /// After a failure, which ends all launches.
  void abandon_launches();
  void schedule(bool to_the_end);
  void begin_cluster();
  void end_if_over(Cluster* cluster);
  void end_if_over(Launch* launch);
  /// A CTA ends, or lets dependents begin.
  void release_dependents(Cta* cta);
  /// Whether a cluster has not begun, and there is room for it. It is one of the last launch, because that was called
  /// when all CTAs of the launch ahead had begun.
  bool can_begin_cluster() const {
    if (launches_.empty() || launches_.back()->waiting_clusters.empty()) return false;
    return clusters_.empty() || running_ctas_ + launches_.back()->cluster_size <= config_.sms;
  }
  /// Chooses the cluster that goes on, which has something to do. False if there is none.
  bool choose_active_cluster();
  void step(Cluster* cluster);
  bool let_waits_time_out();
  void resume(Thread* thread);
  void choose_mood();
  std::uint32_t pick_runnable(const Cluster& cluster);
  void step_work(Cluster* cluster);
  std::string deadlock_report();
  /// What the threads of `cta` wait for, a line for each group of threads that wait alike.
  std::string describe_waits(const Cta& cta);
  bool polls(const Thread& thread) const;
  void check_exit(Cta* cta);
  /// Memory that no cluster uses; maps new memory if there is none.
  static unsigned char* take(std::vector<unsigned char*>* free_blocks, std::size_t bytes);
  void give_back_memory(Cluster* cluster);
  /// A new CTA, in the memory of one that has ended.
  std::unique_ptr<Cta> take_cta();

  Config config_;
  Random random_{0};
  Mood mood_{};
  std::uint64_t now_ = 0;
  std::uint64_t turn_began_at_ = 0;  ///< of the thread that runs
  std::uint32_t copies_ = 0;
  int time_outs_ = 0;  ///< of waits, since asynchronous work last went on or a phase ended
  std::deque<std::unique_ptr<Launch>> launches_;  ///< that are not complete, in the order of the stream
  bool chain_ended_ = true;                       ///< the next launch does not overlap any
  std::uint64_t last_call_at_ = 0;                ///< the step at which the host called the last launch
  unsigned last_ordinal_ = 0;
  std::vector<std::unique_ptr<Cluster>> clusters_;  ///< that run
  int running_ctas_ = 0;                            ///< of them, each on an SM of its own
  std::uint64_t progress_ = 0;
  std::uint32_t pollers_ = 0;        ///< threads that have polled for long
  std::uint64_t pollers_since_ = 0;  ///< progress_ when counting them began
  Cluster* active_ = nullptr;        ///< whose threads and work go on, until it is another one's turn
  const AsyncWork* stepping_ = nullptr;
  std::vector<unsigned char*> free_stacks_;
  std::vector<unsigned char*> free_shared_blocks_;
  std::vector<std::unique_ptr<Cta>> free_ctas_;
  std::deque<GenericUses> uses_;
  std::vector<GenericUses*> free_uses_;
  bool failed_ = false;
  std::string report_;
  boost::context::detail::fcontext_t scheduler_ = nullptr;

  friend void run_thread_body(boost::context::detail::transfer_t);
};

extern Machine machine;

inline GenericUses& Granule::generic_uses() {
  if (generic == nullptr) generic = machine.take_uses();
  return *generic;
}

/// Every function of device_api.hpp does this first. It notes that the thread is at the caller of the function.
#define HG_ENTER() ::hopper_gemm::emulator::machine.enter(__builtin_return_address(0))

/// Where `address` lies: a CTA of the current thread's cluster, and an address in that CTA's window. Fails if it is not
/// in the CTA's dynamic shared memory.
struct SharedPlace {
  Cta* cta;
  std::uint32_t address;
};
SharedPlace place_of(std::uint32_t address, std::uint32_t bytes, const char* what);
inline std::uint32_t granule_of(std::uint32_t address) { return (address - kSharedWindow) / kGranuleBytes; }

/// Records an ordinary access to shared memory of the current thread's cluster. Fails if it may not be made.
void note_shared_read(const void* pointer, std::size_t bytes);
void note_shared_write(const void* pointer, std::size_t bytes);

/// All threads that the barrier waits for have arrived.
void complete(NamedBarrier* barrier);
void complete_cluster_barrier(Cluster* cluster);

/// The current thread arrives: what it did so far is ordered before what waiting threads do afterwards. releases: not if
/// the arrival is relaxed. Then they know only that it is over.
void publish(BarrierClock* clock, bool releases = true);
/// The current thread has waited. acquires: not if the wait is relaxed.
void learn(const BarrierClock& clock, bool acquires = true);
/// The current thread executes fence.acq_rel at the scope of the cluster or a wider one.
void fence_cluster();
/// Whether the thread knows that what the component did until then is over. That is enough to overwrite what it read.
inline bool knows_over(const Thread& thread, std::size_t component, std::uint32_t time) {
  return thread.clock.knows(component, time) || thread.over.knows(component, time);
}

/// Fails if an earlier access to this granule is not ordered before the current thread's next one, so that another
/// schedule could swap them. words: a bit for each word that is accessed. access: what the thread is about to do, as
/// the start of a sentence.
///
/// Who overwrites need not have acquired a copy of TMA that is over, because nothing of it can come later. Nor need TMA
/// have acquired a store that fence.proxy.async has followed.
enum class NextAccess { Read, GenericWrite, AsyncWrite };
void check_writes_are_known(Cta* cta, std::uint32_t granule, std::uint32_t words, const char* access,
                            NextAccess next = NextAccess::Read);
void check_all_is_known(Cta* cta, std::uint32_t granule, std::uint32_t words, const char* access,
                        NextAccess next);
/// These words have been written, so forgets how they were used before.
void forget_uses(Cta* cta, std::uint32_t granule, std::uint32_t words);

/// Fails if a cp.async or an st.async may still write one of these words. does: as the start of a sentence.
void check_not_filling(const Granule& granule, std::uint32_t index, std::uint32_t words, const char* does);
/// Fails if the generic proxy may not overwrite these words now. does: as the start of a sentence.
void check_generic_write(Cta* cta, std::uint32_t index, std::uint32_t words, const char* does);
/// Fails if the current thread, which ends, has not waited for its cp.asyncs.
void check_copies_at_exit();

/// Fails if the async proxy may not touch this granule now.
void check_async_read(Cta* cta, std::uint32_t granule, const char* reads);
void check_async_write(Cta* cta, std::uint32_t granule);

/// `bytes` have come for an mbarrier.
void mbarrier_complete(Cta* cta, std::uint32_t address, std::int64_t bytes);
/// The component of the mbarrier that a piece of a TMA copy completes on, and its clock then.
struct Fill {
  std::uint32_t component;
  std::uint32_t clock;
};
Fill next_fill(Cta* cta, std::uint32_t mbarrier);
/// The current thread announces an arrival that comes later. Returns the mbarrier's place. increments: whether the
/// pending count goes up for this arrival.
SharedPlace mbarrier_expects_arrival(std::uint32_t address, bool increments);
void mbarrier_async_arrival(Cta* cta, std::uint32_t address);
BarrierClock& mbarrier_clock(Cta* cta, std::uint32_t address);
/// Fails unless there is an mbarrier that the async proxy and other CTAs can see. completes: who does what on it, as
/// the start of a sentence.
void check_mbarrier_for_async(Cta* cta, std::uint32_t address, const char* completes);
std::string describe_mbarrier(const Cta& cta, std::uint32_t address);

/// " of launch 2", or "" if the host has called one launch only.
std::string of_launch(const Launch& launch);
/// "thread 130 of CTA 2 of launch 1 (warpgroup 1, consumer)".
std::string who(const Thread& thread);
/// The lines of the project's sources that lead to `pc`, the emulator's own left out.
std::string where(const void* pc);

/// Device memory of the emulated GPU.
class DeviceHeap {
 public:
  void* allocate(std::size_t bytes);
  /// False if `address` is not the beginning of an allocation.
  bool free(const void* address);
  void free_all();
  /// True if `address` lies in the heap's region at all.
  bool contains(const void* address) const {
    const auto* byte = static_cast<const unsigned char*>(address);
    return byte >= region_ && byte < region_ + kRegionBytes;
  }
  /// True if all of these bytes are allocated.
  bool allocated(const void* address, std::size_t bytes) const;

 private:
  static constexpr std::size_t kRegionBytes = std::size_t{16} << 30;  // of addresses, not of memory
  unsigned char* region_ = nullptr;
  std::size_t used_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> blocks_;  // begin, end; ascending
};
extern DeviceHeap device_heap;
/// Fails unless a kernel may access these bytes of global memory. It does not check the host's memory.
void check_global(const void* address, std::size_t bytes, const char* what);

}  // namespace hopper_gemm::emulator
