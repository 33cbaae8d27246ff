// Kernels with one deliberate mistake each (make_mutants.py): the emulator must find it, whatever the schedule,
// and for the right reason.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "emulated_gemm.hpp"
#include "emulated_memory.hpp"
#include "emulator/emulator.hpp"
#include "gemm/host/backend.hpp"
#include "hopper_gemm/status.hpp"
#include "tests/ladder_problems.hpp"
#include "tests/library_gemm.hpp"

namespace hopper_gemm::emulator {
namespace {

/// What must be found.
struct Mutant {
  const char* name;
  std::vector<const char*> patterns;  ///< POSIX extended regular expressions: the report matches one
};

void PrintTo(const Mutant& mutant, std::ostream* out) { *out << mutant.name; }

// What several mistakes show as.
constexpr char kEndsWhileStored[] = "ends while [0-9]+ TMA stores may still read its shared memory";
constexpr char kWrong[] = "wrong product at";
constexpr char kOtherLaunch[] =
    "global memory at .*, and nothing orders that after an earlier access: .*\n  by thread .* of the launch "
    "(before|behind)";
constexpr char kOtherValues[] = "a TMA store writes other values to global memory";
constexpr char kNoWaitForLaunch[] = "no thread of the launch executes griddepcontrol.wait";
constexpr char kWroteOutside[] = "wrote outside of D at";
constexpr char kNeverWritten[] = "reads shared memory at .* that nobody has written";
constexpr char kReadTooEarly[] =
    "wgmma's [AB] reads shared memory at .* that a TMA copy "
    "(is still filling|has filled, and the thread has not waited for its mbarrier)";
constexpr char kCReadTooEarly[] =
    "a thread reads shared memory at .* that a TMA copy "
    "(is still filling|has filled, and the thread has not waited for its mbarrier)";
constexpr char kFilledTooEarly[] =
    "TMA overwrites shared memory at .* that a( wgmma of warpgroup .* has read, and no barrier after "
    "wgmma.wait_group|n "
    "unfinished wgmma may still read| TMA copy has filled, and the thread has not waited for its mbarrier)";
constexpr char kStoredTooEarly[] =
    "a thread writes shared memory at .* that a TMA store (may still read|has read, and no barrier)";
constexpr char kLoadedOverStore[] = "TMA overwrites shared memory at .* that a TMA store may still read";
constexpr char kWrittenOverCopy[] =
    "a thread writes shared memory at .* that a TMA copy "
    "(is still filling|has filled, and the thread has not waited for its mbarrier)";
constexpr char kCopiesInOnePlace[] = "two TMA copies write to shared memory";
constexpr char kMismatched[] = "reads a tile that its descriptor does not match";
constexpr char kWriteNotFenced[] =
    "a TMA store reads shared memory .* wrote without fence.proxy.async after it";
constexpr char kFenceInFlight[] = "wgmma_fence_operand of an accumulator that a wgmma still works on";
constexpr char kInitNotFenced[] = "was initialised without fence.mbarrier_init after it";
constexpr char kInitNotOrdered[] =
    "no mbarrier was initialised|has initialised, and no barrier orders the two";
constexpr char kEndNotOrdered[] =
    "CTA [0-9]+(, which has ended| ends, and no barrier orders that after the arrival of thread [0-9]+ of "
    "CTA)";
constexpr char kTooManyArrivals[] = "more arrivals in a phase than the mbarrier counts";
constexpr char kPollsForEver[] = "deadlock: no thread can go on(.|\n)*polls global memory at";
constexpr char kRace[] =
    "a thread (reads|writes) shared memory at .* (written|read), and no barrier orders the two";
constexpr char kCopyInFlight[] =
    "a thread (reads|writes) shared memory at .* that a cp.async of .* is still filling";
// Whether the copy's own thread has waited when another one looks is luck.
constexpr char kCopyNotSeen[] =
    "a thread (reads|writes) shared memory at .* that a cp.async of .* (is still filling|has filled, and no "
    "barrier after its wait orders the two)";
constexpr char kCopyOverRead[] =
    "a cp.async overwrites shared memory at .* has read, and no barrier orders the two";
constexpr char kCopyOfNothing[] =
    "a cp.async reads [0-9]+ bytes of global memory at .* outside of every allocation";
constexpr char kMisalignedVector[] = "an access to a '.*' at .* which is not 16-byte aligned";
// A stage that is filled again too early: its full barrier may complete two phases while a consumer waits for one.
constexpr char kOvertaken[] = "deadlock.*consumer.*waits for an mbarrier's phase";
constexpr char kStageNotStored[] =
    "TMA overwrites shared memory at .* that (a TMA store|thread [0-9]+ of .* has written, and no barrier "
    "orders)";
constexpr char kStageNotFenced[] =
    "TMA overwrites shared memory at .* wrote without fence.proxy.async after it";
constexpr char kStagedOverOperands[] =
    "a thread writes shared memory at .* that an unfinished wgmma may still read";

const Mutant kMutants[] = {
    // The pipeline of loads.
    {"producer_starts_at_wrong_parity",
     {"deadlock.*producer.*waits for an mbarrier's phase of parity 0: .* 4 of 4 arrivals"}},
    {"consumer_starts_at_wrong_parity",
     {"deadlock.*consumer.*waits for an mbarrier's phase of parity 1", kReadTooEarly, kNeverWritten}},
    {"parity_never_flips", {kTooManyArrivals, kRace, "deadlock.*waits for an mbarrier's phase of parity 0"}},
    {"producer_does_not_wait", {kTooManyArrivals, kFilledTooEarly}},
    {"consumer_does_not_wait", {kReadTooEarly, kNeverWritten}},
    {"nothing_announces_the_bytes", {kReadTooEarly, kNeverWritten}},
    {"16_bytes_too_few", {"deadlock.*consumer.* 0 of 1 arrivals and -16 bytes pending"}},
    {"16_bytes_too_many", {"deadlock.*consumer.* 0 of 1 arrivals and 16 bytes pending"}},
    {"bytes_of_b_only", {kReadTooEarly, kNeverWritten, "deadlock.*consumer.* -16384 bytes pending"}},
    {"bytes_of_whole_b_from_each_cta", {"deadlock.*consumer.* 0 of 1 arrivals and 32768 bytes pending"}},
    {"one_arrival_too_many_expected", {"deadlock.*producer.* 1 of 5 arrivals"}},
    {"one_arrival_too_few_expected", {kFilledTooEarly, kReadTooEarly, kOvertaken}},
    {"arrivals_of_own_cta_only_expected", {kFilledTooEarly, kReadTooEarly, kOvertaken}},
    {"one_consumer_releases", {"deadlock.*producer.* 2 of 4 arrivals"}},
    {"all_threads_release", {kFilledTooEarly, kReadTooEarly, kOvertaken}},
    {"release_reaches_own_cta_only", {kFilledTooEarly, kReadTooEarly, kOvertaken}},
    {"release_of_the_current_stage", {kFilledTooEarly, kReadTooEarly, kOvertaken}},
    {"release_before_the_wait", {kFilledTooEarly, kReadTooEarly, kOvertaken}},
    {"v04_release_before_the_wait", {kFilledTooEarly}},
    {"v06_release_before_the_wait", {kFilledTooEarly, kReadTooEarly, kOvertaken}},
    {"v07_release_before_the_wait", {kFilledTooEarly, kReadTooEarly, kOvertaken}},
    {"consumer_loop_one_block_short", {kWrong}},
    {"producer_loop_one_block_short", {"deadlock.*consumer.* 1 of 1 arrivals and 0 bytes pending"}},
    {"producer_loop_one_block_long", {kWrong, "ends while [0-9]+ TMA copies or st.asyncs may still write"}},
    // Multicast and TMA loads.
    {"multicast_mask_off_by_one", {"a multicast to CTAs 0b100 of a cluster of 2"}},
    {"multicast_to_one_cta", {"deadlock.*consumer.* 0 of 1 arrivals and 32768 bytes pending"}},
    {"multicast_to_the_same_half", {kCopiesInOnePlace, kFilledTooEarly}},
    {"load_coordinates_swapped", {kWrong}},
    {"load_of_the_peers_rows", {kWrong}},
    {"load_to_a_misaligned_address", {"a TMA load at shared address .* not 1024-byte aligned"}},
    {"tensor_map_with_another_swizzle", {kMismatched, kNeverWritten}},
    // Set-up, registers and exit.
    {"v02_no_mbarrier_init_fence", {kInitNotFenced}},
    {"v06_no_mbarrier_init_fence", {kInitNotFenced}},
    {"no_mbarrier_init_fence", {kInitNotFenced, kInitNotOrdered}},
    {"v06_no_barrier_after_init", {kInitNotOrdered}},
    {"no_barrier_after_init", {kInitNotOrdered}},
    {"barrier_of_the_cta_after_init", {kInitNotOrdered}},
    {"v07_no_drain", {kEndNotOrdered}},
    {"no_drain", {kEndNotOrdered}},
    {"drain_without_the_wait", {kEndNotOrdered}},
    {"consumers_want_too_many_registers", {"deadlock.*waits for registers that other warpgroups give back"}},
    {"producer_keeps_its_registers", {"deadlock.*waits for registers that other warpgroups give back"}},
    {"one_warp_keeps_its_registers", {"deadlock.*waits for its warpgroup to take part in setmaxnreg"}},
    {"too_little_shared_memory", {"the launch gave less dynamic shared memory than the kernel uses"}},
    // wgmma.
    {"v04_no_wgmma_fence", {"without wgmma.fence since it last waited"}},
    {"no_wgmma_fence", {"without wgmma.fence since it last waited"}},
    {"no_commit_of_wgmmas", {"wgmma_fence_operand of an accumulator that a wgmma still works on"}},
    {"v04_wait_for_one_group_too_few", {"wgmma_fence_operand of an accumulator that a wgmma still works on"}},
    {"wait_for_one_group_too_few", {kFilledTooEarly, kReadTooEarly, kOvertaken}},
    {"last_wait_for_one_group_too_few",
     {"wgmma_fence_operand of an accumulator that a wgmma still works on"}},
    {"accumulators_read_too_early",
     {"an accumulator is read before wgmma.wait_group says that it is finished"}},
    {"accumulators_cleared_in_flight", {"an accumulator is written while a wgmma still works on it"}},
    {"descriptor_strides_swapped", {kMismatched}},
    {"descriptor_stride_of_half_a_row", {kMismatched}},
    {"descriptor_without_swizzle", {kMismatched}},
    {"descriptor_with_another_swizzle", {kMismatched}},
    {"descriptor_of_the_next_stage", {kReadTooEarly, kNeverWritten}},
    {"descriptor_never_advances", {kWrong}},
    {"descriptor_behind_the_end", {"wgmma's B reads shared memory at 0x38400 that nobody has written"}},
    {"descriptors_differ_within_a_warpgroup",
     {"the threads of a warpgroup give one wgmma different operands"}},
    {"both_consumers_take_the_same_rows", {kWrong}},
    {"first_wgmma_accumulates", {kWrong}},
    {"every_block_starts_anew", {kWrong}},
    // The epilogue.
    {"no_proxy_fence", {kWriteNotFenced}},
    {"v09_no_proxy_fence", {kWriteNotFenced}},
    {"proxy_fence_before_the_stores", {kWriteNotFenced}},
    {"proxy_fence_of_one_lane", {kWriteNotFenced}},
    {"staging_not_waited_for", {kStoredTooEarly}},
    {"staging_waits_for_one_group_too_few", {kStoredTooEarly}},
    {"no_syncwarp_before_staging", {kStoredTooEarly}},
    {"v09_no_syncwarp_before_staging", {kStoredTooEarly}},
    {"no_syncwarp_after_staging",
     {kWriteNotFenced, "a TMA store reads shared memory .* has written, and no barrier orders the two"}},
    {"v09_no_syncwarp_after_staging",
     {kWriteNotFenced, kNeverWritten,
      "a TMA store reads shared memory .* has written, and no barrier orders the two"}},
    {"syncwarp_of_one_lane", {"the warp has diverged: (__syncwarp|stmatrix).* here, (__syncwarp|stmatrix)"}},
    {"stores_never_committed", {kStoredTooEarly}},
    {"exit_before_the_stores", {kEndsWhileStored}},
    {"another_lane_waits_for_the_stores", {kEndsWhileStored}},
    {"staging_not_swizzled", {kWrong}},
    {"staging_misaligned", {"a TMA store at shared address .* not 1024-byte aligned"}},
    {"store_at_a_negative_row", {"a TMA store to the negative coordinate -1"}},
    {"store_one_row_too_low", {kWrong}},
    {"store_behind_the_end", {kWrong}},
    {"store_coordinates_swapped", {kWrong, kOtherValues}},
    {"store_to_more_rows_than_d_has", {"a TMA store writes .* outside of every allocation"}},
    {"store_over_the_last_chunk", {kWroteOutside}},
    {"v04_store_below_the_last_row", {"the kernel writes .* outside of every allocation"}},
    {"v04_store_behind_the_last_column", {kWroteOutside}},
    // The queue of tiles.
    {"queue_reader_does_not_wait", {kNeverWritten, kRace}},
    {"queue_writer_does_not_wait", {kRace, "deadlock.*reader of the tile queue"}},
    {"queue_of_one_reader_too_few", {kRace, "deadlock.*the tile queue"}},
    {"queue_of_one_reader_too_many", {"deadlock.*scheduler.* 1 of 10 arrivals"}},
    {"queue_full_before_it_is", {kRace}},
    {"queue_released_before_it_is_read", {kRace}},
    {"tile_of_the_first_lane_only", {kWrong}},
    {"v12_tile_taken_while_lanes_wait", {"deadlock.*reader of the tile queue"}},
    // Tiles of two widths.
    {"v14_bytes_of_wide_tiles", {"deadlock.*consumer.* 0 of 1 arrivals and 8192 bytes pending"}},
    {"v14_narrow_tiles_over_wide_ones", {kWrong}},
    // Blocks of accumulators that are stored one under the other's products.
    {"v15_upper_block_stored_in_flight", {kFenceInFlight}},
    {"v15_lower_block_stored_in_flight", {kFenceInFlight}},
    {"v15_stage_released_under_the_lower_block", {kFilledTooEarly, kReadTooEarly, kOvertaken}},
    {"v15_pending_block_forgotten", {kWrong, kStoredTooEarly}},
    {"v15_no_syncwarp_before_storing_by_threads",
     {kRace, kWriteNotFenced, kNeverWritten,
      "a TMA store reads shared memory .* has written, and no barrier orders the two"}},
    {"v15_last_chunk_stored_by_tma", {kWroteOutside}},
    // A producer that is a warp.
    {"v16_every_lane_loads", {kTooManyArrivals}},
    // Tiles that are stored through a stage.
    {"v17_pace_waits_for_ever", {kPollsForEver}},
    {"v18_stage_not_stored_yet", {kStageNotStored, kEndsWhileStored}},
    {"v18_stage_stored_by_one_warp", {kStageNotStored}},
    {"v18_stored_under_its_last_products", {kStagedOverOperands}},
    {"v18_stored_through_rows_in_use", {kStagedOverOperands}},
    {"v18_stage_kept_where_threads_store", {"deadlock"}},
    {"v18_no_fence_where_threads_store", {kStageNotFenced}},
    {"v18_stage_released_before_threads_store", {kStageNotStored, kStageNotFenced, kRace}},
    // The ampere ladder: copies, their groups, and the barriers around them.
    {"ampere_v2_no_barrier", {kCopyNotSeen}},
    {"ampere_v2_no_wait", {kCopyInFlight}},
    {"ampere_v2_wait_after_the_barrier", {kCopyNotSeen}},
    {"ampere_v2_no_commit", {kCopyInFlight}},
    {"ampere_v2_loads_before_the_barrier", {kCopyOverRead}},
    {"ampere_v2_k_tail_not_filled_with_zeros", {kCopyOfNothing, kWrong}},
    {"ampere_v2_no_syncwarp_after_staging", {kNeverWritten, kRace}},
    {"ampere_v3_halves_of_b_swapped", {kWrong}},
    {"ampere_v4_swizzle_on_one_side", {kWrong}},
    {"ampere_v4_rows_of_ldmatrix_misaligned", {"ldmatrix loads a row at .* not 16-byte aligned"}},
    {"ampere_v5_waits_for_one_group_too_few", {kCopyInFlight}},
    {"ampere_v5_no_barrier", {kCopyNotSeen}},
    {"ampere_v5_no_commit", {kCopyInFlight}},
    {"ampere_v5_no_empty_groups_at_the_end", {kCopyInFlight}},
    {"ampere_v5_loads_over_the_stage_that_is_read", {kCopyOverRead, kCopyInFlight}},
    {"ampere_v5_exit_before_the_copies",
     {"the thread ends while [0-9]+ cp.asyncs that it has not waited for may still write shared memory"}},
    {"ampere_v6_waits_for_one_group_too_few", {kCopyInFlight}},
    {"ampere_v6_no_barrier", {kCopyNotSeen}},
    {"ampere_v6_no_barrier_before_staging", {kRace, kCopyNotSeen}},
    {"ampere_v6_staging_before_the_last_copies", {kCopyInFlight}},
    {"ampere_v6_k_tail_not_filled_with_zeros", {kCopyOfNothing, kWrong}},
    {"ampere_v6_last_k_block_not_first", {kWrong}},
    {"ampere_v6_loads_below_the_last_row", {kCopyOfNothing}},
    {"ampere_v6_another_stage", {kCopyOverRead, kCopyInFlight}},
    {"ampere_v6_swizzle_of_wider_rows", {kCopyInFlight, kWrong}},
    // Its epilogue: alpha, beta and the edges.
    {"ampere_v6_stores_below_the_last_row", {kWroteOutside}},
    {"ampere_v6_stores_behind_the_last_column", {kWroteOutside}},
    {"ampere_v6_vectors_whatever_the_address", {kMisalignedVector}},
    {"ampere_v6_vectors_whatever_the_pitch", {kMisalignedVector}},
    {"ampere_v6_reads_c_where_beta_is_0", {kWrong}},
    {"ampere_v6_c_with_the_pitch_of_d", {kWrong}},
    {"ampere_v6_multiplies_nan_by_alpha_0", {kWrong}},
    {"ampere_v6_alpha_for_c_too", {kWrong}},
    // The simt ladder.
    {"simt_v3_reads_before_the_tiles_are_there", {kNeverWritten, kRace}},
    {"simt_v3_replaces_tiles_that_are_read", {kRace}},
    {"simt_v7_replaces_tiles_that_are_read", {kRace}},
    {"simt_v8_no_barrier", {kCopyNotSeen, kNeverWritten}},
    {"simt_v8_waits_for_one_group_too_few", {kCopyInFlight}},
    {"simt_v8_no_commit", {kCopyInFlight}},
    {"simt_v8_copies_to_the_stage_that_is_read", {kCopyOverRead, kCopyInFlight}},
    {"simt_v8_reads_the_same_stage_again", {kCopyOverRead, kCopyInFlight}},
    {"simt_v8_k_tail_not_filled_with_zeros", {kWrong, kCopyOfNothing}},
    {"simt_v8_columns_beyond_the_last", {kCopyOfNothing}},
    {"simt_v1_stores_below_the_last_row", {kWroteOutside}},
    {"simt_v1_reads_c_where_beta_is_0", {kWrong}},
    {"simt_v1_multiplies_nan_by_alpha_0", {kWrong}},
    {"simt_v6_vectors_that_reach_behind_the_row",
     {"the kernel reads [0-9]+ bytes of global memory at .* outside of every allocation"}},
    {"simt_v6_vectors_whatever_the_pitch", {kMisalignedVector}},
    {"simt_v6_vectors_whatever_the_address", {kMisalignedVector}},
};

constexpr char kWrongSum[] = "instead of";
constexpr char kSumsReadTooEarly[] =
    "a thread reads shared memory at .* that a(n st.async of .*| TMA copy) (is still filling|has filled, and "
    "the thread has not waited for its mbarrier)|an st.async overwrites shared memory at .* has read, and no "
    "barrier orders the two";
constexpr char kSumsOverStages[] =
    "an st.async overwrites shared memory at .* that a( TMA copy is still filling| TMA copy has filled, and "
    "the thread has not waited|n unfinished wgmma may still read| wgmma of warpgroup .* has read, and no "
    "barrier after wgmma.wait_group)|TMA overwrites shared memory at .* that (an st.async of .* (is still "
    "filling|has filled, and the thread has not waited for its mbarrier)|.*sums of other CTAs.* wrote "
    "without fence.proxy.async)";
constexpr char kSumsInEachOthersPlace[] =
    "an st.async overwrites shared memory at .* that an st.async of .* (is still filling|has filled, and the "
    "thread has not waited for its mbarrier)";

const Mutant kLibraryMutants[] = {
    {"library_128x128_no_mbarrier_init_fence", {kInitNotFenced}},
    {"library_64x64_release_before_the_wait", {kFilledTooEarly, kReadTooEarly, kOvertaken}},
    {"library_64x64_slices_of_the_same_rows", {kWrongSum}},
    {"library_64x64_slices_to_the_same_place", {kCopiesInOnePlace, kFilledTooEarly}},
    {"library_64x64_multicast_to_another_row", {kWrongSum, kOtherValues}},
    {"library_64x64_releases_its_own_stage_alone",
     {"deadlock.*producer.*waits for an mbarrier's phase", kFilledTooEarly, kReadTooEarly, kOvertaken}},
    {"library_64x64_no_proxy_fence", {kWriteNotFenced}},
    {"library_64x64_staging_not_waited_for", {kStoredTooEarly}},
    {"library_64x64_exit_before_the_stores", {kEndsWhileStored}},
    {"library_128x128_store_over_the_last_chunk", {"wrote outside of D"}},
    {"library_64x64_no_drain", {kEndNotOrdered}},
    {"library_64x64_drain_from_the_last_stage", {kInitNotOrdered}},
    {"library_128x128_producer_lanes_part", {"deadlock"}},
    {"library_128x128_sums_read_before_they_are_there", {kSumsReadTooEarly, kNeverWritten}},
    {"library_128x128_sums_over_stages_in_use", {kSumsOverStages, kEndNotOrdered}},
    {"library_128x128_sums_of_one_consumer_too_early", {kSumsOverStages, kTooManyArrivals}},
    {"library_128x128_sums_without_the_cluster_barrier", {kInitNotOrdered}},
    {"library_128x128_sums_of_the_others_alone", {kWrongSum}},
    {"library_128x128_sums_to_the_same_place", {kSumsInEachOthersPlace, kWrongSum}},
    {"library_128x128_sums_tell_the_sender", {"an st.async to CTA [0-9]+ with an mbarrier of CTA"}},
    {"library_128x128_expects_too_few_sums",
     {kSumsReadTooEarly, "ends, and not as many bytes have come as were announced"}},
    {"library_128x128_expects_too_many_sums", {"deadlock"}},
    {"library_128x128_split_forgets_the_longer_parts", {kWrongSum}},
    {"library_64x64_last_tile_ends_early", {kWrongSum}},
    {"library_64x96_last_piece_beyond_the_tile", {kWrongSum, kOtherValues}},
    {"library_64x96_last_piece_of_other_columns", {kWrongSum, kOtherValues}},
    {"library_swapped_staging_not_waited_for", {kStoredTooEarly}},
    {"library_swapped_staged_before_it_is_read", {kStoredTooEarly}},
    {"library_swapped_stored_before_it_is_staged",
     {kWriteNotFenced, "a TMA store reads shared memory .* has written, and no barrier orders the two"}},
    {"library_swapped_no_proxy_fence", {kWriteNotFenced}},
    {"library_swapped_last_piece_of_other_rows", {kWrongSum, kOtherValues}},
    {"library_128x128_workspace_split_of_the_same_k", {kWrongSum}},
    {"library_128x128_workspace_split_of_other_batches", {kWrongSum}},
    {"library_128x128_expects_whole_boxes", {"deadlock"}},
    {"library_128x128_c_before_it_has_come", {kCReadTooEarly}},
    {"library_128x128_c_of_the_phase_before", {kCReadTooEarly, "deadlock"}},
    {"library_128x128_c_over_a_buffer_in_use", {kLoadedOverStore, kStoredTooEarly}},
    {"library_128x128_c_to_the_buffer_of_this_subtile", {kWrittenOverCopy, kStoredTooEarly}},
    {"library_128x128_bias_before_it_has_come", {kRace, kNeverWritten}},
    {"library_128x128_bias_of_the_tile_before", {kRace, "deadlock"}},
    {"library_pingpong_out_of_turn", {kFilledTooEarly, kReadTooEarly, "deadlock"}},
    {"library_pingpong_hands_on_too_early", {kFilledTooEarly, kReadTooEarly, "deadlock"}},
    {"library_pingpong_keeps_its_turn", {"deadlock"}},
    {"library_pingpong_no_drain", {kEndNotOrdered}},
    {"library_cooperative_mixed_n_no_drain", {kEndNotOrdered}},
    {"library_cooperative_mixed_n_pace_waits_for_ever", {kPollsForEver}},
    {"library_cooperative_mixed_n_pace_in_later_waves", {kPollsForEver}},
    {"library_cooperative_mixed_n_atoms_of_a_in_one_place", {kCopiesInOnePlace}},
    {"library_cooperative_mixed_n_atoms_of_b_in_one_place", {kCopiesInOnePlace}},
    {"library_cooperative_mixed_n_atoms_of_a_as_if_k_major", {kMismatched}},
    {"library_cooperative_mixed_n_atoms_of_b_as_if_k_major", {kMismatched}},
    {"library_pingpong_atoms_of_b_as_if_k_major", {kMismatched}},
    {"library_cooperative_mixed_n_stage_not_stored_yet", {kStageNotStored, kEndsWhileStored}},
    {"library_cooperative_mixed_n_stage_stored_by_one_warp", {kStageNotStored}},
    {"library_cooperative_mixed_n_stored_under_its_last_products", {kStagedOverOperands}},
    {"library_cooperative_mixed_n_upper_block_stored_in_flight", {kFenceInFlight}},
    {"library_cooperative_mixed_n_stage_released_in_use", {kFilledTooEarly}},
    {"library_cooperative_mixed_n_first_stage_released_in_use", {kFilledTooEarly}},
    {"library_cooperative_mixed_n_piece_over_the_one_before", {kStoredTooEarly}},
    {"library_cooperative_mixed_n_stored_through_rows_in_use", {kStagedOverOperands}},
    {"library_general_cooperative_mixed_n_bias_before_it_has_come", {kRace, kNeverWritten}},
    {"library_general_cooperative_mixed_n_bias_over_the_last_one", {kRace, "deadlock.*reader of the bias"}},
    {"library_general_cooperative_mixed_n_bias_never_read", {"deadlock.*reader of the bias"}},
    {"library_general_cooperative_mixed_n_staged_too_early", {kStoredTooEarly}},
    {"library_general_cooperative_mixed_n_second_part_staged_too_early", {kStoredTooEarly}},
    {"library_general_cooperative_mixed_n_one_buffer_for_all", {kStoredTooEarly}},
    {"library_general_cooperative_mixed_n_groups_not_counted", {kStoredTooEarly}},
    {"library_general_cooperative_mixed_n_staged_without_a_fence", {kWriteNotFenced}},
    {"library_general_pingpong_staged_too_early", {kStoredTooEarly}},
    {"library_general_pingpong_c_before_it_has_come", {kCReadTooEarly}},
    {"library_general_pingpong_c_of_the_phase_before", {kCReadTooEarly, "deadlock"}},
    {"library_general_pingpong_bias_of_the_tile_before", {kRace, "deadlock"}},
    {"library_pingpong_skips_nothing", {"deadlock"}},
    {"library_reduce_partials_without_its_wait", {kOtherLaunch, kNoWaitForLaunch}},
    {"library_reduce_partials_waits_in_its_first_cta", {kOtherLaunch}},
    {"library_128x128_no_wait_for_the_launch_ahead", {kOtherLaunch, kNoWaitForLaunch}},
    {"library_pingpong_skips_without_the_phase", {"deadlock", kReadTooEarly, kFilledTooEarly}},
    {"library_pingpong_release_before_the_wait", {kFilledTooEarly, kReadTooEarly, kOvertaken}},
    {"library_small_m_expects_whole_boxes", {"deadlock"}},
    {"library_small_m_sums_read_before_they_are_there", {kSumsReadTooEarly, kNeverWritten}},
    {"library_small_m_sums_without_the_cluster_barrier", {kInitNotOrdered}},
    {"library_small_m_stores_columns_of_the_next_tile", {kWrongSum}},
    {"library_small_m_sums_of_the_others_alone", {kWrongSum}},
    {"library_small_m_sums_to_the_same_place", {kSumsInEachOthersPlace, kWrongSum}},
    {"library_small_m_sums_of_another_piece", {kSumsReadTooEarly, kNeverWritten, kWrongSum}},
    {"library_small_m_stored_before_it_is_staged", {kRace, kNeverWritten, kWrongSum}},
    {"library_small_m_transposed_too_early", {kRace, kNeverWritten}},
    {"library_small_m_transposed_over_sums_in_use", {kRace}},
    {"library_small_m_split_forgets_the_longer_parts", {kWrongSum}},
    {"library_small_m_blocks_where_no_box_put_them", {kNeverWritten, kWrongSum}},
};

// The smallest first: most mistakes show at once. The last one has several tiles for each CTA and more K blocks than
// stages.
constexpr GemmShape kShapes[] = {{17, 40, 72}, {264, 257, 264}, {520, 776, 328}};
constexpr GemmShape kControlShape = {129, 257, 264};
constexpr std::uint64_t kControlSeeds = 100;
constexpr std::uint64_t kGeneralControlSeeds = 10;

/// What kernels without a tensor map have more of to do wrong, with operands as `plain` has them: rows of any
/// alignment, alpha and beta.
std::vector<LadderProblem> general_problems(GemmProblem plain) {
  const auto problem = [&](GemmShape shape, float alpha, float beta) {
    plain.shape = shape;
    plain.alpha = alpha;
    plain.beta = beta;
    return plain;
  };
  return {{.problem = problem({17, 40, 72}, 1, 0)},
          {.problem = problem({65, 71, 5}, 1, 0)},
          {.problem = problem({65, 70, 101}, 1, 0), .in_place = true},
          {.problem = problem({65, 70, 33}, 0, 0)},
          {.problem = problem({65, 76, 260}, 2, -2)},
          {.problem = problem({65, 72, 128}, 1, -2), .offset = 1},
          {.problem = problem({65, 72, 128}, 1, -2), .pitch_remainder = 1}};
}

/// What a mutant is run on, until its mistake shows.
std::vector<LadderProblem> problems_of(std::string_view mutant) {
  if (mutant.starts_with("simt_")) {
    return general_problems(
        {.input_type = DataType::Float32, .output_type = DataType::Float32, .b_layout = Layout::RowMajor});
  }
  if (mutant.starts_with("ampere_v6_") || mutant == "ampere_control") return general_problems({});
  std::vector<LadderProblem> problems;
  for (const GemmShape& shape : kShapes) problems.push_back({{.shape = shape}});
  return problems;
}
constexpr std::uint64_t kSeeds = 5;
constexpr int kSms = 2;

/// What a mutant of the library's is run on.
struct LibraryRun {
  std::string_view kernel;  ///< or the tile of the cooperative kernel, whose mutants run it
  const char* config;
  LibraryProblem problem;
  int sms = 4;
  int launches = 1;  ///< one behind the other
};

/// Tiles that follow each other and are stored by TMA in part; a cluster's one tile of fewer blocks of K than stages,
/// layouts of which its CTAs share slices, and more blocks than stages; K that CTAs share, of one cluster and of two;
/// columns that are no whole swizzle atoms; swap-AB; pingpong; a mixed tile N, and layouts that come in swizzle atoms, and clusters
/// side by side; small M; many short tiles.
std::vector<LibraryRun> library_runs() {
  using library::OperandMajor;
  constexpr const char* kSharesBoth = "cooperative_64x64_w1_s12_c2x2";
  const LibraryProblem along_mn{
      .shape = {197, 136, 139}, .major_a = OperandMajor::MN, .major_b = OperandMajor::MN};
  LibraryProblem long_k = along_mn;
  long_k.shape.k = 15 * 64;
  LibraryProblem wide_along_mn = along_mn;
  wide_along_mn.shape = {136, 640, 328};
  const LibraryProblem general_fp32{
      .shape = {520, 640, 328}, .output_type = DataType::Float32, .bias = Bias::PerColumn};
  const LibraryProblem general_c{.shape = {136, 640, 200}, .beta = -2};
  const LibraryProblem cooperative_c{
      .shape = {261, 264, 75}, .output_type = DataType::Float32, .bias = Bias::PerRow, .beta = -2};
  const LibraryProblem gated = with_outputs({.shape = {520, 640, 328}, .activation = Activation::Silu}, 2);
  // Each launch waits for the partials, or for the workspace, of the one ahead.
  const LibraryRun overlapping{"128x128",
                               "cooperative_128x128_s6_k8x2",
                               {.shape = {37, 45, 33 * 64}, .programmatic_dependent_launch = true},
                               16,
                               2};
  LibraryRun overlapping_reduction = overlapping;
  overlapping_reduction.kernel = "reduce_partials";
  const LibraryProblem general_ragged{.shape = {264, 643, 328}, .bias = Bias::PerRow};
  return {
      {"128x128", "cooperative_128x128_s6", {.shape = {261, 259, 75}, .bias = Bias::PerRow}},
      // K is long enough for a lane that is late to fall two phases behind.
      {"128x128", "cooperative_128x128_s6", {.shape = {261, 264, 32 * 64}}},
      {"64x64", kSharesBoth, {.shape = {100, 72, 139}}},
      {"64x64", kSharesBoth, {.shape = {197, 136, 139}}},
      {"64x64", kSharesBoth, along_mn},
      {"64x64", kSharesBoth, long_k},
      {"128x128", "cooperative_128x128_s6_k2", {.shape = {149, 136, 5 * 64}}},
      {"128x128", "cooperative_128x128_s6_k4", {.shape = {37, 133, 15 * 64 - 21}, .beta = -2}},
      {"128x128",
       "cooperative_128x128_s6_k8x2",
       {.shape = {37, 45, 33 * 64}, .batch_count = 2, .bias = Bias::PerRow},
       8},
      {"128x128", "cooperative_128x128_s6", {.shape = {261, 264, 75}, .bias = Bias::PerColumn, .beta = -2}},
      {"128x128", "cooperative_128x128_s6", cooperative_c},
      {"64x96", "cooperative_64x96_w1_s10_c2x1", {.shape = {149, 200, 139}}},
      {"swapped", "cooperative_48x64_w1_t_s12_c2x2", {.shape = {293, 136, 75}}},
      {"pingpong", "pingpong_128x192+128_s5_c1x2", {.shape = {264, 776, 640}}, 2},
      {"pingpong", "pingpong_128x192+128_s5_c1x2", {.shape = {520, 776, 328}}, 2},
      {"cooperative_mixed_n", "cooperative_256x192+128_s4_c1x2", {.shape = {136, 384, 328}}, 2},
      {"cooperative_mixed_n", "cooperative_256x192+128_s4_c1x2", {.shape = {136, 640, 320}}, 2},
      {"cooperative_mixed_n", "cooperative_256x192+128_s4_c1x2", {.shape = {264, 640, 520}}, 2},
      {"cooperative_mixed_n", "cooperative_256x192+128_s4_c1x2", wide_along_mn, 2},
      {"cooperative_mixed_n", "cooperative_256x192+128_s4_c1x2", {.shape = {520, 384, 328}}, 4},
      {"pingpong", "pingpong_128x192+128_s5_c1x2", wide_along_mn, 2},
      {"pingpong", "pingpong_128x176+128_s5_c1x2", {.shape = {136, 1000, 200}}, 2},
      {"general_cooperative_mixed_n", "cooperative_256x192+128_s4_c1x2", general_fp32, 2},
      {"general_cooperative_mixed_n", "cooperative_256x192+128_s4_c1x2", general_ragged, 2},
      {"general_cooperative_mixed_n", "cooperative_256x192+128_s4_c1x2", gated, 2},
      {"general_pingpong", "pingpong_128x192+128_s5_c1x2", with_outputs(gated, kOutputs - 1), 2},
      {"general_pingpong", "pingpong_128x192+128_s5_c1x2", general_fp32, 2},
      {"general_pingpong", "pingpong_128x192+128_s5_c1x2", general_c, 2},
      {"general_pingpong", "pingpong_128x176+128_s5_c1x2", general_ragged, 2},
      {"small_m", "small_m_32x64x128_t_s4", {.shape = {7, 72, 200}}},
      {"small_m", "small_m_16x40x256_t_s5", {.shape = {17, 136, 6 * 256}}},
      {"small_m", "small_m_16x64x128_t_s5_k4", {.shape = {15, 133, 9 * 128 - 21}, .beta = -2}},
      {"small_m", "small_m_48x64_t_s7_k2", {.shape = {41, 72, 13 * 64}}},
      {"small_m", "small_m_64x56x128_s6_k3", {.shape = {59, 136, 7 * 128}}},
      {"128x128", "cooperative_128x128_s6", {.shape = {1, 1, 1}, .batch_count = 32}, 32},
      overlapping,
      overlapping_reduction};
}

std::vector<testing::Matcher<std::string>> matchers_of(const Mutant& mutant) {
  std::vector<testing::Matcher<std::string>> matchers;
  matchers.reserve(mutant.patterns.size());
  for (const char* const pattern : mutant.patterns) matchers.push_back(testing::ContainsRegex(pattern));
  return matchers;
}

/// Where a mutant is.
struct MutantProgram {
  const char* name;
  const char* program;
  int number;  ///< which of the program's mutants it is; 0 if it is the only one
};

constexpr MutantProgram kPrograms[] = {
#include "programs.inc"
};

/// A mutant's program.
template <typename Launch>
class MutantLibrary {
 public:
  MutantLibrary(std::string_view name, const char* launch) {
    const auto* const found = std::ranges::find(kPrograms, name, &MutantProgram::name);
    if (found == std::end(kPrograms)) return;
    number_ = found->number;
    // Never closed: fibers that a report has stopped still point into it.
    void* const handle =
        dlopen((std::string(HG_MUTANTS_FOLDER "/") + found->program + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    launch_ = reinterpret_cast<Launch*>(dlsym(handle, launch));
    choose_ = reinterpret_cast<void (*)(int)>(dlsym(handle, "choose_mutant"));
  }

  bool loaded() const { return launch_ != nullptr && (number_ == 0 || choose_ != nullptr); }
  /// The launches to come have no mistake, if the program holds several mutants.
  void choose_none() { number_ = 0; }

 protected:
  void choose() const {
    if (choose_ != nullptr) choose_(number_);
  }
  Launch* launch_ = nullptr;

 private:
  int number_ = 0;
  void (*choose_)(int) = nullptr;
};

class LadderMutant : public MutantLibrary<void(const GemmArgs*, Status*)> {
 public:
  explicit LadderMutant(std::string_view name) : MutantLibrary(name, "launch_mutant") {}

  /// What is wrong with one run, or nothing.
  std::string fault(std::uint64_t seed, EmulatedGemm* gemm) const {
    configure({.seed = seed, .sms = kSms});
    gemm->poison();
    choose();
    Status status;
    launch_(&gemm->args(), &status);
    if (*last_report() != '\0') return last_report();
    if (!status.ok()) return status.message();
    return gemm->fault();
  }
};

class LibraryMutant : public MutantLibrary<void(const library::Problem*, const library::KernelArgs*,
                                                const library::Device*, const char*, int, Status*)> {
 public:
  explicit LibraryMutant(std::string_view name) : MutantLibrary(name, "launch_library_mutant") {}

  /// What is wrong with one run, or nothing.
  std::string fault(std::uint64_t seed, const LibraryRun& run, LibraryGemm* gemm) const {
    const library::Device device = {
        .id = 0, .major = 9, .minor = 0, .sm_count = run.sms, .max_shared_bytes = 227 << 10};
    configure({.seed = seed, .sms = run.sms});
    gemm->reset();
    const library::Problem problem = gemm->problem();
    choose();
    Status status;
    launch_(&problem, &gemm->args(), &device, run.config, run.launches, &status);
    if (*last_report() != '\0') return last_report();
    if (!status.ok()) return status.message();
    return gemm->fault();
  }
};

class Mutants : public testing::TestWithParam<Mutant> {};

TEST_P(Mutants, IsFoundInEverySchedule) {
  const Mutant& mutant = GetParam();
  const LadderMutant library(mutant.name);
  ASSERT_TRUE(library.loaded()) << dlerror();
  const std::vector<testing::Matcher<std::string>> patterns = matchers_of(mutant);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::string fault;
    for (const LadderProblem& problem : problems_of(mutant.name)) {
      EmulatedGemm gemm(problem);
      fault = library.fault(seed, &gemm);
      if (!fault.empty()) break;
    }
    EXPECT_THAT(fault, testing::AnyOfArray(patterns)) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Emulator, Mutants, testing::ValuesIn(kMutants),
                         [](const auto& param) { return std::string(param.param.name); });

/// The runs of a mutant: those of the kernel that its name begins with. "library_pingpong_no_drain" has those of
/// "pingpong".
std::vector<LibraryRun> runs_of(std::string_view mutant) {
  std::vector<LibraryRun> runs = library_runs();
  std::erase_if(runs, [&](const LibraryRun& run) {
    return !mutant.starts_with("library_" + std::string(run.kernel) + "_");
  });
  return runs;
}

class LibraryMutants : public testing::TestWithParam<Mutant> {};

TEST_P(LibraryMutants, IsFoundInEverySchedule) {
  const Mutant& mutant = GetParam();
  const LibraryMutant library(mutant.name);
  ASSERT_TRUE(library.loaded()) << dlerror();
  const std::vector<LibraryRun> runs = runs_of(mutant.name);
  const std::vector<testing::Matcher<std::string>> patterns = matchers_of(mutant);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::string fault;
    for (const LibraryRun& run : runs) {
      LibraryGemm gemm(run.problem, emulated_memory());
      fault = library.fault(seed, run, &gemm);
      if (!fault.empty()) break;
    }
    EXPECT_THAT(fault, testing::AnyOfArray(patterns)) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Emulator, LibraryMutants, testing::ValuesIn(kLibraryMutants),
                         [](const auto& param) { return std::string(param.param.name); });

// Products for which clusters keep pace have too many K blocks for the emulator: here a control does it at any.
TEST(LibraryMutantsControl, ClustersThatKeepPacePass) {
  const LibraryMutant library("library_pace_control");
  ASSERT_TRUE(library.loaded()) << dlerror();
  // Two full waves; a full one and one that is not; one that ends with narrow tiles; one cluster alone.
  for (const LibraryRun& run :
       {LibraryRun{"cooperative_mixed_n", "cooperative_256x192+128_s4_c1x2", {.shape = {520, 768, 328}}, 6},
        LibraryRun{"cooperative_mixed_n", "cooperative_256x192+128_s4_c1x2", {.shape = {520, 384, 200}}, 4},
        LibraryRun{"cooperative_mixed_n", "cooperative_256x192+128_s4_c1x2", {.shape = {520, 384, 328}}, 4},
        LibraryRun{
            "cooperative_mixed_n", "cooperative_256x192+128_s4_c1x2", {.shape = {264, 384, 328}}, 2}}) {
    LibraryGemm gemm(run.problem, emulated_memory());
    for (std::uint64_t seed = 0; seed < kGeneralControlSeeds; ++seed) {
      ASSERT_EQ(library.fault(seed, run, &gemm), "") << test_name(run.problem) << ", seed " << seed;
    }
  }
}

// The same machinery finds nothing where there is no mistake.
TEST(MutantsControl, ThePlainKernelPasses) {
  const LadderMutant library("control");
  ASSERT_TRUE(library.loaded()) << dlerror();
  EmulatedGemm gemm({{.shape = kControlShape}});
  for (std::uint64_t seed = 0; seed < kControlSeeds; ++seed) {
    ASSERT_EQ(library.fault(seed, &gemm), "") << "seed " << seed;
  }
}

class MutantsControls : public testing::TestWithParam<const char*> {};

TEST_P(MutantsControls, Pass) {
  const LadderMutant library(GetParam());
  ASSERT_TRUE(library.loaded()) << dlerror();
  for (const LadderProblem& problem : problems_of(GetParam())) {
    EmulatedGemm gemm(problem);
    for (std::uint64_t seed = 0; seed < kGeneralControlSeeds; ++seed) {
      ASSERT_EQ(library.fault(seed, &gemm), "") << test_name(problem) << ", seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Emulator, MutantsControls,
                         testing::Values("ampere_control", "simt_control", "v17_pace_control"),
                         [](const auto& param) { return std::string(param.param); });

/// The first mutant of each program that holds several.
std::vector<MutantProgram> first_mutants() {
  std::vector<MutantProgram> mutants;
  std::ranges::copy_if(kPrograms, std::back_inserter(mutants),
                       [](const MutantProgram& program) { return program.number == 1; });
  return mutants;
}

class MutantPrograms : public testing::TestWithParam<MutantProgram> {};

// A mistake that is not chosen must not be made.
TEST_P(MutantPrograms, PassIfNoMutantIsChosen) {
  const std::string_view mutant = GetParam().name;
  if (mutant.starts_with("library_")) {
    LibraryMutant library(mutant);
    ASSERT_TRUE(library.loaded()) << dlerror();
    library.choose_none();
    for (const LibraryRun& run : runs_of(mutant)) {
      LibraryGemm gemm(run.problem, emulated_memory());
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        ASSERT_EQ(library.fault(seed, run, &gemm), "")
            << run.config << " " << test_name(run.problem) << ", seed " << seed;
      }
    }
    return;
  }
  LadderMutant library(mutant);
  ASSERT_TRUE(library.loaded()) << dlerror();
  library.choose_none();
  for (const LadderProblem& problem : problems_of(mutant)) {
    EmulatedGemm gemm(problem);
    EXPECT_EQ(library.fault(0, &gemm), "") << test_name(problem);
  }
}

INSTANTIATE_TEST_SUITE_P(Emulator, MutantPrograms, testing::ValuesIn(first_mutants()),
                         [](const auto& param) { return std::string(param.param.program); });

TEST(MutantsTable, HoldsAllThatAreBuilt) {
  std::vector<std::string> expected = {"control", "ampere_control", "simt_control", "v17_pace_control",
                                       "library_pace_control"};
  for (const Mutant& mutant : kMutants) expected.emplace_back(mutant.name);
  for (const Mutant& mutant : kLibraryMutants) expected.emplace_back(mutant.name);
  std::vector<std::string> built;
  for (const MutantProgram& program : kPrograms) built.emplace_back(program.name);
  EXPECT_THAT(built, testing::UnorderedElementsAreArray(expected));
}

}  // namespace
}  // namespace hopper_gemm::emulator
