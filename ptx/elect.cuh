// elect.sync: choose one lane of a warp.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

/// elect.sync — true in exactly one of the lanes that `member_mask` names; for the same mask it is always the same lane.
/// PTX ISA "Parallel Synchronization and Communication Instructions: elect.sync" #parallel-synchronization-and-communication-instructions-elect-sync; ISA 8.0, sm_90.
/// member_mask: the lanes that execute it; the executing lane must be in it. Threads: all lanes of the mask; it waits
/// for them. Orders: nothing; it does not replace __syncwarp(). If one lane issues TMA or wgmma-related work, prefer
/// this to `lane == 0`: ptxas then knows that a single lane runs the branch. The ISA does not say which lane wins.
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
