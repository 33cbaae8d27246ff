#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "emulator/api.hpp"

/// An NVIDIA Hopper GPU in software: it runs the project's kernels, compiled from the same sources, on any
/// CPU, and says what they do wrong. README.md in this folder says what it models. It has one stream, and one thread
/// of the host uses it.
///
/// A launch may still run when its call returns, if it lets the next launch begin (griddepcontrol.launch_dependents).
/// All functions below but launches() run such launches to their ends. Call last_report() or a function of the runtime
/// that waits before you use what a kernel has written.
namespace hopper_gemm {
namespace emulator HG_EMULATOR_API {

struct EmulatedCapability {
  int major = 9;
  int minor = 0;
};

struct EmulationOptions {
  std::uint64_t seed = 0;  ///< decides what happens next; the same seed gives the same run
  int sms = 4;             ///< SMs of the emulated GPU, by which persistent kernels size their grids
  /// A launch that takes more ends with a report. The default stands for some minutes.
  std::uint64_t max_steps = 2'000'000'000;
  bool traces = false;  ///< record a timeline for trace_json()
  /// What the emulated GPU reports. It also decides how much shared memory the GPU has, but not which instructions: the
  /// emulator always has all of them.
  EmulatedCapability compute_capability = {};
  /// The id of the CUDA context, not 0. A new number stands for a new context, as after cudaDeviceReset().
  std::uint64_t context = 1;
  /// The encoder of tensor maps refuses strides that drivers take, but that the manual of cuTensorMapEncodeTiled does
  /// not allow: each stride must be a multiple of the one before it, and must span the dimension below.
  bool strict_tensor_maps = false;
};

/// Sets the options of the launches to come, which are numbered from 1 again in reports and on the timeline.
void configure(const EmulationOptions& options);

/// The number of steps that the last launch took, from its call to its end.
std::uint64_t steps();

/// The number of launches so far.
std::uint64_t launches();

/// What was wrong in the last launch since configure(), or in one that ran beside it, with the thread, the line and the
/// step. Empty if nothing was wrong.
const char* last_report();

/// Device memory, 4096-byte aligned. It lies between pages that fault, so the emulator reports kernels that leave it.
/// The host may use it directly. Throws std::bad_alloc.
void* allocate(std::size_t bytes);
/// Frees memory from allocate(). False if `memory` is not such memory.
bool free(void* memory);
void free_all();

/// The timeline of all launches since configure(), in the Chrome trace format, if the options asked for it.
std::string trace_json();

}  // namespace HG_EMULATOR_API
}  // namespace hopper_gemm
