// elect.sync: choose one lane of a warp.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

/// elect.sync — true in exactly one lane of those named by `member_mask`, the same lane each time for the same mask.
/// PTX ISA "Parallel Synchronization and Communication Instructions: elect.sync" #parallel-synchronization-and-communication-instructions-elect-sync; ISA 8.0, sm_90.
/// member_mask: the lanes that execute it; the executing lane must be in it. Threads: all lanes of the mask,
/// waits for them. Orders: nothing; it is no __syncwarp(). Prefer it to `lane == 0` where one lane issues TMA
/// or wgmma-related work: ptxas then knows that a single lane runs the branch. The ISA does not say which
/// lane wins.
HG_PTX_INLINE bool elect_sync(uint32_t member_mask = 0xffffffffu) {
  uint32_t elected = 0;
  HG_PTX_SM_90(elect_sync, asm volatile("{\n"
                                        ".reg .pred p;\n"
                                        "elect.sync _|p, %1;\n"
                                        "selp.b32 %0, 1, 0, p;\n"
                                        "}\n"
                                        : "=r"(elected)
                                        : "r"(member_mask)));
  return elected != 0;
}

}  // namespace ptx
}  // namespace hopper_gemm
