#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/api.hpp"

// The emulated device headers in include/ call these functions: one for each thing that an instruction does. An
// emulated thread calls them all. Addresses are those of ptx/address.cuh. They lie in the shared::cta window, or in the
// shared::cluster window, and then have a CTA's rank in the upper bits.
namespace hopper_gemm {
namespace emulator HG_EMULATOR_API {

struct Index3 {
  unsigned x, y, z;
};

const Index3& thread_index();
const Index3& block_index();
const Index3& block_extent();
const Index3& grid_extent();
std::uint32_t cluster_rank();
std::uint32_t cluster_size();

std::uint32_t sm_count();

/// The number of steps that the scheduler has taken, which is the only clock. Other threads run before this returns, so
/// that a thread may wait by polling it.
std::uint64_t elapsed_steps();
/// Lets other threads run.
void give_way();

// Global memory that other CTAs read and write at the same time: relaxed, at the scope of the GPU.
std::uint32_t atomic_load(const std::uint32_t* address);
void atomic_add(std::uint32_t* address, std::uint32_t value);
/// fence.acq_rel at the scope of the cluster, or of the GPU.
void fence_acq_rel(bool gpu);

// griddepcontrol.
void wait_for_launches();
void let_dependents_begin();

/// Ends the launch with a report that says what is wrong, who did it and where.
[[noreturn]] void trap(const char* what);

unsigned char* dynamic_shared_memory();
std::uint32_t dynamic_shared_memory_size();
/// Threads may read these bytes of the CTA's shared memory though nobody writes them. They hold NaNs, as all shared
/// memory does when the CTA starts.
void leave_undefined(std::uint32_t address, std::uint32_t bytes);
std::uint32_t shared_address(const void* pointer);
std::uint32_t map_to_rank(std::uint32_t address, std::uint32_t rank);
/// The same place in the shared memory of another CTA of the cluster.
void* map_pointer_to_rank(void* pointer, std::uint32_t rank);
std::uint32_t rank_of(std::uint32_t cluster_address);

// Barriers of the CTA, warp and cluster.
void sync_cta();
/// True if all threads of the CTA pass true.
bool sync_cta_and(bool predicate);
void named_barrier_sync(std::uint32_t id, std::uint32_t threads);
void named_barrier_arrive(std::uint32_t id, std::uint32_t threads);
void sync_warp(std::uint32_t mask);
std::uint32_t shuffle(std::uint32_t mask, std::uint32_t value, int source_lane);
std::uint32_t ballot(std::uint32_t mask, bool predicate);
bool elect(std::uint32_t mask);
void cluster_barrier_arrive(bool releases);
void cluster_barrier_wait();

// mbarriers.
enum class FirstWait { Suspends, Tests };
void mbarrier_init(std::uint32_t address, std::uint32_t count);
void mbarrier_inval(std::uint32_t address);
/// Returns the state that the barrier had before the arrival: its phase and pending arrivals. releases: false for a
/// relaxed one.
std::uint64_t mbarrier_arrive(std::uint32_t address, std::uint32_t count, std::uint32_t expected_bytes,
                              bool releases = true);
void mbarrier_expect(std::uint32_t address, std::uint32_t bytes);
/// False if the phase is not over. A wait that suspends may also return false.
bool mbarrier_wait_parity(std::uint32_t address, std::uint32_t parity, FirstWait kind, bool acquires = true);
bool mbarrier_wait_phase(std::uint32_t address, std::uint64_t state, FirstWait kind);
std::uint32_t mbarrier_pending(std::uint64_t state);

// Fences.
/// For accesses to shared memory, to global memory, or to both.
void fence_proxy_async(bool shared, bool global);
void fence_mbarrier_init();

/// Names the wait that follows in reports: who waits, and for which stage and parity of its ring.
void describe_wait(const char* role, int stage, std::uint32_t parity);

void set_max_registers(int registers, bool increase);

// TMA.
enum class Reduction { None, Add, Min, Max };
void tma_load(std::uint32_t destination, const void* tensor_map, const std::int32_t* coords, int rank,
              std::uint32_t barrier, std::uint32_t cta_mask);
void tma_store(const void* tensor_map, const std::int32_t* coords, int rank, std::uint32_t source,
               Reduction reduction);
void tma_prefetch(const void* tensor_map, const std::int32_t* coords, int rank);
void check_tensor_map(const void* tensor_map);
void bulk_load(std::uint32_t destination, const void* source, std::uint32_t bytes, std::uint32_t barrier);
void bulk_store(void* destination, std::uint32_t source, std::uint32_t bytes);
void bulk_commit_group();
void bulk_wait_group(int pending_groups, bool only_read);

// cp.async: copies of the current thread. `source_bytes` are read, the rest up to `bytes` is zero.
void cp_async(std::uint32_t destination, const void* source, std::uint32_t bytes, std::uint32_t source_bytes);
void cp_async_commit_group();
void cp_async_wait_group(int pending_groups);
void cp_async_wait_all();
/// increments: whether the pending count goes up at once, for the arrival to come.
void cp_async_mbarrier_arrive(std::uint32_t barrier, bool increments);

/// st.async: stores `bytes` of the current thread in a CTA of the cluster, whose mbarrier counts them when they have
/// come.
void store_async(std::uint32_t destination, const void* values, std::uint32_t bytes, std::uint32_t barrier);

// Warp-wide loads and stores of matrices: `matrices` registers of this lane, `row` the address that it contributes.
void load_matrices(std::uint32_t* registers, std::uint32_t row, int matrices, bool transpose);
void store_matrices(std::uint32_t row, const std::uint32_t* registers, int matrices, bool transpose);

// Warp-wide products of fragments: D[16, 8] += A[16, depth] * B[depth, 8]. half: fp16 instead of bf16.
void mma(float* accum, const std::uint32_t* a, const std::uint32_t* b, int depth, bool half);
/// All lanes of the warp meet for an instruction of that name. They do nothing else together.
void converge_warp(const char* instruction);

// wgmma.
struct WgmmaShape {
  int n;
  bool half;  ///< fp16 instead of bf16
  bool a_is_mn_major;
  bool b_is_mn_major;
  int scale_a;
  int scale_b;

  bool operator==(const WgmmaShape&) const = default;
};
void wgmma_fence();
/// a_registers: four registers, or null if A is in shared memory.
void wgmma_mma(const WgmmaShape& shape, float* accum, const std::uint32_t* a_registers, std::uint64_t desc_a,
               std::uint64_t desc_b, bool accumulate);
void wgmma_commit();
void wgmma_wait(int pending_groups);
/// Fails if these bytes of the thread belong to an unfinished wgmma.
void touch_registers(const void* registers, std::size_t bytes);

}  // namespace HG_EMULATOR_API
}  // namespace hopper_gemm
