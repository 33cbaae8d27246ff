// wgmma: the warpgroup's asynchronous matrix multiply. One batch is:
//   wgmma_fence(); wgmma_mma_async(...) one or more times; wgmma_commit_group(); wgmma_wait_group<N>();
// The accumulators belong to the tensor cores from the first mma_async until the wait that covers its group.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

// Which dimension of a shared memory tile is contiguous: K, or MN, which is M for A and N for B. The value is the
// imm-trans operand.
enum class Major { K = 0, MN = 1 };

/// wgmma.fence.sync.aligned — order this warpgroup's register accesses before the wgmma_mma_async that follow.
/// PTX ISA "Asynchronous Multiply-and-Accumulate Instruction: wgmma.fence" #asynchronous-warpgroup-level-matrix-instructions-wgmma-fence; ISA 8.0, sm_90a.
/// Threads: all 128 of the warpgroup, converged. It is needed before the first mma_async, and again whenever other code
/// has touched accumulators or A registers. It is not needed between mma_asyncs of one shape on the same accumulators.
/// Orders: registers, not shared memory: ordinary stores to tiles need fence_proxy_async_shared_cta() as well.
HG_PTX_INLINE void wgmma_fence() {
  HG_PTX_SM_90A(wgmma_fence, asm volatile("wgmma.fence.sync.aligned;" : : : "memory"));
}

/// wgmma.commit_group.sync.aligned — close a group with all wgmma_mma_async that this warpgroup has not yet committed.
/// PTX ISA "Asynchronous Multiply-and-Accumulate Instruction: wgmma.commit_group" #asynchronous-warpgroup-level-matrix-instructions-wgmma-commit-group; ISA 8.0, sm_90a.
/// Threads: all 128 of the warpgroup, converged. Orders: nothing. If there is nothing to commit, the group is empty.
HG_PTX_INLINE void wgmma_commit_group() {
  HG_PTX_SM_90A(wgmma_commit_group, asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory"));
}

/// wgmma.wait_group.sync.aligned — wait until at most kPendingGroups of this warpgroup's newest groups are unfinished.
/// PTX ISA "Asynchronous Multiply-and-Accumulate Instruction: wgmma.wait_group" #asynchronous-warpgroup-level-matrix-instructions-wgmma-wait-group; ISA 8.0, sm_90a.
/// kPendingGroups: 0 to 7; 0 waits for all. Threads: all 128 of the warpgroup, converged. Orders: the accumulators of
/// finished groups may be read, and the tiles that these groups read may be overwritten. The compiler does not see that
/// the wait concerns the accumulators, and may move reads of them above it: put wgmma_fence_operand around it.
template <int kPendingGroups>
HG_PTX_INLINE void wgmma_wait_group() {
  static_assert(kPendingGroups >= 0 && kPendingGroups <= 7, "wgmma.wait_group: 0 to 7 pending groups");
  HG_PTX_SM_90A(wgmma_wait_group, asm volatile("wgmma.wait_group.sync.aligned %0;"
                                               :
                                               : "n"(kPendingGroups)
                                               : "memory"));
}

/// (no instruction) — tell the compiler that a register is read and written at this point.
/// PTX ISA has no section for it; ISA 1.0, sm_20.
/// accum: one accumulator. The compiler believes that an mma_async has finished when the next statement runs. This
/// empty asm keeps it from moving, copying or rematerializing the accumulator across the fence and the wait, which
/// would be wrong or make ptxas serialize the wgmmas (C7510 to C7515). Threads: any. Orders: the compiler only; the
/// hardware sees nothing.
HG_PTX_INLINE void wgmma_fence_operand(float& accum) { asm volatile("" : "+f"(accum) : : "memory"); }

/// (no instruction) — the same for a register of the A fragment, in the forms that take A from registers.
/// PTX ISA has no section for it; ISA 1.0, sm_20.
/// a: one register with two 16-bit elements. Do not change it until a wait covers the mma_async that reads it. Threads:
/// any. Orders: the compiler only.
HG_PTX_INLINE void wgmma_fence_operand(uint32_t& a) { asm volatile("" : "+r"(a) : : "memory"); }

/// (no instruction) — wgmma_fence_operand for each element of an accumulator or fragment array.
/// PTX ISA has no section for it; ISA 1.0, sm_20.
/// registers: an array of float or uint32_t. Unroll all loops that index it, so that it stays in registers. Threads:
/// any. Orders: the compiler only.
template <typename T, int kCount>
HG_PTX_INLINE void wgmma_fence_operand(T (&registers)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    wgmma_fence_operand(registers[i]);
  }
}

}  // namespace ptx
}  // namespace hopper_gemm

#include <ptx/wgmma_mma_async.cuh>
