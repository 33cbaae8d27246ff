// griddepcontrol: programmatic dependent launch, seen from the device.
#pragma once

#include <ptx/common.cuh>

namespace hopper_gemm {
namespace ptx {

/// griddepcontrol.wait — block until all grids that this one depends on have completed and their memory is visible.
/// PTX ISA "Parallel Synchronization and Communication Instructions: griddepcontrol" #parallel-synchronization-and-communication-instructions-griddepcontrol; ISA 7.8, sm_90.
/// Threads: every thread that reads or overwrites data of the earlier grid, before it does so. Orders: the earlier
/// grids' writes before what follows. It returns at once if the kernel was launched without the programmatic attribute.
HG_PTX_INLINE void griddepcontrol_wait() {
  HG_PTX_SM_90(griddepcontrol_wait, asm volatile("griddepcontrol.wait;" : : : "memory"));
}

/// griddepcontrol.launch_dependents — allow the dependent grid to be scheduled once every CTA has called this or exited.
/// PTX ISA "Parallel Synchronization and Communication Instructions: griddepcontrol" #parallel-synchronization-and-communication-instructions-griddepcontrol; ISA 7.8, sm_90.
/// Threads: any; the first call of a CTA counts, and repeats do nothing. Orders: nothing. It says nothing about data:
/// the dependent grid still has to call griddepcontrol_wait, which waits for this grid's end.
HG_PTX_INLINE void griddepcontrol_launch_dependents() {
  HG_PTX_SM_90(griddepcontrol_launch_dependents, asm volatile("griddepcontrol.launch_dependents;"
                                                              :
                                                              :
                                                              : "memory"));
}

}  // namespace ptx
}  // namespace hopper_gemm
