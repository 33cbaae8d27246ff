// Kernels with one deliberate mistake each (make_mutant.py): the emulator must find it, soon and for the right reason.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "emulated_gemm.hpp"
#include "emulator/emulator.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::emulator {
namespace {

/// What must be found.
struct Mutant {
  const char* name;
  int seeds;                          ///< so many schedules suffice
  std::vector<const char*> patterns;  ///< POSIX extended: one of them must match the report
};

void PrintTo(const Mutant& mutant, std::ostream* out) { *out << mutant.name; }

// What several mistakes show as.
constexpr char kWrong[] = "wrong product at";
constexpr char kWroteOutside[] = "wrote outside of D at";
constexpr char kNeverWritten[] = "reads shared memory at .* that nobody has written";
constexpr char kReadTooEarly[] = "reads shared memory at .* that a TMA copy is still filling";
constexpr char kStillMultiplying[] =
    "TMA overwrites shared memory at .* that an unfinished wgmma may still read";
constexpr char kStillStored[] = "a thread writes shared memory at .* that a TMA store may still read";
constexpr char kMixed[] = "mixes what two TMA copies brought";
constexpr char kMismatched[] = "has a descriptor that does not match the tile that TMA laid down";
constexpr char kWriteNotFenced[] =
    "a TMA store reads shared memory .* wrote without fence.proxy.async after it";
constexpr char kInitNotFenced[] = "was initialised without fence.mbarrier_init after it";
constexpr char kTooManyArrivals[] = "more arrivals in a phase than the mbarrier counts";
// A stage that is filled again too early: its full barrier may complete two phases while a consumer waits for one.
constexpr char kOvertaken[] = "deadlock.*consumer.*waits for an mbarrier's phase";

const Mutant kMutants[] = {
    // The pipeline of loads.
    {"producer_starts_at_wrong_parity",
     1,
     {"deadlock.*producer.*waits for an mbarrier's phase of parity 0: .* 4 of 4 arrivals"}},
    {"consumer_starts_at_wrong_parity",
     1,
     {"deadlock.*consumer.*waits for an mbarrier's phase of parity 1", kReadTooEarly, kNeverWritten}},
    {"parity_never_flips", 1, {kTooManyArrivals, "deadlock.*waits for an mbarrier's phase of parity 0"}},
    {"producer_does_not_wait", 1, {kTooManyArrivals, kStillMultiplying}},
    {"consumer_does_not_wait", 1, {kReadTooEarly, kNeverWritten, kStillMultiplying, kMixed, kWrong}},
    {"nothing_announces_the_bytes", 1, {kReadTooEarly, kNeverWritten, "deadlock.*-[0-9]* bytes pending"}},
    {"16_bytes_too_few", 1, {"deadlock.*consumer.* 0 of 1 arrivals and -16 bytes pending"}},
    {"16_bytes_too_many", 1, {"deadlock.*consumer.* 0 of 1 arrivals and 16 bytes pending"}},
    {"bytes_of_b_only", 1, {kReadTooEarly, kNeverWritten, "deadlock.*consumer.* -16384 bytes pending"}},
    {"bytes_of_whole_b_from_each_cta", 1, {"deadlock.*consumer.* 0 of 1 arrivals and 32768 bytes pending"}},
    {"one_arrival_too_many_expected", 1, {"deadlock.*producer.* 1 of 5 arrivals"}},
    {"one_arrival_too_few_expected", 1, {kStillMultiplying, kReadTooEarly, kMixed, kOvertaken}},
    {"arrivals_of_own_cta_only_expected", 1, {kStillMultiplying, kReadTooEarly, kMixed, kOvertaken}},
    {"one_consumer_releases", 1, {"deadlock.*producer.* 2 of 4 arrivals"}},
    {"all_threads_release", 1, {kStillMultiplying, kReadTooEarly, kMixed, kOvertaken}},
    {"release_reaches_own_cta_only", 1, {kStillMultiplying, kReadTooEarly, kMixed, kOvertaken}},
    {"release_of_the_current_stage", 1, {kStillMultiplying, kReadTooEarly, kMixed, kOvertaken}},
    {"release_before_the_wait", 1, {kStillMultiplying, kReadTooEarly, kMixed, kOvertaken}},
    {"v04_release_before_the_wait", 1, {kStillMultiplying}},
    {"v06_release_before_the_wait", 1, {kStillMultiplying, kReadTooEarly, kMixed, kOvertaken}},
    {"v07_release_before_the_wait", 1, {kStillMultiplying, kReadTooEarly, kMixed, kOvertaken}},
    {"consumer_loop_one_block_short", 1, {kWrong}},
    {"producer_loop_one_block_short", 1, {"deadlock.*consumer.* 1 of 1 arrivals and 0 bytes pending"}},
    {"producer_loop_one_block_long", 1, {kWrong, "ends while [0-9]+ TMA copies may still write"}},
    // Multicast and TMA loads.
    {"multicast_mask_off_by_one", 1, {"a multicast to CTAs 0b100 of a cluster of 2"}},
    {"multicast_to_one_cta", 1, {"deadlock.*consumer.* 0 of 1 arrivals and 32768 bytes pending"}},
    {"multicast_to_the_same_half", 1, {"two TMA copies write to shared memory", kNeverWritten}},
    {"load_coordinates_swapped", 1, {kWrong}},
    {"load_of_the_peers_rows", 1, {kWrong}},
    {"load_to_a_misaligned_address", 1, {"a TMA load at shared address .* not 1024-byte aligned"}},
    {"tensor_map_with_another_swizzle", 1, {kMismatched, kNeverWritten}},
    // Set-up, registers and exit.
    {"v02_no_mbarrier_init_fence", 1, {kInitNotFenced}},
    {"v06_no_mbarrier_init_fence", 1, {kInitNotFenced}},
    {"no_mbarrier_init_fence", 1, {kInitNotFenced}},
    {"v06_no_barrier_after_init", 20, {"no mbarrier was initialised", kInitNotFenced}},
    {"no_barrier_after_init", 20, {"no mbarrier was initialised", kInitNotFenced}},
    {"barrier_of_the_cta_after_init", 20, {"no mbarrier was initialised", kInitNotFenced}},
    {"v07_no_drain", 4, {"an arrival at an mbarrier of CTA [0-9]+, which has ended"}},
    {"no_drain", 8, {"an arrival at an mbarrier of CTA [0-9]+, which has ended"}},
    {"drain_without_the_wait", 8, {"an arrival at an mbarrier of CTA [0-9]+, which has ended"}},
    {"consumers_want_too_many_registers",
     1,
     {"deadlock.*waits for registers that other warpgroups give back"}},
    {"producer_keeps_its_registers", 1, {"deadlock.*waits for registers that other warpgroups give back"}},
    {"one_warp_keeps_its_registers", 1, {"deadlock.*waits for its warpgroup to take part in setmaxnreg"}},
    {"too_little_shared_memory", 1, {"the launch gave less dynamic shared memory than the kernel uses"}},
    // wgmma.
    {"v04_no_wgmma_fence", 1, {"without wgmma.fence since it last waited"}},
    {"no_wgmma_fence", 1, {"without wgmma.fence since it last waited"}},
    {"no_commit_of_wgmmas", 1, {"wgmma_fence_operand of an accumulator that a wgmma still works on"}},
    {"v04_wait_for_one_group_too_few",
     1,
     {"wgmma_fence_operand of an accumulator that a wgmma still works on"}},
    {"wait_for_one_group_too_few", 1, {kStillMultiplying, kReadTooEarly, kMixed, kOvertaken}},
    {"last_wait_for_one_group_too_few",
     1,
     {"wgmma_fence_operand of an accumulator that a wgmma still works on"}},
    {"accumulators_read_too_early",
     1,
     {"an accumulator is read before wgmma.wait_group says that it is finished"}},
    {"accumulators_cleared_in_flight", 1, {"an accumulator is written while a wgmma still works on it"}},
    {"descriptor_strides_swapped", 1, {kMismatched}},
    {"descriptor_stride_of_half_a_row", 1, {kMismatched}},
    {"descriptor_without_swizzle", 1, {kMismatched}},
    {"descriptor_with_another_swizzle", 1, {kMismatched}},
    {"descriptor_of_the_next_stage", 1, {kNeverWritten, kReadTooEarly}},
    {"descriptor_never_advances", 1, {kWrong}},
    {"descriptor_behind_the_end", 1, {"wgmma's B reads shared memory at 0x38400 that nobody has written"}},
    {"descriptors_differ_within_a_warpgroup",
     1,
     {"the threads of a warpgroup give one wgmma different operands"}},
    {"both_consumers_take_the_same_rows", 1, {kWrong}},
    {"first_wgmma_accumulates", 1, {kWrong}},
    {"every_block_starts_anew", 1, {kWrong}},
    // The epilogue.
    {"no_proxy_fence", 1, {kWriteNotFenced}},
    {"v09_no_proxy_fence", 1, {kWriteNotFenced}},
    {"proxy_fence_before_the_stores", 1, {kWriteNotFenced}},
    {"proxy_fence_of_one_lane", 1, {kWriteNotFenced}},
    {"staging_not_waited_for", 1, {kStillStored}},
    {"staging_waits_for_one_group_too_few", 1, {kStillStored}},
    {"v09_no_syncwarp_before_staging", 1, {kStillStored}},
    {"no_syncwarp_after_staging", 1, {kWriteNotFenced}},
    {"v09_no_syncwarp_after_staging", 1, {kWriteNotFenced, kNeverWritten, kStillStored}},
    {"syncwarp_of_one_lane",
     1,
     {"the warp has diverged: (__syncwarp|stmatrix).* here, (__syncwarp|stmatrix)"}},
    {"stores_never_committed", 1, {kStillStored}},
    {"exit_before_the_stores", 1, {"ends while [0-9]+ TMA stores may still read its shared memory"}},
    {"another_lane_waits_for_the_stores",
     1,
     {"ends while [0-9]+ TMA stores may still read its shared memory"}},
    {"staging_not_swizzled", 1, {kWrong}},
    {"staging_misaligned", 1, {"a TMA store at shared address .* not 1024-byte aligned"}},
    {"store_at_a_negative_row", 1, {"a TMA store to the negative coordinate -1"}},
    {"store_one_row_too_low", 1, {kWrong}},
    {"store_behind_the_end", 1, {kWrong}},
    {"store_coordinates_swapped", 1, {kWrong}},
    {"store_to_more_rows_than_d_has", 1, {"a TMA store writes .* outside of every allocation"}},
    {"store_over_the_last_chunk", 1, {kWroteOutside}},
    {"v04_store_below_the_last_row", 1, {"the kernel writes .* outside of every allocation"}},
    {"v04_store_behind_the_last_column", 1, {kWroteOutside}},
    // The queue of tiles.
    {"queue_reader_does_not_wait", 4, {kNeverWritten}},
    {"queue_writer_does_not_wait", 1, {"deadlock.*reader of the tile queue"}},
    {"queue_of_one_reader_too_few", 1, {"deadlock"}},
    {"queue_of_one_reader_too_many", 1, {"deadlock.*scheduler.* 1 of 10 arrivals"}},
    {"queue_full_before_it_is", 20, {kNeverWritten, kMixed, kWrong}},
    {"queue_released_before_it_is_read", 20, {kWrong}},
    {"tile_of_the_first_lane_only", 1, {kWrong}},
};

// The smallest first: most mistakes show at once. The last one has several tiles for each CTA and more K blocks than
// stages.
constexpr GemmShape kShapes[] = {{17, 40, 72}, {264, 257, 264}, {520, 776, 328}};
constexpr GemmShape kControlShape = {129, 257, 264};
constexpr int kControlSeeds = 200;
constexpr int kSms = 2;

class MutantLibrary {
 public:
  explicit MutantLibrary(const std::string& name)
      : handle_(dlopen((std::string(HG_MUTANTS_FOLDER "/") + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ != nullptr) launch_ = reinterpret_cast<Launch*>(dlsym(handle_, "launch_mutant"));
  }
  MutantLibrary(const MutantLibrary&) = delete;
  MutantLibrary& operator=(const MutantLibrary&) = delete;
  // Never closed: fibers that a report has stopped still point into it.
  ~MutantLibrary() = default;

  bool loaded() const { return launch_ != nullptr; }

  /// What is wrong with one run, or nothing.
  std::string fault(std::uint64_t seed, EmulatedGemm* gemm) const {
    configure({.seed = seed, .sms = kSms, .trace_path = ""});
    gemm->poison();
    Status status;
    launch_(&gemm->args(), &status);
    if (*last_report() != '\0') return last_report();
    if (!status.ok()) return status.message();
    return gemm->fault();
  }

 private:
  using Launch = void(const GemmArgs*, Status*);
  void* handle_;
  Launch* launch_ = nullptr;
};

class Mutants : public testing::TestWithParam<Mutant> {};

TEST_P(Mutants, IsFound) {
  const Mutant& mutant = GetParam();
  const MutantLibrary library(mutant.name);
  ASSERT_TRUE(library.loaded()) << dlerror();
  std::vector<testing::Matcher<std::string>> patterns;
  for (const char* const pattern : mutant.patterns) patterns.push_back(testing::ContainsRegex(pattern));
  for (int seed = 0; seed < mutant.seeds; ++seed) {
    for (const GemmShape& shape : kShapes) {
      EmulatedGemm gemm(shape);
      const std::string fault = library.fault(static_cast<std::uint64_t>(seed), &gemm);
      if (fault.empty()) continue;
      RecordProperty("seeds", seed + 1);
      EXPECT_THAT(fault, testing::AnyOfArray(patterns)) << "shape " << to_string(shape) << ", seed " << seed;
      return;
    }
  }
  FAIL() << "not found with " << mutant.seeds << " seeds";
}

INSTANTIATE_TEST_SUITE_P(Emulator, Mutants, testing::ValuesIn(kMutants),
                         [](const auto& param) { return std::string(param.param.name); });

// The same machinery finds nothing where there is no mistake.
TEST(MutantsControl, ThePlainKernelPasses) {
  const MutantLibrary library("control");
  ASSERT_TRUE(library.loaded()) << dlerror();
  EmulatedGemm gemm(kControlShape);
  for (int seed = 0; seed < kControlSeeds; ++seed) {
    ASSERT_EQ(library.fault(static_cast<std::uint64_t>(seed), &gemm), "") << "seed " << seed;
  }
}

TEST(MutantsTable, HoldsAllThatAreBuilt) {
  std::vector<std::string> expected = {"control"};
  for (const Mutant& mutant : kMutants) expected.emplace_back(mutant.name);
  std::istringstream list(HG_MUTANTS);
  const std::vector<std::string> built{std::istream_iterator<std::string>(list), {}};
  EXPECT_THAT(built, testing::UnorderedElementsAreArray(expected));
}

}  // namespace
}  // namespace hopper_gemm::emulator
